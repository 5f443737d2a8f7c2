// Steps instead of a clock: the same input always ends in the same way, on any machine.
#pragma once

#include <cstdint>
#include <exception>

namespace cohort {

/// A comparison used up its steps or met a cap; the verdict is `limit`.
struct LimitReached final : std::exception {
    const char* what() const noexcept override { return "the step budget is used up"; }
};

/// A step is a word operation of arithmetic or a part of a node's visit: 2 to 4 nanoseconds.
class Budget {
public:
    explicit Budget(std::int64_t steps) : left_(steps) {}

    /// Raises `LimitReached` when the steps are used up.
    void spend(std::int64_t steps = 1) {
        left_ -= steps;
        if (left_ < 0) throw LimitReached{};
    }

    std::int64_t left() const { return left_; }

private:
    std::int64_t left_;
};

}  // namespace cohort

// Where expressions with variables are compared: fixed pseudo-random numbers for each name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cohort/rational.h"

namespace cohort {

struct Point {
    static constexpr unsigned kNumReal = 18;
    static constexpr unsigned kNumInteger = 24;

    bool integer = false;
    unsigned index = 0;
    std::span<const std::string_view> variables{};  // all, sorted: their signs are dealt out
    bool halves = false;   // with `integer`: steps of one half, on both sides of 0
    bool complex = false;  // z and w have an imaginary part

    Rational of(std::string_view variable) const;
    bool is_complex(std::string_view variable) const;
    /// Where exponentials grow so far apart that no precision shows the smaller one.
    bool is_large() const;
};

}  // namespace cohort

// Reading a number and what may follow it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cohort {

/// An exact value (exact.h) and its unit: `%`, a name such as `cm^2`, or nothing.
struct Number {
    std::string value, unit;
};

/// A number with its unit, or nothing when the whole of `text` (folded and peeled) is not one.
std::optional<Number> read_number(std::string_view text);

/// The number when `tail` is a unit, plain words, both or nothing.
std::optional<Number> read_tail(std::string value, std::string_view tail);

}  // namespace cohort

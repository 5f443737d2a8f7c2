// Units in the spelling of `words.h` (`cm^2`, `km/hour`, `$`): what they measure and how large they
// are, exactly.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cohort/rational.h"

namespace cohort {

/// Exponents of length, mass, time, angle, money, months, current and amount; volume is length^3.
using Dimension = std::array<std::int8_t, 8>;

struct Unit {
    Dimension dimension{};
    Rational size = 1;  // in metres, grams, seconds, degrees, cents ...
};

/// Nothing for a name that is no known unit: such units are equal only to themselves.
std::optional<Unit> read_unit(std::string_view name, Budget& budget);

/// How many `to` one `from` is: 100 from `m` to `cm`. Nothing when they measure different things.
/// `unit` is whatever length the other one is.
std::optional<Rational> conversion(std::string_view from, std::string_view to, Budget& budget);

}  // namespace cohort

// Natural numbers as vectors of 32-bit limbs, least significant first, without leading zeros:
// the school's algorithms behind `Integer`.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace cohort::limbs {

using Limbs = std::vector<std::uint32_t>;

void trim(Limbs& value);
std::size_t bits(const Limbs& value);
std::strong_ordering compare(const Limbs& a, const Limbs& b);
Limbs from_word(std::uint64_t value);
std::uint64_t low_word(const Limbs& value);

Limbs add(const Limbs& a, const Limbs& b);
Limbs subtract(const Limbs& a, const Limbs& b);  // a >= b
Limbs multiply(const Limbs& a, const Limbs& b);
Limbs shift_left(const Limbs& value, std::size_t count);
Limbs shift_right(const Limbs& value, std::size_t count);

/// value = value * factor + addend
void multiply_add(Limbs& value, std::uint32_t factor, std::uint32_t addend);
/// Divides in place and returns the remainder.
std::uint32_t divide_small(Limbs& value, std::uint32_t divisor);
/// Knuth's algorithm D; `remainder` is what is left. The divisor is not 0.
Limbs divide(const Limbs& dividend, const Limbs& divisor, Limbs& remainder);
/// Lehmer's algorithm: the quotients are found from the leading 62 bits.
Limbs gcd(Limbs a, Limbs b);

}  // namespace cohort::limbs

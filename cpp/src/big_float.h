// Floating-point numbers of 64 to 1088 bits, cut off toward zero. The number of limbs is an
// argument of each operation: only the leading ones of a number are read or written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cohort/rational.h"

namespace cohort {

inline constexpr std::size_t kMaxLimbs = 17;

/// 0, or +-0.limbs * 2^exponent with the most significant limb first and its top bit set.
struct Float {
    std::array<std::uint64_t, kMaxLimbs> limbs;
    std::int64_t exponent = 0;
    bool negative = false;
    bool zero = true;

    Float() {}  // limbs of 0 have no meaning  NOLINT
};

Float float_of(std::int64_t value, std::size_t n);
Float float_of_double(double value, std::size_t n);
/// Cut off to n limbs; `exact` tells whether nothing was lost.
Float float_of(const Integer& value, std::size_t n, bool& exact);
/// To 53 bits, or 0 or a huge number where that is out of range.
double to_double(const Float& value);
Float negated(const Float& value);
Float scaled(const Float& value, std::int64_t exponent);  // times 2^exponent
/// Writes zeros behind the first `from` limbs: the same number with `to` limbs.
void widen(Float& value, std::size_t from, std::size_t to);

/// -1, 0, 1: the order of the absolute values.
int compare_sizes(const Float& a, const Float& b, std::size_t n);

// The result may be one of the operands. True when it is exact; otherwise the error is less than
// one unit of the result's last bit.
bool add(Float& result, const Float& a, const Float& b, std::size_t n);
bool subtract(Float& result, const Float& a, const Float& b, std::size_t n);
bool multiply(Float& result, const Float& a, const Float& b, std::size_t n);
bool divide(Float& result, const Float& a, const Float& b, std::size_t n);  // b is not 0
bool divide(Float& result, const Float& a, std::uint64_t b, std::size_t n);

}  // namespace cohort

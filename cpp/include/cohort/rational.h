// Exact numbers: integers of any size up to a cap, and fractions in lowest terms.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/budget.h"

namespace cohort {

inline constexpr std::size_t kMaxBits = 16384;  // a larger result is LimitReached

/// An integer: 64 bits in place, more in 32-bit limbs (least significant first).
class Integer {
public:
    Integer(std::int64_t value = 0) : small_(value) {}  // NOLINT: 5 is an Integer
    /// Digits in a base up to 36, `a` to `z` (or `A` to `Z`) after 9; nothing when one is no digit.
    static std::optional<Integer> from_digits(std::string_view digits, unsigned base = 10);
    static Integer from_magnitude(bool negative, std::vector<std::uint32_t> limbs);

    bool is_zero() const;
    int sign() const;  // -1, 0, 1
    bool is_odd() const;
    std::size_t bits() const;
    std::optional<std::int64_t> to_int64() const;
    std::uint64_t modulo(std::uint64_t modulus) const;  // 0 <= result < modulus, below 2^63
    std::string to_string() const;
    std::vector<std::uint32_t> magnitude() const;  // limbs of the absolute value, none for 0

    Integer operator-() const;
    friend Integer operator+(const Integer&, const Integer&);
    friend Integer operator-(const Integer&, const Integer&);
    friend Integer operator*(const Integer&, const Integer&);
    friend std::strong_ordering operator<=>(const Integer&, const Integer&);
    friend bool operator==(const Integer&, const Integer&);

    /// Quotient rounded toward zero and remainder with the dividend's sign; the divisor is not 0.
    struct Division;
    static Division divide(const Integer& dividend, const Integer& divisor);
    static Integer gcd(const Integer& a, const Integer& b);
    /// The integer n-th root when it is exact.
    static std::optional<Integer> exact_root(const Integer& value, unsigned n);
    Integer shifted_left(std::size_t bits) const;
    Integer shifted_right(std::size_t bits) const;  // toward zero

private:
    bool is_small() const { return limbs_.empty(); }

    std::int64_t small_ = 0;
    bool negative_ = false;             // of limbs_
    std::vector<std::uint32_t> limbs_;  // empty: the value is small_, as always when it fits
};

struct Integer::Division {
    Integer quotient, remainder;
};

/// A fraction in lowest terms; the denominator is positive.
class Rational {
public:
    Rational(std::int64_t value = 0) : numerator_(value), denominator_(1) {}    // NOLINT
    Rational(Integer value) : numerator_(std::move(value)), denominator_(1) {}  // NOLINT
    /// Nothing when the denominator is 0.
    static std::optional<Rational> of(Integer numerator, Integer denominator);
    /// `12.5`, `.5`, `12`: digits with at most one point.
    static std::optional<Rational> from_decimal(std::string_view text);

    const Integer& numerator() const { return numerator_; }
    const Integer& denominator() const { return denominator_; }
    bool is_zero() const { return numerator_.is_zero(); }
    bool is_integer() const;
    int sign() const { return numerator_.sign(); }
    std::string to_string() const;  // `-7/2`

    Rational operator-() const;
    friend Rational operator+(const Rational&, const Rational&);
    friend Rational operator-(const Rational&, const Rational&);
    friend Rational operator*(const Rational&, const Rational&);
    friend std::strong_ordering operator<=>(const Rational&, const Rational&);
    friend bool operator==(const Rational&, const Rational&);
    std::optional<Rational> inverse() const;  // nothing for 0
    /// Raised to an integer power; nothing for 0 to a negative power. Spends what it costs.
    static std::optional<Rational> power(const Rational& base, const Integer& exponent,
                                         Budget& budget);

private:
    Integer numerator_, denominator_;
};

}  // namespace cohort

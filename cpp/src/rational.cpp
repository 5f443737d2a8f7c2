// Fractions in lowest terms: machine words as long as they suffice.
#include "cohort/rational.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace cohort {
namespace {

using Wide = __int128;

/// Numerators and denominators of two fractions that fit in 64 bits.
struct Words {
    std::int64_t a, b, c, d;
};

std::optional<Words> words(const Rational& x, const Rational& y) {
    const auto a = x.numerator().to_int64();
    const auto b = x.denominator().to_int64();
    const auto c = y.numerator().to_int64();
    const auto d = y.denominator().to_int64();
    if (!a || !b || !c || !d) return std::nullopt;
    return Words{*a, *b, *c, *d};
}

bool fits(Wide value) {
    return value > std::numeric_limits<std::int64_t>::min() &&
           value <= std::numeric_limits<std::int64_t>::max();
}

std::int64_t narrow(Wide value) { return static_cast<std::int64_t>(value); }

/// The square-and-multiply power of a number that is not 0, in steps of word operations.
Integer integer_power(const Integer& base, std::uint64_t exponent, Budget& budget) {
    Integer result(1);
    for (std::uint64_t bit = std::bit_floor(exponent); bit != 0; bit >>= 1) {
        const auto words = static_cast<std::int64_t>(result.bits() / 32 + 1);
        budget.spend(words * words / 2 + 8);
        result = result * result;
        if ((exponent & bit) != 0) result = result * base;
    }
    return result;
}

}  // namespace

std::optional<Rational> Rational::of(Integer numerator, Integer denominator) {
    if (denominator.is_zero()) return std::nullopt;
    const Integer shared = Integer::gcd(numerator, denominator);
    Rational result;
    const bool flip = denominator.sign() < 0;
    if (shared == Integer(1)) {
        result.numerator_ = flip ? -numerator : std::move(numerator);
        result.denominator_ = flip ? -denominator : std::move(denominator);
        return result;
    }
    const Integer divisor = flip ? -shared : shared;
    result.numerator_ = Integer::divide(numerator, divisor).quotient;
    result.denominator_ = Integer::divide(denominator, divisor).quotient;
    return result;
}

std::optional<Rational> Rational::from_decimal(std::string_view text) {
    const std::size_t point = text.find('.');
    if (point == std::string_view::npos) {
        auto value = Integer::from_digits(text);
        return value ? std::optional<Rational>(Rational(*std::move(value))) : std::nullopt;
    }
    std::string digits(text.substr(0, point));
    const std::string_view part = text.substr(point + 1);
    digits += part;
    auto value = Integer::from_digits(digits);
    if (!value) return std::nullopt;
    std::string scale(part.size() + 1, '0');
    scale[0] = '1';
    return of(*std::move(value), *Integer::from_digits(scale));
}

bool Rational::is_integer() const { return denominator_ == Integer(1); }

std::string Rational::to_string() const {
    return is_integer() ? numerator_.to_string()
                        : numerator_.to_string() + "/" + denominator_.to_string();
}

Rational Rational::operator-() const {
    Rational result(*this);
    result.numerator_ = -numerator_;
    return result;
}

Rational operator+(const Rational& x, const Rational& y) {
    if (x.is_integer() && y.is_integer()) return Rational(x.numerator_ + y.numerator_);
    if (const auto w = words(x, y)) {
        const Wide left = Wide{w->a} * w->d;
        const Wide right = Wide{w->c} * w->b;
        const Wide bottom = Wide{w->b} * w->d;
        if (fits(left) && fits(right) && fits(left + right) && fits(bottom)) {
            return *Rational::of(Integer(narrow(left + right)), Integer(narrow(bottom)));
        }
    }
    return *Rational::of(x.numerator_ * y.denominator_ + y.numerator_ * x.denominator_,
                         x.denominator_ * y.denominator_);
}

Rational operator-(const Rational& x, const Rational& y) { return x + -y; }

Rational operator*(const Rational& x, const Rational& y) {
    if (x.is_integer() && y.is_integer()) return Rational(x.numerator_ * y.numerator_);
    if (const auto w = words(x, y)) {
        const Wide top = Wide{w->a} * w->c;
        const Wide bottom = Wide{w->b} * w->d;
        if (fits(top) && fits(bottom)) {
            return *Rational::of(Integer(narrow(top)), Integer(narrow(bottom)));
        }
    }
    // Crossing out first keeps the numbers small and within the cap.
    const Rational left = *Rational::of(x.numerator_, y.denominator_);
    const Rational right = *Rational::of(y.numerator_, x.denominator_);
    Rational result;
    result.numerator_ = left.numerator_ * right.numerator_;
    result.denominator_ = left.denominator_ * right.denominator_;
    return result;
}

std::strong_ordering operator<=>(const Rational& x, const Rational& y) {
    if (x.sign() != y.sign()) return x.sign() <=> y.sign();
    if (x.denominator_ == y.denominator_) return x.numerator_ <=> y.numerator_;
    if (const auto w = words(x, y)) return Wide{w->a} * w->d <=> Wide{w->c} * w->b;
    return (x - y).sign() <=> 0;
}

bool operator==(const Rational& x, const Rational& y) {
    return x.numerator_ == y.numerator_ && x.denominator_ == y.denominator_;
}

std::optional<Rational> Rational::inverse() const {
    if (is_zero()) return std::nullopt;
    Rational result;
    result.numerator_ = sign() < 0 ? -denominator_ : denominator_;
    result.denominator_ = sign() < 0 ? -numerator_ : numerator_;
    return result;
}

std::optional<Rational> Rational::power(const Rational& base, const Integer& exponent,
                                        Budget& budget) {
    if (exponent.is_zero()) return Rational(1);
    if (base.is_zero()) {
        return exponent.sign() < 0 ? std::nullopt : std::optional<Rational>(base);
    }
    if (base == Rational(1) || base == Rational(-1)) {
        return exponent.is_odd() ? base : Rational(1);
    }
    const auto count = (exponent.sign() < 0 ? -exponent : exponent).to_int64();
    // A base of n bits is at least 2^(n - 1).
    const std::size_t size = std::max(base.numerator_.bits(), base.denominator_.bits()) - 1;
    if (!count || static_cast<std::size_t>(*count) > kMaxBits ||
        size * static_cast<std::size_t>(*count) > kMaxBits) {
        throw LimitReached{};
    }
    Rational result;
    const auto n = static_cast<std::uint64_t>(*count);
    result.numerator_ = integer_power(base.numerator_, n, budget);
    result.denominator_ = integer_power(base.denominator_, n, budget);
    return exponent.sign() < 0 ? result.inverse() : result;
}

}  // namespace cohort

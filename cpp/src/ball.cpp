#include "ball.h"

#include <algorithm>
#include <cmath>

namespace cohort {
namespace {

constexpr double kUp = 1 + 1e-12;  // more than all roundings of one operation on doubles
constexpr double kDown = 1 - 1e-12;
constexpr std::int64_t kFar = 64;  // of two exponents: the smaller number is a rounding error
constexpr std::int64_t kMaxExponent = std::int64_t{1} << 40;

/// One unit of the last bit.
Bound unit(const Float& value, std::size_t n) {
    if (value.zero) return {};
    return {0.5, value.exponent - static_cast<std::int64_t>(64 * n) + 1};
}

void check_exponent(const Float& value) {
    if (!value.zero && std::max(value.exponent, -value.exponent) > kMaxExponent) {
        throw LimitReached{};
    }
}

void finish(Ball& result, bool exact, Work& work) {
    check_exponent(result.mid);
    if (!exact) result.radius = result.radius + unit(result.mid, work.limbs);
}

std::int64_t words(const Work& work) { return static_cast<std::int64_t>(work.limbs); }

/// A number that is certainly not 0 but vanishes in the sum.
bool vanishes(const Ball& small, const Ball& large, const Work& work) {
    if (small.mid.zero || large.mid.zero) return false;
    const std::int64_t gap = large.mid.exponent - small.mid.exponent;
    return gap > 32 * words(work) && !small.contains_zero();
}

}  // namespace

Bound bound_of(double fraction, std::int64_t exponent) {
    if (fraction == 0) return {};
    int shift = 0;
    const double normal = std::frexp(fraction, &shift);
    return {normal, exponent + shift};
}

Bound operator+(const Bound& a, const Bound& b) {
    if (a.is_zero()) return b;
    if (b.is_zero()) return a;
    const Bound& large = a.exponent >= b.exponent ? a : b;
    const Bound& small = a.exponent >= b.exponent ? b : a;
    const std::int64_t gap = large.exponent - small.exponent;
    const double rest = gap > kFar ? 1e-18 : std::ldexp(small.fraction, -static_cast<int>(gap));
    return bound_of((large.fraction + rest) * kUp, large.exponent);
}

Bound operator*(const Bound& a, const Bound& b) {
    return bound_of(a.fraction * b.fraction * kUp, a.exponent + b.exponent);
}

bool operator<(const Bound& a, const Bound& b) {
    if (a.is_zero() || b.is_zero()) return a.is_zero() && !b.is_zero();
    return a.exponent != b.exponent ? a.exponent < b.exponent : a.fraction < b.fraction;
}

Bound above(const Float& value) {
    if (value.zero) return {};
    return bound_of(std::ldexp(static_cast<double>(value.limbs[0]), -64) * kUp, value.exponent);
}

Bound below(const Float& value) {
    if (value.zero) return {};
    return bound_of(std::ldexp(static_cast<double>(value.limbs[0]), -64) * kDown, value.exponent);
}

Bound over(const Bound& a, const Bound& b) {
    return bound_of(a.fraction / b.fraction * kUp, a.exponent - b.exponent);
}

Bound less(const Bound& a, const Bound& b) {
    if (!(b < a)) return {};
    if (b.is_zero()) return a;
    const std::int64_t gap = a.exponent - b.exponent;
    const double rest = gap > kFar ? 1e-18 : std::ldexp(b.fraction, -static_cast<int>(gap));
    const double difference = a.fraction * kDown - rest * kUp;
    return difference > 0 ? bound_of(difference * kDown, a.exponent) : Bound{};
}

std::optional<int> Ball::sign() const {
    if (is_zero()) return 0;
    if (contains_zero()) return std::nullopt;
    return mid.negative ? -1 : 1;
}

Ball ball_of(std::int64_t value, Work& work) { return {float_of(value, work.limbs), {}}; }

Ball ball_of(const Rational& value, Work& work) {
    work.budget.spend(4);
    const std::size_t bits = value.numerator().bits() + value.denominator().bits();
    if (bits > 32 * work.limbs) work.coarse = true;
    bool exact = false;
    Ball top;
    top.mid = float_of(value.numerator(), work.limbs, exact);
    finish(top, exact, work);
    if (value.is_integer()) return top;
    Ball bottom;
    bottom.mid = float_of(value.denominator(), work.limbs, exact);
    finish(bottom, exact, work);
    return divide(top, bottom, work);
}

Ball add(const Ball& a, const Ball& b, Work& work) {
    work.budget.spend(12 + words(work));
    if (vanishes(a, b, work) || vanishes(b, a, work)) work.coarse = true;
    Ball sum;
    const bool exact = add(sum.mid, a.mid, b.mid, work.limbs);
    sum.radius = a.radius + b.radius;
    finish(sum, exact, work);
    return sum;
}

Ball subtract(const Ball& a, const Ball& b, Work& work) { return add(a, negated(b), work); }

Ball multiply(const Ball& a, const Ball& b, Work& work) {
    work.budget.spend(12 + words(work) * words(work) / 2);
    Ball product;
    const bool exact = multiply(product.mid, a.mid, b.mid, work.limbs);
    if (!a.is_exact() || !b.is_exact()) {
        product.radius = above(a.mid) * b.radius + above(b.mid) * a.radius + a.radius * b.radius;
    }
    finish(product, exact, work);
    return product;
}

Ball divide(const Ball& a, const Ball& b, Work& work) {
    work.budget.spend(24 + words(work) * (words(work) + 8));
    Ball quotient;
    const bool exact = divide(quotient.mid, a.mid, b.mid, work.limbs);
    // |a/b - A/B| = |a B - A b| / |b B| <= (|A| r_b + |B| r_a) / (|b| |B|)
    if (!a.is_exact() || !b.is_exact()) {
        const Bound error = above(a.mid) * b.radius + above(b.mid) * a.radius;
        quotient.radius = over(over(error, b.lower_size()), below(b.mid));
    }
    finish(quotient, exact, work);
    return quotient;
}

Ball negated(const Ball& a) { return {negated(a.mid), a.radius}; }

Ball absolute(const Ball& a) {
    Ball result = a;
    result.mid.negative = false;
    return result;
}

Ball halved(const Ball& a) {
    return {scaled(a.mid, -1), {a.radius.fraction, a.radius.exponent - 1}};
}

std::optional<std::int64_t> floor_of(const Ball& a, Work& work) {
    if (a.mid.exponent > 60 && !a.mid.zero) return std::nullopt;
    // The fraction's distance from the integers around it must exceed the radius.
    std::int64_t whole = 0;
    if (!a.mid.zero && a.mid.exponent > 0) {
        whole = static_cast<std::int64_t>(a.mid.limbs[0] >> (64 - a.mid.exponent));
        if (a.mid.negative) whole = -whole;
    }
    for (const std::int64_t candidate : {whole, whole - 1}) {
        const auto over_floor = subtract(a, ball_of(candidate, work), work).sign();
        const auto under_next = subtract(ball_of(candidate + 1, work), a, work).sign();
        if (over_floor && under_next && *over_floor >= 0 && *under_next > 0) return candidate;
    }
    return std::nullopt;
}

}  // namespace cohort

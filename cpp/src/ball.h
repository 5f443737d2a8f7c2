// Real balls: a midpoint and a radius that is never too small, so what is computed is enclosed.
#pragma once

#include <optional>

#include "big_float.h"
#include "cohort/budget.h"

namespace cohort {

/// An upper bound of a size: 0, or fraction * 2^exponent with 0.5 <= fraction < 1.
struct Bound {
    double fraction = 0;
    std::int64_t exponent = 0;

    bool is_zero() const { return fraction == 0; }
};

Bound bound_of(double fraction, std::int64_t exponent);
Bound operator+(const Bound& a, const Bound& b);
Bound operator*(const Bound& a, const Bound& b);
bool operator<(const Bound& a, const Bound& b);
Bound above(const Float& value);  // at least its absolute value
Bound below(const Float& value);  // at most its absolute value, and close to it
/// a / b for a lower bound b that is not 0.
Bound over(const Bound& a, const Bound& b);

/// A lower bound of a - b for a lower bound a; 0 when there is none.
Bound less(const Bound& a, const Bound& b);

struct Ball {
    Float mid;
    Bound radius;

    bool is_exact() const { return radius.is_zero(); }
    bool is_zero() const { return mid.zero && radius.is_zero(); }
    bool contains_zero() const { return !(radius < below(mid)); }
    /// -1 or 1 when that is certain, 0 for exactly 0; nothing else is known.
    std::optional<int> sign() const;
    Bound upper_size() const { return above(mid) + radius; }
    Bound lower_size() const { return less(below(mid), radius); }
};

/// How exactly to compute, and what it costs.
struct Work {
    std::size_t limbs;
    Budget& budget;
    /// A part of the value was below the precision: what overlaps may still differ.
    bool coarse = false;
};

/// Precisions: the lowest separates most different values, the others confirm equal ones.
inline constexpr std::size_t kLowLimbs = 2;
inline constexpr std::size_t kMiddleLimbs = 8;
inline constexpr std::size_t kHighLimbs = 16;

Ball ball_of(std::int64_t value, Work& work);
Ball ball_of(const Rational& value, Work& work);

Ball add(const Ball& a, const Ball& b, Work& work);
Ball subtract(const Ball& a, const Ball& b, Work& work);
Ball multiply(const Ball& a, const Ball& b, Work& work);
Ball divide(const Ball& a, const Ball& b, Work& work);  // b does not contain 0
Ball negated(const Ball& a);
Ball absolute(const Ball& a);
Ball halved(const Ball& a);
/// The integer that is the floor of all numbers of the ball.
std::optional<std::int64_t> floor_of(const Ball& a, Work& work);

}  // namespace cohort

// Square roots, exponentials, logarithms and the circle's functions of real balls.
//
// A function is computed of the midpoint with one limb more than asked for, which outweighs all its
// roundings (their bound stands beside each), and the radius is multiplied by a bound of the
// derivative.
#pragma once

#include "ball.h"

namespace cohort {

Ball pi(Work& work);
Ball ln_2(Work& work);

// Nothing when the ball is too wide or the argument too large.
std::optional<Ball> exp(const Ball& x, Work& work);
struct SinCos {
    Ball sin, cos;
};
std::optional<SinCos> sin_cos(const Ball& x, Work& work);
std::optional<Ball> arctan(const Ball& x, Work& work);
// Of balls without 0 or negative numbers.
Ball sqrt(const Ball& x, Work& work);
Ball ln(const Ball& x, Work& work);

}  // namespace cohort

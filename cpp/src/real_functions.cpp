// The functions of formulas on real balls.
#include "complex_ball.h"

namespace cohort {
namespace {

State kept(Ball& result, const std::optional<Ball>& value) {
    if (!value) return State::imprecise;
    result = *value;
    return State::defined;
}

State inverse(Ball& result, const Ball& x, Work& work) {
    return real_divide(result, ball_of(1, work), x, work);
}

State circle(Ball& result, Function function, const Ball& x, Work& work) {
    const auto at = sin_cos(x, work);
    if (!at) return State::imprecise;
    using enum Function;
    switch (function) {
        case sin: result = at->sin; return State::defined;
        case cos: result = at->cos; return State::defined;
        case tan: return real_divide(result, at->sin, at->cos, work);
        case cot: return real_divide(result, at->cos, at->sin, work);
        case sec: return inverse(result, at->cos, work);
        default: return inverse(result, at->sin, work);
    }
}

State hyperbola(Ball& result, Function function, const Ball& x, Work& work) {
    const auto up = exp(x, work);
    if (!up) return State::imprecise;
    const Ball down = divide(ball_of(1, work), *up, work);
    const Ball sine = x.is_zero() ? x : halved(subtract(*up, down, work));
    const Ball cosine = halved(add(*up, down, work));
    using enum Function;
    switch (function) {
        case sinh: result = sine; return State::defined;
        case cosh: result = cosine; return State::defined;
        case tanh: return real_divide(result, sine, cosine, work);
        case coth: return real_divide(result, cosine, sine, work);
        case sech: return inverse(result, cosine, work);
        default: return inverse(result, sine, work);
    }
}

State real_ln(Ball& result, const Ball& x, Work& work) {
    const auto sign = x.sign();
    if (!sign) return State::imprecise;
    if (*sign <= 0) return State::undefined;
    result = ln(x, work);
    return State::defined;
}

/// arctan(x / sqrt(1 - x^2))
State arcsin(Ball& result, const Ball& x, Work& work) {
    const Ball rest = subtract(ball_of(1, work), multiply(x, x, work), work);
    const auto sign = rest.sign();
    if (!sign) return State::imprecise;
    if (*sign < 0) return State::undefined;
    if (*sign == 0) {
        const Ball right = halved(pi(work));
        result = x.mid.negative ? negated(right) : right;
        return State::defined;
    }
    return kept(result, arctan(divide(x, sqrt(rest, work), work), work));
}

State arccos(Ball& result, const Ball& x, Work& work) {
    Ball other;
    const State state = arcsin(other, x, work);
    if (state == State::defined) result = subtract(halved(pi(work)), other, work);
    return state;
}

/// ln(|x| + sqrt(x^2 + 1)) with the sign of x
State arsinh(Ball& result, const Ball& x, Work& work) {
    if (x.contains_zero()) {  // |arsinh x| <= |x|
        result = {Float(), x.upper_size()};
        return State::defined;
    }
    const Ball square = add(multiply(x, x, work), ball_of(1, work), work);
    const Ball value = ln(add(absolute(x), sqrt(square, work), work), work);
    result = x.mid.negative ? negated(value) : value;
    return State::defined;
}

State arcosh(Ball& result, const Ball& x, Work& work) {
    const auto beyond = subtract(x, ball_of(1, work), work).sign();
    if (!beyond) return State::imprecise;
    if (*beyond < 0) return State::undefined;
    const Ball square = subtract(multiply(x, x, work), ball_of(1, work), work);
    if (square.contains_zero() && !square.is_zero()) return State::imprecise;
    result = ln(add(x, sqrt(square, work), work), work);
    return State::defined;
}

State artanh(Ball& result, const Ball& x, Work& work) {
    const Ball one = ball_of(1, work);
    Ball quotient;
    State state = real_divide(quotient, add(one, x, work), subtract(one, x, work), work);
    if (state == State::defined) state = real_ln(result, quotient, work);
    if (state == State::defined) result = halved(result);
    return state;
}

State of_inverse(Ball& result, Function function, const Ball& x, Work& work) {
    Ball turned;
    const State state = inverse(turned, x, work);
    return state == State::defined ? real_call(result, function, turned, work) : state;
}

State rounded(Ball& result, const Ball& x, bool up, Work& work) {
    const auto whole = floor_of(up ? negated(x) : x, work);
    if (!whole) return State::imprecise;
    result = ball_of(up ? -*whole : *whole, work);
    return State::defined;
}

}  // namespace

State real_divide(Ball& result, const Ball& a, const Ball& b, Work& work) {
    if (b.is_zero()) return State::undefined;
    if (b.contains_zero()) return State::imprecise;
    result = divide(a, b, work);
    return State::defined;
}

State real_call(Ball& result, Function function, const Ball& x, Work& work) {
    using enum Function;
    if (function <= csc) return circle(result, function, x, work);
    if (function >= sinh && function <= csch) return hyperbola(result, function, x, work);
    switch (function) {
        case arcsin: return cohort::arcsin(result, x, work);
        case arccos: return cohort::arccos(result, x, work);
        case arctan: return kept(result, cohort::arctan(x, work));
        case arccot: {  // between 0 and pi
            const State state = kept(result, cohort::arctan(x, work));
            if (state == State::defined) result = subtract(halved(pi(work)), result, work);
            return state;
        }
        case arcsec: return of_inverse(result, arccos, x, work);
        case arccsc: return of_inverse(result, arcsin, x, work);
        case arsinh: return cohort::arsinh(result, x, work);
        case arcosh: return cohort::arcosh(result, x, work);
        case artanh: return cohort::artanh(result, x, work);
        case exp: return kept(result, cohort::exp(x, work));
        case ln: return real_ln(result, x, work);
        case abs: result = absolute(x); return State::defined;
        case floor: return rounded(result, x, false, work);
        case ceil: return rounded(result, x, true, work);
        case sign: {
            const auto side = x.sign();
            if (side) result = ball_of(*side, work);
            return side ? State::defined : State::imprecise;
        }
        default: return State::unsupported;
    }
}

}  // namespace cohort

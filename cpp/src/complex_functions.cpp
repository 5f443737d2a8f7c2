// The functions of formulas on complex balls, by exponentials and logarithms.
#include "complex_ball.h"

namespace cohort {
namespace {

State arctan(Complex& result, const Complex& x, Work& work) {
    Complex plus;
    Complex minus;
    const Complex one = complex_of(1, work);
    const Complex turned = times_i(x);
    State state = ln(plus, add(one, turned, work), Branch::principal, work);
    if (state == State::defined) {
        state = ln(minus, subtract(one, turned, work), Branch::principal, work);
    }
    if (state == State::defined) result = halved(times_i(subtract(minus, plus, work)));
    return state;
}

/// -i ln(i x + sqrt(1 - x^2))
State arcsin(Complex& result, const Complex& x, Work& work) {
    Complex root;
    const Complex rest = subtract(complex_of(1, work), multiply(x, x, work), work);
    State state = power(root, rest, *Rational::of(1, 2), Branch::principal, work);
    if (state == State::defined) {
        state = ln(root, add(times_i(x), root, work), Branch::principal, work);
    }
    if (state == State::defined) result = negated(times_i(root));
    return state;
}

/// sin x and cos x from e^(i x).
State sin_and_cos(Complex& sin, Complex& cos, const Complex& x, Work& work) {
    Complex up;
    Complex down;
    State state = exp(up, times_i(x), work);
    if (state == State::defined) state = divide(down, complex_of(1, work), up, work);
    if (state != State::defined) return state;
    sin = halved(times_i(subtract(down, up, work)));
    cos = halved(add(up, down, work));
    return State::defined;
}

State circle(Complex& result, Function function, const Complex& x, Work& work) {
    Complex sine;
    Complex cosine;
    const State state = sin_and_cos(sine, cosine, x, work);
    if (state != State::defined) return state;
    using enum Function;
    switch (function) {
        case sin: result = sine; return State::defined;
        case cos: result = cosine; return State::defined;
        case tan: return divide(result, sine, cosine, work);
        case cot: return divide(result, cosine, sine, work);
        case sec: return divide(result, complex_of(1, work), cosine, work);
        default: return divide(result, complex_of(1, work), sine, work);
    }
}

/// sinh x = -i sin(i x), cosh x = cos(i x), and what follows from them.
State hyperbola(Complex& result, Function function, const Complex& x, Work& work) {
    using enum Function;
    const Complex turned = times_i(x);
    switch (function) {
        case cosh: return circle(result, cos, turned, work);
        case sech: return circle(result, sec, turned, work);
        default: break;
    }
    const Function twin = function == sinh   ? sin
                          : function == tanh ? tan
                          : function == coth ? cot
                                             : csc;
    const State state = circle(result, twin, turned, work);
    if (state != State::defined) return state;
    const bool below_line = function == coth || function == csch;
    result = below_line ? times_i(result) : negated(times_i(result));
    return state;
}

State inverse_circle(Complex& result, Function function, const Complex& x, Work& work) {
    if (function == Function::arctan) return arctan(result, x, work);
    const State state = arcsin(result, x, work);
    if (state == State::defined && function == Function::arccos) {
        result = subtract(complex_of(halved(pi(work))), result, work);
    }
    return state;
}

State complex_call(Complex& result, Function function, const Complex& x, Work& work) {
    using enum Function;
    switch (function) {
        case sin:
        case cos:
        case tan:
        case cot:
        case sec:
        case csc: return circle(result, function, x, work);
        case sinh:
        case cosh:
        case tanh:
        case coth:
        case sech:
        case csch: return hyperbola(result, function, x, work);
        case arcsin:
        case arccos:
        case Function::arctan: return inverse_circle(result, function, x, work);
        case Function::exp: return cohort::exp(result, x, work);
        case Function::ln: return cohort::ln(result, x, Branch::principal, work);
        case abs: {
            const Ball square = square_size(x, work);
            if (square.contains_zero()) return State::imprecise;
            result = complex_of(sqrt(square, work));
            return State::defined;
        }
        default: return State::unsupported;
    }
}

bool has_complex_extension(Function function) {
    using enum Function;
    return function == ln || function == arcsin || function == arccos;
}

}  // namespace

State call(Complex& result, Function function, const Complex& x, Branch branch, Work& work) {
    using enum Function;
    switch (function) {
        case re: result = complex_of(x.re); return State::defined;
        case im: result = complex_of(imaginary(x)); return State::defined;
        case conj: result = complex_of(x.re, negated(imaginary(x))); return State::defined;
        case cis: return cohort::exp(result, times_i(x), work);
        case arg: {
            Ball turn;
            const State state = angle(turn, x, work);
            if (state == State::defined) result = complex_of(turn);
            return state;
        }
        default: break;
    }
    if (!x.real) return complex_call(result, function, x, work);
    Ball value;
    const State state = real_call(value, function, x.re, work);
    if (state == State::undefined && branch == Branch::principal &&
        has_complex_extension(function)) {
        return complex_call(result, function, x, work);
    }
    if (state == State::defined) result = complex_of(value);
    return state;
}

}  // namespace cohort

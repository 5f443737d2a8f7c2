#include "complex_ball.h"

#include <algorithm>
#include <bit>

namespace cohort {
namespace {

/// By squaring; the exponent is not 0.
Complex integer_power(const Complex& base, std::uint64_t exponent, Work& work) {
    Complex result = base;
    for (std::uint64_t bit = std::bit_floor(exponent) >> 1; bit != 0; bit >>= 1) {
        result = multiply(result, result, work);
        if ((exponent & bit) != 0) result = multiply(result, base, work);
    }
    return result;
}

/// x^(p/q) for x > 0.
State positive_power(Ball& result, const Ball& x, const Rational& exponent, Work& work) {
    constexpr std::int64_t most = 1'000;
    const auto top = exponent.numerator().to_int64();
    if (exponent.denominator() == Integer(2) && top && std::max(*top, -*top) <= most) {
        const auto count = static_cast<std::uint64_t>(*top < 0 ? -*top : *top);
        result = integer_power(complex_of(sqrt(x, work)), count, work).re;
        return *top < 0 ? real_divide(result, ball_of(1, work), result, work) : State::defined;
    }
    const auto value = exp(multiply(ln(x, work), ball_of(exponent, work), work), work);
    if (!value) return State::imprecise;
    result = *value;
    return State::defined;
}

/// Of a negative number: the real root, or the one with the angle pi p / q.
State negative_power(Complex& result, const Ball& x, const Rational& exponent, Branch branch,
                     Work& work) {
    const bool even = !exponent.denominator().is_odd();
    if (branch == Branch::real && even) return State::undefined;
    Ball size;
    const State state = positive_power(size, negated(x), exponent, work);
    if (state != State::defined) return state;
    if (branch == Branch::real) {
        result = complex_of(exponent.numerator().is_odd() ? negated(size) : size);
        return State::defined;
    }
    if (exponent.denominator() == Integer(2)) {  // i^p, exactly
        result = {Ball{}, size, false};
        const auto quarter = exponent.numerator().modulo(4);
        if (quarter == 3) result = negated(result);
        return State::defined;
    }
    const auto at = sin_cos(multiply(pi(work), ball_of(exponent, work), work), work);
    if (!at) return State::imprecise;
    result = complex_of(multiply(size, at->cos, work), multiply(size, at->sin, work));
    return State::defined;
}

/// Powers of what may be 0; a positive exponent makes them small.
State power_around_zero(Complex& result, const Ball& x, const Rational& exponent, Branch branch,
                        Work& work) {
    if (x.is_zero()) {
        result = complex_of(Ball{});
        return exponent.sign() > 0 ? State::defined : State::undefined;
    }
    if (exponent.sign() < 0 || branch == Branch::principal || !exponent.denominator().is_odd()) {
        return State::imprecise;
    }
    // The real root of a number between -r and r is between those of -r and r.
    Ball most;
    most.mid = float_of_double(1, work.limbs);
    most.mid.exponent = x.upper_size().exponent + 1;
    const State state = positive_power(most, most, exponent, work);
    if (state == State::defined) result = complex_of({Float(), most.upper_size()});
    return state;
}

}  // namespace

Complex complex_of(const Ball& re) { return {re, {}, true}; }

Complex complex_of(const Ball& re, const Ball& im) { return {re, im, im.is_zero()}; }

Complex complex_of(std::int64_t value, Work& work) { return complex_of(ball_of(value, work)); }

Ball imaginary(const Complex& a) { return a.real ? Ball{} : a.im; }

Complex negated(const Complex& a) { return {negated(a.re), negated(a.im), a.real}; }

Complex halved(const Complex& a) { return {halved(a.re), halved(a.im), a.real}; }

Complex add(const Complex& a, const Complex& b, Work& work) {
    const Ball re = add(a.re, b.re, work);
    if (a.real && b.real) return complex_of(re);
    return complex_of(re, add(imaginary(a), imaginary(b), work));
}

Complex subtract(const Complex& a, const Complex& b, Work& work) {
    return add(a, negated(b), work);
}

Complex multiply(const Complex& a, const Complex& b, Work& work) {
    if (a.real && b.real) return complex_of(multiply(a.re, b.re, work));
    if (a.real) return complex_of(multiply(a.re, b.re, work), multiply(a.re, b.im, work));
    if (b.real) return multiply(b, a, work);
    return complex_of(subtract(multiply(a.re, b.re, work), multiply(a.im, b.im, work), work),
                      add(multiply(a.re, b.im, work), multiply(a.im, b.re, work), work));
}

Complex times_i(const Complex& a) { return complex_of(a.real ? Ball{} : negated(a.im), a.re); }

Ball square_size(const Complex& a, Work& work) {
    const Ball square = multiply(a.re, a.re, work);
    return a.real ? square : add(square, multiply(a.im, a.im, work), work);
}

bool certainly_not_zero(const Complex& a) {
    return !a.re.contains_zero() || (!a.real && !a.im.contains_zero());
}

bool certainly_zero(const Complex& a) { return a.re.is_zero() && (a.real || a.im.is_zero()); }

Bound upper_size(const Complex& a) {
    return a.real ? a.re.upper_size() : a.re.upper_size() + a.im.upper_size();
}

State divide(Complex& result, const Complex& a, const Complex& b, Work& work) {
    if (certainly_zero(b)) return State::undefined;
    if (!certainly_not_zero(b)) return State::imprecise;
    if (b.real) {
        const Ball re = divide(a.re, b.re, work);
        result = a.real ? complex_of(re) : complex_of(re, divide(a.im, b.re, work));
        return State::defined;
    }
    const Ball size = square_size(b, work);
    if (size.contains_zero()) return State::imprecise;
    const Complex conjugate{b.re, negated(b.im), false};
    return divide(result, multiply(a, conjugate, work), complex_of(size), work);
}

State exp(Complex& result, const Complex& x, Work& work) {
    const auto size = exp(x.re, work);
    if (!size) return State::imprecise;
    if (x.real) {
        result = complex_of(*size);
        return State::defined;
    }
    const auto at = sin_cos(x.im, work);
    if (!at) return State::imprecise;
    result = complex_of(multiply(*size, at->cos, work), multiply(*size, at->sin, work));
    return State::defined;
}

State angle(Ball& result, const Complex& x, Work& work) {
    const auto side = x.re.sign();
    if (x.real) {
        if (!side) return State::imprecise;
        if (*side == 0) return State::undefined;
        result = *side > 0 ? Ball{} : pi(work);
        return State::defined;
    }
    const bool above_axis = !x.im.mid.negative;
    std::optional<Ball> value;
    if (side && *side > 0) {
        value = arctan(divide(x.im, x.re, work), work);
    } else if (!x.im.contains_zero()) {
        value = arctan(divide(x.re, x.im, work), work);
        const Ball right = halved(pi(work));
        if (value) value = subtract(above_axis ? right : negated(right), *value, work);
    }
    if (!value) return State::imprecise;
    result = *value;
    return State::defined;
}

State ln(Complex& result, const Complex& x, Branch branch, Work& work) {
    if (certainly_zero(x)) return State::undefined;
    if (!certainly_not_zero(x)) return State::imprecise;
    if (x.real && !x.re.mid.negative) {
        result = complex_of(ln(x.re, work));
        return State::defined;
    }
    if (branch == Branch::real) return State::undefined;
    Ball turn;
    const State state = angle(turn, x, work);
    if (state != State::defined) return state;
    const Ball square = square_size(x, work);
    if (square.contains_zero()) return State::imprecise;
    result = complex_of(halved(ln(square, work)), turn);
    return State::defined;
}

State power(Complex& result, const Complex& base, const Rational& exponent, Branch branch,
            Work& work) {
    constexpr std::int64_t most = std::int64_t{1} << 40;
    const auto count = exponent.is_integer() ? exponent.numerator().to_int64() : std::nullopt;
    if (count && *count != 0 && std::max(*count, -*count) <= most) {
        const auto size = static_cast<std::uint64_t>(*count < 0 ? -*count : *count);
        const Complex raised = integer_power(base, size, work);
        if (*count > 0) {
            result = raised;
            return State::defined;
        }
        return divide(result, complex_of(1, work), raised, work);
    }
    if (exponent.is_zero()) {
        if (!certainly_not_zero(base)) return State::imprecise;
        result = complex_of(1, work);
        return State::defined;
    }
    if (!base.real) return power(result, base, complex_of(ball_of(exponent, work)), branch, work);
    const auto sign = base.re.sign();
    if (!sign || *sign == 0) return power_around_zero(result, base.re, exponent, branch, work);
    if (*sign < 0) return negative_power(result, base.re, exponent, branch, work);
    result.real = true;
    return positive_power(result.re, base.re, exponent, work);
}

State power(Complex& result, const Complex& base, const Complex& exponent, Branch branch,
            Work& work) {
    if (certainly_zero(base)) {
        const auto sign = exponent.real ? exponent.re.sign() : std::nullopt;
        if (!sign) return State::imprecise;
        result = base;
        return *sign > 0 ? State::defined : State::undefined;
    }
    Complex logarithm;
    State state = ln(logarithm, base, branch, work);
    // A negative base has a real power where the exponent is an integer, which a ball may hide.
    if (state == State::undefined && exponent.real && !floor_of(exponent.re, work)) {
        state = State::imprecise;
    }
    if (state != State::defined) return state;
    return exp(result, multiply(logarithm, exponent, work), work);
}

}  // namespace cohort

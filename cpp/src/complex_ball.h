// Complex balls (a real and an imaginary one), and the functions of formulas on them.
#pragma once

#include "elementary.h"
#include "exact_value.h"

namespace cohort {

/// What is known of a value.
enum class State : std::uint8_t {
    defined,
    imprecise,    // more limbs may tell
    undefined,    // certainly: 1/0, or outside of the reals where those are asked for
    unsupported,  // no number, or nothing that can be computed here
};

struct Complex {
    Ball re, im;
    bool real = true;  // the imaginary part is exactly 0 and `im` has no meaning
};

Complex complex_of(const Ball& re);
Complex complex_of(const Ball& re, const Ball& im);
Complex complex_of(std::int64_t value, Work& work);
Ball imaginary(const Complex& a);
Complex negated(const Complex& a);
Complex halved(const Complex& a);
Complex add(const Complex& a, const Complex& b, Work& work);
Complex subtract(const Complex& a, const Complex& b, Work& work);
Complex multiply(const Complex& a, const Complex& b, Work& work);
Complex times_i(const Complex& a);
Ball square_size(const Complex& a, Work& work);  // |a|^2
bool certainly_not_zero(const Complex& a);
bool certainly_zero(const Complex& a);
Bound upper_size(const Complex& a);

// What they compute is written only when it is defined. The result may be an argument.
State divide(Complex& result, const Complex& a, const Complex& b, Work& work);
State angle(Ball& result, const Complex& x, Work& work);  // between -pi and pi
State exp(Complex& result, const Complex& x, Work& work);
State ln(Complex& result, const Complex& x, Branch branch, Work& work);
State power(Complex& result, const Complex& base, const Rational& exponent, Branch branch,
            Work& work);
State power(Complex& result, const Complex& base, const Complex& exponent, Branch branch,
            Work& work);
State call(Complex& result, Function function, const Complex& x, Branch branch, Work& work);

/// Functions of one real number: `undefined` outside of their domain in the reals.
State real_call(Ball& result, Function function, const Ball& x, Work& work);
State real_divide(Ball& result, const Ball& a, const Ball& b, Work& work);

}  // namespace cohort

// What public graders disagree about. Each setting has a name; the defaults are Cohort's. What each
// means, with examples: docs/verifier.md.
#pragma once

#include <cstdint>

namespace cohort {

struct Policy {
    enum class Percent : std::uint8_t {
        gold,   // the truth decides: 25 % is 25 and 0.25, but 0.25 % is not 0.25
        exact,  // 25 % is 0.25 and nothing else
    };
    enum class Units : std::uint8_t {
        convert,   // a missing unit is fine, another must have the same size: 5 m is 500 cm
        same,      // a missing unit is fine, another is wrong
        required,  // as convert, but an answer needs a unit when the truth has one
    };
    enum class Decimals : std::uint8_t {
        rounded,  // a decimal truth is its rounding; a decimal answer needs `digits` for an exact
                  // one
        exact,    // decimals are exact numbers
    };
    enum class Unsolved : std::uint8_t { refuse, accept };
    enum class OpenForms : std::uint8_t { accept, refuse };
    enum class Assignments : std::uint8_t {
        value,  // x = 5 is 5; f(x) = 2x + 1 is 2x + 1
        exact,  // an equation is an equation
    };
    enum class Lists : std::uint8_t { unordered, ordered };
    enum class Inequalities : std::uint8_t {
        interval,  // x < 3 is (-oo, 3)
        exact,     // an inequality is an inequality
    };
    enum class Commitment : std::uint8_t {
        single,  // two live answers are ambiguous
        last,    // the last one counts, whatever else is said
    };
    enum class Roots : std::uint8_t {
        real,       // the cube root of -8 is -2, unless the truth is a complex number
        principal,  // it is 1 + i sqrt(3)
    };
    enum class Log : std::uint8_t { ten, e };

    Percent percent = Percent::gold;
    Units units = Units::convert;
    Decimals decimals = Decimals::rounded;
    std::uint8_t digits = 6;  // significant digits a decimal answer needs for an exact truth
    Unsolved unsolved = Unsolved::refuse;
    OpenForms open_forms = OpenForms::accept;
    Assignments assignments = Assignments::value;
    Lists lists = Lists::unordered;
    Inequalities inequalities = Inequalities::interval;
    Commitment commitment = Commitment::single;
    Roots roots = Roots::real;
    Log log = Log::ten;

    bool operator==(const Policy&) const = default;
};

}  // namespace cohort

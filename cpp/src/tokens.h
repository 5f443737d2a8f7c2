// Tokens of an answer: views of its text with what they mean.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cohort/budget.h"
#include "cohort/parse.h"

namespace cohort {

// clang-format off
enum class Sign : std::uint8_t {
    end,
    unknown,  // no formula has it
    // What begins a value
    number,      // with its separators, point and exponent
    letter,      // a variable: `x`, `\alpha`, a name in capitals
    name,        // a word
    constant,    // code: Constant
    function,    // code: Function
    frac,
    root,        // \sqrt
    surd,        // the sign of a root without a bar over its argument; code: 2 or 3
    binom,
    accent,      // \vec, \hat: a name with a mark
    overline,    // \overline, \bar
    dot_accent,  // \dot
    figure,      // \angle, \triangle
    big,         // code: Big
    begin, finish,  // of an environment; the text is its name
    number_set,  // the text is its letter
    empty_set,
    currency,    // the text is its sign
    dots,
    // Brackets
    open_paren, close_paren, open_bracket, close_bracket, open_brace, close_brace,
    open_set, close_set, open_angle, close_angle, open_floor, close_floor, open_ceil, close_ceil,
    bar, double_bar,
    no_bracket,  // \right.
    // Operators
    plus, minus, plus_minus, minus_plus, times, divide, power, subscript, bang, prime, percent,
    degree, circle, squared,  // `squared`; code: the exponent
    over, choose, modulo, modulus,  // a mod m, \pmod{m}
    relation,  // code: Relation
    mid, colon, cup, cap, without,
    // Between statements
    comma, semicolon, conjunction, disjunction, row, cell, except,
};
// clang-format on

enum class Style : std::uint8_t { plain, roman, bold };

struct Token {
    std::string_view text;
    Sign sign = Sign::end;
    std::uint8_t code = 0;
    Style style = Style::plain;
    bool spaced = false;  // a space stands before it
};

/// Fills `tokens`, the last of which is `end`. Raises `LimitReached` when the text has too many of
/// them or its brackets are too deep.
void tokenize(std::string_view text, const Reading& reading, Budget& budget,
              std::vector<Token>& tokens);

}  // namespace cohort

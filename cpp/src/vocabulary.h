// What commands and words mean in a formula.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cohort/rational.h"
#include "tokens.h"

namespace cohort {

struct Meaning {
    Sign sign = Sign::unknown;
    std::uint8_t code = 0;
};

/// How a command shapes the text around it, before it is a sign of its own.
enum class Shape : std::uint8_t { none, space, skip, bracket, roman, bold, wrap, dropped, set };

Shape shape_of(std::string_view command);
std::optional<Meaning> command_meaning(std::string_view command);
std::optional<Meaning> word_meaning(std::string_view word);

/// A part of a number in words; the word is in lower case.
struct NumberWord {
    enum class Role : std::uint8_t { ones, tens, hundred, scale, part } role;
    std::int64_t value;  // of a part: the denominator
};
std::optional<NumberWord> number_word(std::string_view word);

/// What makes a number an ordinal: `5th`, `3^{rd}`.
bool is_ordinal_end(std::string_view word);

/// Three letters that are a word, although they could be a product.
bool is_three_letter_word(std::string_view word);

}  // namespace cohort

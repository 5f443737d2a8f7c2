// One spelling for what looks alike.
//
//   " $1{,}234.50 dollars. "  fold   Unicode and LaTeX variants to one ASCII spelling
//   " $1,234.50 dollars. "    peel   what surrounds it: spaces, $, **, braces, \text{}, stops
//   "$1,234.50 dollars"
#pragma once

#include <string>
#include <string_view>

namespace cohort {

/// Replace Unicode signs and LaTeX spacing, sizing and fraction variants.
std::string fold(std::string_view answer);

/// Take off spaces, stops, emphasis, math signs, braces and commands around the whole answer.
std::string_view peel(std::string_view text);

/// Take off `\text{}` and its kind wherever they stand; what they hold stays.
std::string unwrap(std::string_view text);

/// One spelling of an answer that is no number.
std::string text_form(std::string_view text);

}  // namespace cohort

// The words that grading knows: LaTeX commands, units, scales, and prose that may follow a number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cohort {

/// What stands for a command that changes the look only (`dfrac`, `left`, `,`).
std::optional<std::string_view> loose_command(std::string_view name);

/// Commands whose argument is meant as it is (`text`, `mathbf`).
bool is_wrapper(std::string_view name);

/// The name of a unit, from one of its exact forms.
std::optional<std::string> unit_form(std::string_view form);

/// The same for a word in any case: `KG`, `mL`.
std::optional<std::string> unit_of_word(std::string_view word);

/// Units only inside `\text{}` or after `per`: elsewhere they are a word or a variable.
bool is_lone_unit(std::string_view form);

/// A unit that may stand before its number, and that a normal form does not spell out.
bool is_currency(std::string_view unit);

/// The power of ten that a word multiplies by; `word` in lower case, as in the next two.
std::optional<int> scale_exponent(std::string_view word);

/// A word after a number that makes it part of something else.
bool is_math_word(std::string_view word);

/// A word of two letters that is prose; other short ones may be variables.
bool is_short_word(std::string_view word);

}  // namespace cohort

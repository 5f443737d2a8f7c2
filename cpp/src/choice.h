// Multiple choice: a truth that is one capital letter.
#pragma once

#include <optional>
#include <string_view>

namespace cohort {

/// The letter of a truth such as `B` or `(B)`; nothing for any other truth.
std::optional<char> choice_letter(std::string_view truth);

/// Whether the answer picks that letter and no other: `B`, `(B)`, `B. 12`, `B: because`,
/// `B, not A`; not `A or B`, `A, B`, `Because`.
bool picks(std::string_view answer, char letter);

}  // namespace cohort

// Reading the words around an announced answer. Every match_* function returns the end of what it
// matched at `start`, or npos; none looks at `window` or beyond.
#pragma once

#include <optional>
#include <string_view>

#include "cohort/extract.h"

namespace cohort {

/// ` is`, `s are`, ` to the question is`, `:` after `answer`; the same after a Chinese noun.
std::size_t match_verb(std::string_view text, std::size_t start, std::size_t window);
std::size_t match_chinese_verb(std::string_view text, std::size_t start, std::size_t window);

/// ` is not`, ` isn't` after `answer`.
bool is_negated(std::string_view text, std::size_t start, std::size_t window);

/// Whether the words around `answer` say that it is not the one that is given: `a wrong answer is`.
bool is_aside(std::string_view lead, std::string_view following);

/// Words such as `therefore` between `is` and the answer, as many as there are.
std::size_t skip_fillers(std::string_view text, std::size_t start, std::size_t window);

/// Words such as `so` before the subject of `18 is the answer`, as many as there are.
std::size_t skip_openings(std::string_view text, std::size_t start, std::size_t window);

/// Start of ` is the final ` at the end of `lead`; npos when it ends otherwise.
std::size_t stated_start(std::string_view lead);

/// Whether `lead` begins a heading such as `## Final ` or `**The `.
bool is_heading(std::string_view lead);

/// Where words explain the answer before them (`18, because`), or `end`.
std::size_t explained_start(std::string_view text, std::size_t start, std::size_t end);

/// Where a value follows the last verb of a prose answer (`it costs 18`), or its start; nothing
/// when it has words that say more of the value (`all but 3`).
std::optional<std::size_t> value_start(std::string_view answer);

}  // namespace cohort

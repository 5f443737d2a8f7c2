// One tokenizer for LaTeX, plain text and Unicode, and a Pratt parser on top of it.
#pragma once

#include <optional>
#include <string_view>

#include "cohort/expression.h"

namespace cohort {

/// How letters of an answer are to be read, from what the truth contains.
struct Reading {
    std::string_view variables;  // letters that the truth uses as variables: never units
    bool log_is_ln = false;      // the base of a bare \log: 10, or e
    bool measured = false;       // `5m` has a unit, because the truth has one
    bool intervals = false;      // (a, b) of two values is an interval, not a point
};

/// The tree of `text`; nothing when a part of it is not understood: half an answer is no answer.
/// Raises `LimitReached` when a cap or the budget is met.
std::optional<NodeId> parse(std::string_view text, const Reading& reading, Arena& arena,
                            Budget& budget);

}  // namespace cohort

// The verdict on a completion.
#pragma once

#include <span>
#include <string_view>

namespace cohort {

enum class Verdict { correct, wrong, no_answer, unparsable_gold };

/// The word for a verdict, as Python sees it.
std::string_view name(Verdict verdict);

/// Whether the answer that `completion` gives is the one that `ground_truth` states: a bare answer,
/// or any text in which another rule than `last_number` finds one. A truth that is empty, too long
/// or several lines of prose is unparsable: it would make every completion wrong.
Verdict grade_math(std::string_view completion, std::string_view ground_truth);

struct Pair {
    std::string_view completion, ground_truth;
};

/// One verdict for each pair; both spans have the same size.
void grade_batch(std::span<const Pair> pairs, std::span<Verdict> verdicts);

}  // namespace cohort

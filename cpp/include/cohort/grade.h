// The verdict on a completion.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cohort/policy.h"

namespace cohort {

enum class Verdict : std::uint8_t {
    correct,
    wrong,
    no_answer,          // the completion commits to nothing
    ambiguous,          // it commits to several things, hedges or takes its answer back
    unparsable_answer,  // its answer is neither the truth's text nor understood
    unparsable_gold,    // the truth cannot be used
    limit,              // comparing took more steps than an answer is worth
};

inline constexpr std::size_t kNumVerdicts = 7;

/// The word for a verdict, as Python sees it.
std::string_view name(Verdict verdict);

/// Whether the answer that `completion` gives is the one that `ground_truth` states: a bare answer,
/// or any text that marks one. A truth that is empty, too long or prose is unparsable: it would
/// make every completion wrong.
Verdict grade_math(std::string_view completion, std::string_view ground_truth,
                   const Policy& policy = {});

/// The same for two answers as they were extracted: never `no_answer` for one that is not empty.
Verdict grade_answer(std::string_view answer, std::string_view truth, const Policy& policy = {});

struct Pair {
    std::string_view completion, ground_truth;
};

/// One verdict for each pair; both spans have the same size.
void grade_batch(std::span<const Pair> pairs, std::span<Verdict> verdicts,
                 const Policy& policy = {});

}  // namespace cohort

// Whether an answer says the same as the truth, kind by kind, under the ten policies.
#pragma once

#include <cstdint>
#include <string_view>

#include "cohort/expression.h"

namespace cohort {

/// What public graders disagree about; the defaults are Cohort's (docs/verifier.md).
struct Policy;

/// A truth that was parsed once and is compared with many answers.
class ParsedTruth;

enum class Comparison : std::uint8_t { equal, different, unparsable_answer, unparsable_truth, limit };

/// Compares two answers as they were extracted. Never raises; at most `steps` of work.
Comparison compare_answers(std::string_view answer, std::string_view truth, const Policy& policy);

}  // namespace cohort

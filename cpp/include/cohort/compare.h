// Whether an answer says the same as the truth, kind by kind, under the ten policies.
#pragma once

#include <cstdint>
#include <string_view>

#include "cohort/policy.h"

namespace cohort {

/// Work that one comparison may take: some milliseconds.
inline constexpr std::int64_t kDefaultSteps = 500'000;

enum class Comparison : std::uint8_t {
    equal,
    different,
    unparsable_answer,
    unparsable_truth,  // also a text that is no formula, when the answer is not the same text
    limit,
};

/// Compares two answers as they were extracted. Never raises.
Comparison compare_answers(std::string_view answer, std::string_view truth, const Policy& policy,
                           std::int64_t steps = kDefaultSteps);

}  // namespace cohort

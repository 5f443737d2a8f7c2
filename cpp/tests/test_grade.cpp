#include <array>
#include <vector>

#include "check.h"
#include "cohort/grade.h"

namespace {

using cohort::Policy;

void check_verdicts() {
    const std::array pairs{
        cohort::Pair{"so 18", "#### 18"},
        cohort::Pair{"#### $18.00", "18"},
        cohort::Pair{"\\boxed{17}", "18"},
        cohort::Pair{"no idea", "18"},
        cohort::Pair{"the answer is $\\,$.", "18"},
        cohort::Pair{"18", "  "},
        cohort::Pair{"18", "first\nthen"},
        cohort::Pair{"18", "A: 18"},
        cohort::Pair{"The answer is 17 or 18.", "18"},
        cohort::Pair{"\\boxed{)(}", "x+1"},
        cohort::Pair{"\\boxed{1+x}", "x+1"},
        cohort::Pair{"\\boxed{(B)}", "B"},
        cohort::Pair{"\\boxed{\\text{A or B}}", "B"},
    };
    const std::array expected{
        "correct",         "correct",         "wrong",   "no_answer", "no_answer",
        "unparsable_gold", "unparsable_gold", "correct", "ambiguous", "unparsable_answer",
        "correct",         "correct",         "wrong",
    };
    std::vector<cohort::Verdict> verdicts(pairs.size());
    cohort::grade_batch(pairs, verdicts);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        CHECK_EQUAL(cohort::name(verdicts[i]), expected[i]);
        CHECK_EQUAL(cohort::name(cohort::grade_math(pairs[i].completion, pairs[i].ground_truth)),
                    expected[i]);
    }
}

/// The verdict on an extracted answer under one policy.
void check(std::string_view answer, std::string_view truth, const Policy& policy,
           std::string_view expected) {
    CHECK_EQUAL(cohort::name(cohort::grade_answer(answer, truth, policy)), expected);
}

void check_fast_paths_know_the_policies() {
    Policy exact;
    exact.percent = Policy::Percent::exact;
    check("25", "25\\%", exact, "wrong");
    check("0.25", "25\\%", exact, "correct");
    Policy required;
    required.units = Policy::Units::required;
    check("5", "5 \\text{ m}", required, "wrong");
    check("500 \\text{ cm}", "5 \\text{ m}", required, "correct");
    check("5 \\text{ cents}", "\\$5", {}, "wrong");
    check("5 \\text{ euros}", "\\$5", {}, "wrong");
    Policy last;
    last.commitment = Policy::Commitment::last;
    CHECK_EQUAL(cohort::name(cohort::grade_math("\\boxed{5} or \\boxed{6}", "6", last)), "correct");
}

void check_long_texts() {
    const std::string prose =
        "the sum of all of the angles of a triangle in the plane is what we "
        "call a straight angle and that is all that there is to say";
    check(prose, prose, {}, "correct");
    check("180", prose, {}, "unparsable_gold");
    check("yes", "no", {}, "wrong");
}

}  // namespace

int main() {
    check_verdicts();
    check_fast_paths_know_the_policies();
    check_long_texts();
    return exit_status();
}

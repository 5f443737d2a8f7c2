#include <array>
#include <vector>

#include "check.h"
#include "cohort/grade.h"

int main() {
    const std::array pairs{
        cohort::Pair{"so 18", "#### 18"},           cohort::Pair{"#### $18.00", "18"},
        cohort::Pair{"\\boxed{17}", "18"},          cohort::Pair{"no idea", "18"},
        cohort::Pair{"the answer is $\\,$.", "18"}, cohort::Pair{"18", "  "},
        cohort::Pair{"18", "first\nthen"},          cohort::Pair{"18", "A: 18"},
    };
    const std::array expected{"correct",   "correct",         "wrong",           "no_answer",
                              "no_answer", "unparsable_gold", "unparsable_gold", "correct"};
    std::vector<cohort::Verdict> verdicts(pairs.size());
    cohort::grade_batch(pairs, verdicts);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        CHECK_EQUAL(cohort::name(verdicts[i]), expected[i]);
        CHECK_EQUAL(cohort::name(cohort::grade_math(pairs[i].completion, pairs[i].ground_truth)),
                    expected[i]);
    }
    return exit_status();
}

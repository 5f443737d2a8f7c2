#include <string>

#include "check.h"
#include "cohort/steps.h"

namespace {

/// `+24` for a right step with the value 24, `-24` for a false one, one after the other.
std::string steps(std::string_view text) {
    std::string found;
    for (const cohort::ArithmeticStep& step : cohort::find_steps(text)) {
        if (!found.empty()) found += ' ';
        found += (step.right ? "+" : "-") + step.value;
    }
    return found;
}

}  // namespace

int main() {
    // Plain
    CHECK_EQUAL(steps("12 + 7 = 19"), "+19");
    CHECK_EQUAL(steps("12 + 7 = 18"), "-18");
    CHECK_EQUAL(steps("12+7=19\n19 - 5 = 14."), "+19 +14");
    CHECK_EQUAL(steps("2 + 3 * 4 = 14"), "+14");
    CHECK_EQUAL(steps("(2 + 3) * 4 = 20"), "+20");
    CHECK_EQUAL(steps("-3 + 5 = 2"), "+2");
    CHECK_EQUAL(steps("7 - 12 = -5"), "+-5");
    CHECK_EQUAL(steps("2^10 = 1024 and 2**3 = 8"), "+1024 +8");
    CHECK_EQUAL(steps("1,200 * 3 = 3,600"), "+3600");
    CHECK_EQUAL(steps("20% * 50 = 10"), "+10");
    CHECK_EQUAL(steps("3(4 + 1) = 15"), "+15");
    // Chains compare neighbours
    CHECK_EQUAL(steps("5 + 8 + 4 = 13 + 4 = 17"), "+17 +17");
    CHECK_EQUAL(steps("5 + 8 + 4 = 13 + 4 = 18"), "+17 -18");
    CHECK_EQUAL(steps("19 = 19"), "");
    // Rounding
    CHECK_EQUAL(steps("10 / 3 = 3.33"), "+333/100");
    CHECK_EQUAL(steps("10 / 3 = 3"), "-3");
    CHECK_EQUAL(steps("10 / 3 = 3.34"), "-167/50");
    CHECK_EQUAL(steps("2 / 3 = 0.67"), "+67/100");
    // Prose around it
    CHECK_EQUAL(steps("She sold 48/2 = <<48/2=24>>24 clips."), "+24");
    CHECK_EQUAL(steps("The total is 12 + 7 = 19 apples, and 19 - 4 = 15 remain."), "+19 +15");
    CHECK_EQUAL(steps("5 apples + 3 apples = 8 apples"), "+8");
    CHECK_EQUAL(steps("$5 * 3 = $15 and \\$2.50 x 4 = \\$10"), "+15 +10");
    CHECK_EQUAL(steps("Step 1: 12 + 7 = 19"), "+19");
    CHECK_EQUAL(steps("1. 12 + 7 = 19\n2. 19 + 1 = 20"), "+19 +20");
    CHECK_EQUAL(steps("- 12 + 7 = 19\n* 2 * 3 = 6"), "+19 +6");
    CHECK_EQUAL(steps("**12 + 7 = 19**"), "+19");
    CHECK_EQUAL(steps("12 + 7 = **19**"), "+19");
    CHECK_EQUAL(steps("(12 + 7 = 19)"), "+19");
    // LaTeX and Unicode
    CHECK_EQUAL(steps("\\( 12 \\times 7 = 84 \\)"), "+84");
    CHECK_EQUAL(steps("\\frac{48}{2} = 24"), "+24");
    CHECK_EQUAL(steps("$48 \\div 2 = 24 \\text{ clips}$"), "+24");
    CHECK_EQUAL(steps("12 \xC3\x97 7 \xE2\x88\x92 4 = 80"), "+80");
    CHECK_EQUAL(steps("3 + 4 = \\boxed{7}"), "+7");
    // No arithmetic
    CHECK_EQUAL(steps("2x + 3 = 7"), "");
    CHECK_EQUAL(steps("x = 7, y = 3 + 4"), "");
    CHECK_EQUAL(steps("M + 4 + 2 = 8"), "");
    CHECK_EQUAL(steps("100-x+40-30 = 60"), "");
    CHECK_EQUAL(steps("5 + 3 = 8 - y"), "");
    CHECK_EQUAL(steps("5 + 3 = 8 - all of them"), "+8");
    CHECK_EQUAL(steps("which is -3 + 5 = 2"), "+2");
    CHECK_EQUAL(steps("3 + 4 >= 7"), "");
    CHECK_EQUAL(steps("3 + = 7"), "");
    CHECK_EQUAL(steps("f(3) = 9"), "");
    CHECK_EQUAL(steps(""), "");
    CHECK_EQUAL(steps("===="), "");
    // Nothing to check it with
    CHECK_EQUAL(steps("1 / 0 = 5"), "-5");
    CHECK_EQUAL(steps("9^9999999 = 5"), "-");
    // Where it ends
    const auto found = cohort::find_steps("so 12 + 7 = 19 apples");
    CHECK_EQUAL(found.size(), 1U);
    CHECK_EQUAL(found[0].end, 14U);
    return exit_status();
}

#include <array>
#include <string>
#include <string_view>

#include "check.h"
#include "cohort/extract.h"

namespace {

/// Rule and answer as one text, or `none`.
std::string extracted(std::string_view text) {
    const auto found = cohort::extract_answer(text);
    if (!found) return "none";
    return std::string(cohort::name(found->rule)).append(" ").append(found->span.of(text));
}

std::string repeated(std::string_view part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
}

void rules() {
    CHECK_EQUAL(extracted("9 left\n#### 1,234\n"), "gsm8k 1,234");
    CHECK_EQUAL(extracted("#### 18\n#### Step 3: check\nfine"), "gsm8k 18");
    CHECK_EQUAL(extracted("\\boxed{1} or \\boxed{\\frac{1}{2}}, \\boxed{3"), "boxed \\frac{1}{2}");
    CHECK_EQUAL(extracted("\\fbox { 42 } \\boxed{}"), "boxed 42");
    CHECK_EQUAL(extracted("\\boxed{\\{1\\}}"), "boxed \\{1\\}");
    CHECK_EQUAL(extracted("The ANSWER is: **$42$**. 7 more"), "phrase $42$");
    CHECK_EQUAL(extracted("A: 18\nB: 19 x^2"), "phrase 18");
    CHECK_EQUAL(extracted("so 2 + 3 makes 5."), "last_number 5");
    CHECK_EQUAL(extracted("minus \xE2\x88\x92\x35 of CO2"), "last_number \xE2\x88\x92\x35");
    CHECK_EQUAL(extracted("it is 1\\frac{3}{4}"), "last_number 1\\frac{3}{4}");
}

void no_answers() {
    for (const char* text : {"", "no", "<think>\\boxed{1}", "#### 1</think><think> 2", "x^2", "2x",
                             "\\sqrt{17}", "answer:"}) {
        CHECK_EQUAL(extracted(text), "none");
    }
    CHECK_EQUAL(extracted("<think>#### 7</think>\n8"), "last_number 8");
}

void linear_time() {
    // Quadratic steps on any of these would take minutes, not milliseconds.
    constexpr std::array kParts{"####", "#### a", "\\boxed{", "}",     "{",        "\\",
                                "\n",   "A:\n",   "answer: ",  "answer", " ",        "x1,",
                                "/1",   "1,000",  "</think>",  "<think", "\\frac{",  "{,}"};
    for (const char* part : kParts) {
        const std::string text = repeated(part, 200'000);
        const auto found = cohort::extract_answer(text);
        CHECK_EQUAL(!found || found->span.end <= text.size(), true);
    }
}

}  // namespace

int main() {
    rules();
    no_answers();
    linear_time();
    return exit_status();
}

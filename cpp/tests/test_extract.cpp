#include <array>
#include <string>
#include <string_view>

#include "check.h"
#include "cohort/extract.h"

namespace {

/// Rule and answer as one text, `ambiguous` before it, or `none`.
std::string extracted(std::string_view text) {
    const auto found = cohort::extract_answer(text);
    if (!found) return "none";
    std::string joined;
    std::string result(found->ambiguous ? "ambiguous " : "");
    return result.append(cohort::name(found->rule)).append(" ").append(found->answer(text, joined));
}

std::string repeated(std::string_view part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
}

void marked() {
    CHECK_EQUAL(extracted("9 left\n#### 1,234\n"), "gsm8k 1,234");
    CHECK_EQUAL(extracted("#### 18\n#### Step 3: check\nfine"), "gsm8k 18");
    CHECK_EQUAL(extracted("#### 18 or 19"), "ambiguous gsm8k 18 or 19");
    CHECK_EQUAL(extracted("\\fbox { 42 } \\boxed{}"), "boxed 42");
    CHECK_EQUAL(extracted("\\boxed{\\{1\\}}"), "boxed \\{1\\}");
    CHECK_EQUAL(extracted("say \\boxed as asked. $\\boxed 42$"), "boxed 42");
    CHECK_EQUAL(extracted("\\boxed{3 + \\boxed{5}}"), "boxed 3 + \\boxed{5}");
    CHECK_EQUAL(extracted("\\boxed{1} and \\boxed{2}, $\\boxed{3}$"), "boxed 1, 2, 3");
    CHECK_EQUAL(extracted("x = \\boxed{2} or x = \\boxed{-3}"), "boxed 2, -3");
    CHECK_EQUAL(extracted("<answer>\n42.\n</answer>"), "tag 42");
    CHECK_EQUAL(extracted("<answer>so it is $42$\n</answer>"), "tag so it is $42$");
    CHECK_EQUAL(extracted("\\boxed{41}</think> <answer>42"), "tag 42");
}

void announced() {
    CHECK_EQUAL(extracted("The ANSWER is: **$42$**. 7 more"), "phrase $42$");
    CHECK_EQUAL(extracted("The answer to part (b) is therefore 42"), "phrase 42");
    CHECK_EQUAL(extracted("## Final Answer\n\n42"), "phrase 42");
    CHECK_EQUAL(extracted("So __42__ is the final answer."), "phrase __42__");
    CHECK_EQUAL(extracted("The answer is B, not A."), "phrase B");
    CHECK_EQUAL(extracted("The answer is 42 because 6 * 7 is 42."), "phrase 42");
    CHECK_EQUAL(extracted("Answer: She has 42 apples"), "phrase 42 apples");
    CHECK_EQUAL(extracted("The answer is 42. So the answer is correct."), "phrase 42");
    CHECK_EQUAL(extracted("Answer:\n\\[\nx = 5\n\\]"), "phrase x = 5");
    CHECK_EQUAL(extracted("\xE7\xAD\x94\xE6\xA1\x88\xE6\x98\xAF\x34\x32\xE3\x80\x82"), "phrase 42");
    CHECK_EQUAL(extracted("A: 18\nB: 19 x^2"), "phrase 18");
}

void ended() {
    CHECK_EQUAL(extracted("so 2 + 3 makes 5."), "last_number 5");
    CHECK_EQUAL(extracted("so 5 + 3 = 8 apples"), "last_number 8");
    CHECK_EQUAL(extracted("$200,000 - $130,000 = $70,000."), "last_number 70,000");
    CHECK_EQUAL(extracted("down to \xE2\x88\x92\x35 of CO2"), "last_number \xE2\x88\x92\x35");
    CHECK_EQUAL(extracted("it is 1\\frac{3}{4}"), "last_number 1\\frac{3}{4}");
    CHECK_EQUAL(extracted("The total is 4 10/3."), "formula 4 10/3");
    CHECK_EQUAL(extracted("The line is $y = 3x + 13$."), "formula y = 3x + 13");
    CHECK_EQUAL(extracted("The roots are 2, 3, and 4."), "formula 2, 3, and 4");
    CHECK_EQUAL(extracted("He runs at 60 km/h."), "last_number 60");
    CHECK_EQUAL(extracted("The distance is \\sqrt{17}</s>"), "formula \\sqrt{17}");
    CHECK_EQUAL(extracted("The correct option is (B)."), "formula B");
    CHECK_EQUAL(extracted("The total is 72. That is all."), "last_number 72");
}

void doubtful() {
    for (const char* text :
         {"\\boxed{42} or \\boxed{43}", "\\boxed{42}. Wait, that is wrong.", "Maybe \\boxed{42}?",
          "\\boxed{7} if n is odd and \\boxed{8} otherwise", "\\boxed{41} \\boxed{42}",
          "The answer is 42 or 43.", "The answer is 7 when n is odd.", "It could be 42",
          "The answer is 41.\nThe answer is 42.", "\\boxed{41}. The answer is 42.",
          "<answer>41</answer><answer>42</answer>", "The answer is maybe 42"}) {
        CHECK_EQUAL(extracted(text).substr(0, 9), "ambiguous");
    }
    CHECK_EQUAL(extracted("One answer is \\boxed{1}. " + repeated("It may be so. ", 9) +
                          "Another answer is \\boxed{2}"),
                "ambiguous boxed 2");
    CHECK_EQUAL(extracted("\\boxed{41}. Wait, that is wrong. The answer is 42."), "phrase 42");
    CHECK_EQUAL(extracted("Answer: 5\nWait, a sign.\nAnswer: 7"), "phrase 7");
    CHECK_EQUAL(extracted("I thought \\boxed{C}, but it is \\boxed{E}"), "boxed E");
    CHECK_EQUAL(extracted("First \\boxed{3}. Adding five to it we find that it is \\boxed{8}"),
                "boxed 8");
    CHECK_EQUAL(extracted("The largest possible value is \\boxed{42}."), "boxed 42");
    CHECK_EQUAL(extracted(repeated("\\boxed{42} ", 20)), "boxed 42");
}

void no_answers() {
    for (const char* text :
         {"", "no way", "<think>\\boxed{1}", "#### 1</think><think> 2",
          "answer:", "\\boxed{\\frac{1}{2", "\\boxed{4} and \\boxed{\\frac{1}{2}",
          "The answer is not 42.", "The answer isn't 42.", "42 is not right",
          "I could not solve this. 7", "First 12 are bought. Then each is",
          "Which of 3, 5, 7 is largest?", "The 12 apples of each of the", "\\boxed{}"}) {
        CHECK_EQUAL(extracted(text), "none");
    }
    CHECK_EQUAL(extracted("<think>#### 7</think>\n8"), "last_number 8");
}

void linear_time() {
    // Quadratic steps on any of these would take minutes, not milliseconds.
    constexpr std::array kParts{"####",
                                "#### a",
                                "\\boxed{",
                                "}",
                                "{",
                                "\\",
                                "\n",
                                "A:\n",
                                "answer: ",
                                "answer",
                                " ",
                                "x1,",
                                "/1",
                                "1,000",
                                "</think>",
                                "<think",
                                "\\frac{",
                                "{,}",
                                "answer is not ",
                                "<answer>",
                                "\\boxed",
                                "\\boxed{}",
                                "\\boxed{1},",
                                "</a>",
                                "$",
                                "1, ",
                                "box",
                                "answer to ",
                                "\xE7\xAD\x94\xE6\xA1\x88",
                                "<answer>1</answer>",
                                "[1",
                                "|"};
    for (const char* part : kParts) {
        const std::string text = repeated(part, 200'000);
        const auto found = cohort::extract_answer(text);
        CHECK_EQUAL(!found || found->span.end <= text.size(), true);
    }
}

}  // namespace

int main() {
    marked();
    announced();
    ended();
    doubtful();
    no_answers();
    linear_time();
    return exit_status();
}

#include <string>
#include <string_view>

#include "check.h"
#include "cohort/normal_form.h"

namespace {

std::string normalized(std::string_view answer) {
    return cohort::to_string(cohort::normal_form(answer));
}

bool same(std::string_view answer, std::string_view truth) {
    return cohort::same(cohort::normal_form(answer), cohort::normal_form(truth));
}

void numbers() {
    CHECK_EQUAL(normalized(" +0012.50 "), "12.5");
    CHECK_EQUAL(normalized("$1{,}234.50."), "1234.5");
    CHECK_EQUAL(normalized("\\boxed{\\textbf{-\\dfrac{2}{4}}}"), "-0.5");
    CHECK_EQUAL(normalized("\xE2\x88\x92\xEF\xBC\x93"), "-3");  // U+2212, full-width 3
    CHECK_EQUAL(normalized("2\\frac12"), "2.5");
    CHECK_EQUAL(normalized("3 \\times 10^{8}"), "300000000");
    CHECK_EQUAL(normalized("3.5 million dollars"), "3500000");
    CHECK_EQUAL(normalized("6 \\times 7 = 42"), "42");
    CHECK_EQUAL(normalized("x^2 - 5 = 0"), "x^2-5=0");
}

void units() {
    CHECK_EQUAL(normalized("25\\%"), "25%");
    CHECK_EQUAL(normalized("15\\mbox{ cm}^2"), "15 cm^2");
    CHECK_EQUAL(normalized("64 square feet"), "64 foot^2");
    CHECK_EQUAL(normalized("60 miles per hour"), "60 mile/hour");
    CHECK_EQUAL(normalized("2 milliliters"), "2 ml");
    CHECK_EQUAL(normalized("5 \\text{ kPa}"), "5 kPa");
    CHECK_EQUAL(normalized("7 square units"), "7 unit^2");
    CHECK_EQUAL(normalized("5 nm"), "5 nm");  // n m?
    CHECK_EQUAL(normalized("3m"), "3m");
    CHECK_EQUAL(normalized("3 \\text{m}"), "3 m");
}

void equality() {
    CHECK_EQUAL(same("5 cm", "5"), true);
    CHECK_EQUAL(same("5 cm", "5 m"), false);
    CHECK_EQUAL(same("18 dollars", "18"), true);
    CHECK_EQUAL(same("\\$18", "18 dollars a day"), true);
    CHECK_EQUAL(same("\\$18", "18 euros"), false);
    CHECK_EQUAL(same("\xC2\xA3"
                     "5",
                     "5 pounds"),
                false);  // as texts; compare.h knows more
    CHECK_EQUAL(same("5 red apples", "5 apples"), true);
    CHECK_EQUAL(same("5 children in total", "5 kids"), true);
    CHECK_EQUAL(same("5 different ways", "5 possible ways"), true);
    CHECK_EQUAL(same("5 boys", "5 girls"), false);
    CHECK_EQUAL(same("5 points", "5 cm"), false);
    CHECK_EQUAL(same("5 km north", "5 km"), true);
    CHECK_EQUAL(same("5 km north", "5 km south"), false);
    CHECK_EQUAL(same("5% increase", "5% decrease"), false);
    CHECK_EQUAL(same("$5/hour", "$5 per day"), false);
    CHECK_EQUAL(same("25%", "0.25"), true);
    CHECK_EQUAL(same("0.25%", "0.25"), false);
    CHECK_EQUAL(same("0.25", "25%"), true);
    CHECK_EQUAL(same("\\text{Yes}", "yes"), true);
    CHECK_EQUAL(same("AB", "ab"), false);
    CHECK_EQUAL(same("27,93", "2793"), false);
}

void broken_text() {
    // What is no UTF-8 cannot come from Python, but must not be read past its end.
    CHECK_EQUAL(normalized("5\xE2"), "5\xE2");
    CHECK_EQUAL(normalized("\\"), "\\");
    CHECK_EQUAL(normalized(std::string("4\0", 2)), std::string("4\0", 2));
    CHECK_EQUAL(normalized(std::string(4000, '{')).size(), 4000U);
    CHECK_EQUAL(normalized(std::string(5000, '7').append(" ")).size(), 5000U);
}

}  // namespace

int main() {
    numbers();
    units();
    equality();
    broken_text();
    return exit_status();
}

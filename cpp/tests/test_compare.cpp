// One line for each rule of comparison; tests/libs/cases_math.jsonl has many more of each kind.
#include <array>

#include "check.h"
#include "cohort/compare.h"

namespace {

using cohort::Comparison;
using cohort::Policy;

std::string word(Comparison comparison) {
    constexpr std::array kWords{"equal", "different", "unparsable_answer", "unparsable_truth",
                                "limit"};
    return kWords[static_cast<std::size_t>(comparison)];
}

void check(std::string_view answer, std::string_view truth, std::string_view expected,
           const Policy& policy = {}) {
    const std::string actual = word(cohort::compare_answers(answer, truth, policy));
    if (actual != expected) std::cerr << "'" << answer << "' for '" << truth << "': ";
    CHECK_EQUAL(actual, expected);
}

void equal(std::string_view answer, std::string_view truth, const Policy& policy = {}) {
    check(answer, truth, "equal", policy);
}

void different(std::string_view answer, std::string_view truth, const Policy& policy = {}) {
    check(answer, truth, "different", policy);
}

void check_values() {
    equal("0.2902", "0.29");
    different("0.2962", "0.29");
    different("0.125", "0.13");  // one digit more is another number,
    equal("33.33", "33.3");      // unless it goes on
    different("12.49", "12.5");
    different("351/100", "3.5");
    equal("\\frac{22}{7}", "3.14");
    different("0.45", "0.5");  // one digit is no rounding
    different("18.04", "18.0");
    equal("1.41421", "\\sqrt{2}");
    different("1.4142", "\\sqrt{2}");
    different("1.41422", "\\sqrt{2}");
    equal("1.532 \\times 10^{-7}", "1.5 \\times 10^{-7}");
    different("1.5 \\times 10^{-6}", "1.5 \\times 10^{-7}");
    equal("33.33\\%", "33.3\\%");
    equal("\\frac{1}{3}", "33.3\\%");
    different("\\frac{0}{0}", "0");
    different("\\infty - \\infty", "0");
    equal("1011_2", "11");
    different("11", "1011_2");
    equal("2.54 \\text{ cm}", "1 \\text{ inch}");
    different("1 \\text{ kg}", "1 \\text{ m}");
    Policy policy;
    policy.decimals = Policy::Decimals::exact;
    different("0.2902", "0.29", policy);
    policy = {};
    policy.digits = 3;
    equal("1.41", "\\sqrt{2}", policy);
    policy = {};
    policy.units = Policy::Units::same;
    different("500 \\text{ cm}", "5 \\text{ m}", policy);
    policy = {};
    policy.roots = Policy::Roots::principal;
    different("-2", "\\sqrt[3]{-8}", policy);
    equal("1 + i\\sqrt{3}", "\\sqrt[3]{-8}", policy);
    policy = {};
    equal("\\log 100", "2");
    policy.log = Policy::Log::e;
    different("\\log 100", "2", policy);
    equal("\\log 2", "\\ln 2", policy);
}

void check_lists() {
    equal("2, 1", "\\{1, 2\\}");
    different("(2, 1)", "(1, 2)");
    different("\\{1, 2\\}", "(1, 2)");
    different("1", "1, 2");
    different("1, 2, 3", "1, 2");
    equal("y = 2, x = 1", "(1, 2)");
    equal("x_1 = 2, x_2 = 1", "1, 2");
    different("a_{37} = 2, a_3 = 19", "a_3 = 2, a_{37} = 19");
    different("y_1 = 2, y_2 = 3", "x_1 = 2, x_2 = 3");
    different("P_1 = (3, 4), P_2 = (1, 2)", "P_1 = (1, 2), P_2 = (3, 4)");
    equal("P_2 = (3, 4), P_1 = (1, 2)", "P_1 = (1, 2), P_2 = (3, 4)");
    equal("3, 2", "x_1 = 2, x_2 = 3");  // roots have no order
    equal("-5, 4", "x = -5, p = 4");
    different("4, -5", "x = -5, p = 4");
    different("x = 1 \\text{ or } y = 2", "x = 1 \\text{ or } x = 2");
    different("x = 1 \\text{ and } y = 2", "x = 1 \\text{ or } y = 2");
    equal("x = 2 \\text{ and } x = 1", "x = 1 \\text{ or } x = 2");
    equal("x = 3, y = 4 \\text{ or } x = 1, y = 2", "x = 1, y = 2 \\text{ or } x = 3, y = 4");
    different("x = 1, y = 4 \\text{ or } x = 3, y = 2", "x = 1, y = 2 \\text{ or } x = 3, y = 4");
    different("p \\lor q", "p \\land q");
    equal("a = 1, b = 1, c = 1", "a = b = c = 1");
    different("a = b = 1", "a = b = c = 1");
    different("x = 2", "x = y = 2");
    different("\\{1, 2\\}", "\\{\\{1\\}, \\{2\\}\\}");
    different("\\{\\{1\\}\\}", "\\{1\\}");
    different("\\{1, 2\\}", "\\{1, \\{2\\}\\}");
    equal("\\{\\{2\\}, 1\\}", "\\{1, \\{2\\}\\}");
    equal("\\pm 1", "1, -1");
    equal("1, 2, \\dots, n", "1, 2, \\ldots, n");
    different("2, 1, \\dots, n", "1, 2, \\ldots, n");
    Policy policy;
    policy.lists = Policy::Lists::ordered;
    different("2, 1", "1, 2", policy);
    equal("\\{2, 1\\}", "\\{1, 2\\}", policy);
}

void check_regions() {
    equal("x < 1 \\text{ or } x > 3", "(-\\infty, 1) \\cup (3, \\infty)");
    equal("[0, 1] \\cup [1, 2]", "[0, 2]");
    different("(0, 1) \\cup (1, 2)", "(0, 2)");
    equal("\\mathbb{R} \\setminus \\{0\\}", "x \\ne 0");
    different("y < 1", "x < 1");
    different("x < 1 \\text{ and } x > 3", "x < 1 \\text{ or } x > 3");
    equal("x < 1 \\text{ or } x > 3", "x < 1 \\text{ and } x > 3");  // a truth is not empty
    equal("-x > -1", "x < 1");
    different("|x| < 2", "(-2, 2)");
    equal("(a, b)", "(a, b)");
    Policy policy;
    policy.unsolved = Policy::Unsolved::accept;
    equal("|x| < 2", "(-2, 2)", policy);
    equal("|2x - 12.5| < 12.5", "(0, 12.5)", policy);
    equal("3 - 2x \\le 1", "[1, \\infty)", policy);
    policy = {};
    policy.inequalities = Policy::Inequalities::exact;
    different("x < 1", "(-\\infty, 1)", policy);
    equal("1 > x", "x < 1", policy);
}

void check_statements() {
    equal("2x - y + 3 = 0", "y = 2x + 3");
    equal("3x^2 + 4y^2 = 12", "\\frac{x^2}{4} + \\frac{y^2}{3} = 1");
    different("x + 2 = 5", "5");
    different("2x = 10", "x = 5");
    different("y = 5", "x = 5");
    equal("5", "x = 5");
    equal("f(t) = 2t", "f(x) = 2x");
    different("g(x) = 2x", "f(x) = 2x");
    different("f(3) = 3", "f(2) = 3");
    equal("S = 3 \\cdot 4 = 12", "12");
    different("S = 3 \\cdot 4 = 13", "13");
    equal("\\sqrt{2} \\approx 1.414", "\\sqrt{2}");
    different("\\sqrt{2} \\approx 1.5", "\\sqrt{2}");
    equal("10 \\pmod 7", "3 \\pmod 7");
    equal("14:64", "7:32");
    different("6:15", "12:30");  // times of day
    different("0:10", "0:05");
    equal("11:21", "V_1:V_2 = 11:21");
    equal("\\frac{1}{\\sqrt{6}}", "\\frac{AC}{BD} = \\frac{\\sqrt{6}}{6}");
    equal("3 \\pmod 7", "x \\equiv 3 \\pmod 7");
    different("3", "x \\equiv 3 \\pmod 7");
    different("1 = 1", "x = 1");
    different("x + 2 = x", "x + 1 = x");
    different("6 \\to 5", "5");
    different("f(y) = x^2", "f(x) = x^2");
    equal("y = \\frac{1}{x}", "xy = 1");
    different("y = \\frac{1}{x^2}", "xy = 1");
    equal("\\angle CBA", "\\angle ABC");
    check("\\angle BAC", "\\angle ABC", "unparsable_truth");  // as of any text
    Policy policy;
    policy.unsolved = Policy::Unsolved::accept;
    equal("2x = 10", "x = 5", policy);
    policy = {};
    policy.assignments = Policy::Assignments::exact;
    different("x = 5", "5", policy);
    equal("x = 5", "x = 5", policy);
    policy = {};
    equal("\\sum_{k=1}^{10} k", "55");
    policy.open_forms = Policy::OpenForms::refuse;
    different("\\sum_{k=1}^{10} k", "55", policy);
}

void check_families_and_layouts() {
    equal("x = \\frac{5\\pi}{4} + n\\pi", "x = \\frac{\\pi}{4} + k\\pi");
    different("x = 2k\\pi", "x = k\\pi");
    equal("\\ln|2x| + C", "\\ln|x| + C");
    different("\\ln|x|", "\\ln|x| + C");
    different("A + B + C + 1", "A + B + C");
    different("k\\pi, k \\in \\mathbb{N}", "k\\pi, k \\in \\mathbb{Z}");
    equal("\\ln a + \\ln b", "\\ln(ab)");
    different("\\ln x", "\\ln|x|");
    different("\\ln a + \\ln b", "\\ln(ac)");
    different("\\lfloor x \\rfloor + 1", "\\lceil x \\rceil");
    equal("-\\lceil -x \\rceil", "\\lfloor x \\rfloor");
    different("z", "\\operatorname{Re}(z)");
    different("\\vec{a} \\times \\vec{b}", "\\vec{a} \\cdot \\vec{b}");
    different("\\vec{b} \\times \\vec{a}", "\\vec{a} \\times \\vec{b}");
    equal("2\\begin{pmatrix} 1 & 2 \\end{pmatrix}", "\\begin{pmatrix} 2 & 4 \\end{pmatrix}");
    equal("-2", "\\begin{vmatrix} 1 & 2 \\\\ 3 & 4 \\end{vmatrix}");
    equal("(1, -2)", "\\mathbf{i} - 2\\mathbf{j}");
    different("(1, 2)", "1 + 2i");
    equal("[1, 2]^T", "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}");
    equal("\\mathbf{i} + 2\\mathbf{j}", "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}");
    different("\\begin{pmatrix} 1 & 2 \\end{pmatrix}", "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}");
    equal("|x|", "\\begin{cases} x & x \\ge 0 \\\\ -x & x < 0 \\end{cases}");
    different("x", "\\begin{cases} x & x \\ge 0 \\\\ -x & x < 0 \\end{cases}");
}

void check_bounds() {
    check(")(", "1", "unparsable_answer");
    check("1", ")(", "unparsable_truth");
    different("2^{4^{8^{16}}}", "16");
    CHECK_EQUAL(word(cohort::compare_answers("x+y", "y+x", {}, 3)), "unparsable_truth");
    std::string list = "1";
    for (int i = 2; i < 120; ++i) list += "," + std::to_string(i);
    equal(list, list);
    different(list + ",7", list + ",8");
    std::string roots;
    std::string reversed;
    for (int i = 2; i < 82; ++i) {
        roots += (i > 2 ? "," : "") + std::string("\\sqrt{") + std::to_string(i) + "}";
        reversed += (i > 2 ? "," : "") + std::string("\\sqrt{") + std::to_string(83 - i) + "}";
    }
    equal(reversed, roots);
}

}  // namespace

int main() {
    check_values();
    check_lists();
    check_regions();
    check_statements();
    check_families_and_layouts();
    check_bounds();
    return exit_status();
}

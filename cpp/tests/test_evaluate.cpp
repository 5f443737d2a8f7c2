// Verdicts on values. Cases named v... are from the published lists of graders' mistakes.
#include "cohort/evaluate.h"

#include "check.h"
#include "cohort/parse.h"

using cohort::Arena;
using cohort::Budget;
using cohort::LimitReached;
using cohort::NodeId;
using cohort::Rational;
using cohort::Truth;

namespace {

constexpr std::int64_t kSteps = 500'000;

std::string text(Truth truth) {
    return truth == Truth::equal ? "equal" : truth == Truth::different ? "different" : "unknown";
}

/// What `verdict` says of two answers.
template <typename Verdict>
std::string of(std::string_view left, std::string_view right, Verdict verdict) {
    Arena arena;
    Budget budget(kSteps);
    const auto a = cohort::parse(left, {}, arena, budget);
    const auto b = cohort::parse(right, {}, arena, budget);
    if (!a || !b) return "not understood";
    try {
        return verdict(arena, *a, *b, budget);
    } catch (const LimitReached&) {
        return "limit";
    }
}

std::string values(std::string_view left, std::string_view right) {
    return of(left, right, [](auto&... all) { return text(cohort::equal_values(all...)); });
}

std::string ratio(std::string_view left, std::string_view right) {
    return of(left, right, [](auto&... all) { return text(cohort::proportional(all...)); });
}

std::string difference(std::string_view left, std::string_view right) {
    return of(left, right, [](auto&... all) { return text(cohort::differ_by_constant(all...)); });
}

std::string sign(std::string_view left, std::string_view right) {
    return of(left, right, [](auto&... all) {
        const auto found = cohort::order(all...);
        return found ? std::to_string(*found) : "undecided";
    });
}

std::string exact(std::string_view answer) {
    return of(answer, "0", [](const Arena& arena, NodeId a, NodeId, Budget& budget) {
        const auto value = cohort::exact_value(arena, a, budget);
        return value ? value->to_string() : "nothing";
    });
}

std::string within(std::string_view answer, std::string_view decimal, int shown, double ulps) {
    return of(answer, "0", [&](const Arena& arena, NodeId a, NodeId, Budget& budget) {
        const auto close =
            cohort::within_digits(arena, a, *Rational::from_decimal(decimal), shown, ulps, budget);
        return std::string(!close ? "undecided" : *close ? "yes" : "no");
    });
}

void test_rational_values_are_exact() {
    CHECK_EQUAL(exact("\\frac{7}{4}-0.75"), "1");
    CHECK_EQUAL(exact("2^{100}"), "1267650600228229401496703205376");
    CHECK_EQUAL(exact("\\binom{10}{3}"), "120");
    CHECK_EQUAL(exact("5!+\\gcd(12,18)"), "126");
    CHECK_EQUAL(exact("\\lfloor -3.7 \\rfloor"), "-4");
    CHECK_EQUAL(exact("|{-3}|"), "3");
    CHECK_EQUAL(exact("\\sum_{k=1}^{10} k^2"), "385");
    CHECK_EQUAL(exact("\\prod_{k=1}^{5} k"), "120");
    CHECK_EQUAL(exact("\\sqrt{\\frac{9}{4}}"), "3/2");
    CHECK_EQUAL(exact("\\sqrt[3]{-8}"), "-2");
    CHECK_EQUAL(exact("\\log_2 8"), "3");
    CHECK_EQUAL(exact("\\log_8 2"), "nothing");
    CHECK_EQUAL(exact("33.5\\%"), "67/200");
    CHECK_EQUAL(exact("\\sqrt{2}"), "nothing");
    CHECK_EQUAL(exact("\\frac{0}{0}"), "nothing");
    CHECK_EQUAL(exact("2^{10000}"), "nothing");
    CHECK_EQUAL(exact("\\sum_{k=1}^{10^9} k"), "nothing");
    CHECK_EQUAL(exact("x+1"), "nothing");
}

void test_rational_functions_by_residues() {
    CHECK_EQUAL(values("x^2-1", "(x+1)(x-1)"), "equal");                                // v383
    CHECK_EQUAL(values("x^2-1", "(x-1)^2"), "different");                               // v384
    CHECK_EQUAL(values("\\frac{1}{x-1}-\\frac{1}{x+1}", "\\frac{2}{x^2-1}"), "equal");  // v391
    CHECK_EQUAL(values("\\frac{a+b}{c}", "a+\\frac{b}{c}"), "different");
    CHECK_EQUAL(values("x^2+2x+1", "y^2+2y+1"), "different");        // v152
    CHECK_EQUAL(values("(x+1)^{200}", "(x+1)^{201}"), "different");  // v347
    CHECK_EQUAL(values("\\binom{n}{2}", "\\frac{n(n-1)}{2}"), "equal");
    CHECK_EQUAL(values("f(2x-x)", "f(x)"), "equal");
    CHECK_EQUAL(values("f(2)", "f(3)"), "different");
}

void test_huge_numbers_by_residues() {
    CHECK_EQUAL(values("4^{500000}", "2^{1000000}"), "equal");  // v339
    CHECK_EQUAL(values("3^{2025}", "2^{2025}"), "different");   // v088
    CHECK_EQUAL(values("16", "2^{4^{8^{16}}}"), "different");   // v057
    CHECK_EQUAL(values("5^{5^{5^{5^5}}}", "5 \\cdot 5^{5^{5^{5^5}}-1}"), "equal");
    CHECK_EQUAL(values("5^{5^{5^{5^5}}}", "5^{5^{5^{5^5}}-1}"), "different");
    CHECK_EQUAL(values("\\binom{2026}{1013}", "\\frac{2026!}{(1013!)^2}"), "equal");  // v086
    CHECK_EQUAL(values("\\frac{1}{2004!}", "\\frac{1}{2006!}"), "different");         // v001
    CHECK_EQUAL(values("2006 \\cdot 2005", "\\frac{2006!}{2004!}"), "equal");         // v358
    CHECK_EQUAL(values("7", "(10!)!"), "unknown");                                    // v341
    CHECK_EQUAL(values("7", "\\sum_{k=1}^{10^9} \\frac1k"), "unknown");               // v344
    CHECK_EQUAL(values("7", "\\binom{10^{12}}{10^{11}}"), "unknown");                 // v343
    // A multiple of all the primes is 0 in every field, and yet no 0.
    const std::string primes =
        "2305843009213693951 \\cdot 2305843009213693921 "
        "\\cdot 2305843009213693907";
    CHECK_EQUAL(values("x", "x+" + primes + "x^2"), "different");
}

void test_irrational_constants_by_balls() {
    CHECK_EQUAL(values("96-10\\sqrt{21}",
                       "\\frac{6\\sqrt{1789-240\\sqrt{21}}+8\\sqrt{1236-240\\sqrt{21}}}{5}"),
                "equal");                                                            // v084
    CHECK_EQUAL(values("1", "\\sqrt[3]{2+\\sqrt5}+\\sqrt[3]{2-\\sqrt5}"), "equal");  // v366
    CHECK_EQUAL(values("2\\ln 2", "\\ln 4"), "equal");                               // v371
    CHECK_EQUAL(values("\\ln 6", "\\ln 2 \\cdot \\ln 3"), "different");              // v373
    CHECK_EQUAL(values("\\cos 36^\\circ", "\\frac{1+\\sqrt5}{4}"), "equal");
    CHECK_EQUAL(values("\\log_{10} 2", "\\ln 2"), "different");  // v499
    CHECK_EQUAL(values("\\arctan 1", "\\frac{\\pi}{4}"), "equal");
    CHECK_EQUAL(values("\\sum_{k=0}^{60} \\frac{1}{k!}", "e"), "different");
}

void test_tiny_differences_are_differences_or_unknown() {
    CHECK_EQUAL(values("\\sqrt2", "\\sqrt2+10^{-18}"), "different");  // v486
    CHECK_EQUAL(values("\\sqrt2", "\\sqrt2+10^{-60}"), "different");
    CHECK_EQUAL(values("\\sqrt2", "\\sqrt2+10^{-400}"), "unknown");
    CHECK_EQUAL(values("1", "\\cos(10^{-200})"), "unknown");
    CHECK_EQUAL(values("1", "\\tanh 1000"), "unknown");
    CHECK_EQUAL(values("\\sin x", "\\sin x+10^{-50}(|x|-x)"), "different");
    CHECK_EQUAL(values("\\sin x", "\\sin x+10^{-400}(|x|-x)"), "unknown");
}

void test_formulas_at_random_points() {
    CHECK_EQUAL(values("-\\frac{2(x^2+6)}{9(x^2-2)\\sqrt[3]{x^2-2}^2}",
                       "-\\frac{8x^2}{9(x^2-2)^{5/3}}+\\frac{2}{3(x^2-2)^{2/3}}"),
                "equal");                                      // v025
    CHECK_EQUAL(values("1", "\\sin^2 x+\\cos^2 x"), "equal");  // v375
    CHECK_EQUAL(values("\\sin x", "\\cos x"), "different");    // v379
    CHECK_EQUAL(values("e^{x+1}", "e \\cdot e^x"), "equal");   // v393
    CHECK_EQUAL(values("2^{n+1}", "2 \\cdot 2^n"), "equal");
    CHECK_EQUAL(values("\\sqrt{x^2}", "|x|"), "equal");
}

void test_domains_count() {
    CHECK_EQUAL(values("|x|", "x"), "different");  // v404
    CHECK_EQUAL(values("\\ln|x|", "\\ln x"), "different");
    CHECK_EQUAL(values("\\sqrt{\\frac1n}", "\\frac{1}{\\sqrt n}"), "equal");  // v053
    CHECK_EQUAL(values("(\\sqrt x)^2", "x"), "different");
    CHECK_EQUAL(values("\\ln x \\cdot |y|", "\\ln x \\cdot y"), "different");
    CHECK_EQUAL(values("\\begin{cases} x & x\\ge 0 \\\\ -x & x<0 \\end{cases}", "|x|"),
                "equal");  // v504
}

void test_integers_where_reals_say_nothing() {
    CHECK_EQUAL(values("\\cos(n\\pi)", "(-1)^n"), "equal");
    CHECK_EQUAL(values("(-1)^n", "(-1)^{n+1}"), "different");
    CHECK_EQUAL(values("\\frac{(n+1)!}{n!}", "n+1"), "equal");
    CHECK_EQUAL(values("\\binom{n}{k}", "\\binom{n}{n-k}"), "equal");
    CHECK_EQUAL(values("\\sum_{k=1}^{n} k", "\\frac{n(n+1)}{2}"), "equal");
    CHECK_EQUAL(values("\\sum_{k=1}^{n} k", "\\frac{n(n-1)}{2}"), "different");
}

void test_complex_values() {
    CHECK_EQUAL(values("i", "\\sqrt{-1}"), "equal");  // v400
    CHECK_EQUAL(values("\\frac12+\\frac{\\sqrt3}{2}i", "\\operatorname{cis} 60^\\circ"),
                "equal");  // v401
    CHECK_EQUAL(values("e^{i\\pi}", "-1"), "equal");
    CHECK_EQUAL(values("(1+i)^2", "2i"), "equal");
    CHECK_EQUAL(values("3+4i", "3-4i"), "different");
    CHECK_EQUAL(values("|3+4i|", "5"), "equal");
    CHECK_EQUAL(values("\\sqrt[3]{-8}", "-2"), "equal");
    CHECK_EQUAL(values("\\sqrt[3]{-8}", "1+i\\sqrt3"), "equal");  // complex company
    CHECK_EQUAL(values("e^{ix}", "\\cos x+i\\sin x"), "equal");
}

void test_what_has_no_value_equals_nothing() {
    CHECK_EQUAL(values("0", "\\frac00"), "different");  // v301
    CHECK_EQUAL(values("\\frac00", "\\frac00"), "unknown");
    CHECK_EQUAL(values("5", "\\infty-\\infty+5"), "unknown");  // v303
    CHECK_EQUAL(values("\\infty", "-\\infty"), "different");   // v442
    CHECK_EQUAL(values("\\infty", "10^{100}"), "different");
    CHECK_EQUAL(values("\\{1,2\\}", "\\{2,1\\}"), "unknown");
    CHECK_EQUAL(values("7", "\\int_0^1 e^{x^{x^x}} dx"), "unknown");  // v348
}

void test_up_to_a_factor_and_up_to_a_constant() {
    CHECK_EQUAL(ratio("34x+45y-20z+100", "-34x-45y+20z-100"), "equal");              // v026
    CHECK_EQUAL(ratio("3x^2+4y^2-12", "\\frac{x^2}{4}+\\frac{y^2}{3}-1"), "equal");  // v041
    CHECK_EQUAL(ratio("x^2+1", "x^2+2"), "different");
    CHECK_EQUAL(ratio("\\sqrt2 x", "2x"), "equal");
    CHECK_EQUAL(ratio("x", "|x|"), "different");
    CHECK_EQUAL(ratio("0", "x"), "different");
    CHECK_EQUAL(difference("\\ln|x|", "\\ln|2x|"), "equal");  // v411
    CHECK_EQUAL(difference("\\sin^2 x", "-\\cos^2 x"), "equal");
    CHECK_EQUAL(difference("x^2", "x^2+3"), "equal");
    CHECK_EQUAL(difference("x^2", "x^3"), "different");
}

void test_order_of_constants() {
    CHECK_EQUAL(sign("\\sqrt2", "1.41421356237309504"), "1");
    CHECK_EQUAL(sign("\\frac13", "0.34"), "-1");
    CHECK_EQUAL(sign("\\sqrt8", "2\\sqrt2"), "0");
    CHECK_EQUAL(sign("\\pi", "\\infty"), "-1");
    CHECK_EQUAL(sign("-\\infty", "\\infty"), "-1");
    CHECK_EQUAL(sign("i", "1"), "undecided");
    CHECK_EQUAL(sign("x", "1"), "undecided");
}

void test_digits_of_constants() {
    CHECK_EQUAL(within("\\sqrt{17}", "4.123105625617661", 15, 0.5), "yes");  // v048
    CHECK_EQUAL(within("\\sqrt{17}", "4.123105625617662", 15, 0.5), "no");
    CHECK_EQUAL(within("2\\pi", "6.28", 2, 0.5), "yes");
    CHECK_EQUAL(within("2\\pi", "6.29", 2, 0.5), "no");
    CHECK_EQUAL(within("2\\pi", "6.29", 2, 1), "yes");
    CHECK_EQUAL(within("x", "6.29", 2, 1), "undecided");
    CHECK_EQUAL(within("i", "1", 0, 1), "undecided");
}

void test_free_variables() {
    Arena arena;
    Budget budget(kSteps);
    const auto id = cohort::parse("b\\sum_{k=1}^{n} k a_1 + f(b)", {}, arena, budget);
    std::string names;
    for (const std::string_view name : cohort::variables(arena, *id)) {
        names.append(name).append(" ");
    }
    CHECK_EQUAL(names, "a_1 b n ");
}

void test_work_is_bounded() {
    CHECK_EQUAL(values("\\sum_{k=1}^{10000} \\sin k", "1"), "limit");
    CHECK_EQUAL(values("\\sum_{a=1}^{9999} \\sum_{b=1}^{9999} ab", "1"), "limit");
    std::string nested = "x";
    for (int i = 0; i < 40; ++i) nested = "\\sin(" + nested + ")";
    CHECK_EQUAL(values(nested, "x"), "different");
}

}  // namespace

int main() {
    test_rational_values_are_exact();
    test_rational_functions_by_residues();
    test_huge_numbers_by_residues();
    test_irrational_constants_by_balls();
    test_tiny_differences_are_differences_or_unknown();
    test_formulas_at_random_points();
    test_domains_count();
    test_integers_where_reals_say_nothing();
    test_complex_values();
    test_what_has_no_value_equals_nothing();
    test_up_to_a_factor_and_up_to_a_constant();
    test_order_of_constants();
    test_digits_of_constants();
    test_free_variables();
    test_work_is_bounded();
    return exit_status();
}

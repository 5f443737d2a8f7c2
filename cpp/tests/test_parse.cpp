#include <string>

#include "check.h"
#include "cohort/parse.h"

namespace {

using cohort::Arena;
using cohort::Budget;
using cohort::Reading;

std::string tree(std::string_view text, const Reading& reading = {}) {
    Arena arena;
    Budget budget(1'000'000);
    try {
        const auto id = cohort::parse(text, reading, arena, budget);
        return id ? to_string(arena, *id) : "nothing";
    } catch (const cohort::LimitReached&) {
        return "limit";
    }
}

struct Case {
    std::string_view text, tree;
};

constexpr Case kCases[] = {
    // Numbers
    {"1,234", "1234"},
    {"12{,}345", "12345"},
    {R"(12\,345)", R"(12345)"},
    {"1 234 567", "1234567"},
    {"32, 349", "list(32, 349)"},
    {"0,1", "list(0, 1)"},
    {"27,93", "list(27, 93)"},
    {"1,2,3,100", "list(1, 2, 3, 100)"},
    {"(1,234)", "tuple(1, 234)"},
    {"(1,000, 2)", "tuple(1000, 2)"},
    {".5", "1/2"},
    {"5.", "5"},
    {R"(0.\overline{3})", R"(1/3)"},
    {R"(0.1\overline{6})", R"(1/6)"},
    {R"(0.333\ldots)", R"(1/3)"},
    {"0.1666...", "1/6"},
    {"3.14159...", "nothing"},
    {"0.(3)", "1/3"},
    {R"(0.\dot3)", R"(1/3)"},
    {R"(0.\dot{1}4285\dot{7})", R"(1/7)"},
    {"3e8", "300000000"},
    {"1.5E-7", "3/20000000"},
    {"2e-1", "sum(product(2, e), -1)"},
    {"1e500", "product(1, power(10, 500))"},
    {R"(3 \times 10^8)", R"(product(3, power(10, 8)))"},
    {"3 x 10^8", "product(3, power(10, 8))"},
    {R"(2\frac14)", R"(9/4)"},
    {"2 1/4", "9/4"},
    {"1 1/4", "5/4"},
    {"1½", "3/2"},
    {"4 10/3", "nothing"},
    {R"(4\frac{10}{3})", R"(nothing)"},
    {R"(2\frac{x}{3})", R"(product(2, product(x, power(3, -1))))"},
    {R"(-1\frac{1}{2})", R"(-3/2)"},
    {R"(\frac12)", R"(product(1, power(2, -1)))"},
    {R"(\frac1{12})", R"(product(1, power(12, -1)))"},
    {R"(\frac123)", R"(nothing)"},
    {R"(\dfrac{2}{4})", R"(product(2, power(4, -1)))"},
    {R"(7 \div 4)", R"(product(7, power(4, -1)))"},
    {R"(7 \over 8)", R"(product(7, power(8, -1)))"},
    {R"(25\%)", R"(percent(25))"},
    {"50 percent", "percent(50)"},
    {"2516_8", "based8(1358, 2516)"},
    {"2516_{8}", "based8(1358, 2516)"},
    {"(101)_2", "based2(5, 101)"},
    {R"(204_{\text{five}})", R"(based5(54, 204))"},
    {"129_8", "nothing"},
    {"016", "16"},
    // Words
    {"twelve", "12"},
    {"twenty-one", "21"},
    {"one hundred five", "105"},
    {"three and a half", "7/2"},
    {"two thirds", "2/3"},
    {"half", "1/2"},
    {"2.5 million", "2500000"},
    {"5 dozen", "60"},
    {R"(one two)", R"("one two")"},
    {"x squared", "power(x, 2)"},
    {"square root of 2", "power(2, 1/2)"},
    {"pi", "pi"},
    {"infinity", "infinity"},
    {R"(\text{no solution})", R"(set())"},
    {R"(\text{all real numbers})", R"(R)"},
    {R"(\text{all real numbers except } -4)", R"(difference(R, set(-4)))"},
    {"does not exist", R"("undefined")"},
    {"DNE", R"("undefined")"},
    {"5 PM", R"("5:00 pm")"},
    {R"(\text{Yes})", R"("yes")"},
    {R"(\text{Evelyn})", R"("evelyn")"},
    {"AB", "AB"},
    {"ab", "product(a, b)"},
    {R"(B, not A.)", R"("B, not A")"},
    {R"(7 if n is odd and 8 otherwise)", R"("7 if n is odd and 8 otherwise")"},
    {R"(3:45 \text{ pm})", R"("3:45 pm")"},
    {R"(3:45 p.m.)", R"("3:45 pm")"},
    {"5th", "5"},
    // Units and currency
    {R"(\$18)", R"(quantity(18, $))"},
    {"$9{,}500", "quantity(9500, $)"},
    {R"(18 \text{ dollars})", R"(quantity(18, $))"},
    {R"(\$3.5 million)", R"(quantity(3500000, $))"},
    {R"(-\$5)", R"(quantity(-5, $))"},
    {"€5", "quantity(5, euro)"},
    {"$5 and $7", "list(quantity(5, $), quantity(7, $))"},
    {R"(15\text{ cm}^2)", R"(quantity(15, cm^2))"},
    {R"(64 \text{ square feet})", R"(quantity(64, foot^2))"},
    {R"(60 \text{ km/h})", R"(quantity(60, km/hour))"},
    {R"(1 \text{ km/min})", R"(quantity(1, km/minute))"},
    {R"(60\frac{\text{km}}{\text{h}})", R"(quantity(60, km/hour))"},
    {R"(5\ \mathrm{m\,s^{-1}})", R"(quantity(5, m*second^-1))"},
    {R"(\$5 \text{ profit})", R"(quantity(quantity(5, $), profit))"},
    {R"(\$5\frac{\text{km}}{\text{h}})", "nothing"},
    {R"(5 \text{ km north})", R"(quantity(quantity(5, km), north))"},
    {R"(5\% \text{ increase})", R"(quantity(percent(5), increase))"},
    {R"(1 \text{ hour } 30 \text{ minutes})", R"(sum(quantity(1, hour), quantity(30, minute)))"},
    {R"(2516 \text{ base } 8)", R"(based8(1358, 2516))"},
    {R"(\mathbb{R}_{>0})", R"(interval(0, infinity))"},
    {R"(3!5!)", R"(product(factorial(3), factorial(5)))"},
    {R"(32,\! 349)", "32349"},
    {R"(\textbf{Answer: 42})", "42"},
    {R"(60 \text{ mph})", R"(quantity(60, mile/hour))"},
    {R"(9.8 \text{ m/s}^2)", R"(quantity(49/5, m/second^2))"},
    {"5 m/s", "quantity(5, m/second)"},
    {"12 cm", "quantity(12, cm)"},
    {R"(3 \text{ mL})", R"(quantity(3, ml))"},
    {"5 sec", "quantity(5, second)"},
    {R"(5\sec x)", R"(product(5, sec(x)))"},
    {"3m", "product(3, m)"},
    {R"(5 \text{ m})", R"(quantity(5, m))"},
    {R"(2+\sqrt{3} \text{ cm})", R"(quantity(sum(2, power(3, 1/2)), cm))"},
    {R"(9 \text{ chickens and } 10 \text{ rabbits})",
     R"(list(quantity(9, chicken), quantity(10, rabbit)))"},
    {"12 different ways", "quantity(12, way)"},
    {R"(74^\circ)", R"(degree(74))"},
    {"25°C", "quantity(25, degC)"},
    {"45 degrees", "degree(45)"},
    // Arithmetic
    {"x**2", "power(x, 2)"},
    {"x²", "power(x, 2)"},
    {"x^{a+b}", "power(x, sum(a, b))"},
    {"x^-1", "power(x, -1)"},
    {"-2^2", "product(-1, power(2, 2))"},
    {"2^3^2", "power(2, power(3, 2))"},
    {"2^{3^2}", "power(2, power(3, 2))"},
    {R"(\sqrt{x})", R"(power(x, 1/2))"},
    {R"(\sqrt[3]{x})", R"(power(x, 1/3))"},
    {R"(\sqrt2)", R"(power(2, 1/2))"},
    {R"(\sqrt17)", R"(power(17, 1/2))"},
    {"√(x+1)", "power(sum(x, 1), 1/2)"},
    {"2(x+1)", "product(2, sum(x, 1))"},
    {"(a)(b)", "product(a, b)"},
    {"n(n+1)/2", "product(n, sum(n, 1), power(2, -1))"},
    {"1/2x", "product(1, power(2, -1), x)"},
    {R"(2\pi r)", R"(product(2, pi, r))"},
    {"xyz", "product(x, y, z)"},
    {"4ac", "product(4, a, c)"},
    {"a-b-c", "sum(a, product(-1, b), product(-1, c))"},
    {"x2", "nothing"},
    {"2 3", "nothing"},
    // Functions
    {R"(\sin x)", R"(sin(x))"},
    {R"(\sin^2 x)", R"(power(sin(x), 2))"},
    {R"(\sin^{-1} x)", R"(arcsin(x))"},
    {"sin(x)", "sin(x)"},
    {R"(\tan^{-1} 2)", R"(arctan(2))"},
    {R"(\sin 2x \cos 3x)", R"(product(sin(product(2, x)), cos(product(3, x))))"},
    {R"(\sin\frac{\pi}{4})", R"(sin(product(pi, power(4, -1))))"},
    {R"(x \sin x)", R"(product(x, sin(x)))"},
    {R"(\log_{10} 2)", R"(log(2, 10))"},
    {"log2(8)", "log(8, 2)"},
    {R"(\ln|x|)", R"(ln(abs(x)))"},
    {R"(\log x)", R"(log(x, 10))"},
    {"|x|", "abs(x)"},
    {"||x|-1|", "abs(sum(abs(x), -1))"},
    {"|x||y|", "product(abs(x), abs(y))"},
    {"3|n", "divides(3, n)"},
    {"5!", "factorial(5)"},
    {"(5!)!", "factorial(factorial(5))"},
    {"7!!", "double_factorial(7)"},
    {R"(\lfloor 3.7 \rfloor)", R"(floor(37/10))"},
    {R"(\binom{n}{k})", R"(binomial(n, k))"},
    {R"(\binom52)", R"(binomial(5, 2))"},
    {"C(10,3)", "binomial(10, 3)"},
    {R"({n \choose k})", R"(binomial(n, k))"},
    {R"(\gcd(12,18))", R"(gcd(12, 18))"},
    {R"(\max\{1,2\})", R"(max(1, 2))"},
    {R"(10 \bmod 7)", R"(modulo(10, 7))"},
    {R"(10 \pmod 7)", R"(residue(10, 7))"},
    {R"(n \equiv 3 \pmod{5})", R"(equivalent(n, residue(3, 5)))"},
    {R"(n \not\equiv 3 \pmod{5})", R"(not_equivalent(n, residue(3, 5)))"},
    {"3 (mod 7)", "residue(3, 7)"},
    {"f(x)=2x+1", "equal(apply(f, x), sum(product(2, x), 1))"},
    {"f^{-1}(x)", "apply(f^{-1}, x)"},
    {"f'(x)", "apply(f', x)"},
    {"T(n)=2T(n/2)", "equal(apply(T, n), product(2, apply(T, product(n, power(2, -1)))))"},
    {R"(\frac{dy}{dx})", R"(dy/dx)"},
    {R"(\operatorname{cis} 60^\circ)", R"(cis(degree(60)))"},
    // Sums, integrals, limits
    {R"(\sum_{k=1}^{10} k)", R"(big_sum(k, k, 1, 10))"},
    {R"(\prod_{i=1}^n i)", R"(big_product(i, i, 1, n))"},
    {R"(\int_0^1 f \, dx)", R"(integral(f, x, 0, 1))"},
    {R"(\int_0^1 xdx)", R"(integral(x, x, 0, 1))"},
    {R"(\int \sin x\,dx)", R"(integral(sin(x), x))"},
    {R"(\lim_{x\to 0} \frac{\sin x}{x})", R"(limit(product(sin(x), power(x, -1)), x, 0))"},
    // Letters
    {"3+4i", "sum(3, product(4, i))"},
    {"i+j", "sum(i, j)"},
    {R"(2\mathbf{i})", R"(product(2, \mathbf i))"},
    {R"(\mathrm{e}^x)", R"(power(e, x))"},
    {R"(e^{i\pi})", R"(power(e, product(i, pi)))"},
    {"x_1", "x_1"},
    {"x_{12}", "x_12"},
    {"a_{n+1}", "a_{n+1}"},
    {R"(\angle ABC)", R"("\angle ABC")"},
    {R"(\overline{AB})", R"(\overline AB)"},
    {R"(\vec{v})", R"(\vec v)"},
    {R"(\mathbf{x+1})", R"(sum(x, 1))"},
    // Sets, intervals, points
    {R"(\{1,2\})", R"(set(1, 2))"},
    {"{1,2}", "set(1, 2)"},
    {R"(\{\})", R"(set())"},
    {R"(\emptyset)", R"(set())"},
    {R"(\{x \mid x > 0\})", R"(builder(x, greater(x, 0)))"},
    {R"(\{x : x > 0\})", R"(builder(x, greater(x, 0)))"},
    {"(3,1)", "tuple(3, 1)"},
    {"[1,3)", "interval[1, 3)"},
    {"[1,3]", "interval[1, 3]"},
    {R"((-\infty, 3))", R"(interval(product(-1, infinity), 3))"},
    {R"((0,1) \cup (2,3))", R"(unite(interval(0, 1), interval(2, 3)))"},
    {"(0,1) ∪ {2}", "unite(interval(0, 1), set(2))"},
    {R"(\mathbb{R} \setminus \{2\})", R"(difference(R, set(2)))"},
    {R"(R \ {2})", R"(difference(R, set(2)))"},
    {R"(\langle 1,2 \rangle)", R"(tuple(1, 2))"},
    {"(1,2)^T", "matrix1(1, 2)"},
    {R"(\begin{pmatrix}1&2\\3&4\end{pmatrix}^T)", R"(matrix2(1, 3, 2, 4))"},
    {"[[1,2],[3,4]]", "matrix2(1, 2, 3, 4)"},
    {R"(\begin{pmatrix}1&2\\3&4\end{pmatrix})", R"(matrix2(1, 2, 3, 4))"},
    {R"(\left[\begin{array}{cc}1 & 2 \\ 3 & 4\end{array}\right])", R"(matrix2(1, 2, 3, 4))"},
    {R"(\begin{cases} x & x\ge 0 \\ -x & x<0 \end{cases})",
     R"(cases(x, greater_equal(x, 0), product(-1, x), less(x, 0)))"},
    {R"(\begin{cases} x=1 \\ y=2 \end{cases})", R"(list(equal(x, 1), equal(y, 2)))"},
    // Statements
    {"1<x<3", "all(less(1, x), less(x, 3))"},
    {R"(x \le 3)", R"(less_equal(x, 3))"},
    {"x ≤ 3", "less_equal(x, 3)"},
    {R"(x \neq 2)", R"(not_equal(x, 2))"},
    {R"(x \in [0, 1])", R"(in(x, interval[0, 1]))"},
    {R"(3 \mid n)", R"(divides(3, n))"},
    {"n=2, 3, 4", "equal(n, list(2, 3, 4))"},
    {R"(x=3,\ y=2)", R"(list(equal(x, 3), equal(y, 2)))"},
    {R"(x=1 \text{ or } x=-2)", R"(either(equal(x, 1), equal(x, -2)))"},
    {R"(x = 1 \text{ or } 2)", R"(equal(x, either(1, 2)))"},
    {R"(1331 \text{ and } 1728)", R"(list(1331, 1728))"},
    {R"(1, 2, \ldots, n)", R"(list(1, 2, ..., n))"},
    {R"(1 \pm \sqrt{2})", R"(plus_minus(1, power(2, 1/2)))"},
    {R"(x = \pm 2)", R"(equal(x, plus_minus(0, 2)))"},
    {"7:32", "ratio(7, 32)"},
    {"y=mx+b", "equal(y, sum(product(m, x), b))"},
    {R"(\frac{\sqrt{3}}{3} \approx 0.577)",
     R"(approx(product(power(3, 1/2), power(3, -1)), 577/1000))"},
    {R"(\boxed{5})", R"(5)"},
    {R"(\color{red}{42})", R"(42)"},
    {R"(\textbf{(A)})", R"(A)"},
    {"$x+1$", "sum(x, 1)"},
    {"x-1.", "sum(x, -1)"},
    {R"(\ge 3)", R"(greater_equal("", 3))"},
    // No formula
    {R"(4\sqrt(2))", R"(product(4, power(2, 1/2)))"},
    {"[5][0]", "nothing"},
    {"len(str(12345))", "nothing"},
    {R"(\pi*0+len(str(12345)))", R"(nothing)"},
    {"__import__('os')", "nothing"},
    {R"(\forall x > 0, f(x) = x)", R"(nothing)"},
    {R"(\frac{1}{)", R"(nothing)"},
    {"2+", "nothing"},
    {"^2", "nothing"},
    {"()", "nothing"},
    {R"(\unknown{5})", R"(nothing)"},
    {"1.2.3", "nothing"},
};

std::string repeated(std::string_view part, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += part;
    return text;
}

void test_readings() {
    CHECK_EQUAL(tree("5cm"), "quantity(5, cm)");
    CHECK_EQUAL(tree("5cm", {.variables = "cm"}), "product(5, c, m)");
    CHECK_EQUAL(tree("3i", {.variables = "i"}), "product(3, i)");
    CHECK_EQUAL(tree(R"(\log 2)", {.variables = {}, .log_is_ln = true}), "ln(2)");
    CHECK_EQUAL(tree(R"(\log_{10} 2)", {.variables = {}, .log_is_ln = true}), "log(2, 10)");
    CHECK_EQUAL(tree("(1,2)", {.variables = {}, .intervals = true}), "interval(1, 2)");
    CHECK_EQUAL(tree("(1,2,3)", {.variables = {}, .intervals = true}), "tuple(1, 2, 3)");
}

/// Hostile texts end at once: with a tree, with nothing or with the limit.
void test_limits() {
    CHECK_EQUAL(tree(repeated("(", 40) + "7" + repeated(")", 40)), "7");
    CHECK_EQUAL(tree(repeated("{", 3000)), "limit");
    CHECK_EQUAL(tree(repeated("(", 2000) + "7" + repeated(")", 2000)), "limit");
    CHECK_EQUAL(tree(repeated("\\frac{1}{", 1000)), "limit");
    CHECK_EQUAL(tree(repeated("2^", 3000) + "2"), "limit");
    CHECK_EQUAL(tree(repeated("\\sin ", 3000) + "x"), "limit");
    CHECK_EQUAL(tree(repeated("-", 3000) + "1"), "1");
    CHECK_EQUAL(tree(repeated("x", 20000)), "limit");
    CHECK_EQUAL(tree(repeated("|", 3000)), "limit");
    CHECK_EQUAL(tree(repeated("a|(", 3000)), "limit");
    CHECK_EQUAL(tree(repeated("9", 16000)), "limit");
    CHECK_EQUAL(tree(repeated("\xF0\x9F", 3000)), tree(repeated("\xF0\x9F", 3000)));
    CHECK_EQUAL(tree(std::string(5, '\0')), "nothing");
    CHECK_EQUAL(tree(""), "nothing");
    CHECK_EQUAL(tree("\\"), "nothing");
}

}  // namespace

int main() {
    for (const Case& c : kCases) {
        if (tree(c.text) != c.tree) std::cerr << "in " << c.text << "\n";
        CHECK_EQUAL(tree(c.text), c.tree);
    }
    test_readings();
    test_limits();
    return exit_status();
}

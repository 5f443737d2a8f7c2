#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "cohort/canonical.h"
#include "cohort/parse.h"

namespace {

using namespace cohort;
using Complex = std::complex<double>;

std::string form(std::string_view text) {
    Arena arena;
    Budget budget(1'000'000);
    const auto id = parse(text, {}, arena, budget);
    if (!id) return "nothing";
    return to_string(arena, canonical(arena, *id, budget));
}

struct Pair {
    std::string_view left, right;
};

constexpr Pair kSame[] = {
    {"a+b+c", "c+(b+a)"},
    {"ab+cd", "dc+ba"},
    {"(r+5)(r+5)", "(r+5)^2"},
    {R"(\frac{2}{4})", "0.5"},
    {R"(-\frac{1}{2})", R"(\frac{1}{-2})"},
    {"x/2", R"(\frac{x}{2})"},
    {"2x+3x", "5x"},
    {"x-x+1", "1"},
    {"-(a-b)", "b-a"},
    {R"(\frac{1}{a})", "a^{-1}"},
    {"(2x)^3", "8x^3"},
    {"(ab)^n a", "a (ab)^n"},
    {"(x^2)^3", "x^6"},
    {"x^2 x^{-3}", "1/x"},
    {R"(e\cdot e^x)", "e^{x+1}"},
    {R"(2\cdot 2^x)", "2^{x+1}"},
    {"exp(x)", "e^x"},
    {R"(\frac{\sqrt{2}}{2})", R"(\frac{1}{\sqrt{2}})"},
    {R"(\sqrt{12})", R"(2\sqrt{3})"},
    {R"(\sqrt{2}\sqrt{3})", R"(\sqrt{6})"},
    {R"(\sqrt{6}\sqrt{2})", R"(2\sqrt{3})"},
    {R"(\sqrt{5}^2)", "5"},
    {R"(\sqrt[3]{4})", "2^{2/3}"},
    {R"(\sqrt[3]{-8})", "-2"},
    {R"(\sqrt[4]{4})", R"(\sqrt{2})"},
    {R"(\sqrt{\frac{3}{4}})", R"(\frac{\sqrt{3}}{2})"},
    {R"(\sqrt{-1})", "i"},
    {R"(\sqrt{-4})", "2i"},
    {"i^2", "-1"},
    {R"(\sqrt{4x})", R"(2\sqrt{x})"},
    {"4i+3", "3+4i"},
    {R"(\sin^2 x)", R"((\sin x)^2)"},
    {R"(\log_e x)", R"(\ln x)"},
    {R"(\gcd(a,b))", R"(\gcd(b,a))"},
    {"|-3|", "3"},
    {R"(\{3,1,2,1\})", R"(\{1,2,3\})"},
    {R"((0,1)\cup(2,3))", R"((2,3)\cup(0,1))"},
    {R"(\frac12\begin{pmatrix}2\\4\end{pmatrix})", R"(\begin{pmatrix}1\\2\end{pmatrix})"},
    {R"(5^{5^{5^{5}}})", R"(5^{\left(5^{\left(5^5\right)}\right)})"},
};

constexpr Pair kDifferent[] = {
    {"0", R"(\frac{0}{0})"},
    {"5", R"(\infty-\infty+5)"},
    {"0", R"(0\cdot\infty)"},
    {"1", R"(\frac{\infty}{\infty})"},
    {"x", R"(\sqrt{x^2})"},
    {"x", R"(\sqrt{x}\sqrt{x})"},
    {"x", R"((\sqrt{x})^2)"},
    {"ab", "AB"},
    {"(1,2)", "(2,1)"},
    {"1,2", "2,1"},
    {R"(\begin{pmatrix}1&2\end{pmatrix})", R"(\begin{pmatrix}1\\2\end{pmatrix})"},
    {"[0,1)", "(0,1]"},
    {"x<1", R"(x\le 1)"},
    {"3^{2025}", "2^{2025}"},
    {"f(2)", "f(3)"},
    {"204_5", "204_6"},
    {R"(\begin{pmatrix}1\\2\end{pmatrix}\begin{pmatrix}3&4\end{pmatrix})",
     R"(\begin{pmatrix}3&4\end{pmatrix}\begin{pmatrix}1\\2\end{pmatrix})"},
};

// Random trees

class Trees {
public:
    Trees(Arena& arena, unsigned seed) : arena_(arena), random_(seed) {}

    NodeId any(int depth) {
        const int what = depth == 0 ? below(4) : below(10);
        if (what < 2) return number();
        if (what == 2) return arena_.symbol(below(2) == 0 ? "x" : "y");
        if (what == 3) return arena_.constant(below(3) == 0 ? Constant::pi : Constant::e);
        if (what == 9) return arena_.call(Function::sin, std::array{any(depth - 1)});
        if (what >= 7) return arena_.make(Kind::power, std::array{any(depth - 1), exponent()});
        std::vector<NodeId> parts;
        for (int i = 0, count = 2 + below(3); i < count; ++i) parts.push_back(any(depth - 1));
        return arena_.make(what < 5 ? Kind::sum : Kind::product, parts);
    }

    /// The same tree with the parts of sums and products in another order.
    NodeId shuffled(NodeId id) {
        std::vector<NodeId> parts;
        for (std::size_t i = 0; i < arena_.at(id).count; ++i) {
            parts.push_back(shuffled(arena_.child(id, i)));
        }
        const Kind kind = arena_.at(id).kind;
        if (kind == Kind::sum || kind == Kind::product) std::ranges::shuffle(parts, random_);
        if (parts.empty()) return id;
        if (kind == Kind::call) return arena_.call(Function::sin, parts);
        return arena_.make(kind, parts);
    }

private:
    int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
    NodeId number() { return arena_.number(*Rational::of(below(9) - 4, 1 + below(4))); }
    NodeId exponent() { return arena_.number(*Rational::of(below(7) - 3, 1 + below(3))); }

    Arena& arena_;
    std::mt19937 random_;
};

double to_double(const Rational& value) {
    return std::stod(value.numerator().to_string()) / std::stod(value.denominator().to_string());
}

Complex power_of(Complex base, NodeId id, Complex exponent, const Arena& arena) {
    if (base.imag() == 0) base = base.real();  // not -0, on the other side of the cut
    const bool real = base.imag() == 0 && base.real() < 0;
    if (real && arena.is(id, Kind::number)) {
        const Rational& value = arena.value(id);
        if (value.denominator().is_odd()) {
            const double size = std::pow(-base.real(), exponent.real());
            return value.numerator().is_odd() ? -size : size;
        }
    }
    return std::pow(base, exponent);
}

Complex value_of(const Arena& arena, NodeId id, double x, double y) {
    const auto child = [&](std::size_t i) { return value_of(arena, arena.child(id, i), x, y); };
    Complex result = arena.is(id, Kind::product) ? 1 : 0;
    switch (arena.at(id).kind) {
        case Kind::number: return to_double(arena.value(id));
        case Kind::symbol: return arena.name(id) == "x" ? x : y;
        case Kind::constant:
            if (arena.is(id, Constant::i)) return {0, 1};
            return arena.is(id, Constant::e) ? std::exp(1.0) : std::acos(-1.0);
        case Kind::power: return power_of(child(0), arena.child(id, 1), child(1), arena);
        case Kind::call: return std::sin(child(0));
        default: break;
    }
    for (std::size_t i = 0; i < arena.at(id).count; ++i) {
        if (arena.is(id, Kind::sum)) result += child(i);
        if (arena.is(id, Kind::product)) result *= child(i);
    }
    return result;
}

bool close(Complex a, Complex b) {
    const bool usable = std::isfinite(std::abs(a)) && std::isfinite(std::abs(b)) &&
                        std::abs(a) < 1e6 && std::abs(a) > 1e-6;
    return !usable || std::abs(a - b) <= 1e-6 * std::max(1.0, std::abs(a));
}

/// Idempotent, whatever the order of the parts, and of the same value.
void test_random_trees() {
    for (unsigned seed = 0; seed < 4000; ++seed) {
        Arena arena;
        Budget budget(10'000'000);
        Trees trees(arena, seed);
        const NodeId tree = trees.any(3);
        const NodeId other = trees.shuffled(tree);
        try {
            const NodeId once = canonical(arena, tree, budget);
            const std::string text = to_string(arena, once);
            CHECK_EQUAL(to_string(arena, canonical(arena, once, budget)), text);
            CHECK_EQUAL(to_string(arena, canonical(arena, other, budget)), text);
            for (const double x : {0.7, 1.9}) {
                const bool same =
                    close(value_of(arena, tree, x, 1.3), value_of(arena, once, x, 1.3));
                if (!same) std::cerr << to_string(arena, tree) << "\n" << text << "\n";
                CHECK_EQUAL(same, true);
            }
        } catch (const LimitReached&) {
            CHECK_EQUAL(std::string("limit"), "a form");
        }
    }
}

void test_size() {
    CHECK_EQUAL(form("(x+y+z)^{400}"), "power(sum(x, y, z), 400)");
    CHECK_EQUAL(form("9999999999!"), "factorial(9999999999)");
    CHECK_EQUAL(form("7^{1000}"), "power(7, 1000)");
    std::string product = "x";
    for (int i = 0; i < 1000; ++i) product += "x";
    CHECK_EQUAL(form(product), "power(x, 1001)");
}

}  // namespace

int main() {
    for (const auto& [left, right] : kSame) CHECK_EQUAL(form(left), form(right));
    for (const auto& [left, right] : kDifferent) {
        if (form(left) == form(right)) std::cerr << left << " and " << right << "\n";
        CHECK_EQUAL(form(left) == form(right), false);
    }
    test_random_trees();
    test_size();
    return exit_status();
}

#include "vocabulary.h"

#include <algorithm>
#include <array>

#include "cohort/ascii.h"

namespace cohort {
namespace {

using std::string_view_literals::operator""sv;

struct Entry {
    std::string_view name;
    Meaning meaning{};
};

template <typename Code>
constexpr Entry entry(std::string_view name, Sign sign, Code code) {
    return {name, {sign, static_cast<std::uint8_t>(code)}};
}
constexpr Entry entry(std::string_view name, Sign sign) { return {name, {sign}}; }
constexpr Entry entry(std::string_view name, Function f) { return entry(name, Sign::function, f); }
constexpr Entry entry(std::string_view name, Constant c) { return entry(name, Sign::constant, c); }
constexpr Entry entry(std::string_view name, Relation r) { return entry(name, Sign::relation, r); }
constexpr Entry entry(std::string_view name, Big b) { return entry(name, Sign::big, b); }

// Functions and constants that have the same name as a command and in plain text.
// clang-format off
constexpr std::array kShared{
    entry("sin", Function::sin), entry("cos", Function::cos), entry("tan", Function::tan),
    entry("cot", Function::cot), entry("sec", Function::sec), entry("csc", Function::csc),
    entry("arcsin", Function::arcsin), entry("arccos", Function::arccos),
    entry("arctan", Function::arctan), entry("arccot", Function::arccot),
    entry("arcsec", Function::arcsec), entry("arccsc", Function::arccsc),
    entry("sinh", Function::sinh), entry("cosh", Function::cosh), entry("tanh", Function::tanh),
    entry("coth", Function::coth), entry("sech", Function::sech), entry("csch", Function::csch),
    entry("exp", Function::exp), entry("ln", Function::ln), entry("log", Function::log),
    entry("lg", Function::log), entry("gcd", Function::gcd), entry("lcm", Function::lcm),
    entry("max", Function::max), entry("min", Function::min), entry("arg", Function::arg),
    entry("cis", Function::cis), entry("pi", Constant::pi), entry("cbrt", Sign::surd, 3),
    entry("sgn", Function::sign), entry("arsinh", Function::arsinh),
    entry("arcosh", Function::arcosh), entry("artanh", Function::artanh),
    entry("tg", Function::tan), entry("ctg", Function::cot), entry("Re", Function::re),
    entry("Im", Function::im),
};
// clang-format on

// Sorted by name when the program is compiled, because the tables are searched by halves.
template <std::size_t N>
constexpr auto with_shared(const std::array<Entry, N>& own) {
    std::array<Entry, N + kShared.size()> table{};
    std::ranges::copy(kShared, table.begin());
    std::ranges::copy(own, table.begin() + kShared.size());
    std::ranges::sort(table, {}, &Entry::name);
    return table;
}

// clang-format off
constexpr auto kCommands = with_shared(std::array{
    entry("infty", Constant::infinity), entry("frac", Sign::frac), entry("dfrac", Sign::frac),
    entry("tfrac", Sign::frac), entry("cfrac", Sign::frac), entry("nicefrac", Sign::frac),
    entry("sfrac", Sign::frac), entry("sqrt", Sign::root), entry("surd", Sign::surd, 2),
    entry("binom", Sign::binom), entry("dbinom", Sign::binom), entry("tbinom", Sign::binom),
    entry("vec", Sign::accent), entry("hat", Sign::accent), entry("widehat", Sign::accent),
    entry("tilde", Sign::accent), entry("overrightarrow", Sign::accent),
    entry("overline", Sign::overline), entry("bar", Sign::overline),
    entry("dot", Sign::dot_accent), entry("angle", Sign::figure), entry("triangle", Sign::figure),
    entry("measuredangle", Sign::figure), entry("sum", Big::sum), entry("prod", Big::product),
    entry("int", Big::integral), entry("lim", Big::limit), entry("emptyset", Sign::empty_set),
    entry("varnothing", Sign::empty_set), entry("ldots", Sign::dots), entry("dots", Sign::dots),
    entry("cdots", Sign::dots), entry("dotsc", Sign::dots), entry("dotsb", Sign::dots),
    entry("vdots", Sign::dots), entry("euro", Sign::currency), entry("pounds", Sign::currency),
    entry("yen", Sign::currency), entry("rupee", Sign::currency),
    entry("langle", Sign::open_angle), entry("rangle", Sign::close_angle),
    entry("lfloor", Sign::open_floor), entry("rfloor", Sign::close_floor),
    entry("lceil", Sign::open_ceil), entry("rceil", Sign::close_ceil),
    entry("lbrace", Sign::open_set), entry("rbrace", Sign::close_set),
    entry("lbrack", Sign::open_bracket), entry("rbrack", Sign::close_bracket),
    entry("vert", Sign::bar), entry("lvert", Sign::bar), entry("rvert", Sign::bar),
    entry("Vert", Sign::double_bar), entry("lVert", Sign::double_bar),
    entry("rVert", Sign::double_bar), entry("pm", Sign::plus_minus), entry("mp", Sign::minus_plus),
    entry("cdot", Sign::times), entry("times", Sign::times), entry("ast", Sign::times),
    entry("div", Sign::divide), entry("prime", Sign::prime), entry("degree", Sign::degree),
    entry("circ", Sign::circle), entry("over", Sign::over), entry("choose", Sign::choose),
    entry("bmod", Sign::modulo), entry("pmod", Sign::modulus), entry("mod", Sign::modulus),
    entry("le", Relation::less_equal), entry("leq", Relation::less_equal),
    entry("leqslant", Relation::less_equal), entry("leqq", Relation::less_equal),
    entry("lt", Relation::less), entry("gt", Relation::greater),
    entry("ge", Relation::greater_equal), entry("geq", Relation::greater_equal),
    entry("geqslant", Relation::greater_equal), entry("geqq", Relation::greater_equal),
    entry("ne", Relation::not_equal), entry("neq", Relation::not_equal),
    entry("approx", Relation::approx), entry("simeq", Relation::approx),
    entry("doteq", Relation::approx), entry("in", Relation::in), entry("notin", Relation::not_in),
    entry("subset", Relation::subset), entry("subseteq", Relation::subset),
    entry("equiv", Relation::equivalent), entry("cong", Relation::equivalent),
    entry("nmid", Relation::not_divides), entry("mapsto", Relation::maps_to),
    entry("to", Relation::maps_to), entry("rightarrow", Relation::maps_to),
    entry("implies", Relation::implies), entry("Rightarrow", Relation::implies),
    entry("parallel", Relation::parallel), entry("perp", Relation::perpendicular),
    entry("sim", Relation::similar), entry("mid", Sign::mid), entry("colon", Sign::colon),
    entry("cup", Sign::cup), entry("cap", Sign::cap), entry("setminus", Sign::without),
    entry("backslash", Sign::without), entry("land", Sign::conjunction), entry("cr", Sign::row),
    entry("wedge", Sign::conjunction), entry("lor", Sign::disjunction),
    entry("vee", Sign::disjunction), entry("percent", Sign::percent), entry("alpha", Sign::letter),
    entry("beta", Sign::letter), entry("gamma", Sign::letter), entry("delta", Sign::letter),
    entry("epsilon", Sign::letter), entry("varepsilon", Sign::letter), entry("zeta", Sign::letter),
    entry("eta", Sign::letter), entry("theta", Sign::letter), entry("vartheta", Sign::letter),
    entry("iota", Sign::letter), entry("kappa", Sign::letter), entry("lambda", Sign::letter),
    entry("mu", Sign::letter), entry("nu", Sign::letter), entry("xi", Sign::letter),
    entry("rho", Sign::letter), entry("varrho", Sign::letter), entry("sigma", Sign::letter),
    entry("tau", Sign::letter), entry("upsilon", Sign::letter), entry("phi", Sign::letter),
    entry("varphi", Sign::letter), entry("chi", Sign::letter), entry("psi", Sign::letter),
    entry("omega", Sign::letter), entry("Gamma", Sign::letter), entry("Delta", Sign::letter),
    entry("Theta", Sign::letter), entry("Lambda", Sign::letter), entry("Xi", Sign::letter),
    entry("Pi", Sign::letter), entry("Sigma", Sign::letter), entry("Phi", Sign::letter),
    entry("Psi", Sign::letter), entry("Omega", Sign::letter), entry("ell", Sign::letter), entry("top", Sign::letter),
});
// clang-format on

// clang-format off
constexpr auto kWords = with_shared(std::array{
    entry("log10", Function::log), entry("asin", Function::arcsin),
    entry("acos", Function::arccos), entry("atan", Function::arctan), entry("abs", Function::abs),
    entry("floor", Function::floor), entry("ceil", Function::ceil),
    entry("ceiling", Function::ceil), entry("factorial", Function::factorial),
    entry("binom", Function::binomial), entry("binomial", Function::binomial),
    entry("sqrt", Sign::surd, 2), entry("infinity", Constant::infinity),
    entry("infty", Constant::infinity), entry("Infinity", Constant::infinity),
    entry("inf", Constant::infinity),
    entry("oo", Constant::infinity), entry("undefined", Constant::undefined),
    entry("DNE", Constant::undefined), entry("and", Sign::conjunction),
    entry("or", Sign::disjunction), entry("mod", Sign::modulo), entry("modulo", Sign::modulo),
    entry("choose", Sign::choose), entry("plus", Sign::plus), entry("minus", Sign::minus),
    entry("negative", Sign::minus), entry("times", Sign::times), entry("over", Sign::over),
    entry("squared", Sign::squared, 2), entry("cubed", Sign::squared, 3),
    entry("percent", Sign::percent), entry("percentage", Sign::percent),
    entry("pct", Sign::percent), entry("degree", Sign::degree), entry("degrees", Sign::degree),
    entry("except", Sign::except), entry("excluding", Sign::except), entry("union", Sign::cup),
    entry("cup", Sign::cup), entry("intersection", Sign::cap), entry("dollars", Sign::currency),
    entry("dollar", Sign::currency), entry("euros", Sign::currency), entry("euro", Sign::currency),
    entry("USD", Sign::currency), entry("yuan", Sign::currency), entry("rupees", Sign::currency),
    entry("alpha", Sign::letter), entry("beta", Sign::letter), entry("gamma", Sign::letter),
    entry("delta", Sign::letter), entry("epsilon", Sign::letter), entry("theta", Sign::letter),
    entry("lambda", Sign::letter), entry("sigma", Sign::letter), entry("omega", Sign::letter),
    entry("phi", Sign::letter), entry("rho", Sign::letter), entry("tau", Sign::letter),
});
// clang-format on

struct ShapedCommand {
    std::string_view name;
    Shape shape;
};

// clang-format off
constexpr std::array kShapes{
    ShapedCommand{"Bbb", Shape::set}, ShapedCommand{"Big", Shape::bracket},
    ShapedCommand{"Bigg", Shape::bracket}, ShapedCommand{"Biggl", Shape::bracket},
    ShapedCommand{"Biggr", Shape::bracket}, ShapedCommand{"Bigl", Shape::bracket},
    ShapedCommand{"Bigr", Shape::bracket}, ShapedCommand{"Huge", Shape::skip},
    ShapedCommand{"LARGE", Shape::skip}, ShapedCommand{"Large", Shape::skip},
    ShapedCommand{"bf", Shape::skip},
    ShapedCommand{"big", Shape::bracket}, ShapedCommand{"bigg", Shape::bracket},
    ShapedCommand{"biggl", Shape::bracket}, ShapedCommand{"biggr", Shape::bracket},
    ShapedCommand{"bigl", Shape::bracket}, ShapedCommand{"bigr", Shape::bracket},
    ShapedCommand{"bm", Shape::bold}, ShapedCommand{"boldsymbol", Shape::bold},
    ShapedCommand{"boxed", Shape::wrap}, ShapedCommand{"color", Shape::dropped},
    ShapedCommand{"displaystyle", Shape::skip}, ShapedCommand{"emph", Shape::roman},
    ShapedCommand{"fbox", Shape::wrap}, ShapedCommand{"hline", Shape::skip},
    ShapedCommand{"hspace", Shape::dropped}, ShapedCommand{"hspace*", Shape::dropped},
    ShapedCommand{"huge", Shape::skip},
    ShapedCommand{"label", Shape::dropped}, ShapedCommand{"large", Shape::skip}, ShapedCommand{"left", Shape::bracket},
    ShapedCommand{"limits", Shape::skip}, ShapedCommand{"mathbb", Shape::set},
    ShapedCommand{"mathbf", Shape::bold}, ShapedCommand{"mathcal", Shape::wrap},
    ShapedCommand{"mathit", Shape::wrap}, ShapedCommand{"mathrm", Shape::roman},
    ShapedCommand{"mathsf", Shape::wrap}, ShapedCommand{"mbox", Shape::roman},
    ShapedCommand{"middle", Shape::bracket}, ShapedCommand{"nolimits", Shape::skip},
    ShapedCommand{"normalsize", Shape::skip},
    ShapedCommand{"operatorname", Shape::roman}, ShapedCommand{"operatorname*", Shape::roman},
    ShapedCommand{"phantom", Shape::dropped}, ShapedCommand{"qquad", Shape::space},
    ShapedCommand{"quad", Shape::space}, ShapedCommand{"right", Shape::bracket},
    ShapedCommand{"rm", Shape::skip}, ShapedCommand{"scriptstyle", Shape::skip}, ShapedCommand{"small", Shape::skip},
    ShapedCommand{"tag", Shape::dropped}, ShapedCommand{"text", Shape::roman},
    ShapedCommand{"textbf", Shape::roman}, ShapedCommand{"textcolor", Shape::dropped},
    ShapedCommand{"textit", Shape::roman}, ShapedCommand{"textnormal", Shape::roman},
    ShapedCommand{"textrm", Shape::roman},
    ShapedCommand{"textsf", Shape::roman}, ShapedCommand{"textstyle", Shape::skip},
    ShapedCommand{"texttt", Shape::roman}, ShapedCommand{"underline", Shape::wrap},
    ShapedCommand{"vspace", Shape::dropped},
};
// clang-format on
static_assert(std::ranges::is_sorted(kShapes, {}, &ShapedCommand::name));

struct NamedNumber {
    std::string_view word;
    NumberWord number;
};

using Role = NumberWord::Role;
// clang-format off
constexpr std::array kNumberWords{
    NamedNumber{"billion", {Role::scale, 1'000'000'000}}, NamedNumber{"dozen", {Role::scale, 12}},
    NamedNumber{"eight", {Role::ones, 8}}, NamedNumber{"eighteen", {Role::ones, 18}},
    NamedNumber{"eighth", {Role::part, 8}}, NamedNumber{"eighths", {Role::part, 8}},
    NamedNumber{"eighty", {Role::tens, 80}}, NamedNumber{"eleven", {Role::ones, 11}},
    NamedNumber{"fifteen", {Role::ones, 15}}, NamedNumber{"fifth", {Role::part, 5}},
    NamedNumber{"fifths", {Role::part, 5}}, NamedNumber{"fifty", {Role::tens, 50}},
    NamedNumber{"five", {Role::ones, 5}}, NamedNumber{"forty", {Role::tens, 40}},
    NamedNumber{"four", {Role::ones, 4}}, NamedNumber{"fourteen", {Role::ones, 14}},
    NamedNumber{"fourth", {Role::part, 4}}, NamedNumber{"fourths", {Role::part, 4}},
    NamedNumber{"half", {Role::part, 2}}, NamedNumber{"halves", {Role::part, 2}},
    NamedNumber{"hundred", {Role::hundred, 100}}, NamedNumber{"million", {Role::scale, 1'000'000}},
    NamedNumber{"nine", {Role::ones, 9}}, NamedNumber{"nineteen", {Role::ones, 19}},
    NamedNumber{"ninety", {Role::tens, 90}}, NamedNumber{"one", {Role::ones, 1}},
    NamedNumber{"quarter", {Role::part, 4}}, NamedNumber{"quarters", {Role::part, 4}},
    NamedNumber{"seven", {Role::ones, 7}}, NamedNumber{"seventeen", {Role::ones, 17}},
    NamedNumber{"seventy", {Role::tens, 70}}, NamedNumber{"six", {Role::ones, 6}},
    NamedNumber{"sixteen", {Role::ones, 16}}, NamedNumber{"sixth", {Role::part, 6}},
    NamedNumber{"sixths", {Role::part, 6}}, NamedNumber{"sixty", {Role::tens, 60}},
    NamedNumber{"ten", {Role::ones, 10}}, NamedNumber{"third", {Role::part, 3}},
    NamedNumber{"thirds", {Role::part, 3}}, NamedNumber{"thirteen", {Role::ones, 13}},
    NamedNumber{"thirty", {Role::tens, 30}}, NamedNumber{"thousand", {Role::scale, 1000}},
    NamedNumber{"three", {Role::ones, 3}},
    NamedNumber{"trillion", {Role::scale, 1'000'000'000'000}},
    NamedNumber{"twelve", {Role::ones, 12}}, NamedNumber{"twenty", {Role::tens, 20}},
    NamedNumber{"two", {Role::ones, 2}}, NamedNumber{"zero", {Role::ones, 0}},
};
// clang-format on
static_assert(std::ranges::is_sorted(kNumberWords, {}, &NamedNumber::word));

// Words without the shape consonant, vowel, consonant.
constexpr std::array kThreeLetterWords{
    "all"sv, "and"sv, "any"sv, "are"sv, "ate"sv, "day"sv, "few"sv, "for"sv,
    "how"sv, "now"sv, "odd"sv, "off"sv, "old"sv, "one"sv, "our"sv, "out"sv,
    "the"sv, "two"sv, "way"sv, "who"sv, "why"sv, "yes"sv, "you"sv,
};
static_assert(std::ranges::is_sorted(kThreeLetterWords));

template <std::size_t N>
std::optional<Meaning> find(const std::array<Entry, N>& table, std::string_view name) {
    const auto found = std::ranges::lower_bound(table, name, {}, &Entry::name);
    if (found == table.end() || found->name != name) return std::nullopt;
    return found->meaning;
}

}  // namespace

Shape shape_of(std::string_view command) {
    const auto found = std::ranges::lower_bound(kShapes, command, {}, &ShapedCommand::name);
    return found != kShapes.end() && found->name == command ? found->shape : Shape::none;
}

std::optional<Meaning> command_meaning(std::string_view command) {
    return find(kCommands, command);
}

std::optional<Meaning> word_meaning(std::string_view word) { return find(kWords, word); }

std::optional<NumberWord> number_word(std::string_view word) {
    const auto found = std::ranges::lower_bound(kNumberWords, word, {}, &NamedNumber::word);
    if (found == kNumberWords.end() || found->word != word) return std::nullopt;
    return found->number;
}

bool is_ordinal_end(std::string_view word) {
    return word == "th" || word == "st" || word == "nd" || word == "rd";
}

bool is_three_letter_word(std::string_view word) {
    const std::string lower = lowered(word);
    if (std::ranges::binary_search(kThreeLetterWords, std::string_view(lower))) return true;
    const auto vowel = [&](std::size_t i) { return is_one_of(lower[i], "aeiou"); };
    return !vowel(0) && vowel(1) && !vowel(2);
}

}  // namespace cohort

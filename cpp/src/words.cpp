// The words that grading knows. The same tables stand in cohort/grading/reference/words.py.
#include "cohort/words.h"

#include <algorithm>
#include <array>

namespace cohort {
namespace {

using std::string_view_literals::operator""sv;

struct Entry {
    std::string_view form, name;
};

// Sorted by form, because they are searched by halves.
// clang-format off
constexpr std::array kLooseCommands{
    Entry{" ", " "}, Entry{"!", ""}, Entry{"$", "$"}, Entry{"%", "%"}, Entry{"(", "$"},
    Entry{")", "$"}, Entry{",", " "}, Entry{":", " "}, Entry{";", " "}, Entry{"[", "$"},
    Entry{"]", "$"}, Entry{"cfrac", "\\frac"}, Entry{"degree", "^\\circ "},
    Entry{"dfrac", "\\frac"}, Entry{"displaystyle", ""}, Entry{"div", "/"},
    Entry{"ldots", "\\dots"}, Entry{"left", ""}, Entry{"qquad", " "}, Entry{"quad", " "},
    Entry{"right", ""}, Entry{"tfrac", "\\frac"},
};

constexpr std::array kWrappers{
    "bf"sv, "boxed"sv, "emph"sv, "fbox"sv, "mathbf"sv, "mathit"sv, "mathrm"sv, "mathsf"sv,
    "mbox"sv, "operatorname"sv, "rm"sv, "text"sv, "textbf"sv, "textit"sv, "textnormal"sv, "textrm"sv,
    "underline"sv,
};

struct Scale {
    std::string_view word;
    int exponent;
};
constexpr std::array kScales{
    Scale{"billion", 9}, Scale{"hundred", 2}, Scale{"million", 6}, Scale{"thousand", 3},
    Scale{"trillion", 12},
};

constexpr std::array kMathWords{
    "and"sv, "base"sv, "below"sv, "between"sv, "billion"sv, "choose"sv, "cos"sv, "cot"sv, "csc"sv,
    "cubed"sv, "dozen"sv, "dozens"sv, "eighth"sv, "eighths"sv, "except"sv, "exp"sv, "factorial"sv,
    "fifth"sv, "fifths"sv, "fourth"sv, "fourths"sv, "half"sv, "halves"sv, "hundred"sv,
    "hundredth"sv, "hundredths"sv, "if"sv, "incorrect"sv, "infinity"sv, "infty"sv, "least"sv, "less"sv,
    "ln"sv, "log"sv, "maybe"sv, "million"sv, "minus"sv, "mod"sv, "modulo"sv, "more"sv, "most"sv, "negative"sv,
    "ninth"sv, "ninths"sv, "not"sv, "or"sv, "otherwise"sv, "over"sv, "perhaps"sv, "pi"sv, "plus"sv,
    "possibly"sv, "quarter"sv, "quarters"sv, "remainder"sv, "root"sv, "sec"sv, "seventh"sv,
    "sevenths"sv, "sin"sv, "sixth"sv, "sixths"sv, "sqrt"sv, "squared"sv, "tan"sv, "tenth"sv,
    "tenths"sv, "than"sv, "third"sv, "thirds"sv, "thousand"sv, "thousandths"sv, "times"sv, "to"sv,
    "trillion"sv, "unless"sv, "when"sv, "wrong"sv,
};

constexpr std::array kShortWords{
    "an"sv, "as"sv, "at"sv, "by"sv, "he"sv, "in"sv, "is"sv, "it"sv, "of"sv, "on"sv, "so"sv, "we"sv,
};
// clang-format on

static_assert(std::ranges::is_sorted(kLooseCommands, {}, &Entry::form));
static_assert(std::ranges::is_sorted(kWrappers));
static_assert(std::ranges::is_sorted(kMathWords));
static_assert(std::ranges::is_sorted(kShortWords));

template <typename Table>
std::optional<std::string_view> find(const Table& table, std::string_view form) {
    const auto entry = std::ranges::lower_bound(table, form, {}, &Entry::form);
    if (entry == table.end() || entry->form != form) return std::nullopt;
    return entry->name;
}

}  // namespace

std::optional<std::string_view> loose_command(std::string_view name) {
    return find(kLooseCommands, name);
}

bool is_wrapper(std::string_view name) { return std::ranges::binary_search(kWrappers, name); }

std::optional<int> scale_exponent(std::string_view word) {
    for (const Scale& scale : kScales) {
        if (scale.word == word) return scale.exponent;
    }
    return std::nullopt;
}

bool is_math_word(std::string_view word) { return std::ranges::binary_search(kMathWords, word); }

bool is_short_word(std::string_view word) { return std::ranges::binary_search(kShortWords, word); }

}  // namespace cohort

#include "cohort/labels.h"

#include <algorithm>
#include <array>

#include "cohort/ascii.h"

namespace cohort {
namespace {

using std::string_view_literals::operator""sv;

constexpr int kMaxWords = 8;  // a longer text behind a number is an explanation

// Words that say nothing about what is counted.
constexpr std::array kFillers{
    "a"sv,        "about"sv,   "altogether"sv, "an"sv,    "different"sv, "distinct"sv, "each"sv,
    "every"sv,    "exactly"sv, "full"sv,       "he"sv,    "her"sv,       "his"sv,      "is"sv,
    "it"sv,       "its"sv,     "just"sv,       "of"sv,    "only"sv,      "overall"sv,  "per"sv,
    "possible"sv, "such"sv,    "the"sv,        "their"sv, "these"sv,     "those"sv,    "total"sv,
    "unique"sv,   "we"sv,      "whole"sv,
};
static_assert(std::ranges::is_sorted(kFillers));

// Words with which something else begins.
constexpr std::array kClauses{
    "after"sv, "as"sv,    "at"sv,    "because"sv, "before"sv, "by"sv,   "for"sv,
    "from"sv,  "in"sv,    "on"sv,    "since"sv,   "so"sv,     "that"sv, "when"sv,
    "where"sv, "which"sv, "while"sv, "who"sv,     "whose"sv,  "with"sv,
};
static_assert(std::ranges::is_sorted(kClauses));

struct Plural {
    std::string_view word, singular;
};
constexpr std::array kPlurals{
    Plural{"children", "child"}, Plural{"kid", "child"},     Plural{"kids", "child"},
    Plural{"men", "man"},        Plural{"people", "person"}, Plural{"women", "woman"},
};

bool is_filler(std::string_view word) { return std::ranges::binary_search(kFillers, word); }

std::string_view without(std::string_view word, std::size_t size) {
    return word.substr(0, word.size() - size);
}

std::string singular(std::string_view word) {
    for (const Plural& plural : kPlurals) {
        if (plural.word == word) return std::string(plural.singular);
    }
    if (word.size() > 4 && word.ends_with("ies")) return std::string(without(word, 3)).append("y");
    for (const std::string_view end : {"ches"sv, "shes"sv, "sses"sv, "xes"sv, "zes"sv}) {
        if (word.ends_with(end)) return std::string(without(word, 2));
    }
    const bool is_plural = word.size() > 3 && word.ends_with('s') && !word.ends_with("ss") &&
                           !word.ends_with("us") && !word.ends_with("is");
    return std::string(without(word, is_plural ? 1 : 0));
}

/// Takes the first word off a label.
std::string_view take_word(std::string_view& rest) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    return word;
}

bool has_words(std::string_view label, std::string_view words) {
    while (!words.empty()) {
        const std::string_view word = take_word(words);
        bool found = false;
        for (std::string_view rest = label; !rest.empty() && !found;) {
            found = take_word(rest) == word;
        }
        if (!found) return false;
    }
    return true;
}

}  // namespace

std::string label(std::string_view text) {
    std::string content;
    std::string fillers;
    int count = 0;
    for (std::size_t i = 0; i < text.size() && count < kMaxWords; ++i) {
        const std::size_t end = skip_letters(text, i);
        if (end == i) continue;
        const std::string word = lowered(text.substr(i, end - i));
        if (std::ranges::binary_search(kClauses, std::string_view(word))) break;
        std::string& place = is_filler(word) ? fillers : content;
        if (!place.empty()) place += ' ';
        place += is_filler(word) ? word : singular(word);
        ++count;
        i = end;
    }
    return content.empty() ? fillers : content;
}

bool is_silent(std::string_view label) {
    while (!label.empty()) {
        if (!is_filler(take_word(label))) return false;
    }
    return true;
}

bool same_label(std::string_view one, std::string_view other) {
    const bool silent = is_silent(one);
    if (silent != is_silent(other)) return true;
    if (silent) return one.empty() || other.empty() || one == other;
    return has_words(one, other) || has_words(other, one);
}

}  // namespace cohort

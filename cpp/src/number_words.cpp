#include "cohort/number_words.h"

#include <algorithm>
#include <array>
#include <string>

#include "cohort/ascii.h"

namespace cohort {
namespace {

using View = std::string_view;
using Value = unsigned long long;

struct Word {
    View text;
    Value value;
};

constexpr Value kHundred = 100;
constexpr Value kLeastGreat = 1000;
constexpr Value kAboveGreat = 1'000'000'000'000'000;

// Sorted, because they are searched by halves.
// clang-format off
constexpr std::array kWords{
    Word{"billion", 1'000'000'000}, Word{"eight", 8}, Word{"eighteen", 18}, Word{"eighty", 80},
    Word{"eleven", 11}, Word{"fifteen", 15}, Word{"fifty", 50}, Word{"five", 5}, Word{"forty", 40},
    Word{"four", 4}, Word{"fourteen", 14}, Word{"hundred", kHundred}, Word{"million", 1'000'000},
    Word{"nine", 9}, Word{"nineteen", 19}, Word{"ninety", 90}, Word{"one", 1}, Word{"seven", 7},
    Word{"seventeen", 17}, Word{"seventy", 70}, Word{"six", 6}, Word{"sixteen", 16},
    Word{"sixty", 60}, Word{"ten", 10}, Word{"thirteen", 13}, Word{"thirty", 30},
    Word{"thousand", kLeastGreat}, Word{"three", 3}, Word{"trillion", 1'000'000'000'000},
    Word{"twelve", 12}, Word{"twenty", 20}, Word{"two", 2}, Word{"zero", 0},
};
// clang-format on
static_assert(std::ranges::is_sorted(kWords, {}, &Word::text));
constexpr std::size_t kLongest = 9;  // letters of `seventeen`

std::optional<Value> value_of(View lower) {
    const auto word = std::ranges::lower_bound(kWords, lower, {}, &Word::text);
    if (word == kWords.end() || word->text != lower) return std::nullopt;
    return word->value;
}

/// Adds up the words of a number.
struct Reader {
    Value total = 0, group = 0;
    Value limit = kAboveGreat;  // the next great word must be below it
    bool is_zero = false;

    /// Add a word, if the number may go on with it.
    bool accepts(char separator, bool joined, Value value, bool first) {
        const Value below = group % kHundred;
        if (first != (separator == '\0') || is_zero) return false;
        const bool is_great = value >= kHundred;
        if (separator == '-' && (joined || below < 20 || below % 10 != 0 || value >= 20)) {
            return false;
        }
        if (joined && (first || below != 0 || is_great)) return false;
        if (value >= kLeastGreat) return great(value);
        if (value == kHundred) {
            const bool fits = group > 0 && group < 20;
            group *= kHundred;
            return fits;
        }
        is_zero = value == 0;
        const bool fits = below == 0 || (value < 10 && below >= 20 && below % 10 == 0);
        group += value;
        return fits && (first || value > 0);
    }

    bool great(Value value) {
        const bool fits = group > 0 && value < limit;
        total += group * value;
        group = 0;
        limit = value;
        return fits;
    }
};

}  // namespace

bool is_number_word(View word) { return value_of(word).has_value(); }

std::optional<WordNumber> read_words(View text, std::size_t start) {
    Reader reader;
    std::size_t end = start;
    while (true) {
        std::size_t word = end;
        const char separator = at(text, word) == ' ' || at(text, word) == '-' ? text[word] : '\0';
        if (separator != '\0') ++word;
        const bool joined = text.substr(std::min(word, text.size())).starts_with("and ") &&
                            is_letter(at(text, word + 4));
        if (joined) word += 4;
        const std::size_t word_end = skip_letters(text, word);
        if (word_end == word || word_end - word > kLongest) break;
        const auto value = value_of(lowered(text.substr(word, word_end - word)));
        if (!value) break;
        if (!reader.accepts(separator, joined, *value, end == start)) return std::nullopt;
        end = word_end;
    }
    if (end == start || at(text, end) == '-') return std::nullopt;
    return WordNumber{reader.total + reader.group, end};
}

}  // namespace cohort

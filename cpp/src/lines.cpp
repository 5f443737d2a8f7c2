#include "lines.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "cohort/normal_form.h"

namespace cohort {
namespace {

using View = std::string_view;

constexpr View kApostrophe = "\xE2\x80\x99";

bool continues(char c) { return (static_cast<std::uint8_t>(c) & 0xC0U) == 0x80U; }

constexpr std::size_t kMaxWindow = 8192;  // characters of a window with its loose signs

std::size_t char_end(View text, std::size_t start) {
    std::size_t end = start + 1;
    while (end < text.size() && continues(text[end])) ++end;
    return end;
}

std::size_t char_start(View text, std::size_t end) {
    std::size_t start = end - 1;
    while (start > 0 && continues(text[start])) --start;
    return start;
}

constexpr std::array<bool, 256> kLooseBytes = [] {
    std::array<bool, 256> loose{};
    for (const char c : View(" \t\n\v\f\r.-_*~$\\")) loose[static_cast<std::uint8_t>(c)] = true;
    return loose;
}();

bool is_wide(char c) { return static_cast<std::uint8_t>(c) >= 0x80U; }

/// Whether a character fills space.
bool is_loose(char c) { return kLooseBytes[static_cast<std::uint8_t>(c)]; }

bool is_loose(View c) {
    if (c.size() == 1) return is_loose(c[0]);
    if (c == "\xC2\xA0" || c == "\xE3\x80\x80" || c == "\xEF\xBB\xBF") return true;
    // U+2000 to U+200F: spaces, and signs without any width
    return c.size() == 3 && c.starts_with("\xE2\x80") && static_cast<std::uint8_t>(c[2]) < 0x90U;
}

/// Counts the characters of a window.
struct Counter {
    std::size_t left;
    std::size_t left_raw = kMaxWindow;
    bool was_loose = false;

    bool accepts(bool loose) {
        if (left_raw == 0) return false;
        if (!(loose && was_loose)) {
            if (left == 0) return false;
            --left;
        }
        --left_raw;
        was_loose = loose;
        return true;
    }
};

bool is_word_char(char c) { return is_alnum(c) || c == '\''; }

}  // namespace

std::size_t forward(View text, std::size_t start, std::size_t chars) {
    if (text.size() - start <= chars) return text.size();
    std::size_t end = start;
    for (; end < text.size(); ++end) {
        if (continues(text[end])) continue;
        if (chars == 0) break;
        --chars;
    }
    return end;
}

std::size_t backward(View text, std::size_t end, std::size_t chars) {
    if (end <= chars) return 0;
    std::size_t start = end;
    for (; start > 0 && chars > 0; --start) {
        if (!continues(text[start - 1])) --chars;
    }
    return start;
}

std::size_t window_end(View text, std::size_t start, std::size_t chars) {
    if (text.size() - start <= chars) return text.size();
    Counter counter{chars};
    std::size_t end = start;
    while (end < text.size()) {
        const bool wide = is_wide(text[end]);
        const std::size_t next = wide ? char_end(text, end) : end + 1;
        const bool loose = wide ? is_loose(text.substr(end, next - end)) : is_loose(text[end]);
        if (!counter.accepts(loose)) break;
        end = next;
    }
    return end;
}

std::size_t window_start(View text, std::size_t end, std::size_t chars) {
    if (end <= chars) return 0;
    Counter counter{chars};
    std::size_t start = end;
    while (start > 0) {
        const bool wide = is_wide(text[start - 1]);
        const std::size_t next = wide ? char_start(text, start) : start - 1;
        const bool loose = wide ? is_loose(text.substr(next, start - next)) : is_loose(text[next]);
        if (!counter.accepts(loose)) break;
        start = next;
    }
    return start;
}

bool has_at_most(View text, std::size_t chars) {
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == '\\' && is_letter(at(text, i + 1))) {
            i = skip_letters(text, i + 1);
            continue;
        }
        const std::size_t next = char_end(text, i);
        if (!is_loose(text.substr(i, next - i)) && chars-- == 0) return false;
        i = next;
    }
    return true;
}

bool has_operation(View text) {
    constexpr std::array<View, 6> kCommands{"frac", "dfrac", "times", "cdot", "div", "sqrt"};
    constexpr std::array<View, 3> kWide{"\xC3\x97", "\xC3\xB7", "\xC2\xB7"};
    for (std::size_t i = 0; i < text.size(); ++i) {
        const View rest = text.substr(i);
        if (rest[0] == '+' || rest[0] == '/') return true;
        if (rest[0] == '*' && at(text, i - 1) != '*' && at(text, i + 1) != '*') return true;
        for (const View sign : kWide) {
            if (rest.starts_with(sign)) return true;
        }
        if (rest[0] != '\\') continue;
        const View name = rest.substr(1, skip_letters(rest, 1) - 1);
        if (std::ranges::find(kCommands, name) != kCommands.end()) return true;
    }
    return false;
}

bool is_within(View text, std::size_t chars) {
    return text.size() <= chars || (text.size() <= 4 * chars && count_chars(text) <= chars);
}

std::size_t line_end(View text, std::size_t start, std::size_t stop) {
    for (std::size_t i = start; i < stop; ++i) {
        if (text[i] == '\n') return i;
        if (text[i] == '<' && i + 1 < stop && (text[i + 1] == '/' || text[i + 1] == '|')) return i;
    }
    return stop;
}

std::optional<Span> strip_span(View text, Span span, View before, View after) {
    while (span.start < span.end && is_one_of(text[span.start], before)) ++span.start;
    while (span.start < span.end && is_one_of(text[span.end - 1], after)) --span.end;
    if (span.start >= span.end) return std::nullopt;
    return span;
}

std::string words_of(View text) {
    std::string words(1, ' ');
    words.reserve(text.size() + 2);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_word_char(text[i])) {
            words += to_lower(text[i]);
        } else if (text.substr(i).starts_with(kApostrophe)) {
            words += '\'';
            i += kApostrophe.size() - 1;
        } else if (text[i] == '\\' && is_letter(at(text, i + 1))) {
            i = skip_letters(text, i + 1) - 1;
            if (words.back() != ' ') words += ' ';
        } else if (words.back() != ' ') {
            words += ' ';
        }
    }
    // Without any word there are two spaces, as in the twin: one before and one after.
    if (words.back() != ' ' || words.size() == 1) words += ' ';
    return words;
}

bool has_any(View words, PhraseView table) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        if (words[i] != ' ' || !is_lower(words[i + 1])) continue;
        const View rest = words.substr(i + 1);
        const auto letter = static_cast<std::size_t>(rest[0] - 'a');
        for (std::size_t k = table.starts[letter]; k < table.starts[letter + 1]; ++k) {
            const View phrase = table.phrases[k];
            if (at(rest, phrase.size()) == ' ' && rest.starts_with(phrase)) return true;
        }
    }
    return false;
}

std::size_t count_words(View words) {
    std::size_t count = 0;
    for (std::size_t i = 1; i < words.size(); ++i) count += words[i] == ' ' && words[i - 1] != ' ';
    return count;
}

std::string_view first_words(View words, std::size_t count) {
    std::size_t end = 1;
    while (end < words.size() && count > 0) {
        end = words.find(' ', end) + 1;
        --count;
    }
    return words.substr(0, end);
}

std::string_view last_words(View words, std::size_t count) {
    std::size_t start = words.size() - 1;
    while (start > 0 && count > 0) {
        start = words.rfind(' ', start - 1);
        --count;
    }
    return words.substr(start);
}

std::string_view sentence_lead(View text, std::size_t end, std::size_t chars) {
    const std::size_t begin = window_start(text, end, chars);
    for (std::size_t i = end; i > begin; --i) {
        const View rest = text.substr(i - 1, end - i + 1);
        if (rest[0] == '\n' || rest.starts_with(". ")) return rest.substr(1);
        if (rest.starts_with(kIdeographicStop)) return rest.substr(kIdeographicStop.size());
    }
    return text.substr(begin, end - begin);
}

std::string_view sentence_rest(View text, std::size_t start, std::size_t chars) {
    const View rest = text.substr(start, window_end(text, start, chars) - start);
    for (std::size_t i = 0; i < rest.size(); ++i) {
        const View from = rest.substr(i);
        if (from[0] == '\n' || from.starts_with(". ") || from.starts_with(kIdeographicStop)) {
            return rest.substr(0, i);
        }
    }
    return rest;
}

std::size_t skip_space(View text, std::size_t start) {
    return skip(text, start, [](char c) { return is_one_of(c, kSpace); });
}

bool starts_with_word(View text, View lower) {
    const auto same = [](char a, char b) { return to_lower(a) == b; };
    return text.size() >= lower.size() &&
           std::ranges::equal(text.substr(0, lower.size()), lower, same);
}

}  // namespace cohort

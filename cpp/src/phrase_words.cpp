#include <algorithm>
#include <array>
#include <string>

#include "lines.h"
#include "phrases.h"

namespace cohort {
namespace {

using View = std::string_view;
using std::string_view_literals::operator""sv;

bool is_emphasis(char c) { return is_one_of(c, "*_ "); }

/// `text` before `window`, from `start` on.
View ahead(View text, std::size_t start, std::size_t window) {
    return start < window ? text.substr(start, window - start) : View{};
}

/// Length of the first of `words` that `text` begins with, with no letter behind it; 0 if none.
template <std::size_t N>
std::size_t match_word(View text, const std::array<View, N>& words) {
    for (const View word : words) {
        if (starts_with_word(text, word) && !is_letter(at(text, word.size()))) return word.size();
    }
    return 0;
}

constexpr std::array kVerbs{"would be"sv, "will be"sv, "must be"sv, "should be"sv,
                            "is"sv,       "are"sv,     "was"sv,     "equals"sv};

/// `:`, `=` or a verb after spaces and emphasis; npos if none.
std::size_t match_plain_verb(View text, std::size_t start, std::size_t window) {
    const View rest = ahead(text, start, window);
    const std::size_t verb = skip(rest, 0, is_emphasis);
    const View from = rest.substr(verb);
    if (at(from, 0) == ':' || at(from, 0) == '=') return start + verb + 1;
    if (from.starts_with(kWideColon)) return start + verb + kWideColon.size();
    const std::size_t size = match_word(from, kVerbs);
    return size == 0 ? npos : start + verb + size;
}

/// Start of the verb after ` to the question`, at most 60 characters later; npos if none.
std::size_t match_purpose(View text, std::size_t start, std::size_t window) {
    constexpr std::size_t kMaxPurpose = 60;
    const View rest = ahead(text, start, window);
    if (!starts_with_word(rest, " to ") && !starts_with_word(rest, " of ") &&
        !starts_with_word(rest, " for ")) {
        return npos;
    }
    const std::size_t first = rest.find(' ', 1) + 1;
    const std::size_t last = forward(rest, first, kMaxPurpose);
    for (std::size_t i = first; i <= last && i < rest.size(); ++i) {
        const View from = rest.substr(i);
        const bool verb = starts_with_word(from, " is ") || starts_with_word(from, " are ");
        if (i > first && (from[0] == ':' || verb)) return start + i;
        if (is_one_of(from[0], ".:=?!\n")) return npos;
    }
    return npos;
}

}  // namespace

std::size_t match_verb(View text, std::size_t start, std::size_t window) {
    const auto match = [&](std::size_t from) {
        const std::size_t purpose = match_purpose(text, from, window);
        return match_plain_verb(text, purpose == npos ? from : purpose, window);
    };
    const bool plural = to_lower(at(text, start)) == 's' && start < window;
    const std::size_t end = plural ? match(start + 1) : npos;
    return end == npos ? match(start) : end;
}

std::size_t match_chinese_verb(View text, std::size_t start, std::size_t window) {
    const View rest = ahead(text, start, window);
    const std::size_t verb = skip(rest, 0, is_emphasis);
    // `:`, `=`, a wide colon, then should-be, should-be (short), is, is (formal), choose
    constexpr std::array kForms{":"sv,
                                "="sv,
                                kWideColon,
                                "\xE5\xBA\x94\xE8\xAF\xA5\xE6\x98\xAF"sv,
                                "\xE5\xBA\x94\xE4\xB8\xBA"sv,
                                "\xE6\x98\xAF"sv,
                                "\xE4\xB8\xBA"sv,
                                "\xE9\x80\x89"sv};
    for (const View form : kForms) {
        if (rest.substr(verb).starts_with(form)) return start + verb + form.size();
    }
    return npos;
}

bool is_negated(View text, std::size_t start, std::size_t window) {
    View rest = ahead(text, start, window);
    constexpr View kChineseNot = "\xE4\xB8\x8D";
    constexpr View kChineseIndeed = "\xE5\xB9\xB6";
    if (rest.starts_with(kChineseIndeed) &&
        rest.substr(kChineseIndeed.size()).starts_with(kChineseNot)) {
        rest.remove_prefix(kChineseIndeed.size());
    }
    if (rest.starts_with(kChineseNot)) return !is_letter(at(rest, kChineseNot.size()));
    if (to_lower(at(rest, 0)) == 's') rest.remove_prefix(1);
    const std::size_t verb = skip(rest, 0, is_emphasis);
    if (verb == 0) return false;
    constexpr std::array kBefore{"is"sv,     "are"sv,   "was"sv,  "would"sv, "will"sv, "must"sv,
                                 "should"sv, "could"sv, "does"sv, "can"sv,   "ca"sv,   "wo"sv};
    constexpr std::array kNots{"n't"sv,    "n\xE2\x80\x99t"sv, " not"sv,
                               " never"sv, " neither"sv,       "not"sv};
    for (const View word : kBefore) {
        if (!starts_with_word(rest.substr(verb), word)) continue;
        if (match_word(rest.substr(verb + word.size()), kNots) != 0) return true;
    }
    return false;
}

bool is_aside(View lead, View following) {
    // Before `answer`: it is another one than the one that is given.
    constexpr PhraseTable kOthers{"wrong"sv,     "incorrect"sv, "naive"sv,    "old"sv,
                                  "previous"sv,  "common"sv,    "expected"sv, "reference"sv,
                                  "student's"sv, "false"sv,     "tempting"sv};
    constexpr PhraseTable kDoubts{
        "whether"sv,        "suppose"sv,       "assume"sv,        "assuming"sv,
        "doubt"sv,          "wish"sv,          "claims"sv,        "claim"sv,
        "claimed"sv,        "don't think"sv,   "do not think"sv,  "don't believe"sv,
        "do not believe"sv, "false that"sv,    "not true that"sv, "not the case that"sv,
        "who says"sv,       "might say"sv,     "may say"sv,       "would say"sv,
        "my first"sv,       "mistake is to"sv, "mistake to"sv,    "test if"sv};
    constexpr PhraseTable kIf{"if"sv};
    const std::string words = words_of(lead);
    if (words.ends_with("'s ") || has_any(last_words(words, 1), kOthers)) return true;
    if (has_any(last_words(words, 6), kDoubts) || has_any(last_words(words, 3), kIf)) return true;
    return has_any(words, kIf) && following.starts_with(" would");
}

std::size_t skip_fillers(View text, std::size_t start, std::size_t window) {
    constexpr std::array kFillers{"therefore"sv, "thus"sv,     "then"sv,     "hence"sv,
                                  "simply"sv,    "just"sv,     "indeed"sv,   "clearly"sv,
                                  "exactly"sv,   "probably"sv, "likely"sv,   "definitely"sv,
                                  "certainly"sv, "finally"sv,  "actually"sv, "most likely"sv,
                                  "equal to"sv,  "given by"sv, "option"sv,   "choice"sv};
    while (true) {
        const View rest = ahead(text, start, window);
        std::size_t size = match_word(rest, kFillers);
        if (size == 0) return start;
        if (at(rest, size) == ',' || at(rest, size) == ':') ++size;
        start += skip(rest, size, is_emphasis);
    }
}

std::size_t skip_openings(View text, std::size_t start, std::size_t window) {
    constexpr std::array kOpenings{"so"sv,      "thus"sv,   "therefore"sv, "hence"sv,
                                   "then"sv,    "and"sv,    "that"sv,      "means"sv,
                                   "clearly"sv, "option"sv, "choice"sv,    "finally"sv};
    while (true) {
        const View rest = ahead(text, start, window);
        std::size_t size = match_word(rest, kOpenings);
        if (size == 0) return start;
        if (at(rest, size) == ',') ++size;
        start += skip_spaces(rest, size);
    }
}

std::size_t stated_start(View lead) {
    const auto drop = [&](View word) {
        if (lead.size() < word.size()) return false;
        if (!starts_with_word(lead.substr(lead.size() - word.size()), word)) return false;
        lead.remove_suffix(word.size());
        return true;
    };
    // The space before an adjective belongs to the article that stands before it.
    if (drop(" final ") || drop(" correct ") || drop(" right ")) {
        if (!drop(" the") && !drop(" our") && !drop(" my")) return npos;
    } else if (!drop(" the ") && !drop(" our ") && !drop(" my ")) {
        return npos;
    }
    return drop(" is") || drop(" are") ? lead.size() : npos;
}

bool is_heading(View lead) {
    std::size_t i = skip(lead, 0, [](char c) { return is_one_of(c, "#*_ "); });
    for (const View word : {"the "sv, "my "sv, "our "sv}) {
        if (starts_with_word(lead.substr(i), word)) {
            i += word.size();
            break;
        }
    }
    for (const View word : {"final "sv, "correct "sv}) {
        if (starts_with_word(lead.substr(i), word)) {
            i += word.size();
            break;
        }
    }
    return i == lead.size();
}

std::size_t explained_start(View text, std::size_t start, std::size_t end) {
    constexpr std::array kAnywhere{"because"sv, "instead of"sv, "since"sv,     "rather than"sv,
                                   "where"sv,   "for all"sv,    "for every"sv, "for any"sv};
    constexpr std::array kAfterComma{"as"sv,  "so"sv,      "which"sv,  "obtained"sv,
                                     "not"sv, "but not"sv, "and not"sv};
    for (std::size_t i = start; i + 1 < end; ++i) {
        const View rest = text.substr(i, end - i);
        if (rest[0] == ' ' && match_word(rest.substr(1), kAnywhere) != 0) return i;
        if (!rest.starts_with(", ")) continue;
        const View word = rest.substr(2);
        if (match_word(word, kAnywhere) != 0 || match_word(word, kAfterComma) != 0) return i;
    }
    return end;
}

std::optional<std::size_t> value_start(View answer) {
    constexpr std::array kExcluded{"except"sv, "not"sv,   "unless"sv, "or"sv,
                                   "no"sv,     "never"sv, "between"sv};
    constexpr std::array kVerbsBefore{
        "is"sv,    "are"sv,   "was"sv,    "were"sv,  "be"sv,    "has"sv,   "have"sv,   "had"sv,
        "get"sv,   "gets"sv,  "give"sv,   "gives"sv, "make"sv,  "makes"sv, "made"sv,   "take"sv,
        "takes"sv, "took"sv,  "cost"sv,   "costs"sv, "earn"sv,  "earns"sv, "earned"sv, "need"sv,
        "needs"sv, "equal"sv, "equals"sv, "total"sv, "totals"sv};
    std::size_t found = 0;
    for (std::size_t i = 0; i < answer.size(); ++i) {
        if (is_letter(at(answer, i - 1))) continue;
        const View rest = answer.substr(i);
        if (match_word(rest, kExcluded) != 0) return std::nullopt;
        const std::size_t size = match_word(rest, kVerbsBefore);
        const char value = at(rest, size + 1);
        if (size != 0 && at(rest, size) == ' ' && (is_digit(value) || is_one_of(value, "-+$\\"))) {
            found = i + size + 1;
        }
    }
    return found;
}

}  // namespace cohort

// Revisions: a sentence behind an answer that gives another value.
//
//   Actually, I think it is 43.   No, 19!   Or 43.   It should be 19.   Wait, C.
#include <optional>
#include <string>

#include "cohort/normal_form.h"
#include "cohort/spelling.h"
#include "lines.h"
#include "marks.h"

namespace cohort {
namespace {

using View = std::string_view;
using std::string_view_literals::operator""sv;

// Words of a revision: `actually, I think it is 43`.
constexpr PhraseTable kRevisions{
    "actually"sv,      "no"sv,      "wait"sv,        "edit"sv,   "correction"sv,
    "corrected"sv,     "oops"sv,    "sorry"sv,       "hmm"sv,    "or"sv,
    "alternatively"sv, "kidding"sv, "thought"sv,     "hold"sv,   "meant"sv,
    "should"sv,        "another"sv, "possibility"sv, "rather"sv, "instead"sv,
    "update"sv,        "scratch"sv, "could"sv,       "might"sv,  "may"sv};
constexpr PhraseTable kFillers{
    "it"sv,   "it's"sv,   "its"sv,  "is"sv,     "be"sv,      "that"sv,    "that's"sv,
    "i"sv,    "think"sv,  "the"sv,  "answer"sv, "final"sv,   "correct"sv, "to"sv,
    "on"sv,   "second"sv, "just"sv, "mean"sv,   "so"sv,      "my"sv,      "would"sv,
    "must"sv, "also"sv,   "a"sv,    "was"sv,    "then"sv,    "well"sv,    "ok"sv,
    "okay"sv, "really"sv, "in"sv,   "fact"sv,   "perhaps"sv, "maybe"sv,   "yes"sv};
struct Value {
    Span span;  // of the number or letter
    bool is_letter;
};

/// A number or a capital letter at `start`, maybe in signs; nothing when it is a term.
std::optional<Value> value_at(View text, std::size_t start) {
    start = skip(text, start, [](char c) { return is_one_of(c, "$(\\{"); });
    std::size_t end = start + (at(text, start) == '-' ? 1 : 0);
    const bool letter = is_upper(at(text, start)) && !cohort::is_letter(at(text, start + 1));
    if (letter) {
        end = start + 1;
        if (is_one_of(text[start], "AI") && end < text.size()) return std::nullopt;
    } else {
        if (!is_digit(at(text, end))) return std::nullopt;
        end = skip_digits(text, end);
        while (is_one_of(at(text, end), ".,") && is_digit(at(text, end + 1))) {
            end = skip_digits(text, end + 1);
        }
    }
    const View rest = text.substr(skip_spaces(text, end));
    const bool is_term =
        (!rest.empty() && is_one_of(rest[0], "-+*/=^")) || rest.starts_with("\xC3\x97");
    if (is_term) return std::nullopt;
    return Value{{start, end}, letter};
}

struct Revision {
    bool revises = false;        // whether words of a revision begin the sentence
    std::optional<Value> value;  // behind them
};

Revision revision(View sentence, std::size_t start) {
    Revision found;
    while (true) {
        start = skip(sentence, start, [](char c) { return is_one_of(c, " ,:;-*_\t\r\v\f"); });
        found.value = value_at(sentence, start);
        if (found.value) return found;
        std::size_t end = start;
        while (end < sentence.size()) {
            constexpr View kApostrophe = "\xE2\x80\x99";
            if (is_alnum(sentence[end]) || sentence[end] == '\'') ++end;
            else if (sentence.substr(end).starts_with(kApostrophe)) end += kApostrophe.size();
            else break;
        }
        // Between its two spaces the word is alone, or the apostrophes were but signs.
        const std::string words = words_of(sentence.substr(start, end - start));
        const bool revises = has_any(words, kRevisions);
        if (end == start || count_words(words) != 1 || !(revises || has_any(words, kFillers))) {
            return found;
        }
        found.revises = found.revises || revises;
        start = end;
    }
}

}  // namespace

bool is_revised(View answer, View rest) {
    const bool is_short = count_chars(strip(answer, "()*$. ")) == 1;
    bool armed = false;
    for (std::size_t start = 0; start < rest.size();) {
        std::size_t stop = start;
        std::size_t next = rest.size();
        for (; stop < rest.size(); ++stop) {
            const bool wide = rest.substr(stop).starts_with(kIdeographicStop);
            next = stop + (wide ? kIdeographicStop.size() : 1);
            if ((wide || is_one_of(rest[stop], ".!?\n")) && !is_digit(at(rest, next))) break;
        }
        const View sentence = rest.substr(0, stop);
        const auto [revises, value] = revision(sentence, start);
        if (value) {
            const bool ends = skip_space(sentence, value->span.end) == stop;
            const bool is_kind = !value->is_letter || is_short;
            if ((revises || (armed && ends)) && is_kind && !are_same(answer, value->span.of(rest)))
                return true;
        }
        armed = revises || (armed && skip_space(sentence, start) == stop);
        start = stop == rest.size() ? stop : next;
    }
    return false;
}

}  // namespace cohort

// Whether a text stands by an answer.
#include <algorithm>
#include <array>
#include <string>

#include "cohort/normal_form.h"
#include "lines.h"
#include "marks.h"

namespace cohort {
namespace {

using View = std::string_view;
using std::string_view_literals::operator""sv;

constexpr std::size_t kNear = 24;      // characters between answers that are no steps
constexpr std::size_t kMaxLead = 100;  // characters before an answer that may hedge it
constexpr std::size_t kMaxRest = 400;  // characters after an answer that may take it back

constexpr std::array kHedges{"maybe"sv,  "perhaps"sv,  "possibly"sv,     "might be"sv,
                             "may be"sv, "could be"sv, "could also be"sv};
constexpr std::array kConditions{"if"sv, "otherwise"sv, "unless"sv, "depending on"sv,
                                 "depends on"sv};
constexpr std::array kAlternatives{"another"sv,           "alternatively"sv,   "alternative"sv,
                                   "other possible"sv,    "second possible"sv, "or"sv,
                                   "other possibility"sv, "other answer"sv};
constexpr std::array kCorrections{
    "wait"sv,       "wrong"sv,      "incorrect"sv, "mistake"sv,  "mistaken"sv, "error"sv,
    "correcting"sv, "correction"sv, "corrected"sv, "actually"sv, "instead"sv,  "however"sv,
    "sorry"sv,      "oops"sv,       "rather"sv,    "scratch"sv,  "fix"sv,      "should"sv,
    "but"sv,        "no"sv,         "not"sv};
constexpr std::array kConclusions{"so"sv,    "thus"sv, "therefore"sv, "hence"sv, "finally"sv,
                                  "final"sv, "then"sv, "gives"sv,     "which"sv};
// clang-format off
constexpr std::array kRetractions{
    "that is wrong"sv,       "that's wrong"sv,        "this is wrong"sv,
    "that was wrong"sv,      "it is wrong"sv,         "that is incorrect"sv,
    "that's incorrect"sv,    "this is incorrect"sv,   "that was incorrect"sv,
    "that is not correct"sv, "this is not correct"sv, "that is not right"sv,
    "that's not right"sv,    "i made a mistake"sv,    "i made an error"sv,
    "i was wrong"sv,         "i am wrong"sv,          "scratch that"sv,
    "disregard that"sv,      "disregard this"sv,      "ignore that"sv,
    "i take that back"sv,    "that cannot be"sv,      "that can't be right"sv,
    "that is not the answer"sv, "is not the answer"sv, "let me correct"sv,
    "wait that is"sv,        "wait no"sv,             "no wait"sv,
    "my answer is wrong"sv,  "the answer is wrong"sv};
// clang-format on
constexpr std::array kAfterthoughts{"otherwise"sv, "or maybe"sv, "or perhaps"sv, "or possibly"sv};
constexpr std::array kDenials{" is wrong "sv, " is incorrect "sv, " is not "sv, " isn't "sv,
                              " was wrong "sv};

// `not right`, `wrong`, `correction`, `amendment` in Chinese
constexpr std::array kChineseCorrections{"\xE4\xB8\x8D\xE5\xAF\xB9"sv, "\xE9\x94\x99"sv,
                                         "\xE6\x9B\xB4\xE6\xAD\xA3"sv,
                                         "\xE4\xBF\xAE\xE6\xAD\xA3"sv};
constexpr std::array kChineseRetractions{"\xE4\xB8\x8D\xE5\xAF\xB9"sv, "\xE9\x94\x99\xE4\xBA\x86"sv,
                                         "\xE6\x9B\xB4\xE6\xAD\xA3"sv};

template <std::size_t N>
bool contains_any(View text, const std::array<View, N>& parts) {
    for (const View part : parts) {
        if (text.find(part) != npos) return true;
    }
    return false;
}

template <std::size_t N>
bool starts_with_any(View text, const std::array<View, N>& parts) {
    for (const View part : parts) {
        if (text.starts_with(part)) return true;
    }
    return false;
}

/// Whether ` when n ` or ` for n ` stands in `words`, or at their start only.
bool has_variable_condition(View words, bool at_start) {
    for (std::size_t i = 0; i < (at_start ? 1 : words.size()); ++i) {
        for (const View word : {" when "sv, " for "sv}) {
            const View rest = words.substr(i);
            const char variable = at(rest, word.size());
            if (rest.starts_with(word) && is_lower(variable) && variable != 'a' &&
                variable != 'i' && at(rest, word.size() + 1) == ' ') {
                return true;
            }
        }
    }
    return false;
}

/// Whether `or` stands between two values, as in `42 or 43`.
bool has_choice(View answer) {
    for (const View word : {" or "sv, " \xE6\x88\x96 "sv}) {
        for (std::size_t i = answer.find(word); i != npos; i = answer.find(word, i + 1)) {
            const char before = at(answer, i - 1);
            const char after = at(answer, i + word.size());
            if ((is_digit(before) || is_upper(before) || is_one_of(before, ")}")) &&
                (is_digit(after) || is_upper(after) || is_one_of(after, "-($\\"))) {
                return true;
            }
        }
    }
    return false;
}

bool is_hedged(View text, const Mark& mark) {
    const std::string lead = words_of(sentence_lead(text, mark.begin, kMaxLead));
    if (has_any(last_words(lead, 4), kHedges)) return true;
    const std::string following = words_of(sentence_rest(text, mark.stop, kMaxLead));
    if (starts_with_any(View(following), kDenials) || has_any(following, kAfterthoughts))
        return true;
    const View next = first_words(following, 4);
    if (has_any(next, kConditions) || has_any(next, kHedges)) return true;
    if (mark.rule == Rule::boxed) return has_variable_condition(following, true);
    const View answer = mark.span().of(text);
    const std::string inner = words_of(answer) + following;
    return has_any(inner, kHedges) || has_any(inner, kConditions) ||
           has_variable_condition(inner, false) || has_choice(answer);
}

bool is_retracted(View text, std::size_t stop) {
    const View rest = text.substr(stop, forward(text, stop, kMaxRest) - stop);
    return has_any(words_of(rest), kRetractions) || contains_any(rest, kChineseRetractions);
}

}  // namespace

bool is_corrected(View gap) {
    return has_any(words_of(gap), kCorrections) || contains_any(gap, kChineseCorrections);
}

bool is_doubtful(View text, const Mark& mark, const Mark& first,
                 const std::optional<Mark>& previous) {
    if (is_hedged(text, mark) || is_retracted(text, mark.stop)) return true;
    if (!previous) return false;
    if (has_any(words_of(sentence_lead(text, first.begin, kMaxLead)), kAlternatives)) return true;
    const std::size_t stop = previous->stop;
    if (first.begin > stop && !is_within(text.substr(stop, first.begin - stop), kNear))
        return false;
    std::size_t begin = std::max(previous->start, backward(text, first.begin, kMaxRest));
    begin = std::min(begin, first.begin);
    const View gap = text.substr(begin, first.begin - begin);
    const std::string words = words_of(gap);
    if (has_any(words, kConditions)) return true;
    return !has_any(words, kConclusions) && !is_corrected(gap) && gap.find('=') == npos &&
           gap.find("\\approx") == npos;
}

}  // namespace cohort

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

constexpr std::size_t kNear = 20;       // characters between answers that are no steps
constexpr std::size_t kSeries = 72;     // between three that are guesses, without a calculation
constexpr std::size_t kMaxLead = 100;   // characters before an answer that may hedge it
constexpr std::size_t kMaxRest = 1000;  // characters after an answer that may take it back

constexpr PhraseTable kHedges{"otherwise"sv, "maybe"sv,  "perhaps"sv,  "possibly"sv,
                              "might be"sv,  "may be"sv, "could be"sv, "could also be"sv};
constexpr PhraseTable kDoubts{
    "don't think"sv, "do not think"sv, "don't believe"sv, "do not believe"sv,   "doubt"sv,
    "can't be"sv,    "cannot be"sv,    "wrong answer"sv,  "incorrect answer"sv, "would write"sv};
// Before an answer they make it one of several, wherever the others stand.
constexpr PhraseTable kLastResorts{"another possible"sv, "other possible"sv, "second possible"sv,
                                   "backup"sv, "if that is not"sv};
constexpr PhraseTable kConditions{"if"sv, "otherwise"sv, "unless"sv, "depending on"sv,
                                  "depends on"sv};
constexpr PhraseTable kAlternatives{"another"sv,           "alternatively"sv,   "alternative"sv,
                                    "other possible"sv,    "second possible"sv, "or"sv,
                                    "other possibility"sv, "other answer"sv};
constexpr PhraseTable kCorrections{
    "wait"sv,       "wrong"sv,      "incorrect"sv, "mistake"sv,  "mistaken"sv, "error"sv,
    "correcting"sv, "correction"sv, "corrected"sv, "actually"sv, "instead"sv,  "however"sv,
    "sorry"sv,      "oops"sv,       "rather"sv,    "scratch"sv,  "fix"sv,      "should"sv,
    "but"sv,        "no"sv,         "not"sv};
constexpr PhraseTable kConclusions{"so"sv,    "thus"sv, "therefore"sv, "hence"sv, "finally"sv,
                                   "final"sv, "then"sv, "gives"sv,     "which"sv};
constexpr PhraseTable kFinal{"final"sv, "so"sv, "thus"sv, "therefore"sv, "hence"sv};
// clang-format off
constexpr PhraseTable kRetractions{
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
    "my answer is wrong"sv,  "the answer is wrong"sv,
    "is also possible"sv,    "are also possible"sv,   "or maybe"sv,
    "or perhaps"sv,          "or possibly"sv,         "doesn't look right"sv,
    "does not look right"sv, "doesn't seem right"sv,  "student is wrong"sv};
// clang-format on
constexpr PhraseTable kAfterthoughts{"otherwise"sv, "or maybe"sv, "or perhaps"sv, "or possibly"sv};
constexpr std::array kDenials{" is wrong "sv,
                              " is incorrect "sv,
                              " is not "sv,
                              " isn't "sv,
                              " was wrong "sv,
                              " which is wrong "sv,
                              " which is incorrect "sv,
                              " which was wrong "sv,
                              " rejected "sv};

// `may`, `perhaps`
constexpr std::array kChineseHedges{"\xE5\x8F\xAF\xE8\x83\xBD"sv, "\xE4\xB9\x9F\xE8\xAE\xB8"sv};
// `not right`, `wrong`, `correction`, `amendment` in Chinese
constexpr std::array kChineseCorrections{"\xE4\xB8\x8D\xE5\xAF\xB9"sv, "\xE9\x94\x99"sv,
                                         "\xE6\x9B\xB4\xE6\xAD\xA3"sv,
                                         "\xE4\xBF\xAE\xE6\xAD\xA3"sv};
constexpr std::array kChineseRetractions{"\xE4\xB8\x8D\xE5\xAF\xB9"sv, "\xE9\x94\x99\xE4\xBA\x86"sv,
                                         "\xE6\x9B\xB4\xE6\xAD\xA3"sv};

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
        if (words[i] != ' ' || !is_one_of(at(words, i + 1), "wf")) continue;
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
    const View sentence = sentence_lead(text, mark.begin, kMaxLead);
    if (contains_any(sentence, kChineseHedges)) return true;
    const std::string lead = words_of(sentence);
    const View last = last_words(lead, 4);
    if (has_any(last, kHedges) || has_any(last, kDoubts) || has_any(lead, kLastResorts)) {
        return true;
    }
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

bool is_retracted(View text, const Mark& mark) {
    const View rest = text.substr(mark.stop, window_end(text, mark.stop, kMaxRest) - mark.stop);
    if (rest.empty()) return false;
    return has_any(words_of(rest), kRetractions) || contains_any(rest, kChineseRetractions) ||
           is_revised(mark.span().of(text), rest);
}

// Rivals

View between(View text, const Mark& before, const Mark& mark) {
    return mark.begin > before.stop ? text.substr(before.stop, mark.begin - before.stop) : View{};
}

/// Whether no work lies between two answers.
bool is_idle(View text, const Mark& before, const Mark& mark) {
    const View gap = between(text, before, mark);
    return has_at_most(gap, kSeries) && !has_operation(gap);
}

/// Whether an answer before stands beside this one: it is no step, and not taken back.
bool is_rivaled(View text, const Mark& before, const Mark& mark) {
    if (has_any(words_of(sentence_lead(text, mark.begin, kMaxLead)), kAlternatives)) return true;
    const View gap = between(text, before, mark);
    const bool is_line = mark.rule == Rule::gsm8k;
    if (!is_line && !has_at_most(gap, kNear)) return false;
    const std::size_t start =
        std::min(std::max(before.start, window_start(text, mark.begin, kMaxRest)), mark.begin);
    const View wide = text.substr(start, mark.begin - start);
    const std::string words = words_of(wide);
    if (has_any(words, kConditions)) return true;
    if (is_corrected(wide)) return false;
    if (is_line) return true;
    if (!has_any(words, kConclusions)) {
        const std::size_t equals = gap.find('=');
        return gap.find("\\approx") == npos &&
               (equals == npos || has_at_most(gap.substr(0, equals), 0));
    }
    const std::string earlier = words_of(sentence_lead(text, before.begin, kMaxLead));
    return has_any(words, kFinal) && has_any(earlier, kFinal);
}

}  // namespace

bool is_corrected(View gap) {
    return has_any(words_of(gap), kCorrections) || contains_any(gap, kChineseCorrections);
}

bool Trail::add(View text, const Mark& last, const Mark& mark) {
    // Maybe as the result of a calculation.
    const auto result = [&](const Mark& one) {
        const View answer = one.span().of(text);
        return answer.substr(answer.rfind('=') + 1);
    };
    const auto gives = [&](const Mark& other) { return are_same(result(mark), result(other)); };
    if (gives(size_ == 1 ? last : marks_[size_ - 1])) {
        marks_[size_ - 1] = mark;
        return true;
    }
    if (size_ == 2 && gives(last)) return false;
    marks_[size_++] = mark;
    return size_ < marks_.size();
}

bool is_doubtful(View text, const Mark& mark, const Trail& trail) {
    if (is_hedged(text, mark) || is_retracted(text, mark)) return true;
    if (trail.size() == 3 && is_idle(text, trail[1], trail[0]) && is_idle(text, trail[2], trail[1]))
        return true;
    return trail.size() > 1 && is_rivaled(text, trail[1], trail[0]);
}

}  // namespace cohort

// What a text ends in: the number or formula of its last statement.
//
//   The total is 72 clips, altogether.   so 12 + 30 = 42   The line is $y = 3x + 13$.
//
// A question, a refusal, a sentence that was cut off and a negated number give no answer.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "lines.h"
#include "marks.h"

namespace cohort {
namespace {

using View = std::string_view;
using std::string_view_literals::operator""sv;

constexpr std::size_t kMaxStatement = 1000;  // characters at the end that are looked at
constexpr std::size_t kMaxRefusal = 300;     // of these, the ones in which a refusal counts
constexpr int kMaxSentences = 3;
constexpr int kMaxTags = 64;                // tags at the end that are passed over
constexpr std::size_t kMaxTagSize = 40;     // characters of one
constexpr std::size_t kMaxWordsOpen = 8;    // after the number in a sentence without a stop
constexpr std::size_t kMaxWordsListed = 2;  // before what the sentence before says too
constexpr std::size_t kMaxWordsBack = 2;    // after the number in a sentence that is not the last

constexpr View kClosing = " \t\n\v\f\r*_`$\"'";
// `do not know`, `not certain`, `unable`; and `is not`
constexpr std::array kChineseRefusals{"\xE4\xB8\x8D\xE7\x9F\xA5\xE9\x81\x93"sv,
                                      "\xE4\xB8\x8D\xE7\xA1\xAE\xE5\xAE\x9A"sv,
                                      "\xE6\x97\xA0\xE6\xB3\x95"sv};
constexpr View kChineseIsNot = "\xE4\xB8\x8D\xE6\x98\xAF";
constexpr std::array kWideStops{"\xE3\x80\x82"sv, "\xEF\xBC\x81"sv, "\xEF\xBC\x9F"sv};
constexpr View kWideQuestion = "\xEF\xBC\x9F";

constexpr PhraseTable kDangling{
    "is"sv,   "are"sv,    "was"sv,   "were"sv,    "be"sv,    "the"sv,  "a"sv,     "an"sv,   "of"sv,
    "to"sv,   "and"sv,    "or"sv,    "for"sv,     "with"sv,  "then"sv, "so"sv,    "that"sv, "has"sv,
    "have"sv, "had"sv,    "gets"sv,  "get"sv,     "costs"sv, "each"sv, "by"sv,    "in"sv,   "at"sv,
    "per"sv,  "from"sv,   "but"sv,   "because"sv, "if"sv,    "when"sv, "which"sv, "who"sv,  "as"sv,
    "than"sv, "equals"sv, "times"sv, "plus"sv,    "minus"sv, "we"sv};
// clang-format off
constexpr PhraseTable kRefusals{
    "do not know"sv,        "don't know"sv,      "not sure"sv,
    "no idea"sv,            "unable to"sv,       "give up"sv,
    "i can't"sv,            "cannot solve"sv,    "cannot determine"sv,
    "cannot answer"sv,      "cannot find"sv,     "could not solve"sv,
    "could not determine"sv, "could not find"sv, "couldn't"sv,
    "not enough information"sv, "i cannot"sv,    "not possible to determine"sv,
    "impossible to determine"sv, "can't be determined"sv, "cannot be determined"sv,
    "i am unsure"sv,        "i'm unsure"sv,
    "cannot be solved"sv,   "can't be solved"sv, "can't solve"sv,
    "can't determine"sv,    "can't find"sv,      "cannot be answered"sv,
    "cannot be found"sv};
// clang-format on
// Before a number in a sentence that was cut off: it says of what, not how many.
constexpr PhraseTable kPartitive{"of"sv,   "the"sv,   "these"sv,    "those"sv, "all"sv,
                                 "both"sv, "first"sv, "next"sv,     "last"sv,  "other"sv,
                                 "each"sv, "every"sv, "remaining"sv};
// Before a number they say something about a value, not which it is.
constexpr PhraseTable kBounds{
    "than"sv,        "at most"sv,    "at least"sv, "is over"sv,     "is under"sv,    "exceeds"sv,
    "exceed"sv,      "is up to"sv,   "such as"sv,  "example"sv,     "e g"sv,         "near"sv,
    "between"sv,     "chapter"sv,    "page"sv,     "ends in"sv,     "starts with"sv, "ends with"sv,
    "begins with"sv, "contains a"sv, "contains"sv, "doubt it is"sv, "doubt it's"sv};
// In a closing sentence, which is passed over.
constexpr PhraseTable kReader{"you"sv,       "you'd"sv,      "you're"sv, "your"sv,
                              "hope"sv,      "thanks"sv,     "thank"sv,  "luck"sv,
                              "feel free"sv, "make sense"sv, "enjoy"sv};
constexpr PhraseTable kNegative{"not"sv,   "never"sv,  "cannot"sv, "neither"sv, "nor"sv,
                                "isn't"sv, "wasn't"sv, "aren't"sv, "can't"sv};
constexpr PhraseTable kDenied{"is not"sv,    "isn't"sv,   "is wrong"sv, "is incorrect"sv,
                              "was wrong"sv, "are not"sv, "cannot be"sv};

/// End of the text before closing tags, special tokens and the ends of display formulas.
std::size_t content_end(View text) {
    constexpr CharSet kSkipped(kClosing);
    std::size_t end = text.size();
    for (int i = 0; i < kMaxTags; ++i) {
        const std::size_t before = end;
        while (end > 0 && kSkipped.has(text[end - 1])) --end;
        const View rest = text.substr(0, end);
        if (rest.ends_with("\\]") || rest.ends_with("\\)")) end -= 2;
        if (end > 0 && text[end - 1] == '>') {
            const std::size_t limit = backward(text, end, kMaxTagSize);
            const std::size_t tag = text.substr(limit, end - limit).rfind('<');
            const char next = tag == npos ? '\0' : at(text, limit + tag + 1);
            if (next == '/' || next == '|') end = limit + tag;
        }
        if (end == before) break;
    }
    return end;
}

/// Size of the stop that `text` ends in, 0 if none.
std::size_t stop_size(View text) {
    if (!text.empty() && is_one_of(text.back(), ".!?")) return 1;
    for (const View stop : kWideStops) {
        if (text.ends_with(stop)) return stop.size();
    }
    return 0;
}

/// Where the sentence begins that ends at `end`; a stop at its very end is its own.
std::size_t sentence_start(View text, std::size_t begin, std::size_t end) {
    for (std::size_t i = end - 1; i > begin; --i) {
        const View before = text.substr(begin, i - begin);
        if (before.back() == '\n') return i;
        if (before.back() == ' ' && before.size() > 1 &&
            is_one_of(before[before.size() - 2], ".!?")) {
            return i - 1;
        }
        for (const View stop : kWideStops) {
            if (before.ends_with(stop)) return i;
        }
    }
    return begin;
}

/// The sentence without stops and emphasis at its end; nothing when that is empty.
std::optional<Span> without_stops(View text, Span sentence) {
    while (sentence.start < sentence.end) {
        const View rest = sentence.of(text);
        const std::size_t size = is_one_of(rest.back(), kClosing) ? 1 : stop_size(rest);
        if (size == 0) return sentence;
        sentence.end -= size;
    }
    return std::nullopt;
}

View without_final(View sentence) {
    while (const std::size_t size = stop_size(sentence)) sentence.remove_suffix(size);
    return sentence;
}

/// The one word of a sentence without emphasis, if it has no more.
std::optional<Span> only_word(View text, Span body) {
    const auto word = strip_span(text, body, kClosing, kClosing);
    if (!word || word->end - word->start < 2) return std::nullopt;
    return skip_letters(text, word->start) >= word->end ? word : std::nullopt;
}

/// Whether a capital letter stands alone, as an option does.
bool names_a_letter(View lead) {
    for (std::size_t i = 0; i < lead.size(); ++i) {
        const bool alone = !is_letter(at(lead, i - 1)) && !is_letter(at(lead, i + 1));
        if (is_upper(lead[i]) && lead[i] != 'I' && alone) return true;
    }
    return false;
}

/// A multiple choice: the letter that a sentence ends in, or of which it says that it is correct.
std::optional<Mark> option(View text, Span body) {
    View rest = body.of(text);
    for (const View verdict : {" is correct"sv, " is right"sv}) {
        if (!rest.ends_with(verdict)) continue;
        rest.remove_suffix(verdict.size());
        break;
    }
    rest = strip_right(rest, ")*_$");
    if (rest.empty() || !is_upper(rest.back())) return std::nullopt;
    const std::size_t letter = body.start + rest.size() - 1;
    const View lead = strip_right(rest.substr(0, rest.size() - 1), "*_$(");
    constexpr std::array kLeads{" is "sv,   ": "sv,      "option "sv,   "choice "sv,
                                "it's "sv,  "choose "sv, "pick "sv,     "select "sv,
                                "hence "sv, "thus "sv,   "therefore "sv};
    const bool announced =
        lead.empty() || std::ranges::any_of(kLeads, [&](View word) {
            return lead.size() >= word.size() &&
                   starts_with_word(lead.substr(lead.size() - word.size()), word);
        });
    if (!announced || names_a_letter(text.substr(body.start, letter - body.start))) {
        return std::nullopt;
    }
    return Mark{Rule::formula, letter, letter, letter + 1, letter + 1};
}

/// Whether nothing but an operator follows: a calculation that was cut off.
bool ends_in_operator(View rest) {
    bool found = false;
    for (std::size_t i = 0; i < rest.size(); ++i) {
        constexpr View kTimes = "\xC3\x97";
        const bool times = rest.substr(i).starts_with(kTimes);
        if (!times && !is_one_of(rest[i], " $=+-/")) return false;
        found = found || !is_one_of(rest[i], " $");
        if (times) i += kTimes.size() - 1;
    }
    return found;
}

/// Whether a sentence ends as one, with a sign such as an emoji, or is but a line.
bool is_finished(View sentence) {
    if (stop_size(sentence) != 0 || sentence.back() == ')') return true;
    // Signs stand from U+2000 to U+2FFF and from U+10000 on.
    const std::size_t last = backward(sentence, sentence.size(), 1);
    const auto lead = static_cast<std::uint8_t>(sentence[last]);
    return lead == 0xE2U || lead >= 0xF0U || sentence.find_first_not_of("-=_#~\\[]$") == npos;
}

/// The mark, unless its sentence takes it back or was cut off.
std::optional<Mark> checked(View text, Span body, Span found, bool finished, bool back) {
    const std::string before = words_of(text.substr(body.start, found.start - body.start));
    const std::string after = words_of(text.substr(found.end, body.end - found.end));
    if (has_any(last_words(before, 3), kNegative) || has_any(first_words(after, 2), kDenied) ||
        has_any(last_words(before, 2), kBounds) ||
        text.substr(body.start, found.start - body.start).ends_with(kChineseIsNot) ||
        text.substr(found.end, body.end - found.end).starts_with(kChineseIsNot) ||
        ends_in_operator(text.substr(found.end, body.end - found.end))) {
        return std::nullopt;
    }
    const std::size_t count = count_words(after);
    if (back && count > kMaxWordsBack) return std::nullopt;
    const bool cut_off =
        count > 0 && (count > kMaxWordsOpen || has_any(last_words(after, 1), kDangling) ||
                      has_any(last_words(before, 1), kPartitive));
    if (cut_off && !finished) return std::nullopt;
    const Rule rule = is_number(found.of(text)) ? Rule::last_number : Rule::formula;
    return Mark{rule, found.start, found.start, found.end, found.end};
}

/// Whether two sentences differ in nothing but numbers, apart from a few words before the first.
bool say_the_same(View mine, View other) {
    std::size_t i = mine.size();
    std::size_t j = other.size();
    while (j > 0) {
        if (i == 0) return false;
        if (is_digit(mine[i - 1]) && is_digit(other[j - 1])) {
            while (i > 0 && is_digit(mine[i - 1])) --i;
            while (j > 0 && is_digit(other[j - 1])) --j;
        } else if (mine[--i] != other[--j]) {
            return false;
        }
    }
    return count_words(words_of(mine.substr(0, i))) <= kMaxWordsListed;
}

/// Whether the sentence before says the same of another value: a list of guesses.
bool is_listed(View text, std::size_t begin, Span sentence) {
    const View mine = sentence.of(text);
    if (has_operation(mine)) return false;
    const auto lines = strip_span(text, {begin, sentence.start}, kSpace, " \t\n\v\f\r*_`$\"'-");
    if (!lines) return false;
    const auto other =
        strip_span(text, {sentence_start(text, lines->start, lines->end), lines->end}, kSpace, "");
    if (!other || !std::ranges::any_of(other->of(text), is_digit)) return false;
    return say_the_same(without_final(mine), without_final(other->of(text)));
}

}  // namespace

std::optional<Span> stated_value(View text, Span sentence) {
    const auto found = last_expression(text, sentence);
    const auto mark = found ? checked(text, sentence, *found, true, false) : std::nullopt;
    if (!mark) return std::nullopt;
    return mark->span();
}

std::optional<Mark> statement(View text, std::size_t first) {
    const std::size_t text_end = content_end(text);
    const std::size_t begin = std::max(window_start(text, text_end, kMaxStatement), first);
    const std::size_t tail = std::max(window_start(text, text_end, kMaxRefusal), first);
    const View refusal = tail < text_end ? text.substr(tail, text_end - tail) : View{};
    if (has_any(words_of(refusal), kRefusals) || contains_any(refusal, kChineseRefusals)) {
        return std::nullopt;
    }
    int seen = 0;
    std::size_t below = text_end;  // where the sentence begins that was passed over
    bool is_back = false;          // whether one was passed over in the same line
    for (std::size_t end = text_end; end > begin && seen < kMaxSentences;) {
        const std::size_t start = sentence_start(text, begin, end);
        if (const auto sentence = strip_span(text, {start, end}, kSpace, kClosing)) {
            const View whole = sentence->of(text);
            const auto body = without_stops(text, *sentence);
            const bool to_reader = has_any(words_of(whole), kReader);
            const bool asks = whole.back() == '?' || whole.ends_with(kWideQuestion);
            if (!body || (asks && !to_reader)) return std::nullopt;
            is_back =
                is_back && text.substr(sentence->end, below - sentence->end).find('\n') == npos;
            const bool finished = is_finished(whole);
            if (const auto found = last_expression(text, *body)) {
                if (is_listed(text, begin, *sentence)) return std::nullopt;
                return checked(text, *body, *found, finished, is_back);
            }
            const auto word = only_word(text, *body);
            if (word && body->start == skip_space(text, first)) {
                return Mark{Rule::formula, word->start, word->start, word->end, word->end};
            }
            if (const auto letter = option(text, *body); letter && seen == 0) return letter;
            if (!finished) return std::nullopt;
            ++seen;
            below = sentence->start;
            is_back = is_back || !to_reader;
        }
        end = start;
    }
    return std::nullopt;
}

}  // namespace cohort

// Answers that words announce, from the end of a text.
//
//   The answer is 18.   **Final Answer: 18**   ## Answer (18 below)   18 is the answer
//
// What follows ends with the sentence or at words that explain it (`18, because`). It must read
// like a value; a negated phrase (`the answer is not 18`) has no answer of its own.
#include "phrases.h"

#include <algorithm>
#include <array>
#include <string>

#include "lines.h"
#include "marks.h"
#include "scan.h"

namespace cohort {
namespace {

using View = std::string_view;
using std::string_view_literals::operator""sv;

constexpr std::size_t kMaxPhrase = 400;  // characters after a mark that are looked at
constexpr std::size_t kMaxLead = 100;    // characters before a mark that are looked at
constexpr int kMaxLetterLines = 64;      // lines from the end in which `A:` is looked for
constexpr std::size_t kMaxIndent = 40;   // spaces and stars before `A` or before its colon
constexpr std::size_t kMinSentence = 4;  // words of an answer that is a sentence
constexpr std::size_t kMaxWords = 4;     // words of an answer that has nothing but words

// `answer`, also in Chinese, and `so choose`; all have six bytes.
constexpr std::array<Pattern, 3> kNouns{"answer", "\xE7\xAD\x94\xE6\xA1\x88",
                                        "\xE6\x95\x85\xE9\x80\x89"};
constexpr std::size_t kNounSize = 6;

bool is_prose(View text) {
    return std::ranges::all_of(
        text, [](char c) { return is_letter(c) || is_one_of(c, "- ,.;:'\"()*_"); });
}

/// Whether an answer in words may be one, as `no solution` and `Evelyn`, or says nothing.
bool is_word_value(View answer) {
    const std::string words = words_of(answer);
    const std::size_t count = count_words(words);
    constexpr PhraseTable kNoValues{
        "correct"sv, "right"sv,  "wrong"sv, "incorrect"sv, "unknown"sv,  "unclear"sv, "clear"sv,
        "obvious"sv, "simple"sv, "as"sv,    "found"sv,     "obtained"sv, "below"sv,   "above"sv,
        "here"sv,    "what"sv,   "that"sv,  "this"sv,      "not"sv,      "same"sv};
    return count >= 1 && count <= kMaxWords && !has_any(first_words(words, 2), kNoValues);
}

/// Size of `~~18~~`, struck out, at the start of `answer`; 0 if none.
std::size_t struck_size(View answer) {
    if (!answer.starts_with("~~")) return 0;
    const std::size_t close = answer.find('~', 2);
    return close != npos && at(answer, close + 1) == '~' ? close + 2 : 0;
}

/// Without what is counted, behind the result of a calculation: `48 + 24 = 72 clips`.
View without_noun(View answer) {
    const auto is_loose = [](char c) { return is_letter(c) || c == ' '; };
    const auto last = std::find_if_not(answer.rbegin(), answer.rend(), is_loose);
    const auto size = static_cast<std::size_t>(answer.rend() - last);
    const bool counts = size > 0 && is_digit(answer[size - 1]) && at(answer, size) == ' ';
    return counts ? answer.substr(0, size) : answer;
}

std::optional<Mark> valued(View text, std::size_t noun, std::size_t start, std::size_t end) {
    const std::size_t stop = explained_start(text, start, end);
    auto span = strip_span(text, {start, stop}, kSpace, " \t\n\v\f\r.,;:*_");
    if (!span) return std::nullopt;
    if (const std::size_t struck = struck_size(span->of(text)); struck != 0) {
        span = strip_span(text, {span->start + struck, span->end}, kSpace, "");
        if (!span) return Mark{Rule::phrase, noun, noun, noun, end};
    }
    span->end = remark_start(text, *span);
    const View answer = span->of(text);
    if (is_prose(answer)) {
        if (!is_word_value(answer)) return std::nullopt;
    } else if (begins_with_word(answer)) {
        const auto verb = value_start(answer);
        if (verb && *verb != 0) {
            span->start += *verb;
        } else if (verb && is_upper(answer[0]) && count_words(words_of(answer)) >= kMinSentence) {
            span = stated_value(text, *span).value_or(*span);
        }
    } else if (answer.find('=') != npos) {
        span->end = span->start + without_noun(answer).size();
    }
    return Mark{Rule::phrase, noun, span->start, span->end, end};
}

/// The formula between `$$` or `\[` at `start` and its end, or nothing.
std::optional<Mark> display(View text, std::size_t noun, std::size_t start, std::size_t window) {
    const View closing = text[start] == '$' ? "$$" : "\\]";
    const std::size_t close = text.substr(0, window).find(closing, start + 2);
    if (close == npos) return std::nullopt;
    const auto span = strip_span(text, {start + 2, close}, kSpace, kSpace);
    if (!span) return std::nullopt;
    return Mark{Rule::phrase, noun, span->start, span->end, close + 2};
}

std::size_t sentence_stop(View text, std::size_t start, std::size_t end) {
    for (std::size_t i = start; i < end; ++i) {
        const View rest = text.substr(i, end - i);
        if (rest.starts_with(kIdeographicStop)) return i;
        if (rest[0] == '.' && rest.size() > 1 && is_one_of(rest[1], " \t\v\f\r")) return i;
    }
    return end;
}

/// The rest of the sentence or line; the next line when a mark ends its own.
std::optional<Mark> after(View text, std::size_t noun, std::size_t start, std::size_t window) {
    while (start < window) {
        const bool wide = text.substr(start, window - start).starts_with(kWideColon);
        if (!wide && !is_one_of(text[start], " \t\n\v\f\r*_:")) break;
        start += wide ? kWideColon.size() : 1;
    }
    start = skip_fillers(text, start, window);
    const View rest = start < window ? text.substr(start, window - start) : View{};
    if (starts_with_word(rest, "not") && !is_letter(at(rest, 3))) {
        return Mark{Rule::phrase, noun, noun, noun, start};
    }
    if (rest.starts_with("$$") || rest.starts_with("\\[")) {
        return display(text, noun, start, window);
    }
    const std::size_t end = line_end(text, start, window);
    return valued(text, noun, start, sentence_stop(text, start, end));
}

/// The subject of `18 is the answer`.
std::optional<Mark> before(View text, std::size_t start, std::size_t end, std::size_t stop) {
    start = skip_openings(text, skip_space(text, start), end);
    if (start >= end) return std::nullopt;
    if (begins_with_word(text.substr(start, end - start))) {
        const std::size_t space = text.substr(start, end - start).rfind(' ');
        start = space == npos ? end : start + space + 1;
    }
    const auto span = strip_span(text, {start, end}, kSpace, kSpace);
    if (!span) return std::nullopt;
    const View answer = span->of(text);
    if (is_prose(answer)) {  // one capital letter, an option, is the only word that counts
        const View letter = strip_right(
            answer.substr(std::min(answer.find_first_not_of("*_("), answer.size())), ")*_");
        if (letter.size() != 1 || !is_upper(letter[0])) return std::nullopt;
    }
    return Mark{Rule::phrase, span->start, span->start, span->end, stop};
}

std::optional<Mark> read(View text, std::size_t begin, std::size_t noun) {
    const std::size_t end = noun + kNounSize;
    const std::size_t window = window_end(text, end, kMaxPhrase);
    const bool english = to_lower(text[noun]) == 'a';
    if (is_negated(text, end, window)) return Mark{Rule::phrase, noun, noun, noun, end};
    const View lead = sentence_lead(text.substr(begin), noun - begin, kMaxLead);
    if (english && is_aside(lead, text.substr(end))) {
        return Mark{Rule::phrase, noun, noun, noun, end, true};
    }
    const bool chosen = text.substr(noun).starts_with(kNouns[2].text) && is_upper(at(text, end)) &&
                        end < window && !is_letter(at(text, end + 1));
    if (chosen) return after(text, noun, end, window);
    const std::size_t verb =
        english ? match_verb(text, end, window) : match_chinese_verb(text, end, window);
    if (verb != npos) return after(text, noun, verb, window);
    if (!english) return std::nullopt;
    if (is_heading(lead)) {
        std::size_t line = end + (at(text, end) == 's' || at(text, end) == 'S' ? 1 : 0);
        line = skip(text, line, [](char c) { return is_one_of(c, "*_ "); });
        if (at(text, line) == '\n' && line < window) return after(text, noun, line + 1, window);
    }
    const std::size_t stated = stated_start(lead);
    if (stated == npos) return std::nullopt;
    return before(text, noun - lead.size(), noun - lead.size() + stated, end);
}

}  // namespace

Phrases::Phrases(View text, std::size_t begin) : text_(text), begin_(begin), nouns_{} {
    for (std::size_t kind = 0; kind < kNouns.size(); ++kind) nouns_[kind] = find(kind, npos);
}

/// The last noun of a kind that ends at most at `stop`; npos if none.
std::size_t Phrases::find(std::size_t kind, std::size_t stop) const {
    // One byte more, because no letter may stand before the noun.
    const std::size_t base = begin_ == 0 ? 0 : begin_ - 1;
    const View text = text_.substr(base);
    const std::size_t limit = stop == npos ? npos : stop - base;
    const std::size_t noun =
        kind == 0 ? rfind_word(text, kNouns[0], limit) : rfind(text, kNouns[kind], limit);
    return noun == npos || noun + base < begin_ ? npos : noun + base;
}

std::optional<Mark> Phrases::next() {
    // npos + 1 is 0: a kind of which none is left is never the last.
    const auto place = [](std::size_t noun) { return noun + 1; };
    while (left_-- > 0) {
        const auto last = std::ranges::max_element(nouns_, {}, place);
        const std::size_t noun = *last;
        if (noun == npos) break;
        *last = find(static_cast<std::size_t>(last - nouns_.begin()), noun);
        if (const auto mark = read(text_, begin_, noun)) return mark;
    }
    left_ = 0;
    return std::nullopt;
}

std::optional<Mark> letter_line(View text, std::size_t begin) {
    std::size_t end = text.size() + 1;  // one after the end of the line
    for (int i = 0; i < kMaxLetterLines && end > begin; ++i) {
        const View lines = text.substr(begin, end - 1 - begin);
        const std::size_t line = begin + rfind(lines, "\n") + 1;
        const View head = text.substr(0, std::min(text.size(), line + kMaxIndent));
        const std::size_t letter = skip(head, line, [](char c) { return is_one_of(c, " *"); });
        const View rest = text.substr(0, std::min(text.size(), letter + 1 + kMaxIndent));
        const std::size_t colon = skip(rest, letter + 1, [](char c) { return c == '*'; });
        if (at(text, letter) == 'A' && at(text, colon) == ':') {
            const auto mark = after(text, line, colon + 1, window_end(text, line, kMaxPhrase));
            if (mark && !mark->is_empty() && is_number(mark->span().of(text))) return mark;
        }
        end = line;
    }
    return std::nullopt;
}

}  // namespace cohort

#include "cohort/extract.h"

#include <array>
#include <string>
#include <vector>

#include "cohort/ascii.h"
#include "cohort/normal_form.h"

namespace cohort {
namespace {

using View = std::string_view;

constexpr View kAfterAnswer = " \t\n\v\f\r.,;:";
constexpr View kAfterPhrase = " \t\n\v\f\r.,;:*_";
constexpr View kIdeographicStop = "\xE3\x80\x82";

/// Where the text after thinking begins; npos when the thinking does not end.
std::size_t visible_start(View text) {
    constexpr View kClosed = "</think>";
    const std::size_t closed = text.rfind(kClosed);
    const std::size_t begin = closed == npos ? 0 : closed + kClosed.size();
    return text.find("<think>", begin) == npos ? begin : npos;
}

/// End of the line at `start`, or of its part before a closing tag or a special token.
std::size_t line_end(View text, std::size_t start) {
    View line = text.substr(start, text.find('\n', start) - start);
    for (const View tag : {View("</"), View("<|")}) line = line.substr(0, line.find(tag));
    return start + line.size();
}

/// The span without `before` at its start and `after` at its end; nothing when that is empty.
std::optional<Span> strip_span(View text, Span span, View before, View after) {
    while (span.start < span.end && is_one_of(text[span.start], before)) ++span.start;
    while (span.start < span.end && is_one_of(text[span.end - 1], after)) --span.end;
    if (span.start == span.end) return std::nullopt;
    return span;
}

bool is_number(View text, Span span) { return normal_form(span.of(text)).is_number; }

// gsm8k

std::optional<Span> hash_line(View text) {
    for (std::size_t stop = text.size(), mark; (mark = text.substr(0, stop).rfind("####")) != npos;
         stop = mark) {
        const bool alone = at(text, mark - 1) != '#' && at(text, mark + 4) != '#';
        const std::size_t end = line_end(text.substr(0, stop), mark + 4);
        const auto span = strip_span(text, {mark + 4, end}, kSpace, kAfterAnswer);
        if (!alone || !span) continue;
        const bool nothing_follows =
            stop == text.size() &&
            (at(text, end) == '<' || text.find_first_not_of(kSpace, end) == npos);
        if (nothing_follows || is_number(text, *span)) return span;
    }
    return std::nullopt;
}

// boxed

bool is_escaped(View text, std::size_t index) {
    std::size_t start = index;
    while (at(text, start - 1) == '\\') --start;
    return (index - start) % 2 == 1;
}

bool is_box(View text, std::size_t brace) {
    while (at(text, brace - 1) == ' ') --brace;
    const View head = text.substr(0, brace);
    return head.ends_with("\\boxed") || head.ends_with("\\fbox");
}

std::optional<Span> last_box(View text) {
    if (text.rfind("\\boxed") == npos && text.rfind("\\fbox") == npos) return std::nullopt;
    std::vector<std::size_t> closers;
    for (std::size_t i = text.find_last_of("{}"); i != npos;
         i = i == 0 ? npos : text.find_last_of("{}", i - 1)) {
        if (is_escaped(text, i)) continue;
        if (text[i] == '}') {
            closers.push_back(i);
        } else if (!closers.empty()) {
            const auto span = strip_span(text, {i + 1, closers.back()}, kSpace, kSpace);
            closers.pop_back();
            if (span && is_box(text, i)) return span;
        }
    }
    return std::nullopt;
}

// phrase

/// End of the sentence that begins at `start`, at most `end`.
std::size_t sentence_end(View text, std::size_t start, std::size_t end) {
    const View line = text.substr(0, end);
    std::size_t stop = line.find(kIdeographicStop, start);
    for (std::size_t dot = line.find('.', start); dot < stop; dot = line.find('.', dot + 1)) {
        if (is_one_of(at(line, dot + 1), kSpace) && dot + 1 < end) stop = dot;
    }
    return stop == npos ? end : stop;
}

/// The rest of the sentence or line; the next line when a mark ends its own.
std::optional<Span> after_mark(View text, std::size_t start) {
    start = skip(text, start, [](char c) { return is_one_of(c, " \t\n\v\f\r*_:"); });
    const std::size_t end = sentence_end(text, start, line_end(text, start));
    return strip_span(text, {start, end}, kSpace, kAfterPhrase);
}

/// End of `answer` with `is`, `:` or `=` when it stands at `start`, in any case; npos otherwise.
std::size_t match_answer(View text, std::size_t start) {
    if (is_letter(at(text, start - 1)) || lowered(text.substr(start, 6)) != "answer") return npos;
    const std::size_t verb =
        skip(text, start + 6, [](char c) { return is_one_of(c, "*_ "); });
    if (at(text, verb) == ':' || at(text, verb) == '=') return verb + 1;
    const bool is = to_lower(at(text, verb)) == 'i' && to_lower(at(text, verb + 1)) == 's';
    return is && !is_letter(at(text, verb + 2)) ? verb + 2 : npos;
}

/// End of `A:` when a line begins with it, spaces and stars apart; npos otherwise.
std::size_t match_letter(View text, std::size_t line) {
    const std::size_t letter = skip(text, line, [](char c) { return is_one_of(c, " *"); });
    if (at(text, letter) != 'A') return npos;
    const std::size_t colon = skip(text, letter + 1, [](char c) { return c == '*'; });
    return at(text, colon) == ':' ? colon + 1 : npos;
}

std::optional<Span> phrase(View text) {
    for (std::size_t i = text.find_last_of("aA"); i != npos;
         i = i == 0 ? npos : text.find_last_of("aA", i - 1)) {
        const std::size_t mark = match_answer(text, i);
        if (mark == npos) continue;
        if (const auto span = after_mark(text, mark)) return span;
    }
    for (std::size_t line = text.size(); line != npos;) {
        line = line == 0 ? npos : text.rfind('\n', line - 1);
        const std::size_t mark = match_letter(text, line + 1);
        if (mark == npos) continue;
        if (const auto span = after_mark(text, mark); span && is_number(text, *span)) return span;
    }
    return std::nullopt;
}

struct Step {
    Rule rule;
    std::optional<Span> (*find)(View);
};
constexpr std::array kSteps{Step{Rule::gsm8k, hash_line}, Step{Rule::boxed, last_box},
                            Step{Rule::phrase, phrase}, Step{Rule::last_number, last_number}};

}  // namespace

std::string_view name(Rule rule) {
    switch (rule) {
        case Rule::gsm8k: return "gsm8k";
        case Rule::boxed: return "boxed";
        case Rule::tag: return "tag";
        case Rule::phrase: return "phrase";
        case Rule::formula: return "formula";
        case Rule::last_number: return "last_number";
    }
    return {};
}

std::string_view Extraction::answer(std::string_view text, std::string& joined) const {
    if (parts.empty()) return span.of(text);
    joined.clear();
    for (const Span& part : parts) {
        joined.append(joined.empty() ? "" : ", ").append(part.of(text));
    }
    return joined;
}

std::optional<Extraction> extract_answer(std::string_view text) {
    const std::size_t begin = visible_start(text);
    if (begin == npos) return std::nullopt;
    const View visible = text.substr(begin);
    for (const Step& step : kSteps) {
        if (const auto span = step.find(visible)) {
            return Extraction{step.rule, {span->start + begin, span->end + begin}, false, {}};
        }
    }
    return std::nullopt;
}

}  // namespace cohort

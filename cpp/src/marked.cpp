// Answers after `####` and in `<answer>` tags.
#include <algorithm>

#include "cohort/normal_form.h"
#include "lines.h"
#include "marks.h"
#include "scan.h"

namespace cohort {
namespace {

using View = std::string_view;

constexpr std::size_t kMaxLine = 400;  // characters after `####` that are looked at
constexpr int kMaxLines = 64;          // marks `####` that are looked at
constexpr std::size_t kMaxTag = 4096;  // characters of a tag that are looked at

}  // namespace

bool begins_with_word(View text) { return is_letter(at(text, 0)) && is_letter(at(text, 1)); }

bool is_number(View answer) { return normal_form(answer).is_number; }

bool are_same(View answer, View other) {
    if (answer == other) return true;
    const NormalForm first = normal_form(answer);
    const NormalForm second = normal_form(other);
    return same(first, second) || same(second, first);
}

std::optional<Mark> hash_line(View text) {
    std::size_t stop = text.size();
    std::optional<Mark> title;
    for (int i = 0; i < kMaxLines; ++i) {
        const std::size_t mark = rfind(text, "####", stop);
        if (mark == npos) break;
        const std::size_t start = mark + 4;
        const std::size_t end =
            line_end(text, start, std::min(stop, forward(text, start, kMaxLine)));
        const bool alone = at(text, mark - 1) != '#' && at(text, start) != '#';
        const auto span = strip_span(text, {start, end}, kSpace, " \t\n\v\f\r.,;:");
        if (alone && span) {
            const bool is_last = stop == text.size() &&
                                 (at(text, end) == '<' || skip_space(text, end) == text.size());
            const Mark found{Rule::gsm8k, mark, span->start, span->end, end};
            const View answer = span->of(text);
            if (is_number(answer) || (is_last && !begins_with_word(answer))) return found;
            if (is_last) title = found;
        }
        stop = mark;
    }
    return title;
}

std::optional<Mark> Tags::next() {
    constexpr Pattern kOpening = "<answer>";
    while (left_-- > 0) {
        const std::size_t begin = rfind(text_, kOpening, stop_);
        if (begin == npos) break;
        stop_ = begin;
        const std::size_t inside = begin + kOpening.text.size();
        const std::size_t limit = forward(text_, inside, kMaxTag);
        const std::size_t close = text_.substr(inside, limit - inside).find("</answer>");
        const std::size_t end = close == npos ? limit : inside + close;
        const auto span = strip_span(text_, {inside, end}, " \t\n\v\f\r*_", " \t\n\v\f\r.,;:*_");
        if (span) return Mark{Rule::tag, begin, span->start, span->end, end};
    }
    left_ = 0;
    return std::nullopt;
}

}  // namespace cohort

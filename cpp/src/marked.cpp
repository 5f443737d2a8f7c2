// Answers after `####` and in `<answer>` tags.
#include <algorithm>
#include <utility>

#include "cohort/normal_form.h"
#include "lines.h"
#include "marks.h"
#include "scan.h"

namespace cohort {
namespace {

using View = std::string_view;

constexpr std::size_t kMaxLine = 400;  // characters after `####` that are looked at
constexpr std::size_t kMaxTag = 4096;  // characters of a tag without its end

}  // namespace

bool begins_with_word(View text) { return is_letter(at(text, 0)) && is_letter(at(text, 1)); }

bool is_number(View answer) { return normal_form(answer).is_number; }

bool are_same(View answer, View other) {
    if (answer == other) return true;
    const NormalForm first = normal_form(answer);
    const NormalForm second = normal_form(other);
    return same(first, second) || same(second, first);
}

std::optional<Mark> HashLines::next() {
    while (left_-- > 0) {
        const std::size_t mark = rfind(text_, "####", stop_);
        if (mark == npos) break;
        const std::size_t start = mark + 4;
        const std::size_t end =
            line_end(text_, start, std::min(stop_, window_end(text_, start, kMaxLine)));
        const bool is_end = stop_ == text_.size();
        stop_ = mark;
        const bool alone = at(text_, mark - 1) != '#' && at(text_, start) != '#';
        const auto span = strip_span(text_, {start, end}, kSpace, " \t\n\v\f\r.,;:");
        if (!alone || !span) continue;
        const bool is_last =
            is_end && (at(text_, end) == '<' || skip_space(text_, end) == text_.size());
        const Mark found{Rule::gsm8k, mark, span->start, span->end, end};
        const View answer = span->of(text_);
        if (is_number(answer) || (is_last && !begins_with_word(answer))) {
            is_first_ = false;
            return found;
        }
        if (is_last) title_ = found;
    }
    left_ = 0;
    return is_first_ ? std::exchange(title_, std::nullopt) : std::nullopt;
}

std::optional<Mark> Tags::next() {
    constexpr Pattern kOpening = "<answer>";
    constexpr View kClosing = "</answer>";
    while (left_-- > 0) {
        const std::size_t begin = rfind(text_, kOpening, stop_);
        if (begin == npos) break;
        const std::size_t inside = begin + kOpening.text.size();
        const std::size_t close = text_.substr(inside, stop_ - inside).find(kClosing);
        const std::size_t end = close == npos ? forward(text_, inside, kMaxTag) : inside + close;
        const std::size_t stop = close == npos ? end : end + kClosing.size();
        stop_ = begin;
        const auto span = strip_span(text_, {inside, end}, " \t\n\v\f\r*_", " \t\n\v\f\r.,;:*_");
        if (span) return Mark{Rule::tag, begin, span->start, span->end, stop};
    }
    left_ = 0;
    return std::nullopt;
}

}  // namespace cohort

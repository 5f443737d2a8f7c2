// Boxes, from the end of a text.
//
// `\boxed{18}`, `\fbox {18}` and `\boxed 18` are boxes; an empty one, the bare word and a negated
// one
// (`not \boxed{18}`) are not. Of boxes within each other the outermost counts.
#include <algorithm>
#include <array>
#include <string>

#include "lines.h"
#include "marks.h"
#include "scan.h"

namespace cohort {
namespace {

using View = std::string_view;

constexpr int kMaxNested = 4;             // boxes around a box that are looked for
constexpr std::size_t kMaxReach = 1000;   // characters between a box and one around it
constexpr std::size_t kMaxNegation = 20;  // characters before a box that may negate it
constexpr std::size_t kMaxBox = 8192;     // characters of a box; a longer one is unfinished

/// Index of the backslash of the last box mark before `stop`; npos if none.
std::size_t mark_before(View text, std::size_t stop) {
    const auto is_box = [](View all, std::size_t box) {
        const bool boxed = at(all, box - 1) == '\\' && all.substr(box).starts_with("boxed");
        const bool fbox = at(all, box - 1) == 'f' && at(all, box - 2) == '\\';
        return (boxed && !is_letter(at(all, box + 5))) || (fbox && !is_letter(at(all, box + 3)));
    };
    // Its `box` ends three or four bytes after the backslash: that one is before `stop`.
    std::size_t box = rfind(text, "box", stop + 4, is_box);
    if (box != npos && text[box - 1] == '\\' && box > stop) {
        box = rfind(text, "box", box + 2, is_box);
    }
    if (box == npos) return npos;
    return box - (text[box - 1] == '\\' ? 1 : 2);
}

/// Index of the brace that closes the one at `start`; npos when none does.
std::size_t group_close(View text, std::size_t start) {
    const std::size_t stop = forward(text, start, kMaxBox);
    std::size_t depth = 0;
    for (std::size_t i = start; i < stop; ++i) {
        if (text[i] == '\\') ++i;
        else if (text[i] == '{') ++depth;
        else if (text[i] == '}' && --depth == 0) return i;
    }
    return npos;
}

/// End of an argument without braces: a number, an option, a command up to a space or `$`.
std::size_t bare_end(View text, std::size_t start) {
    const std::size_t number = start + (is_one_of(at(text, start), "-+") ? 1 : 0);
    if (is_digit(at(text, number))) {
        return skip(text, number, [](char c) { return is_digit(c) || c == '.' || c == ','; });
    }
    const char first = at(text, start);
    if (is_upper(first) && (start + 1 == text.size() || is_one_of(text[start + 1], "$.\\\n"))) {
        return start + 1;
    }
    const View name = text.substr(start < text.size() ? start + 1 : start);
    if (first != '\\' || !is_letter(at(name, 0)) || name.starts_with("boxed") ||
        name.starts_with("fbox")) {
        return start;
    }
    return skip(text, start, [](char c) { return c != '$' && !is_one_of(c, kSpace); });
}

/// The box that begins at `begin`; nothing when it is empty or only mentioned.
std::optional<Mark> read(View text, std::size_t begin) {
    const std::size_t start = skip_space(text, begin + (text[begin + 1] == 'b' ? 6 : 5));
    if (at(text, start) != '{') {
        const std::size_t stop = bare_end(text, start);
        const auto span = strip_span(text, {start, stop}, "", ".,");
        if (!span) return std::nullopt;
        return Mark{Rule::boxed, begin, span->start, span->end, stop};
    }
    const std::size_t close = group_close(text, start);
    if (close == npos) return Mark{Rule::boxed, begin, start, start, text.size()};
    const auto span = strip_span(text, {start + 1, close}, kSpace, kSpace);
    if (!span) return std::nullopt;
    return Mark{Rule::boxed, begin, span->start, span->end, close + 1};
}

bool is_negated(View text, std::size_t begin) {
    constexpr std::array<View, 7> kNegations{" not ",     " isn't ", " never ",      " cannot ",
                                             " neither ", " nor ",   " rather than "};
    constexpr std::array<View, 4> kUnequal{"\\ne", "\\neq", "\xE2\x89\xA0", "!="};
    const View lead = sentence_lead(text, begin, kMaxNegation);
    const View sign = strip_right(lead, " \t\n\v\f\r$({");
    if (std::ranges::any_of(kUnequal, [&](View end) { return sign.ends_with(end); })) return true;
    const std::string words = words_of(lead);
    return std::ranges::any_of(kNegations, [&](View word) { return words.ends_with(word); });
}

bool is_part_before(View lead) {
    if (lead.empty()) return false;
    if (is_digit(lead.back()) || is_one_of(lead.back(), "^_")) return true;
    if (lead.back() != '{') return false;
    lead.remove_suffix(1);
    if (lead.ends_with("sqrt") || lead.ends_with("^") || lead.ends_with("_")) return true;
    if (!lead.ends_with("}")) return false;
    const std::size_t brace = lead.find_last_of("{}", lead.size() - 2);
    return brace != npos && lead[brace] == '{' && lead.substr(0, brace).ends_with("frac");
}

bool is_part_after(View rest) {
    const char first = at(rest, 0);
    const char second = at(rest, 1);
    const bool degree = rest.starts_with("^\\circ") || rest.starts_with("^{\\circ");
    if (is_digit(first) || (first == '^' && !degree) || (first == '.' && is_digit(second)) ||
        (first == '!' && second == '$')) {
        return true;
    }
    if (is_one_of(first, "xyz") && first != '\0' && !is_letter(second)) return true;
    rest = rest.substr(skip_spaces(rest, 0));
    if (rest.starts_with("+")) return true;
    if (rest.starts_with("*")) return is_digit(at(rest, 1)) || at(rest, 1) == ' ';
    if (!rest.starts_with("\\")) return false;
    const View name = rest.substr(1, skip_letters(rest, 1) - 1);
    return name == "cdot" || name == "times";
}

}  // namespace

bool is_part(View text, const Mark& box) {
    const std::size_t begin = backward(text, box.begin, kMaxNegation);
    return is_part_before(text.substr(begin, box.begin - begin)) ||
           is_part_after(text.substr(box.stop));
}

Mark Boxes::outermost(Mark box) {
    std::size_t stop = box.begin;
    int taken = 0;
    for (int i = 1; i <= std::min(kMaxNested, left_); ++i) {
        const std::size_t begin = mark_before(text_, stop);
        if (begin == npos) break;
        stop = begin;
        if (!is_within(text_.substr(begin, box.begin - begin), kMaxReach)) continue;
        const auto outer = read(text_, begin);
        if (!outer || outer->stop <= box.stop || outer->is_empty()) continue;
        box = *outer;
        taken = i;
    }
    left_ -= taken;
    return box;
}

std::optional<Mark> Boxes::next() {
    while (left_ > 0) {
        const std::size_t begin = mark_before(text_, stop_);
        if (begin == npos) break;
        stop_ = begin;
        --left_;
        const auto box = read(text_, begin);
        if (!box) continue;
        const Mark outer = outermost(*box);
        stop_ = outer.begin;
        if (!outer.is_empty() && is_negated(text_, outer.begin)) {
            if (!negated_)
                negated_ = Mark{Rule::boxed, outer.begin, outer.start, outer.start, outer.stop};
            continue;
        }
        if (outer.is_empty()) left_ = 0;
        found_ = true;
        return outer;
    }
    left_ = 0;
    if (found_) return std::nullopt;
    found_ = true;
    return negated_;
}

}  // namespace cohort

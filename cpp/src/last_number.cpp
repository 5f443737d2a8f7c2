#include <array>

#include "cohort/ascii.h"
#include "cohort/extract.h"
#include "cohort/words.h"

namespace cohort {
namespace {

using View = std::string_view;

// Where it starts and ends. An index that goes below 0 wraps around; `at` answers 0 there.

std::size_t digits_start(View text, std::size_t end) {
    while (is_digit(at(text, end - 1))) --end;
    return end;
}

/// Extend the digits from `start` to `end` by groups of thousands before them.
std::size_t groups_start(View text, std::size_t start, std::size_t end) {
    while (end - start == 3) {
        const View before = text.substr(0, start);
        const std::size_t separator = before.ends_with(',') ? 1 : before.ends_with("{,}") ? 3 : 0;
        if (separator == 0) break;
        const std::size_t comma = start - separator;
        const std::size_t group = digits_start(text, comma);
        const std::size_t size = comma - group;
        if (size < 1 || size > 3 || (size < 3 && text[group] == '0')) break;
        start = group;
        end = comma;
    }
    return start;
}

std::size_t decimal_start(View text, std::size_t end) {
    const std::size_t start = digits_start(text, end);
    if (at(text, start - 1) != '.') return groups_start(text, start, end);
    const char before = at(text, start - 2);
    if (is_digit(before)) {
        return groups_start(text, digits_start(text, start - 1), start - 1);
    }
    return is_alnum(before) || before == '.' ? start : start - 1;
}

/// Start of the decimal, quotient or mixed number that ends at `end`.
std::size_t plain_start(View text, std::size_t end) {
    std::size_t start = decimal_start(text, end);
    if (at(text, start - 1) != '/' || !is_digit(at(text, start - 2))) return start;
    start = decimal_start(text, start - 1);
    const bool mixed = at(text, start - 1) == ' ' && is_digit(at(text, start - 2));
    return mixed ? digits_start(text, start - 1) : start;
}

/// Index of the `{` of a group that holds a plain number and closes at `close`; npos otherwise.
std::size_t group_start(View text, std::size_t close) {
    std::size_t start = close;
    while (is_digit(at(text, start - 1)) || is_one_of(at(text, start - 1), "., -")) --start;
    return at(text, start - 1) == '{' ? start - 1 : npos;
}

/// Start of the `\frac{a}{b}` whose b ends at `end`, with a whole part before it; npos if none.
std::size_t fraction_start(View text, std::size_t end) {
    if (at(text, end) != '}') return npos;
    const std::size_t bottom = group_start(text, end);
    if (bottom == npos || at(text, bottom - 1) != '}') return npos;
    const std::size_t top = group_start(text, bottom - 1);
    if (top == npos) return npos;
    for (const View command : {View("\\frac"), View("\\dfrac"), View("\\tfrac"), View("\\cfrac")}) {
        if (text.substr(0, top).ends_with(command)) {
            return digits_start(text, top - command.size());
        }
    }
    return npos;
}

/// `start`, or the minus sign before it when that is no operator.
std::size_t with_sign(View text, std::size_t start) {
    View before = text.substr(0, start);
    if (before.ends_with("\\$")) before.remove_suffix(2);
    else if (before.ends_with('$')) before.remove_suffix(1);
    constexpr View kMinus = "\xE2\x88\x92";
    if (before.ends_with('-')) before.remove_suffix(1);
    else if (before.ends_with(kMinus)) before.remove_suffix(kMinus.size());
    else return start;
    const char further = at(before, before.size() - 1);
    return is_alnum(further) || is_one_of(further, ")]}%$") ? start : before.size();
}

/// The number whose last digit stands before `end`.
Span number_span(View text, std::size_t end) {
    Span span{fraction_start(text, end), end + 1};
    if (span.start == npos) span = {plain_start(text, end), end};
    const View rest = text.substr(span.end);
    if (rest.starts_with('%')) span.end += 1;
    if (rest.starts_with("\\%")) span.end += 2;
    span.start = with_sign(text, span.start);
    return span;
}

// What stands around it

bool bound_before(View text, std::size_t start) {
    const char before = at(text, start - 1);
    const char further = at(text, start - 2);
    if (is_letter(before)) return text[start] == '\\';
    if (is_one_of(before, "^\\{")) return true;
    if (before == '(') return is_letter(further);
    if (before == '_') return is_alnum(further) || further == '}';
    return is_one_of(before, "*/:") && is_alnum(further);
}

/// Whether a unit stands directly behind a number, as in `5kg`.
bool is_attached_unit(View text, std::size_t start) {
    const View word = text.substr(start, skip_letters(text, start) - start);
    return unit_form(word) && !is_lone_unit(word);
}

bool bound_after(View text, std::size_t end) {
    const char after = at(text, end);
    const char further = at(text, end + 1);
    if (is_letter(after)) return !is_attached_unit(text, end);
    if (is_one_of(after, "{}(")) return true;
    const View rest = text.substr(end < text.size() ? end + 1 : end);
    if (after == '^') return !rest.starts_with("\\circ") && !rest.starts_with("{\\circ");
    if (after == '\\') {
        return is_letter(further) && !rest.starts_with("text") && !rest.starts_with("mbox") &&
               !rest.starts_with("mathrm");
    }
    if (after == '_') return is_alnum(further) || further == '{';
    return is_one_of(after, "*/=+<>") && (is_alnum(further) || is_one_of(further, "\\("));
}

}  // namespace

std::optional<Span> last_number(std::string_view text) {
    std::size_t end = text.size();
    while (true) {
        while (end > 0 && !is_digit(text[end - 1])) --end;
        if (end == 0) return std::nullopt;
        const Span span = number_span(text, end);
        if (bound_before(text, span.start) || bound_after(text, span.end)) return std::nullopt;
        if (!is_letter(at(text, span.start - 1))) return span;
        end = span.start;
    }
}

}  // namespace cohort

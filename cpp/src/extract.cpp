#include "cohort/extract.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cohort/ascii.h"
#include "lines.h"
#include "marks.h"
#include "scan.h"

namespace cohort {
namespace {

using View = std::string_view;

constexpr std::size_t kMaxGap = 400;       // characters before a phrase that may correct a mark
constexpr std::size_t kMaxParts = 32;      // boxes that stand as one list
constexpr std::size_t kMaxConnector = 40;  // characters between two of them

/// Where the text after thinking begins; npos when the thinking does not end.
std::size_t visible_start(View text) {
    constexpr std::array<Pattern, 3> kClosed{"</think>", "</thinking>", "<|end_of_thought|>"};
    constexpr std::array<Pattern, 3> kOpened{"<think>", "<thinking>", "<|begin_of_thought|>"};
    std::size_t begin = 0;
    for (const Pattern& tag : kClosed) {
        const std::size_t closed = rfind(text, tag);
        if (closed != npos) begin = std::max(begin, closed + tag.text.size());
    }
    const View rest = text.substr(begin);
    const bool opens =
        std::ranges::any_of(kOpened, [&](const Pattern& tag) { return rfind(rest, tag) != npos; });
    return opens ? npos : begin;
}

Extraction extraction(const Mark& mark, bool ambiguous) {
    return {mark.rule, mark.span(), ambiguous, {}};
}

std::optional<Mark> last_marked(View text) {
    std::optional<Mark> last = HashLines(text).next();
    for (const auto& mark : {Boxes(text).next(), Tags(text).next()}) {
        if (mark && (!last || mark->begin > last->begin)) last = mark;
    }
    return last;
}

/// The answer of the last mark, in doubt of what the `earlier` ones gave.
template <typename Marks>
Extraction trailed(View text, const Mark& last, Trail trail, Marks& earlier, bool ambiguous) {
    while (const auto mark = earlier.next()) {
        if (!mark->is_empty() && !trail.add(text, last, *mark)) break;
    }
    return extraction(last, is_doubtful(text, last, trail) || ambiguous);
}

/// What a phrase announces, else what the text ends in.
std::optional<Extraction> unmarked(View text, std::size_t begin) {
    bool negated = false;
    bool is_aside = false;
    Phrases phrases(text, begin);
    while (const auto mark = phrases.next()) {
        if (!mark->is_empty()) return trailed(text, *mark, Trail(*mark), phrases, negated);
        (mark->is_aside ? is_aside : negated) = true;
    }
    if (negated || is_aside) return std::nullopt;
    auto last = letter_line(text, begin);
    if (!last) last = statement(text, begin);
    if (!last) return std::nullopt;
    return extraction(*last, is_doubtful(text, *last, Trail(*last)));
}

/// The answer in a tag: a phrase, its one line, or what its lines end in.
std::optional<Extraction> tagged(View text, const Mark& tag) {
    const View inside = text.substr(0, tag.end);
    const bool is_line = tag.span().of(text).find('\n') == npos;
    if (!is_line || Phrases(inside, tag.start).next()) return unmarked(inside, tag.start);
    Tags tags(text);
    tags.next();
    return trailed(text, tag, Trail(tag), tags, false);
}

// Boxes

/// `x=` or `x_1=`.
bool is_label(View text) {
    if (!is_letter(at(text, 0))) return false;
    text.remove_prefix(1);
    if (text.size() > 1 && text[0] == '_' && is_digit(text[1])) text.remove_prefix(1);
    if (!text.empty() && is_digit(text[0])) text.remove_prefix(1);
    return text == "=";
}

/// Whether nothing but a comma or `and` stands between two boxes, or `or x =`.
bool connects(View gap) {
    if (!is_within(gap, kMaxConnector)) return false;
    std::string core;
    for (std::size_t i = 0; i < gap.size(); ++i) {
        constexpr std::array<View, 4> kLoose{"\\text", "\\mbox", "\\quad", "\\qquad"};
        const View rest = gap.substr(i);
        const auto loose =
            std::ranges::find_if(kLoose, [&](View command) { return rest.starts_with(command); });
        if (loose != kLoose.end()) i += loose->size() - 1;
        else if (!is_one_of(gap[i], " \t\n\v\f\r$*{}()\\[]&.")) core += gap[i];
    }
    const View text = core;
    if (text.starts_with("or")) return is_label(text.substr(2));
    // A comma may stand before `and`, as may its wide forms and the Chinese `and` alone.
    for (const View joint : {View("and"), View(",and"), View(";and"), View(","), View(";"),
                             View("\xE3\x80\x81"), View("\xEF\xBC\x8C"), View("\xE5\x92\x8C")}) {
        if (!text.starts_with(joint)) continue;
        const View label = text.substr(joint.size());
        if (label.empty() || is_label(label)) return true;
    }
    return false;
}

/// The boxes of a list in their order, each answer once.
std::vector<Span> distinct(View text, const std::vector<Span>& from_end) {
    std::vector<Span> kept;
    for (std::size_t i = from_end.size(); i-- > 0;) {
        const View answer = from_end[i].of(text);
        const bool known = std::ranges::any_of(
            kept, [&](const Span& other) { return are_same(answer, other.of(text)); });
        if (!known) kept.push_back(from_end[i]);
    }
    return kept;
}

/// The last box, or the list that it closes (`\boxed{1}, \boxed{2} and \boxed{3}`).
Extraction boxed(View text) {
    Boxes boxes(text);
    const Mark last = *boxes.next();
    Mark first = last;
    std::optional<Mark> previous;
    std::vector<Span> parts;  // from the end; without the last while it is the only one
    while (const auto box = boxes.next()) {
        if (box->is_empty() || parts.size() > kMaxParts) break;
        const std::size_t stop = std::min(box->stop, first.begin);
        if (connects(text.substr(stop, first.begin - stop))) {
            if (parts.empty()) parts.push_back(last.span());
            parts.push_back(box->span());
        } else if (!are_same(box->span().of(text), last.span().of(text))) {
            previous = box;
            break;
        }
        first = *box;
    }
    const bool too_many = parts.size() > kMaxParts;
    if (!too_many) parts = distinct(text, parts);
    if (parts.size() < 2) {
        Trail trail(first);
        if (previous) trail.add(text, last, *previous);
        return trailed(text, last, trail, boxes, is_part(text, last));
    }
    const bool ambiguous = too_many || is_doubtful(text, last, Trail(first));
    if (too_many) std::ranges::reverse(parts);
    return {Rule::boxed, {parts.front().start, parts.back().end}, ambiguous, parts};
}

bool are_other_numbers(View answer, View other) {
    return is_number(answer) && is_number(other) && !are_same(answer, other);
}

std::optional<Extraction> committed(View text) {
    const auto last = last_marked(text);
    if (!last) return unmarked(text, 0);
    if (last->is_empty()) return std::nullopt;  // an unfinished box
    Phrases phrases(text, last->stop);
    auto phrase = phrases.next();
    while (phrase && phrase->is_aside) phrase = phrases.next();
    if (phrase && !phrase->is_empty()) {
        const std::size_t begin = std::max(last->stop, window_start(text, phrase->begin, kMaxGap));
        if (is_corrected(text.substr(begin, phrase->begin - begin))) {
            return unmarked(text, last->stop);
        }
        if (are_other_numbers(last->span().of(text), phrase->span().of(text))) {
            return extraction(*phrase, true);
        }
    }
    if (last->rule == Rule::boxed) return boxed(text);
    if (last->rule == Rule::tag) return tagged(text, *last);
    const View line = text.substr(0, last->end);
    if (Phrases(line, last->start).next()) return unmarked(line, last->start);
    HashLines lines(text);
    lines.next();
    const View before = text.substr(0, last->begin);
    const bool is_shared = before.substr(before.rfind('\n') + 1).find("####") != npos;
    return trailed(text, *last, Trail(*last), lines, is_shared);
}

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
    auto found = committed(text.substr(begin));
    if (!found) return std::nullopt;
    const auto move = [&](Span& span) { span = {span.start + begin, span.end + begin}; };
    move(found->span);
    for (Span& part : found->parts) move(part);
    return found;
}

}  // namespace cohort

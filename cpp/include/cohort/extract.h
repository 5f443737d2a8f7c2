// Which answer a text gives.
//
// Only what stands after the last `</think>` counts; an unfinished `<think>` gives no answer. Then
// the first rule that finds something wins. Each looks from the end and takes linear time:
//
//   gsm8k        #### 18           the last that is the last line or reads as a number
//   boxed        \boxed{18}        the last complete, non-empty \boxed{} or \fbox{}
//   phrase       answer is 18      also `answer:`, `answer =`, and `A:` before a number
//   last_number  ... makes 18 a day
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Bytes from `start` to before `end`.
struct Span {
    std::size_t start, end;

    std::string_view of(std::string_view text) const { return text.substr(start, end - start); }
};

/// `gsm8k` to `phrase` are marked answers, which a ground truth may use too; the other two take what
/// a text ends in.
enum class Rule { gsm8k, boxed, tag, phrase, formula, last_number };

/// Whether the text itself marks the answer as its answer.
constexpr bool is_marked(Rule rule) { return rule < Rule::formula; }

/// The word for a rule, as Python sees it.
std::string_view name(Rule rule);

struct Extraction {
    Rule rule;
    Span span;               // of the whole text; with parts, from the first to the last
    bool ambiguous = false;  // hedged, retracted or one of several: never right
    std::vector<Span> parts;  // boxes that stand as one list; empty in the usual case

    /// The answer: a view into `text`, or the parts joined by ", " in `joined`.
    std::string_view answer(std::string_view text, std::string& joined) const;
};

/// The answer that `text` commits to, if any.
std::optional<Extraction> extract_answer(std::string_view text);

/// The rule `last_number` alone: `1,234.5`, `3/4`, `2 3/4` or `\frac{3}{4}`, with a minus sign
/// before and a percent sign after it. A digit of a name (`CO2`) is passed over; a number inside a
/// formula (`x^2`, `2x`) means that the text ends in something else, so there is no answer.
std::optional<Span> last_number(std::string_view text);

}  // namespace cohort

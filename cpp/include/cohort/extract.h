// Which answer a text gives.
//
// Only what stands after the last `</think>` counts; an unfinished `<think>` gives no answer. Rules
// look from the end, in windows of a bounded size. Signs that fill space (blanks, dots, `\quad`,
// characters without width) are no distance: a row of them counts as one character.
//
//   gsm8k        #### 18                  the last that is the last line or reads as a number
//   boxed        \boxed{18}, \fbox{18}    the last complete, non-empty one, with what is nested
//   tag          <answer>18</answer>
//   phrase       The answer is 18.        also Chinese, `18 is the answer`, `## Answer`, `A: 18`
//   formula      The line is $y = 3x$.    what the last statement ends in, also an option `B`
//   last_number  ... makes 18 a day.
//
// The last of the first three wins, because the last committed answer counts. A phrase wins without
// them, or when words before it take the marked answer back (`wait`, `wrong`). The last two count
// only without all of these. An unfinished box after all other marks is no answer: the text was cut
// off as it gave it.
//
// No answer is what the text does not claim:
//   marks      a negated box or phrase; `a wrong answer is 18`, `suppose the answer is 18`, `the
//              student's answer is 18`: another one beside it counts as if these were not there
//   statements a question, a refusal, a sentence that was cut off; a bound (`at most 18`), a
//   negated
//              value; the last part of a compound (`3 hours and 5 minutes`, `3 to 5`); the last of
//              sentences that say the same of different values; a false chain (`17 = 18`)
// A statement is looked for before closing lines (`I hope this helps!`, `---`). The result of its
// calculation comes before numbers behind it, and a number that is known (`the 2 months`) counts
// only alone. Its unit and scale belong to it (`5 m`, `3.5 million`).
//
// An answer is ambiguous, which is never right, when the text
//   hedges it       `42 or 43`, `maybe 42`, `7 if n is odd`, `another possible answer is 43`
//   takes it back   `\boxed{42} ... that is wrong`, and gives no other one
//   revises it      a sentence behind it gives another value: `No, 43.`, `It should be 43.`
//   guesses         two different answers of a rule with at most 20 characters and no conclusion
//                   (`so`, `thus`) or correction between them; three, however they are joined, with
//                   at most 72 characters and no calculation between each two; two lines `####`
//                   without a correction; a phrase that states another number than the box before
//                   it; more than 32 boxes in one list
//   boxes a part    of a formula: `1\boxed{8}`, `\sqrt{\boxed{18}}`, `\boxed{18} + 1`
// Different boxes further apart are steps of a solution, and the last one is its answer. So a list
// of guesses never pays: close together it is ambiguous, spread out only its last item counts.
// Boxes that only commas or `and` keep apart are one answer, a list; it equals no single one of
// them.
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

/// `gsm8k` to `phrase` are marked answers, which a ground truth may use too; the other two take
/// what a text ends in.
enum class Rule { gsm8k, boxed, tag, phrase, formula, last_number };

/// Whether the text itself marks the answer as its answer.
constexpr bool is_marked(Rule rule) { return rule < Rule::formula; }

/// The word for a rule, as Python sees it.
std::string_view name(Rule rule);

struct Extraction {
    Rule rule;
    Span span;                // of the whole text; with parts, from the first to the last
    bool ambiguous = false;   // hedged, retracted or one of several: never right
    std::vector<Span> parts;  // boxes that stand as one list; empty in the usual case

    /// The answer: a view into `text`, or the parts joined by ", " in `joined`.
    std::string_view answer(std::string_view text, std::string& joined) const;
};

/// The answer that `text` commits to, if any.
std::optional<Extraction> extract_answer(std::string_view text);

}  // namespace cohort

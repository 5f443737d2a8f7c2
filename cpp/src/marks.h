// What the rules of extraction share: a marked answer and where it stands. The rules themselves
// look from the end, at most at kMaxMarks marks of a kind, which keeps any text linear.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "cohort/extract.h"

namespace cohort {

inline constexpr int kMaxMarks = 256;

/// An answer and the mark around it.
struct Mark {
    Rule rule;
    std::size_t begin;       // where the mark begins
    std::size_t start, end;  // the answer; empty when there is a mark but no answer
    std::size_t stop;        // where the mark ends

    bool is_empty() const { return start >= end; }
    Span span() const { return {start, end}; }
};

/// Boxes from the last to the first; an unfinished one is empty and the last to come. So is a
/// negated one, when there is no other.
class Boxes {
public:
    explicit Boxes(std::string_view text) : text_(text), stop_(text.size()) {}
    std::optional<Mark> next();

private:
    Mark outermost(Mark box);

    std::string_view text_;
    std::size_t stop_;
    int left_ = kMaxMarks;
    bool found_ = false;
    std::optional<Mark> negated_;
};

/// What `<answer>` tags hold, from the last to the first; the last may lack its end.
class Tags {
public:
    explicit Tags(std::string_view text) : text_(text), stop_(text.size()) {}
    std::optional<Mark> next();

private:
    std::string_view text_;
    std::size_t stop_;
    int left_ = kMaxMarks;
};

/// Announced answers from the last to the first, none before `begin`; a negated one is empty.
class Phrases {
public:
    Phrases(std::string_view text, std::size_t begin);
    std::optional<Mark> next();

private:
    std::size_t find(std::size_t kind, std::size_t stop) const;

    std::string_view text_;
    std::size_t begin_;
    std::array<std::size_t, 3> nouns_;  // where the last noun of each kind stands
    int left_ = kMaxMarks;
};

/// The last `#### 18` that reads as a number or is the last line; words there may be a title.
std::optional<Mark> hash_line(std::string_view text);

/// `A: 18`, a line from `begin` on that gives a number.
std::optional<Mark> letter_line(std::string_view text, std::size_t begin);

/// The answer that the last statement from `first` on gives.
std::optional<Mark> statement(std::string_view text, std::size_t first);

/// The last expression within a sentence that has a value in it.
std::optional<Span> last_expression(std::string_view text, Span sentence);

/// Whether words between two answers take the first one back.
bool is_corrected(std::string_view gap);

/// Whether the text hedges the answer, takes it back or gives another one beside it. The answer was
/// given from `first` to `mark`; `previous` is another one before.
bool is_doubtful(std::string_view text, const Mark& mark, const Mark& first,
                 const std::optional<Mark>& previous);

/// Whether two answers are the same in their normal form.
bool are_same(std::string_view answer, std::string_view other);

/// Whether `text` begins with two letters.
bool begins_with_word(std::string_view text);

/// Whether the whole of `answer` is a number.
bool is_number(std::string_view answer);

}  // namespace cohort

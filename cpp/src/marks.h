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
    bool is_aside = false;   // said of another answer than the one that is given; empty then

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

/// Whether a box is but a part of a formula: `1\boxed{8}`, `\sqrt{\boxed{18}}`.
bool is_part(std::string_view text, const Mark& box);

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

/// Lines `#### 18` from the last to the first. The last line of the text may hold any answer, the
/// others must read as a number; words in the last line may be a title and come after all others.
class HashLines {
public:
    explicit HashLines(std::string_view text) : text_(text), stop_(text.size()) {}
    std::optional<Mark> next();

private:
    static constexpr int kMaxLines = 64;

    std::string_view text_;
    std::size_t stop_;
    int left_ = kMaxLines;
    std::optional<Mark> title_;
    bool is_first_ = true;
};

/// `A: 18`, a line from `begin` on that gives a number.
std::optional<Mark> letter_line(std::string_view text, std::size_t begin);

/// The answer that the last statement from `first` on gives.
std::optional<Mark> statement(std::string_view text, std::size_t first);

/// The value that a finished sentence states.
std::optional<Span> stated_value(std::string_view text, Span sentence);

/// Where a remark in brackets begins that the sentence ends in, behind a number; or its end.
std::size_t remark_start(std::string_view text, Span sentence);

/// The last expression within a sentence that has a value in it.
std::optional<Span> last_expression(std::string_view text, Span sentence);

/// Whether words between two answers take the first one back.
bool is_corrected(std::string_view gap);

/// Whether a sentence behind an answer gives another value: `No, 43`, `It should be 43`.
bool is_revised(std::string_view answer, std::string_view rest);

/// The first of the marks in a row that give the last answer, and up to two other answers before.
class Trail {
public:
    explicit Trail(const Mark& first) : marks_{first} {}
    /// Adds an earlier mark; whether more are wanted. `last` is the mark of the answer.
    bool add(std::string_view text, const Mark& last, const Mark& mark);

    std::size_t size() const { return size_; }
    const Mark& operator[](std::size_t i) const { return marks_[i]; }

private:
    std::array<Mark, 3> marks_;
    std::size_t size_ = 1;
};

/// Whether the text hedges the answer, takes it back or gives another one beside it.
bool is_doubtful(std::string_view text, const Mark& mark, const Trail& trail);

/// Whether two answers are the same in their normal form.
bool are_same(std::string_view answer, std::string_view other);

/// Whether `text` begins with two letters.
bool begins_with_word(std::string_view text);

/// Whether the whole of `answer` is a number.
bool is_number(std::string_view answer);

}  // namespace cohort

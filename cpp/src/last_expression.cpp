// The last expression of a sentence.
//
// Signs, numbers, LaTeX and letters that touch them belong together; words keep expressions apart.
// Numbers that commas, `and` or `or` join are one list, so that none of them stands for all. What a
// calculation results in comes before a plain number behind it (`6 * 7 = 42 dollars for 6 hours`).
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "chunks.h"
#include "cohort/words.h"
#include "lines.h"
#include "marks.h"

namespace cohort {
namespace {

using View = std::string_view;
using std::string_view_literals::operator""sv;

constexpr std::array kTimes{"\\times"sv, "\\cdot"sv, "\\div"sv};
constexpr std::array kAlgebraic{"<"sv,
                                ">"sv,
                                "|"sv,
                                "_"sv,
                                "\xE2\x89\xA4"sv,
                                "\xE2\x89\xA5"sv,
                                "\xE2\x89\xA0"sv,
                                "\xE2\x88\xAA"sv,
                                "\xE2\x88\xA9"sv};
// After a calculation they begin something that has a number of its own.
constexpr std::array kClauses{","sv,   ";"sv,   ":"sv,    "so"sv,     "then"sv,   "is"sv,
                              "are"sv, "was"sv, "were"sv, "has"sv,    "have"sv,   "had"sv,
                              "be"sv,  "get"sv, "gets"sv, "equals"sv, "leaves"sv, "leaving"sv};

bool is_algebra(const Chunk& chunk) {
    if (chunk.kind == ChunkKind::value) {
        return !is_digit(chunk.text.back()) && !is_among(chunk.text, kTimes);
    }
    return chunk.kind == ChunkKind::letter || is_among(chunk.text, kAlgebraic);
}

/// Chunks that belong together.
struct Run {
    Span span{npos, npos};
    int depth = 0;
    bool has_value = false, has_digit = false, has_equals = false, ends_in_value = false;
    bool is_arithmetic = true;

    void add(const Chunk& chunk, std::size_t start) {
        if (span.start == npos) span.start = start;
        span.end = start + chunk.text.size();
        const char sign = chunk.text.size() == 1 ? chunk.text[0] : '\0';
        depth += is_one_of(sign, "([{") ? 1 : is_one_of(sign, ")]}") ? -1 : 0;
        has_equals = has_equals || sign == '=';
        has_digit = has_digit || is_digit(chunk.text.back());
        is_arithmetic = is_arithmetic && !is_algebra(chunk);
        has_value = has_value || chunk.kind == ChunkKind::value ||
                    (chunk.kind == ChunkKind::letter && has_equals);
        if (chunk.kind != ChunkKind::join) {
            ends_in_value = chunk.kind == ChunkKind::value || chunk.kind == ChunkKind::letter ||
                            (sign != '\0' && is_one_of(sign, ")]}%"));
        }
    }
};

// Trimming

constexpr std::array kPairs{"\\("sv, "\\)"sv, "\\["sv, "\\]"sv, "\\,"sv, "\\ "sv, "\\;"sv, "\\!"sv};

/// Whether brackets (or bars) are not even in `text`.
bool has_lone_bracket(View text) {
    const auto count = [&](char c) { return std::ranges::count(text, c); };
    const bool bars = text.front() == '|' || text.back() == '|';
    return (bars && count('|') % 2 == 1) || count('(') != count(')') || count('[') != count(']') ||
           count('{') != count('}');
}

/// Without what cannot begin or end an expression.
Span without_signs(View text, Span span) {
    while (span.start < span.end) {
        const View rest = span.of(text);
        const bool loose = is_one_of(rest[0], " \t$*=<>/^_!%,;&~)]}") ||
                           (is_one_of(rest[0], "([{|") && has_lone_bracket(rest));
        if (match_among(rest, kPairs) != 0) span.start += 2;
        else if (loose) span.start += 1;
        else break;
    }
    while (span.start < span.end) {
        const View rest = span.of(text);
        const bool loose = is_one_of(rest.back(), " \t$*=<>/^_,;&~+-([{") ||
                           (is_one_of(rest.back(), ")]}|") && has_lone_bracket(rest));
        if (ends_among(rest, kPairs)) span.end -= 2;
        else if (loose) span.end -= 1;
        else break;
    }
    return span;
}

/// Whether a sign of another relation or a joint makes more of `text` than a chain of `=`.
bool has_relation(View text) {
    return text.find_first_of("<>,;!") != npos || text.find(" and ") != npos ||
           text.find(" or ") != npos || text.find("\xE2\x89\xA4") != npos ||
           text.find("\xE2\x89\xA5") != npos || text.find("\xE2\x89\xA0") != npos;
}

/// What stands after the last `=` when it ends a calculation; nothing of a false `17 = 18`.
std::optional<Span> trimmed(View text, const Run& run) {
    Span span = without_signs(text, run.span);
    const bool is_dash = span.start == run.span.start && text.substr(span.start).starts_with("- ");
    if (is_dash) span.start += 2;
    if (span.start >= span.end) return std::nullopt;
    const View whole = span.of(text);
    if (const std::size_t equals = whole.rfind('='); equals != npos) {
        const View before = whole.substr(0, equals);
        const View last = whole.substr(equals + 1);
        const std::size_t earlier = before.rfind('=');
        const View other = before.substr(earlier + 1);
        const bool ends_in_number = is_number(last);
        const bool is_whole = span.start == run.span.start && ends_in_number && is_number(other);
        if (is_whole && !are_same(other, last)) return std::nullopt;
        const bool is_chain = earlier != npos && ends_in_number && !has_relation(before);
        if (is_chain || run.is_arithmetic) {
            span = without_signs(text, {span.start + equals + 1, span.end});
        }
    }
    if (span.start >= span.end) return std::nullopt;
    return span;
}

// The words between

// Before a number they say that it was known before.
constexpr std::array kDefinite{"the"sv, "these"sv, "those"sv, "both"sv, "all"sv, "his"sv,
                               "her"sv, "its"sv,   "their"sv, "my"sv,   "our"sv, "your"sv};
constexpr std::array kJoints{"and"sv, "or"sv, "also"sv, "alternatively"sv};
// Beside the clauses they make the second of two values the answer; the last one is an arrow.
constexpr std::array kOpenings{"because"sv, "makes"sv, "make"sv,
                               "gives"sv,   ">>"sv,    "\xE2\x86\x92"sv};

/// The words since the last run that has a value, as far as they matter.
class Between {
public:
    void add(View word) {
        is_definite_ = is_among(word, kDefinite);
        opens_ = opens_ || is_among(word, kOpenings) ||
                 (is_among(word, kClauses) && word != "," && word != ";");
        is_out_of_ = count_ == 1 && is_out_of_ ? word == "of" : count_ == 0 && word == "out";
        ++count_;
        if (!is_letters(word) || is_among(word, kJoints) || word == first_) return;
        if (first_.empty()) first_ = word;
        else has_more_ = true;
    }
    /// Whether the last word says that the value behind it was known before.
    bool is_definite() const { return is_definite_; }
    /// Whether two values with these words between them are none alone: `3 hours and 5 minutes`.
    bool joins() const { return !opens_ && (!has_more_ || (is_out_of_ && count_ == 2)); }

private:
    static bool is_letters(View word) { return skip_letters(word, 0) == word.size(); }

    View first_;
    std::size_t count_ = 0;
    bool is_definite_ = false, opens_ = false, has_more_ = false, is_out_of_ = false;
};

/// The runs of a sentence that may be its answer.
struct Runs {
    Run found, result, run;     // the last with a value, the last calculation, the one that goes on
    bool stands_apart = false;  // whether a clause has begun after the calculation
    bool is_compound = false;   // whether the last two values are parts of one
    Between between;

    void end_run() {
        const Run ended = std::exchange(run, {});
        if (!ended.has_value) return;
        if (ended.has_equals && ended.is_arithmetic) {
            result = ended;
            stands_apart = false;
        } else if (found.has_value && between.is_definite()) {
            return;  // `in the 2 months`: nothing that was asked for
        }
        is_compound = found.has_digit && between.joins();
        found = ended;
        between = {};
    }

    void add_word(View word) {
        end_run();
        stands_apart = stands_apart || is_among(word, kClauses);
        between.add(word);
    }

    const Run& chosen() const {
        if (result.has_value && !stands_apart) return result;
        static constexpr Run kNone;
        return is_compound ? kNone : found;
    }
};

/// End of the scale and the unit behind a number, as in `3.5 million` and `5 cm^2`.
std::size_t unit_end(View text, std::size_t start, std::size_t end) {
    constexpr std::array kScales{"hundred"sv, "thousand"sv, "million"sv,
                                 "billion"sv, "trillion"sv, "dozen"sv};
    if (!is_digit(text[start - 1])) return start;
    text = text.substr(0, end);
    const auto word_at = [&](std::size_t place) {
        const std::size_t first = place + (at(text, place) == ' ' ? 1 : 0);
        return Span{first, skip_letters(text, first)};
    };
    std::size_t stop = start;
    if (const Span scale = word_at(start); scale.start > start &&
                                           is_among(scale.of(text), kScales) &&
                                           !is_digit(at(text, scale.end))) {
        stop = scale.end;
    }
    const Span unit = word_at(stop);
    if ((is_alnum(at(text, unit.end)) || at(text, unit.end) == '\'') || !unit_form(unit.of(text)))
        return stop;
    constexpr std::array kPowers{"^2"sv, "^3"sv, "^{2}"sv, "^{3}"sv, "\xC2\xB2"sv, "\xC2\xB3"sv};
    const std::size_t after = unit.end + match_among(text.substr(unit.end), kPowers);
    const View rest = text.substr(after);
    constexpr std::array kPer{"/"sv, " /"sv, " per "sv, " a "sv, " an "sv};
    const bool is_loose = is_lone_unit(unit.of(text)) && after < end;
    return match_among(rest, kPer) != 0 || is_loose ? stop : after;
}

}  // namespace

std::size_t remark_start(View text, Span sentence) {
    const View whole = sentence.of(text);
    if (whole.empty() || whole.back() != ')') return sentence.end;
    const std::size_t open = whole.find_last_of("()", whole.size() - 2);
    if (open == npos || whole[open] == ')' || at(whole, open - 1) != ' ') return sentence.end;
    const View inner = whole.substr(open + 1);
    if (inner.starts_with("mod") || inner.starts_with("base") || inner.starts_with("or "))
        return sentence.end;
    bool has_word = false;
    for (std::size_t i = open + 3; i < whole.size() && !has_word; ++i) {
        has_word = whole[i] == ' ' && is_letter(whole[i - 1]) && is_letter(whole[i - 2]);
    }
    const View before = whole.substr(0, open);
    const bool has_digit = std::ranges::any_of(before, is_digit);
    return has_word && has_digit ? sentence.start + open - 1 : sentence.end;
}

std::optional<Span> last_expression(View text, Span sentence) {
    sentence.end = remark_start(text, sentence);
    Runs runs;
    Chunks chunks(sentence.of(text));
    for (std::size_t start = sentence.start; chunks.has_next();) {
        Chunk chunk = chunks.next();
        if (chunk.kind == ChunkKind::join) {
            const bool inside = runs.run.depth > 0 && is_one_of(chunk.text[0], ",;");
            const bool joins = inside || (runs.run.ends_in_value && chunks.number_follows());
            if (!joins) chunk.kind = ChunkKind::word;
        }
        if (chunk.kind == ChunkKind::word) runs.add_word(chunk.text);
        else if (chunk.kind != ChunkKind::space) runs.run.add(chunk, start);
        start += chunk.text.size();
    }
    runs.end_run();
    const Run& run = runs.chosen();
    auto span = run.has_value ? trimmed(text, run) : std::nullopt;
    if (span) span->end = unit_end(text, span->end, sentence.end);
    return span;
}

}  // namespace cohort

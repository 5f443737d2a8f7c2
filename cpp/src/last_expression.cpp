// The last expression of a sentence.
//
// Signs, numbers, LaTeX and letters that touch them belong together; words keep expressions apart.
// Numbers that commas, `and` or `or` join are one list, so that none of them stands for all. What a
// calculation results in comes before a plain number behind it (`6 * 7 = 42 dollars for 6 hours`).
#include <algorithm>
#include <array>
#include <string>

#include "cohort/words.h"
#include "lines.h"
#include "marks.h"

namespace cohort {
namespace {

using View = std::string_view;
using std::string_view_literals::operator""sv;

/// What a token is to an expression.
enum class Kind { value, letter, sign, space, join, word };

struct Token {
    Kind kind;
    View text;
};

// pi, root, infinity, halves and quarters, squared, cubed
constexpr std::array kWideValues{"\xCF\x80"sv, "\xE2\x88\x9A"sv, "\xE2\x88\x9E"sv, "\xC2\xBD"sv,
                                 "\xC2\xBC"sv, "\xC2\xBE"sv,     "\xC2\xB2"sv,     "\xC2\xB3"sv};
// minus, dash, times, division, dot, at most, at least, not equal, union, section, plus-minus,
// degree
constexpr std::array kWideSigns{"\xE2\x88\x92"sv, "\xE2\x80\x93"sv, "\xC3\x97"sv,
                                "\xC3\xB7"sv,     "\xC2\xB7"sv,     "\xE2\x89\xA4"sv,
                                "\xE2\x89\xA5"sv, "\xE2\x89\xA0"sv, "\xE2\x88\xAA"sv,
                                "\xE2\x88\xA9"sv, "\xC2\xB1"sv,     "\xC2\xB0"sv};
constexpr View kRoot = "\xE2\x88\x9A";
constexpr View kMinus = "\xE2\x88\x92";
// Of the signs, those that bind a letter on either side; the root binds one behind it.
constexpr std::array kWideOperators{"\xE2\x88\x92"sv, "\xE2\x89\xA4"sv, "\xE2\x89\xA5"sv,
                                    "\xE2\x89\xA0"sv, "\xC3\x97"sv,     "\xC3\xB7"sv,
                                    "\xC2\xB7"sv};
constexpr std::array kFunctions{"sqrt"sv, "sin"sv, "cos"sv, "tan"sv, "cot"sv,
                                "csc"sv,  "log"sv, "ln"sv,  "exp"sv};
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
constexpr std::array kOrdinals{"st"sv, "nd"sv, "rd"sv, "th"sv};

template <std::size_t N>
bool is_among(View text, const std::array<View, N>& all) {
    return std::ranges::find(all, text) != all.end();
}

template <std::size_t N>
std::size_t match_among(View text, const std::array<View, N>& all) {
    for (const View one : all) {
        if (text.starts_with(one)) return one.size();
    }
    return 0;
}

template <std::size_t N>
bool ends_among(View text, const std::array<View, N>& all) {
    return std::ranges::any_of(all, [&](View one) { return text.ends_with(one); });
}

bool is_word_char(char c) { return is_alnum(c) || c == '\''; }

/// Reads the tokens of a sentence.
class Tokens {
public:
    explicit Tokens(View sentence) : sentence_(sentence) {}

    bool has_next() const { return place_ < sentence_.size(); }
    Token next();
    /// Whether a number follows, maybe after `and` or `or`.
    bool number_follows() const;

private:
    Token take(Kind kind, std::size_t size);
    Token command();
    Token word();
    Kind lone_letter(std::size_t end) const;

    View sentence_;
    std::size_t place_ = 0;
};

Token Tokens::take(Kind kind, std::size_t size) {
    const Token token{kind, sentence_.substr(place_, size)};
    place_ += token.text.size();
    return token;
}

Token Tokens::command() {
    const View rest = sentence_.substr(place_);
    if (rest.size() == 1) return take(Kind::word, 1);
    if (!is_letter(rest[1])) return take(Kind::sign, 1 + forward(rest.substr(1), 0, 1));
    const std::size_t end = skip_letters(rest, 1);
    const View name = rest.substr(1, end - 1);
    if (name == "text" || name == "mbox" || name == "mathrm") {
        const std::size_t brace = end + (at(rest, end) == ' ' ? 1 : 0);
        const std::size_t close = rest.find_first_of("{}\\", brace + 1);
        if (at(rest, brace) == '{' && close != npos && rest[close] == '}') {
            return take(Kind::sign, close + 1);
        }
    }
    return take(name == "boxed" || name == "fbox" ? Kind::word : Kind::value, end);
}

/// A letter that touches an operator is a variable; another one is a word.
Kind Tokens::lone_letter(std::size_t end) const {
    const View before = strip_right(sentence_.substr(0, place_), " ");
    const View after = sentence_.substr(skip_spaces(sentence_, end));
    const bool number_before =
        !before.empty() && (is_digit(before.back()) || is_one_of(before.back(), ")%"));
    const bool number_after = is_digit(at(after, 0)) || is_one_of(at(after, 0), "$(");
    if (sentence_[place_] == 'x' && number_before && number_after) return Kind::sign;
    const bool bound_before = (!before.empty() && is_one_of(before.back(), "=^_+*/<>([{-")) ||
                              before.ends_with(kRoot) || ends_among(before, kWideOperators);
    const bool bound_after = (!after.empty() && is_one_of(after[0], "=^_+*/<>-")) ||
                             match_among(after, kWideOperators) != 0;
    return bound_before || bound_after || at(sentence_, end) == '(' ? Kind::letter : Kind::word;
}

Token Tokens::word() {
    const std::size_t end = skip(sentence_, place_, is_word_char);
    const std::size_t size = end - place_;
    const View word = sentence_.substr(place_, size);
    if (is_digit(at(sentence_, place_ - 1))) {
        const bool loose = is_among(word, kOrdinals) || (unit_form(word) && !is_lone_unit(word));
        return take(loose ? Kind::word : Kind::letter, size);
    }
    if (word == "and" || word == "or") return take(Kind::join, size);
    if (word == "pi") return take(Kind::value, size);
    if (is_among(word, kFunctions)) {
        const char next = at(sentence_, skip_spaces(sentence_, end));
        const bool applied = is_digit(next) || next == '(' || next == '\\';
        return take(applied ? Kind::value : Kind::word, size);
    }
    return take(size > 1 ? Kind::word : lone_letter(end), size);
}

Token Tokens::next() {
    const View rest = sentence_.substr(place_);
    if (rest[0] == '\\') return command();
    if (match_among(rest, std::array{"<<"sv, ">>"sv, "<|"sv, "</"sv}) != 0) {
        return take(Kind::word, 2);
    }
    const std::size_t first = rest[0] == '.' ? 1 : 0;
    if (is_digit(at(rest, first))) {
        std::size_t end = skip_digits(rest, first);
        while (is_one_of(at(rest, end), ".,:") && is_digit(at(rest, end + 1))) {
            end = skip_digits(rest, end + 1);
        }
        const bool ordinal = is_among(rest.substr(end, skip_letters(rest, end) - end), kOrdinals);
        return take(ordinal ? Kind::word : Kind::value, end);
    }
    if (is_letter(rest[0])) return word();
    if (rest[0] == ' ' || rest[0] == '\t') return take(Kind::space, 1);
    if (rest[0] == ',' || rest[0] == ';') return take(Kind::join, 1);
    if (const std::size_t size = match_among(rest, kWideValues)) return take(Kind::value, size);
    if (const std::size_t size = match_among(rest, kWideSigns)) return take(Kind::sign, size);
    return take(is_one_of(rest[0], "-+*/^_=<>|!()[]{}%$&~") ? Kind::sign : Kind::word,
                forward(rest, 0, 1));
}

bool Tokens::number_follows() const {
    const auto is_loose = [](char c) { return c == ' ' || c == '$'; };
    View rest = sentence_.substr(skip(sentence_, place_, is_loose));
    if (rest.starts_with("and ")) rest.remove_prefix(4);
    else if (rest.starts_with("or ")) rest.remove_prefix(3);
    if (rest.starts_with(kMinus)) rest.remove_prefix(kMinus.size());
    else if (!rest.empty() && is_one_of(rest[0], "-+")) rest.remove_prefix(1);
    rest = rest.substr(skip(rest, 0, [](char c) { return c == '\\' || c == '$'; }));
    return is_digit(at(rest, 0)) || rest.starts_with(kRoot) || rest.starts_with(kWideValues[0]);
}

bool is_algebra(const Token& token) {
    if (token.kind == Kind::value) {
        return !is_digit(token.text.back()) && !is_among(token.text, kTimes);
    }
    return token.kind == Kind::letter || is_among(token.text, kAlgebraic);
}

/// Tokens that belong together.
struct Run {
    Span span{npos, npos};
    int depth = 0;
    bool has_value = false, has_equals = false, ends_in_value = false, is_arithmetic = true;

    void add(const Token& token, std::size_t start) {
        if (span.start == npos) span.start = start;
        span.end = start + token.text.size();
        const char sign = token.text.size() == 1 ? token.text[0] : '\0';
        depth += is_one_of(sign, "([{") ? 1 : is_one_of(sign, ")]}") ? -1 : 0;
        has_equals = has_equals || sign == '=';
        is_arithmetic = is_arithmetic && !is_algebra(token);
        has_value =
            has_value || token.kind == Kind::value || (token.kind == Kind::letter && has_equals);
        if (token.kind != Kind::join) {
            ends_in_value = token.kind == Kind::value || token.kind == Kind::letter ||
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

/// What stands after the last `=` when it ends a calculation.
std::optional<Span> trimmed(View text, const Run& run) {
    Span span = without_signs(text, run.span);
    const bool is_dash = span.start == run.span.start && text.substr(span.start).starts_with("- ");
    if (is_dash) span.start += 2;
    if (span.start >= span.end) return std::nullopt;
    const View whole = span.of(text);
    if (const std::size_t equals = whole.rfind('='); equals != npos) {
        const bool is_chain = whole.find('=') != equals && is_number(whole.substr(equals + 1));
        if (is_chain || run.is_arithmetic) {
            span = without_signs(text, {span.start + equals + 1, span.end});
        }
    }
    if (span.start >= span.end) return std::nullopt;
    return span;
}

}  // namespace

std::optional<Span> last_expression(View text, Span sentence) {
    Run found, result, run;     // the last with a value, the last calculation, the one that goes on
    bool stands_apart = false;  // whether a clause has begun after the calculation
    const auto end_run = [&] {
        if (run.has_value) found = run;
        if (run.has_value && run.has_equals && run.is_arithmetic) {
            result = run;
            stands_apart = false;
        }
        run = {};
    };
    Tokens tokens(sentence.of(text));
    for (std::size_t start = sentence.start; tokens.has_next();) {
        Token token = tokens.next();
        if (token.kind == Kind::join) {
            const bool inside = run.depth > 0 && is_one_of(token.text[0], ",;");
            const bool joins = inside || (run.ends_in_value && tokens.number_follows());
            if (!joins) token.kind = Kind::word;
        }
        if (token.kind == Kind::word) {
            end_run();
            stands_apart = stands_apart || is_among(token.text, kClauses);
        } else if (token.kind != Kind::space) {
            run.add(token, start);
        }
        start += token.text.size();
    }
    end_run();
    const Run& last = result.has_value && !stands_apart ? result : found;
    if (!last.has_value) return std::nullopt;
    return trimmed(text, last);
}

}  // namespace cohort

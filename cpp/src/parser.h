// A Pratt parser over the tokens of one answer; its parts stand in parse_*.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cohort/parse.h"
#include "tokens.h"

namespace cohort {

/// Raised inside of the parser only: the text is no formula.
struct NotUnderstood {};
[[noreturn]] void fail();

/// How tightly an operator binds, loosest first.
enum class Level : std::uint8_t {
    none,
    implies,
    relation,
    modulus,
    unite,
    intersect,
    ratio,
    over,
    sum,
    product,
};

/// How the items of a list are joined: by `or`, by `and`, or by commas alone.
struct Joints {
    bool either = false;
    bool both = false;
};

class Parser {
public:
    Parser(std::span<Token> tokens, const Reading& reading, Arena& arena, Budget& budget)
        : tokens_(tokens), reading_(reading), arena_(arena), budget_(budget) {}

    NodeId answer();

private:
    friend class Depth;

    // parse.cpp: tokens, lists, operators
    const Token& peek(std::size_t ahead = 0) const {
        return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
    }
    bool sees(Sign sign, std::size_t ahead = 0) const { return peek(ahead).sign == sign; }
    Token take();
    bool accept(Sign sign);
    void expect(Sign sign);
    bool separator(Joints& joints);
    bool at_list_end() const;
    bool domain_ahead() const;
    bool qualifier_ahead() const;
    bool accept_word(std::string_view word);
    NodeId qualified(NodeId node);
    Joints items();  // onto the scratch
    NodeId list();
    NodeId shared_left(std::size_t mark, Joints joints);
    NodeId joined(Kind kind, std::size_t mark);
    NodeId expression(Level least);
    Level level_of(const Token& token) const;
    NodeId infix(Level level, NodeId left);
    NodeId relations(NodeId left);
    NodeId sum(NodeId left);
    NodeId product(NodeId left);
    bool implicit_factor(NodeId left);
    bool at_vector(NodeId left) const;
    NodeId time_of_day(NodeId hours, std::string_view half);
    NodeId ratio(NodeId left);
    NodeId unite(NodeId left);
    NodeId except(NodeId left);
    NodeId as_set(NodeId node);
    NodeId set_operand(Level least);
    NodeId modulus(NodeId left);
    NodeId negative(NodeId node);
    NodeId power(NodeId base, NodeId exponent);
    NodeId signed_value();
    NodeId factor();
    NodeId operand();  // a value with what stands behind it
    NodeId postfix(NodeId node);
    NodeId exponent();
    NodeId raised(NodeId base, NodeId exponent);
    NodeId degrees(NodeId node);
    bool ends_digits_in_parens() const;
    bool starts_value(const Token& token) const;
    bool closes_bar_later() const;

    // parse_values.cpp: letters and their functions
    NodeId value();
    NodeId constant();
    NodeId letter();
    NodeId apply(std::string_view name);
    bool is_function_name(const Token& token) const;
    bool imaginary();
    std::size_t inverse_ahead() const;
    std::string script();  // a subscript as a part of a name
    NodeId figure();
    NodeId number_set();
    NodeId positive(bool with_zero);
    NodeId accented();
    NodeId chosen();

    // parse_numbers.cpp
    NodeId number(bool mixed);  // `mixed`: a fraction or a scale may follow
    NodeId mixed_number(const Token& whole);
    NodeId repeating(const Token& token);
    std::string repeated_block();
    NodeId based(const Token& token);
    NodeId in_base(const Token& token, std::string_view base);
    std::optional<NodeId> base_in_words(const Token& token);
    NodeId literal(std::string_view text);
    struct Fraction {
        std::int64_t numerator, denominator;
        std::size_t tokens;  // how many it takes up
    };
    std::optional<Fraction> fraction_ahead() const;

    // parse_commands.cpp: fractions, roots, functions, sums and integrals
    NodeId argument();  // of a command: a group or one token
    NodeId group();
    NodeId fraction();
    NodeId root();
    NodeId surd();
    NodeId binomial();
    NodeId function();
    NodeId function_argument();
    NodeId call(Function function, NodeId base);
    NodeId big();
    NodeId integral();
    NodeId limit();
    bool at_differential() const;

    // parse_groups.cpp: brackets
    NodeId paren();
    NodeId bracket();
    NodeId brace();
    NodeId set();
    NodeId set_items(Sign close);
    NodeId angle();
    NodeId bars(Sign close);
    NodeId between(Sign close, Function function);
    NodeId interval(std::size_t mark, bool left_closed, bool right_closed);
    NodeId environment();
    NodeId matrix(std::string_view name);
    NodeId cases(std::string_view name);
    NodeId determinant(NodeId matrix);
    void end_environment(std::string_view name);
    NodeId matrix_of_rows(std::size_t mark);
    bool opened_by_set() const;
    bool unbounded(NodeId node) const;

    // parse_words.cpp and parse_units.cpp
    NodeId words();
    std::optional<std::int64_t> whole_in_words();
    NodeId number_words();
    bool unit_ahead() const;
    NodeId measure(NodeId value);
    void further_units(std::string& name);
    bool unit_fraction_ahead() const;
    NodeId with_smaller(NodeId node, std::string_view name);
    NodeId counted(NodeId value);
    std::string label_words();
    NodeId measured_like(NodeId value, NodeId like);
    NodeId hour(NodeId value, std::string_view half);
    bool has_letters(NodeId node) const;
    bool unit_factor(std::string& name);
    NodeId quantity(NodeId value, std::string_view unit, bool prose = false);
    NodeId currency();
    NodeId phrase(std::string_view text);

    std::span<Token> tokens_;
    const Reading& reading_;
    Arena& arena_;
    Budget& budget_;
    std::size_t next_ = 0;
    std::size_t depth_ = 0;
    std::vector<NodeId> scratch_;
    std::size_t bars_ = 0;      // open in the innermost bracket
    bool in_set_ = false;       // `|` and `:` end an element
    bool in_integral_ = false;  // `dx` ends a product
    bool interval_ = false;     // (a, b) is an interval here
    std::optional<bool> imaginary_;
    std::string functions_;  // letters that were read as names of functions
};

/// Counts how deep the parser is, and sets a state for as long as it lives.
class Depth {
public:
    explicit Depth(Parser& parser) : parser_(parser) {
        if (++parser_.depth_ > kMaxDepth) throw LimitReached{};
        parser_.budget_.spend(4);
    }
    ~Depth() { --parser_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

private:
    Parser& parser_;
};

template <typename T>
class Scoped {
public:
    Scoped(T& place, T value) : place_(place), before_(place) { place = value; }
    ~Scoped() { place_ = before_; }
    Scoped(const Scoped&) = delete;
    Scoped& operator=(const Scoped&) = delete;

private:
    T& place_;
    T before_;
};

/// `p.m.` and `PM` are `pm`; other words are in lower case.
std::string plain_word(std::string_view text);

/// A text of words that is no formula as one word; nothing when it has signs of a formula.
std::optional<NodeId> prose(std::string_view text, std::span<const Token> tokens, Arena& arena);

}  // namespace cohort

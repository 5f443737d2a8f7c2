// Fractions, roots, functions, sums, products, integrals and limits.
#include "cohort/ascii.h"
#include "parser.h"

namespace cohort {
namespace {

std::optional<Function> inverse_of(Function function) {
    switch (function) {
        case Function::sin: return Function::arcsin;
        case Function::cos: return Function::arccos;
        case Function::tan: return Function::arctan;
        case Function::cot: return Function::arccot;
        case Function::sec: return Function::arcsec;
        case Function::csc: return Function::arccsc;
        case Function::sinh: return Function::arsinh;
        case Function::cosh: return Function::arcosh;
        case Function::tanh: return Function::artanh;
        default: return std::nullopt;
    }
}

/// How many arguments a function has in its brackets: least and most.
struct Arity {
    std::size_t least, most;
};

Arity arity(Function function) {
    switch (function) {
        case Function::gcd:
        case Function::lcm:
        case Function::max:
        case Function::min: return {1, kMaxCells};
        case Function::binomial:
        case Function::permutations:
        case Function::modulo: return {2, 2};
        default: return {1, 1};
    }
}

}  // namespace

// Arguments

NodeId Parser::group() {
    expect(Sign::open_brace);
    const Scoped<std::size_t> bars(bars_, 0);
    const Scoped<bool> outside(in_set_, false);
    const NodeId node = expression(Level::implies);
    expect(Sign::close_brace);
    return node;
}

/// As TeX reads it: a group, or one token; of digits the first.
NodeId Parser::argument() {
    if (sees(Sign::open_brace)) return group();
    if (sees(Sign::number) && peek().text.size() > 1) {
        Token& token = tokens_[next_];
        if (!is_digit(token.text[0])) fail();
        const std::int64_t digit = token.text[0] - '0';
        token.text.remove_prefix(1);
        token.spaced = false;
        return arena_.number(digit);
    }
    if (sees(Sign::number)) return literal(take().text);
    if (sees(Sign::letter) && peek(1).sign != Sign::subscript) {
        // Not `letter()`: the argument of \frac ab ends before what follows.
        const Token token = take();
        if (token.text == "e") return arena_.constant(Constant::e);
        if (token.text == "i" && imaginary()) return arena_.constant(Constant::i);
        return arena_.symbol(token.text);
    }
    return value();
}

/// `\frac{dy}{dx}` is a name: it is not y / x.
NodeId Parser::fraction() {
    take();
    const auto differential = [&](std::size_t k) {
        return sees(Sign::open_brace, k) && peek(k + 1).text == "d" && sees(Sign::letter, k + 2);
    };
    const bool above = differential(0);
    const bool lone = sees(Sign::open_brace) && peek(1).text == "d" && sees(Sign::close_brace, 2);
    const std::size_t below = lone ? 3 : 4;
    if ((above || lone) && differential(below)) {
        if (lone || !sees(Sign::close_brace, 3) || !sees(Sign::close_brace, 7)) fail();
        std::string name = "d";
        name.append(peek(2).text).append("/d").append(peek(6).text);
        next_ += 8;
        return arena_.symbol(name);
    }
    const bool higher = sees(Sign::open_brace) && peek(1).text == "d" && sees(Sign::power, 2);
    const NodeId numerator = argument();
    if (higher && differential(0)) fail();  // d^2y / dx^2
    const NodeId denominator = argument();
    return arena_.quotient(numerator, denominator);
}

NodeId Parser::root() {
    take();
    NodeId degree = arena_.number(2);
    if (accept(Sign::open_bracket)) {
        degree = expression(Level::sum);
        expect(Sign::close_bracket);
    }
    // Not TeX's first digit alone: who writes \sqrt17 means 17.
    const bool group_or_digit = sees(Sign::open_brace) || !sees(Sign::number);
    const NodeId inside = group_or_digit ? argument() : literal(take().text);
    if (arena_.is(degree, Kind::number) && !arena_.value(degree).is_zero()) {
        return power(inside, arena_.number(*arena_.value(degree).inverse()));
    }
    return power(inside, power(degree, arena_.number(-1)));
}

/// A root without a line: `√2`, `√(x+1)`, `sqrt(x)`; it reaches over one value.
NodeId Parser::surd() {
    const std::int64_t degree = take().code;
    NodeId inside = 0;
    if (sees(Sign::open_paren)) {
        inside = paren();
        if (arena_.is(inside, Kind::tuple) || arena_.is(inside, Kind::interval)) fail();
    } else {
        inside = sees(Sign::number) ? number(false) : value();
    }
    return power(inside, arena_.number(*Rational(degree).inverse()));
}

NodeId Parser::binomial() {
    take();
    const NodeId above = argument();
    const NodeId below = argument();
    return arena_.call(Function::binomial, std::array{above, below});
}

// Functions

NodeId Parser::function_argument() {
    const Depth depth(*this);
    if (accept(Sign::minus)) return negative(function_argument());
    if (sees(Sign::open_brace)) return group();
    if (sees(Sign::bar) || sees(Sign::double_bar)) return bars(peek().sign);
    if (sees(Sign::function)) return operand();
    const std::size_t mark = scratch_.size();
    bool numbers_only = true;
    do {
        numbers_only &= sees(Sign::number) || sees(Sign::constant);
        const NodeId factor = operand();
        scratch_.push_back(factor);
        if (in_integral_ && at_differential()) break;
    } while (sees(Sign::letter)     ? peek().text != "e" && !unit_ahead()
             : sees(Sign::constant) ? true
                                    : numbers_only && (sees(Sign::open_paren) || sees(Sign::frac) ||
                                                       sees(Sign::root)));
    return joined(Kind::product, mark);
}

/// The call of `function` on what stands in brackets next; `base` of a logarithm, else 0.
NodeId Parser::call(Function function, NodeId base) {
    const std::size_t mark = scratch_.size();
    const Arity allowed = arity(function);
    const bool set = sees(Sign::open_set);
    const bool brackets = sees(Sign::open_paren) || sees(Sign::open_bracket) || set;
    if (brackets && (allowed.most > 1 || sees(Sign::open_paren))) {
        const Sign close = set                      ? Sign::close_set
                           : sees(Sign::open_paren) ? Sign::close_paren
                                                    : Sign::close_bracket;
        take();
        const Scoped<std::size_t> bars(bars_, 0);
        const Scoped<bool> outside(in_set_, false);
        items();
        expect(close);
    } else if (allowed.most == 1) {
        const NodeId argument = function_argument();
        scratch_.push_back(argument);
    }
    const std::size_t count = scratch_.size() - mark;
    if (count < allowed.least || count > allowed.most) fail();
    if (function == Function::log) scratch_.push_back(base);
    const std::span<const NodeId> arguments(scratch_.data() + mark, scratch_.size() - mark);
    const NodeId node = arena_.call(function, arguments);
    scratch_.resize(mark);
    return node;
}

NodeId Parser::function() {
    const Token token = take();
    auto function = static_cast<Function>(token.code);
    std::optional<NodeId> raised;
    std::optional<NodeId> base;
    for (;;) {
        if (const std::size_t size = inverse_ahead(); size > 0 && inverse_of(function)) {
            next_ += size;
            function = *inverse_of(function);
        } else if (!raised && accept(Sign::power)) {
            raised = exponent();
        } else if (function == Function::log && !base && accept(Sign::subscript)) {
            base = argument();
        } else {
            break;
        }
    }
    // log2(8) has base 2; log 2 has not.
    const bool glued = function == Function::log && !base && sees(Sign::number) && !peek().spaced &&
                       sees(Sign::open_paren, 1);
    if (glued) base = number(false);
    if (function == Function::log && !base) {
        const bool ten = !reading_.log_is_ln || token.text.ends_with("lg");
        if (ten) base = arena_.number(10);
        if (!ten) function = Function::ln;
    }
    const NodeId node = call(function, base.value_or(0));
    return raised ? power(node, *raised) : node;
}

// Sums, products, limits, integrals

NodeId Parser::big() {
    const Token token = take();
    const auto which = static_cast<Big>(token.code);
    if (which == Big::integral) return integral();
    if (which == Big::limit) return limit();
    NodeId lower = 0;
    NodeId upper = 0;
    for (int part = 0; part < 2; ++part) {
        if (accept(Sign::subscript)) {
            lower = group();
        } else {
            expect(Sign::power);
            upper = exponent();
        }
    }
    if (!arena_.is(lower, Relation::equal)) fail();
    const NodeId index = arena_.child(lower, 0);
    const NodeId from = arena_.child(lower, 1);
    if (!arena_.is(index, Kind::symbol)) fail();
    const NodeId body = expression(Level::product);
    return arena_.big(which, std::array{body, index, from, upper});
}

bool Parser::at_differential() const {
    if (!sees(Sign::letter) || peek().text != "d") return false;
    return sees(Sign::letter, 1);
}

NodeId Parser::integral() {
    std::array<NodeId, 4> parts{};
    std::size_t bounds = 0;
    while (bounds < 2 && (sees(Sign::subscript) || sees(Sign::power))) {
        const bool lower = take().sign == Sign::subscript;
        parts[lower ? 2 : 3] = lower ? argument() : exponent();
        ++bounds;
    }
    if (bounds == 1) fail();
    {
        const Scoped<bool> inside(in_integral_, true);
        parts[0] = at_differential() ? arena_.number(1) : expression(Level::sum);
    }
    if (!at_differential()) fail();
    take();
    parts[1] = arena_.symbol(take().text);
    return arena_.big(Big::integral, std::span(parts).first(bounds == 0 ? 2 : 4));
}

NodeId Parser::limit() {
    expect(Sign::subscript);
    const NodeId target = group();
    if (!arena_.is(target, Relation::maps_to)) fail();
    const NodeId index = arena_.child(target, 0);
    const NodeId point = arena_.child(target, 1);
    if (!arena_.is(index, Kind::symbol)) fail();
    const NodeId body = expression(Level::product);
    return arena_.big(Big::limit, std::array{body, index, point});
}

}  // namespace cohort

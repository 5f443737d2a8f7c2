// Sums and products, and what stands behind a value: exponents, `!`, `%`, degrees.
#include <algorithm>

#include "cohort/ascii.h"
#include "parser.h"
#include "vocabulary.h"

namespace cohort {

NodeId Parser::negative(NodeId node) {
    const Kind kind = arena_.at(node).kind;
    const bool measured = kind == Kind::percent || kind == Kind::degree || kind == Kind::quantity;
    if (!measured) return arena_.negative(node);
    const NodeId inside = negative(arena_.child(node, 0));
    const NodeId result = arena_.make(kind, std::array{inside});
    if (kind == Kind::quantity) {
        arena_.set_name(result, arena_.name(node));
        arena_.at(result).flag = arena_.at(node).flag;
    }
    return result;
}

NodeId Parser::power(NodeId base, NodeId exponent) {
    return arena_.make(Kind::power, std::array{base, exponent});
}

NodeId Parser::sum(NodeId left) {
    const std::size_t mark = scratch_.size();
    scratch_.push_back(left);
    while (level_of(peek()) == Level::sum) {
        const Sign sign = take().sign;
        NodeId right = expression(Level::product);
        if (sign == Sign::plus || sign == Sign::minus) {
            const bool sets = sign == Sign::minus && arena_.is(right, Kind::set);
            if (sets) {
                left = arena_.make(Kind::difference,
                                   std::array{as_set(joined(Kind::sum, mark)), right});
                scratch_.push_back(left);
                continue;
            }
            if (sign == Sign::minus) right = negative(right);
            scratch_.push_back(right);
            continue;
        }
        left = arena_.make(Kind::plus_minus, std::array{joined(Kind::sum, mark), right});
        arena_.at(left).flag = sign == Sign::minus_plus;
        scratch_.push_back(left);
    }
    // A unit at the end of a sum is the unit of all of it: `2 + \sqrt{3} \text{ cm}`.
    const NodeId last = scratch_.back();
    const auto measured = [&](NodeId id) { return arena_.is(id, Kind::quantity); };
    const std::span<const NodeId> terms(scratch_.data() + mark, scratch_.size() - mark);
    if (terms.size() == 1 || !measured(last) || std::ranges::count_if(terms, measured) != 1) {
        return joined(Kind::sum, mark);
    }
    NodeId bare = last;
    while (measured(bare)) bare = arena_.child(bare, 0);
    scratch_.back() = bare;
    return measured_like(joined(Kind::sum, mark), last);
}

/// Whether a value may stand right behind what was read last: then it is a factor.
bool Parser::implicit_factor(NodeId left) {
    if (!starts_value(peek())) return false;
    const Sign before = tokens_[next_ - 1].sign;
    if (sees(Sign::number)) return before == Sign::close_paren || before == Sign::bang;
    // `[5][0]` is no product.
    if (sees(Sign::open_bracket)) return before != Sign::close_bracket;
    return !arena_.is(left, Kind::word);
}

/// Whether a vector was just read, `left`, and another one comes behind the sign: `\vec a \times`.
bool Parser::at_vector(NodeId left) const {
    const bool named = arena_.is(left, Kind::symbol) && arena_.name(left).starts_with("\\vec ");
    const bool bold = next_ > 1 && tokens_[next_ - 2].style == Style::bold;
    if (!named && !bold) return false;
    return peek().text == "\\vec" || (sees(Sign::letter) && peek().style == Style::bold);
}

NodeId Parser::product(NodeId left) {
    const std::size_t mark = scratch_.size();
    scratch_.push_back(left);
    while (level_of(peek()) == Level::product) {
        const bool crossed = sees(Sign::letter) && peek().text == "x" && sees(Sign::number, 1) &&
                             tokens_[next_ - 1].sign == Sign::number &&
                             !is_one_of('x', reading_.variables);
        if (crossed || sees(Sign::times)) {
            const bool cross = take().text == "\\times" && at_vector(scratch_.back());
            const NodeId right = factor();
            if (cross) {
                const std::array parts{arena_.symbol("\\times"), scratch_.back(), right};
                scratch_.back() = arena_.make(Kind::apply, parts);
            } else {
                scratch_.push_back(right);
            }
        } else if (accept(Sign::divide)) {
            const NodeId right = factor();
            scratch_.push_back(power(right, arena_.number(-1)));
        } else if (accept(Sign::modulo)) {
            left = joined(Kind::product, mark);
            const NodeId right = factor();
            scratch_.push_back(arena_.call(Function::modulo, std::array{left, right}));
        } else if (unit_ahead()) {
            const NodeId measured = measure(joined(Kind::product, mark));
            scratch_.push_back(measured);
        } else {
            if (!implicit_factor(scratch_.back())) fail();
            const NodeId right = operand();
            scratch_.push_back(right);
        }
    }
    return joined(Kind::product, mark);
}

/// The start of an expression: `-x y` is -(x y).
NodeId Parser::signed_value() {
    bool minus = false;
    bool any = false;
    while (sees(Sign::minus) || sees(Sign::plus)) {
        minus ^= take().sign == Sign::minus;
        any = true;
    }
    if (sees(Sign::plus_minus) || sees(Sign::minus_plus)) {
        if (any) fail();
        const bool flipped = take().sign == Sign::minus_plus;
        const NodeId right = expression(Level::product);
        const NodeId node = arena_.make(Kind::plus_minus, std::array{arena_.number(0), right});
        arena_.at(node).flag = flipped;
        return node;
    }
    if (!any) return operand();
    const NodeId node = expression(Level::product);
    return minus ? negative(node) : node;
}

NodeId Parser::factor() {
    bool minus = false;
    while (sees(Sign::minus) || sees(Sign::plus)) minus ^= take().sign == Sign::minus;
    const NodeId node = operand();
    return minus ? negative(node) : node;
}

NodeId Parser::operand() { return postfix(value()); }

// What stands behind a value

NodeId Parser::exponent() {
    const Depth depth(*this);
    if (accept(Sign::minus)) return negative(exponent());
    accept(Sign::plus);
    NodeId node = sees(Sign::number) ? number(false) : value();
    if (accept(Sign::power)) node = power(node, exponent());
    return node;
}

/// A power, or the transpose of a row.
NodeId Parser::raised(NodeId base, NodeId exponent) {
    const Kind kind = arena_.at(base).kind;
    const bool mark = arena_.is(exponent, Kind::symbol) &&
                      (arena_.name(exponent) == "T" || arena_.name(exponent) == "\\top");
    const bool pair = kind == Kind::interval && arena_.at(base).flag && arena_.at(base).flag2;
    const bool row = kind == Kind::tuple || pair;
    if (!mark || (!row && kind != Kind::matrix)) return power(base, exponent);
    const std::uint32_t count = arena_.at(base).count;
    const std::uint32_t columns = row ? count : arena_.at(base).index;
    const std::uint32_t rows = count / columns;
    const std::size_t start = scratch_.size();
    for (std::uint32_t i = 0; i < count; ++i) {
        scratch_.push_back(arena_.child(base, i % rows * columns + i / rows));
    }
    const NodeId node = arena_.make(Kind::matrix, std::span(scratch_).subspan(start));
    arena_.at(node).index = rows;
    scratch_.resize(start);
    return node;
}

NodeId Parser::postfix(NodeId node) {
    for (;;) {
        const bool braced = sees(Sign::open_brace, 1) && sees(Sign::close_brace, 3);
        const Token inner = peek(braced ? 2 : 1);
        const bool letter_o = inner.text == "o" && !is_one_of('o', reading_.variables);
        if (sees(Sign::power) &&
            (inner.sign == Sign::circle || inner.sign == Sign::degree || letter_o)) {
            next_ += braced ? 4 : 2;
            node = degrees(node);
        } else if (sees(Sign::power) && is_ordinal_end(inner.text)) {
            next_ += braced ? 4 : 2;  // 5^{th}
        } else if (sees(Sign::power) && arena_.is(node, Kind::number_set) &&
                   (inner.sign == Sign::plus || inner.sign == Sign::minus)) {
            arena_.set_name(node, std::string(arena_.name(node)).append(inner.text));
            next_ += braced ? 4 : 2;
        } else if (accept(Sign::power)) {
            node = raised(node, exponent());
        } else if (accept(Sign::degree)) {
            node = degrees(node);
        } else if (accept(Sign::bang)) {
            const bool twice = sees(Sign::bang) && !peek().spaced;
            if (twice) take();
            const Function which = twice ? Function::double_factorial : Function::factorial;
            node = arena_.call(which, std::array{node});
        } else if (accept(Sign::percent)) {
            node = arena_.make(Kind::percent, std::array{node});
        } else if (sees(Sign::squared)) {
            node = power(node, arena_.number(take().code));
        } else if (sees(Sign::subscript) && ends_digits_in_parens()) {
            node = based(tokens_[next_ - 2]);
        } else if (sees(Sign::subscript) || sees(Sign::prime)) {
            fail();
        } else {
            return node;
        }
    }
}

/// `(101)` was just read.
bool Parser::ends_digits_in_parens() const {
    return next_ >= 3 && tokens_[next_ - 1].sign == Sign::close_paren &&
           tokens_[next_ - 2].sign == Sign::number && tokens_[next_ - 3].sign == Sign::open_paren;
}

NodeId Parser::degrees(NodeId node) {
    const Token token = peek();
    // 30^\circ 30': sixtieths
    if (sees(Sign::number) && sees(Sign::prime, 1) && !sees(Sign::prime, 2)) {
        const NodeId part = arena_.quotient(literal(take().text), arena_.number(60));
        take();
        node = arena_.make(Kind::sum, std::array{node, part});
        return arena_.make(Kind::degree, std::array{node});
    }
    const bool celsius = token.text == "C" || token.text == "Celsius" || token.text == "celsius";
    const bool other = token.text == "F" || token.text == "Fahrenheit";
    if (!celsius && !other) return arena_.make(Kind::degree, std::array{node});
    take();
    return quantity(node, celsius ? "degC" : "degF");
}

bool Parser::starts_value(const Token& token) const {
    switch (token.sign) {
        case Sign::number:
        case Sign::letter:
        case Sign::name:
        case Sign::constant:
        case Sign::function:
        case Sign::frac:
        case Sign::root:
        case Sign::surd:
        case Sign::binom:
        case Sign::accent:
        case Sign::overline:
        case Sign::figure:
        case Sign::big:
        case Sign::begin:
        case Sign::number_set:
        case Sign::currency:
        case Sign::dots:
        case Sign::open_paren:
        case Sign::open_bracket:
        case Sign::open_brace:
        case Sign::open_set:
        case Sign::open_angle:
        case Sign::open_floor:
        case Sign::open_ceil:
        case Sign::empty_set: return true;
        case Sign::double_bar: return bars_ == 0;
        case Sign::bar: return bars_ == 0 && !in_set_ && closes_bar_later();
        default: return false;
    }
}

/// Whether the bar that comes next has another one to close it in the same bracket.
bool Parser::closes_bar_later() const {
    std::size_t depth = 0;
    for (std::size_t i = next_ + 1; i < tokens_.size(); ++i) {
        budget_.spend();
        switch (tokens_[i].sign) {
            case Sign::open_paren:
            case Sign::open_bracket:
            case Sign::open_brace:
            case Sign::open_set: ++depth; break;
            case Sign::close_paren:
            case Sign::close_bracket:
            case Sign::close_brace:
            case Sign::close_set:
                if (depth-- == 0) return false;
                break;
            case Sign::comma:
                if (depth == 0) return false;
                break;
            case Sign::bar:
                if (depth == 0) return true;
                break;
            default: break;
        }
    }
    return false;
}

}  // namespace cohort

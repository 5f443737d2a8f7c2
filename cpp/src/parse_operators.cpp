// Operators by how tightly they bind: relations, ratios, sums, signs between sets.
#include <algorithm>

#include "cohort/ascii.h"
#include "parser.h"

namespace cohort {

Level Parser::level_of(const Token& token) const {
    if (domain_ahead() || qualifier_ahead()) return Level::none;
    switch (token.sign) {
        case Sign::relation:
            return token.code == static_cast<std::uint8_t>(Relation::implies) ? Level::implies
                                                                              : Level::relation;
        case Sign::mid: return in_set_ ? Level::none : Level::relation;
        case Sign::bar:
            if (bars_ > 0 || in_set_) return Level::none;
            return closes_bar_later() ? Level::product : Level::relation;
        case Sign::modulus: return Level::modulus;
        case Sign::open_paren:
            return peek(1).sign == Sign::modulo ? Level::modulus : Level::product;
        case Sign::cup:
        case Sign::without:
        case Sign::except: return Level::unite;
        case Sign::cap: return Level::intersect;
        case Sign::colon: return in_set_ ? Level::none : Level::ratio;
        case Sign::over:
        case Sign::choose: return Level::over;
        case Sign::plus:
        case Sign::minus:
        case Sign::plus_minus:
        case Sign::minus_plus: return Level::sum;
        case Sign::times:
        case Sign::divide:
        case Sign::modulo: return Level::product;
        default:
            if (in_integral_ && at_differential()) return Level::none;
            return starts_value(token) ? Level::product : Level::none;
    }
}

NodeId Parser::expression(Level least) {
    const Depth depth(*this);
    NodeId left = signed_value();
    for (;;) {
        const Level level = level_of(peek());
        if (level == Level::none || level < least) return left;
        left = infix(level, left);
    }
}

NodeId Parser::infix(Level level, NodeId left) {
    switch (level) {
        case Level::implies: {
            take();
            const NodeId right = expression(Level::relation);
            return arena_.relation(Relation::implies, left, right);
        }
        case Level::relation: return relations(left);
        case Level::modulus: return modulus(left);
        case Level::unite: return unite(left);
        case Level::intersect: {
            const std::size_t mark = scratch_.size();
            scratch_.push_back(as_set(left));
            while (accept(Sign::cap)) {
                const NodeId right = set_operand(Level::ratio);
                scratch_.push_back(right);
            }
            return joined(Kind::intersect, mark);
        }
        case Level::ratio: return ratio(left);
        case Level::over: {
            const bool choose = take().sign == Sign::choose;
            const NodeId right = expression(Level::sum);
            if (!choose) return arena_.quotient(left, right);
            return arena_.call(Function::binomial, std::array{left, right});
        }
        case Level::sum: return sum(left);
        case Level::product: return product(left);
        case Level::none: break;
    }
    fail();
}

/// `1 < x < 3` is two statements that hold together.
NodeId Parser::relations(NodeId left) {
    const std::size_t mark = scratch_.size();
    while (level_of(peek()) == Level::relation) {
        const Token token = take();
        const Relation which =
            token.sign == Sign::relation ? static_cast<Relation>(token.code) : Relation::divides;
        const bool member =
            which == Relation::in || which == Relation::not_in || which == Relation::subset;
        const Scoped<bool> interval(interval_, interval_ || member);
        const NodeId right = member ? set_operand(Level::modulus) : expression(Level::modulus);
        scratch_.push_back(arena_.relation(which, left, right));
        left = right;
    }
    return joined(Kind::all, mark);
}

/// `a \pmod m`, `a (mod m)`.
NodeId Parser::modulus(NodeId left) {
    NodeId right = 0;
    if (accept(Sign::modulus)) {
        right = sees(Sign::open_brace) ? argument() : expression(Level::product);
    } else {
        expect(Sign::open_paren);
        expect(Sign::modulo);
        right = expression(Level::sum);
        expect(Sign::close_paren);
    }
    return arena_.make(Kind::residue, std::array{left, right});
}

/// `3:45 pm` is a word: `3:45 p.m.` and `3:45 PM` are the same one.
NodeId Parser::time_of_day(NodeId hours, std::string_view half) {
    std::string text = to_string(arena_, hours);
    text.append(":").append(take().text).append(" ").append(half);
    take();
    return arena_.word(text);
}

NodeId Parser::ratio(NodeId left) {
    const std::size_t mark = scratch_.size();
    scratch_.push_back(left);
    while (accept(Sign::colon)) {
        if (sees(Sign::number) && sees(Sign::name, 1)) {
            const std::string half = plain_word(peek(1).text);
            if (arena_.is(left, Kind::number) && (half == "am" || half == "pm")) {
                scratch_.resize(mark);
                return time_of_day(left, half);
            }
        }
        const NodeId right = expression(Level::over);
        if (arena_.is(right, Kind::word)) fail();
        scratch_.push_back(right);
    }
    if (arena_.is(left, Kind::word)) fail();
    return joined(Kind::ratio, mark);
}

// Sets

/// In a place where a set stands, R is the real numbers and (a, b) an interval.
NodeId Parser::as_set(NodeId node) {
    if (arena_.is(node, Kind::symbol) && arena_.name(node).size() == 1 &&
        is_one_of(arena_.name(node)[0], "RZNQC")) {
        const NodeId set = arena_.make(Kind::number_set);
        arena_.set_name(set, arena_.name(node));
        return set;
    }
    if (arena_.is(node, Kind::tuple) && arena_.at(node).count == 2) {
        return arena_.make(Kind::interval, arena_.children(node));
    }
    return node;
}

/// The right side of a sign between sets, where `{2}` is a set and no group of TeX.
NodeId Parser::set_operand(Level least) {
    if (!accept(Sign::open_brace)) return as_set(expression(least));
    const NodeId node = set_items(Sign::close_brace);
    if (!arena_.is(node, Kind::set) || arena_.at(node).count != 1) return node;
    const Kind inside = arena_.at(arena_.child(node, 0)).kind;
    const bool group = inside == Kind::interval || inside == Kind::set ||
                       inside == Kind::number_set || inside == Kind::unite;
    return group ? arena_.child(node, 0) : node;
}

NodeId Parser::unite(NodeId left) {
    for (;;) {
        if (sees(Sign::except)) {
            left = except(as_set(left));
        } else if (accept(Sign::without)) {
            const NodeId right = set_operand(Level::intersect);
            left = arena_.make(Kind::difference, std::array{as_set(left), right});
        } else if (sees(Sign::cup)) {
            const std::size_t mark = scratch_.size();
            scratch_.push_back(as_set(left));
            while (accept(Sign::cup)) {
                const NodeId right = set_operand(Level::intersect);
                scratch_.push_back(right);
            }
            left = joined(Kind::unite, mark);
        } else {
            return left;
        }
    }
}

/// `all real numbers except -4`, `except x = 2 and x = 3`.
NodeId Parser::except(NodeId left) {
    take();
    const std::size_t mark = scratch_.size();
    items();
    for (std::size_t i = mark; i < scratch_.size(); ++i) {
        if (arena_.is(scratch_[i], Relation::equal)) scratch_[i] = arena_.child(scratch_[i], 1);
    }
    const NodeId excluded = joined(Kind::set, mark);
    return arena_.make(Kind::difference, std::array{left, excluded});
}

}  // namespace cohort

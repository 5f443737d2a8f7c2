#include "ball_values.h"

#include <algorithm>

namespace cohort {

/// A value that lives as long as the scope it is declared in.
class BallValues::Slot {
public:
    explicit Slot(BallValues& owner) : owner_(owner), value_(&owner.claim()) {}
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() { owner_.release(); }

    operator Value&() { return *value_; }  // NOLINT: it stands for the value
    Value* operator->() { return value_; }

private:
    BallValues& owner_;
    Value* value_;
};

Value BallValues::of(NodeId id) {
    Value out;
    try {
        visit(id, out);
        if (out.state == State::defined) ball(out);
    } catch (const LimitReached&) {
        if (work_.budget.left() < 0) throw;
        out.state = State::unsupported;  // out of the range of the arithmetic
        num_used_ = 0;
        scope_.clear();
    }
    return out;
}

void BallValues::visit(NodeId id, Value& out) {
    work_.budget.spend(4);
    out.state = State::defined;
    out.exact.reset();
    out.has_ball = false;
    switch (arena_.at(id).kind) {
        case Kind::number: out.exact = arena_.value(id); return;
        case Kind::symbol: return symbol(id, out);
        case Kind::constant: return constant(id, out);
        case Kind::sum: return fold(id, false, out);
        case Kind::product: return fold(id, true, out);
        case Kind::power: return power(id, out);
        case Kind::call: return call(id, out);
        case Kind::big: return repeated(id, out);
        case Kind::cases: return cases(id, out);
        case Kind::based: return visit(arena_.child(id, 0), out);
        case Kind::percent: visit(arena_.child(id, 0), out); return scale(out, 100, false);
        case Kind::degree: visit(arena_.child(id, 0), out); return scale(out, 180, true);
        default: out.state = State::unsupported;
    }
}

void BallValues::constant(NodeId id, Value& out) {
    out.has_ball = true;
    switch (static_cast<Constant>(arena_.at(id).code)) {
        case Constant::pi: out.ball = complex_of(pi(work_)); return;
        case Constant::e: out.ball = complex_of(*exp(ball_of(1, work_), work_)); return;
        case Constant::i: out.ball = times_i(complex_of(ball_of(1, work_))); return;
        case Constant::infinity: out.state = State::unsupported; return;
        case Constant::undefined: out.state = State::undefined; return;
    }
}

void BallValues::symbol(NodeId id, Value& out) {
    const std::string_view name = arena_.name(id);
    if (const Rational* bound = find(scope_, name)) {
        out.exact = *bound;
    } else if (point_.integer) {
        out.exact = point_.of(name);
    } else {
        const bool coarse = work_.coarse;  // a random point need not be resolved
        const Ball re = ball_of(point_.of(name), work_);
        if (point_.is_complex(name)) {
            const std::string other = std::string(name) + '\'';
            out.ball = complex_of(re, ball_of(point_.of(other), work_));
        } else {
            out.ball = complex_of(re);
        }
        out.has_ball = true;
        work_.coarse = coarse;
    }
}

Complex& BallValues::ball(Value& value) {
    if (!value.has_ball) value.ball = complex_of(ball_of(*value.exact, work_));
    value.has_ball = true;
    return value.ball;
}

void BallValues::fold(NodeId id, bool product, Value& out) {
    out.exact = Rational(product ? 1 : 0);
    bool first = true;
    for (const NodeId child : arena_.children(id)) {
        if (first) {
            visit(child, out);
        } else {
            Slot next(*this);
            visit(child, next);
            combine(product, out, next);
        }
        first = false;
        if (out.state >= State::undefined) return;
    }
}

void BallValues::combine(bool product, Value& total, Value& next) {
    total.state = std::max(total.state, next.state);
    if (total.state != State::defined) return;
    if (total.exact && next.exact) {
        auto exact = product ? exact_product(*total.exact, *next.exact, work_.budget)
                             : exact_sum(*total.exact, *next.exact, work_.budget);
        if (exact) {
            total.exact = std::move(exact);
            total.has_ball = false;
            return;
        }
    }
    Complex& left = ball(total);
    const Complex& right = ball(next);
    left = product ? multiply(left, right, work_) : add(left, right, work_);
    total.exact.reset();
}

/// Divided by a number, and times pi.
void BallValues::scale(Value& out, std::int64_t divisor, bool times_pi) {
    if (out.state != State::defined) return;
    const Rational factor = *Rational::of(Integer(1), Integer(divisor));
    if (out.exact) {
        out.exact = exact_product(*out.exact, factor, work_.budget);
        out.has_ball = false;
        if (!out.exact) out.state = State::unsupported;
    } else {
        out.ball = multiply(out.ball, complex_of(ball_of(factor, work_)), work_);
    }
    const bool zero = out.exact && out.exact->is_zero();
    if (!times_pi || zero || out.state != State::defined) return;
    out.ball = multiply(ball(out), complex_of(pi(work_)), work_);
    out.exact.reset();
}

void BallValues::power(NodeId id, Value& out) {
    const NodeId base = arena_.child(id, 0);
    if (arena_.is(base, Constant::e)) {
        visit(arena_.child(id, 1), out);
        if (out.state != State::defined) return;
        out.state = exp(out.ball, ball(out), work_);
        out.exact.reset();
        return;
    }
    Slot exponent(*this);
    visit(base, out);
    if (out.state >= State::undefined) return;
    visit(arena_.child(id, 1), exponent);
    raise(out, exponent);
}

void BallValues::raise(Value& out, Value& exponent) {
    out.state = std::max(out.state, exponent.state);
    if (out.state != State::defined) return;
    if (out.exact && exponent.exact) {
        if (out.exact->is_zero() && exponent.exact->sign() <= 0) {
            out.state = State::undefined;
            return;
        }
        auto exact = exact_power(*out.exact, *exponent.exact, branch_, work_.budget);
        if (exact) {
            out.exact = std::move(exact);
            out.has_ball = false;
            return;
        }
    }
    Complex& base = ball(out);
    out.state = exponent.exact ? cohort::power(base, base, *exponent.exact, branch_, work_)
                               : cohort::power(base, base, ball(exponent), branch_, work_);
    out.exact.reset();
}

void BallValues::repeated(NodeId id, Value& out) {
    const Node& node = arena_.at(id);
    const bool known = node.code == static_cast<std::uint8_t>(Big::sum) ||
                       node.code == static_cast<std::uint8_t>(Big::product);
    if (!known || node.count != 4) {
        out.state = State::unsupported;
        return;
    }
    Slot upper(*this);
    visit(arena_.child(id, 2), out);
    visit(arena_.child(id, 3), upper);
    out.state = std::max(out.state, upper->state);
    if (out.state != State::defined) return;
    // A sum to a number that is no integer exists nowhere: integer points will do.
    const bool integers =
        out.exact && out.exact->is_integer() && upper->exact && upper->exact->is_integer();
    const auto bounds = bounds_of(out.exact, upper->exact);
    if (bounds) return terms(id, *bounds, out);
    out.state = integers ? State::unsupported : State::undefined;
}

void BallValues::terms(NodeId id, const Bounds& bounds, Value& out) {
    const bool product = arena_.at(id).code == static_cast<std::uint8_t>(Big::product);
    out.exact = Rational(product ? 1 : 0);
    out.has_ball = false;
    const std::size_t place = scope_.size();
    scope_.emplace_back(arena_.name(arena_.child(id, 1)), Rational(0));
    for (std::int64_t i = bounds.first; i <= bounds.last && out.state < State::undefined; ++i) {
        scope_[place].second = Rational(i);
        Slot term(*this);
        visit(arena_.child(id, 0), term);
        combine(product, out, term);
    }
    scope_.pop_back();
}

/// The first value whose condition holds.
void BallValues::cases(NodeId id, Value& out) {
    const auto children = arena_.children(id);
    for (std::size_t i = 0; i < children.size(); i += 2) {
        const bool otherwise = i + 1 == children.size();
        const auto chosen = otherwise ? std::optional(true) : holds(children[i + 1]);
        if (!chosen) {
            out.state = State::imprecise;
            return;
        }
        if (*chosen) return visit(children[i], out);
    }
    out.state = State::undefined;
}

std::optional<bool> BallValues::holds(NodeId condition) {
    const auto children = arena_.children(condition);
    switch (arena_.at(condition).kind) {
        case Kind::relation: return relation_holds(condition);
        case Kind::all: {
            for (const NodeId child : children) {
                const auto part = holds(child);
                if (!part || !*part) return part;
            }
            return true;
        }
        case Kind::negation: {
            const auto part = holds(children[0]);
            return part ? std::optional(!*part) : std::nullopt;
        }
        default: return std::nullopt;
    }
}

std::optional<bool> BallValues::relation_holds(NodeId id) {
    Slot left(*this);
    Slot right(*this);
    visit(arena_.child(id, 0), left);
    visit(arena_.child(id, 1), right);
    if (left->state != State::defined || right->state != State::defined) return std::nullopt;
    std::optional<int> side;
    if (left->exact && right->exact) {
        side = *left->exact < *right->exact ? -1 : *left->exact > *right->exact ? 1 : 0;
    } else if (ball(left).real && ball(right).real) {
        side = subtract(ball(left).re, ball(right).re, work_).sign();
    }
    if (!side) return std::nullopt;
    switch (static_cast<Relation>(arena_.at(id).code)) {
        case Relation::equal: return *side == 0;
        case Relation::not_equal: return *side != 0;
        case Relation::less: return *side < 0;
        case Relation::less_equal: return *side <= 0;
        case Relation::greater: return *side > 0;
        case Relation::greater_equal: return *side >= 0;
        default: return std::nullopt;
    }
}

bool is_complex(const Arena& arena, NodeId id) {
    if (arena.is(id, Constant::i)) return true;
    if (arena.is(id, Kind::call)) {
        using enum Function;
        const auto function = static_cast<Function>(arena.at(id).code);
        if (function == re || function == im || function == conj || function == arg ||
            function == cis) {
            return true;
        }
    }
    return std::ranges::any_of(arena.children(id),
                               [&](NodeId child) { return is_complex(arena, child); });
}

}  // namespace cohort

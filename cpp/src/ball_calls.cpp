// Functions in a tree: exact where they can be, else on balls.
#include <algorithm>
#include <array>

#include "ball_values.h"

namespace cohort {
namespace {

bool is_real(const Complex& value) { return value.real; }

/// Whether the ball may hide an integer.
bool may_be_integer(const Ball& value, Work& work) {
    const auto whole = floor_of(value, work);
    return !whole || subtract(value, ball_of(*whole, work), work).is_zero();
}

}  // namespace

void BallValues::call(NodeId id, Value& out) {
    const auto function = static_cast<Function>(arena_.at(id).code);
    const auto arguments = arena_.children(id);
    if (arguments.empty()) {
        out.state = State::unsupported;
        return;
    }
    visit(arguments[0], out);
    if (arguments.size() == 1 && out.state == State::defined) return call_one(function, out);
    for (const NodeId argument : arguments.subspan(1)) {
        if (out.state >= State::undefined) return;
        work_.budget.spend(16);
        Value& next = claim();
        visit(argument, next);
        call_two(function, out, next);
        release();
    }
}

/// Replaces `value` by the exact function of what is exact; false when there is no such value.
bool BallValues::call_exactly(Function function, Value& value, const Value* second) {
    if (!value.exact || (second != nullptr && !second->exact)) return false;
    std::optional<Rational> exact;
    if (second == nullptr) {
        exact = exact_call(function, std::array{*value.exact}, work_.budget);
    } else {
        exact = exact_call(function, std::array{*value.exact, *second->exact}, work_.budget);
    }
    if (!exact) return false;
    value.exact = std::move(exact);
    value.has_ball = false;
    return true;
}

void BallValues::call_one(Function function, Value& value) {
    if (call_exactly(function, value, nullptr)) return;
    if (function == Function::factorial || function == Function::double_factorial) {
        return refuse_factorial(value);
    }
    if (function == Function::max || function == Function::min) return;
    Complex& argument = ball(value);
    value.state = cohort::call(argument, function, argument, branch_, work_);
    value.exact.reset();
}

/// Factorials of integers have exact values unless they are too large; others do not exist here.
void BallValues::refuse_factorial(Value& value) {
    if (value.exact) {
        const bool integer = value.exact->is_integer() && value.exact->sign() > 0;
        value.state = integer ? State::unsupported : State::undefined;
    } else if (!is_real(value.ball)) {
        value.state = State::undefined;
    } else {
        value.state = may_be_integer(value.ball.re, work_) ? State::imprecise : State::undefined;
    }
}

void BallValues::call_two(Function function, Value& value, Value& second) {
    value.state = std::max(value.state, second.state);
    if (value.state != State::defined || call_exactly(function, value, &second)) return;
    using enum Function;
    switch (function) {
        case log: logarithm(value, second); break;
        case binomial: choices(value, second, false); break;
        case permutations: choices(value, second, true); break;
        case max: larger(value, second, true); break;
        case min: larger(value, second, false); break;
        case modulo: remainder(value, second); break;
        default: {
            const bool exact = value.exact && second.exact;
            value.state = exact ? State::unsupported : State::undefined;
        }
    }
}

void BallValues::logarithm(Value& value, Value& base) {
    if (base.exact == Rational(1)) {
        value.state = State::undefined;
        return;
    }
    Complex below;
    const State state = ln(below, ball(base), branch_, work_);
    value.state = std::max(state, ln(value.ball, ball(value), branch_, work_));
    if (value.state == State::defined) value.state = divide(value.ball, value.ball, below, work_);
    value.exact.reset();
}

/// n (n - 1) ... (n - k + 1), over k! for combinations.
void BallValues::choices(Value& n, Value& k, bool ordered) {
    constexpr std::int64_t most = 1'000;
    const auto count =
        k.exact && k.exact->is_integer() ? k.exact->numerator().to_int64() : std::nullopt;
    const bool whole = n.exact && n.exact->is_integer();
    if (!count || *count < 0 || *count > most || whole) {
        n.state = whole && count ? State::unsupported : State::undefined;
        return;
    }
    Complex factor = ball(n);
    Complex product = complex_of(ball_of(1, work_));
    const Complex one = product;
    for (std::int64_t i = 1; i <= *count; ++i) {
        product = multiply(product, factor, work_);
        const Complex divisor = complex_of(ball_of(ordered ? 1 : i, work_));
        n.state = divide(product, product, divisor, work_);
        factor = subtract(factor, one, work_);
    }
    n.ball = product;
    n.exact.reset();
}

void BallValues::larger(Value& value, Value& second, bool maximum) {
    if (!is_real(ball(value)) || !is_real(ball(second))) {
        value.state = State::undefined;
        return;
    }
    const auto side = subtract(value.ball.re, second.ball.re, work_).sign();
    if (!side) {
        value.state = State::imprecise;
    } else if (*side != 0 && (*side > 0) != maximum) {
        value.ball = second.ball;
        value.exact = second.exact;
    }
}

/// value - modulus floor(value / modulus)
void BallValues::remainder(Value& value, Value& modulus) {
    Ball quotient;
    if (!is_real(ball(value)) || !is_real(ball(modulus))) {
        value.state = State::undefined;
        return;
    }
    value.state = real_divide(quotient, value.ball.re, modulus.ball.re, work_);
    if (value.state != State::defined) return;
    const auto whole = floor_of(quotient, work_);
    if (!whole) {
        value.state = State::imprecise;
        return;
    }
    const Ball multiple = multiply(modulus.ball.re, ball_of(*whole, work_), work_);
    value.ball = complex_of(subtract(value.ball.re, multiple, work_));
    value.exact.reset();
}

Value& BallValues::claim() {
    if (num_used_ == slots_.size()) slots_.emplace_back();
    Value& value = slots_[num_used_++];
    value.exact.reset();
    value.has_ball = false;
    return value;
}

void BallValues::release() { --num_used_; }

}  // namespace cohort

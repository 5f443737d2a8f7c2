// The value of a tree at a point, enclosed by a ball, or exact where it is rational.
#pragma once

#include <deque>
#include <optional>

#include "complex_ball.h"
#include "points.h"

namespace cohort {

struct Value {
    State state = State::unsupported;
    std::optional<Rational> exact;
    bool has_ball = false;  // `ball` is kept only where `exact` does not say it
    Complex ball;
};

class BallValues {
public:
    BallValues(const Arena& arena, const Point& point, Branch branch, Work& work)
        : arena_(arena), point_(point), branch_(branch), work_(work) {}

    /// The ball is there when the value is defined.
    Value of(NodeId id);

private:
    class Slot;

    void visit(NodeId id, Value& out);
    void constant(NodeId id, Value& out);
    void symbol(NodeId id, Value& out);
    void fold(NodeId id, bool product, Value& out);
    void combine(bool product, Value& total, Value& next);
    void scale(Value& out, std::int64_t divisor, bool times_pi);
    void power(NodeId id, Value& out);
    void raise(Value& out, Value& exponent);
    void repeated(NodeId id, Value& out);
    void terms(NodeId id, const Bounds& bounds, Value& out);
    void cases(NodeId id, Value& out);
    std::optional<bool> holds(NodeId condition);
    std::optional<bool> relation_holds(NodeId id);

    // A function's value takes the place of its first argument.
    void call(NodeId id, Value& out);
    bool call_exactly(Function function, Value& value, const Value* second);
    void call_one(Function function, Value& value);
    void call_two(Function function, Value& value, Value& second);
    void refuse_factorial(Value& value);
    void logarithm(Value& value, Value& base);
    void choices(Value& n, Value& k, bool ordered);
    void larger(Value& value, Value& second, bool maximum);
    void remainder(Value& value, Value& modulus);

    Value& claim();  // lives until it is released; the last one goes first
    void release();
    Complex& ball(Value& value);

    const Arena& arena_;
    Point point_;
    Branch branch_;
    Work& work_;
    Scope scope_;
    // Values are too large for the frames of a recursion.
    std::deque<Value> slots_;
    std::size_t num_used_ = 0;
};

/// Whether the tree speaks of complex numbers.
bool is_complex(const Arena& arena, NodeId id);

}  // namespace cohort

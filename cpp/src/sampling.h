// Comparison of two expressions by balls: at random points, or of two constants.
#pragma once

#include "ball_values.h"
#include "cohort/evaluate.h"

namespace cohort {

/// What must be the same at all points.
enum class Aspect { difference_is_zero, difference, ratio };

/// Certain when different. Equal: at several points the values overlap at high precision, nothing
/// was too small for it, and both exist at the same points.
class Sampling {
public:
    Sampling(const Arena& arena, NodeId a, NodeId b, Aspect aspect, Budget& budget);

    Truth verdict();

    /// A short look that may find a difference.
    bool apart_at_one_point();

private:
    /// Both values at a point, and what the aspect makes of them.
    struct Sample {
        State a = State::unsupported;
        State b = State::unsupported;
        bool coarse = false;
        bool says_nothing = false;  // a ratio with 0
        bool certain = false;       // different, whatever the quantity is
        Complex quantity;
        Bound scale;

        bool defined() const { return a == State::defined && b == State::defined; }
        bool imprecise() const { return a == State::imprecise || b == State::imprecise; }
        bool unsupported() const { return a == State::unsupported || b == State::unsupported; }
    };

    enum class Distance { apart, close, vague };

    /// What the points visited so far have told.
    struct Survey {
        std::vector<Point> chosen;  // to be looked at again
        std::size_t usable = 0;
        std::size_t imprecise = 0;
        bool unsupported = false;
        bool domain_differs = false;
        bool a_nowhere = true;  // undefined at all points
        bool b_nowhere = true;
        Sample reference;
    };

    Truth constants();
    Truth points(bool integer);
    bool apart_at(Point point);
    bool same_logarithms() const;
    Truth visit(const Point& point, Survey& survey);
    Sample sample(const Point& point, std::size_t limbs);
    void derive(Sample& sample, const Complex& a, const Complex& b, Work& work);
    Distance distance(const Sample& sample, const Sample* reference, std::size_t limbs);
    Truth confirmed(std::span<const Point> chosen, std::size_t limbs);

    const Arena& arena_;
    NodeId a_, b_;
    Aspect aspect_;
    Budget& budget_;
    Branch branch_;
    std::vector<std::string_view> variables_;
};

/// The value of a constant when it is real and has one at this precision.
std::optional<Ball> real_constant(const Arena& arena, NodeId id, std::size_t limbs, Budget& budget);

}  // namespace cohort

#include "sampling.h"

#include <algorithm>

namespace cohort {
namespace {

constexpr std::size_t kEnoughReal = 3;     // usable points
constexpr std::size_t kEnoughInteger = 8;  // small integers pin down less
constexpr std::size_t kCorners = 8;        // real points that look into the corners of domains

Bound larger(const Bound& a, const Bound& b) { return a < b ? b : a; }

}  // namespace

Truth Sampling::verdict() {
    const bool complex = is_complex(arena_, a_) || is_complex(arena_, b_);
    branch_ = complex ? Branch::principal : Branch::real;
    const bool free = !variables(arena_, a_).empty() || !variables(arena_, b_).empty();
    return free ? points(false) : constants();
}

Truth Sampling::constants() {
    Sample found;
    for (const Branch branch : {Branch::real, Branch::principal}) {
        if (branch < branch_) continue;
        branch_ = branch;
        found = sample(Point{}, kLowLimbs);
        if (found.imprecise()) found = sample(Point{}, kHighLimbs);
        if (found.unsupported() || found.imprecise()) return Truth::unknown;
        if (found.defined()) break;
    }
    if (!found.defined()) return found.a == found.b ? Truth::unknown : Truth::different;
    if (found.certain) return Truth::different;
    if (found.says_nothing) return Truth::unknown;
    if (aspect_ != Aspect::difference_is_zero) return Truth::equal;  // one value is one number
    if (distance(found, nullptr, kLowLimbs) == Distance::apart) return Truth::different;
    return confirmed(std::array{Point{}}, kHighLimbs);
}

Truth Sampling::points(bool integer) {
    const unsigned most = integer ? Point::kNumInteger : Point::kNumReal;
    const std::size_t enough = integer ? kEnoughInteger : kEnoughReal;
    std::vector<Point> usable;
    Sample reference;
    bool domain_differs = false;
    bool a_somewhere = false;
    bool b_somewhere = false;
    for (unsigned i = 0; i < most && (i < kCorners || usable.size() < enough); ++i) {
        const Point point{integer, i};
        std::size_t limbs = kLowLimbs;
        Sample now = sample(point, limbs);
        if (now.unsupported()) return Truth::unknown;
        if (now.imprecise()) now = sample(point, limbs = kHighLimbs);
        a_somewhere = a_somewhere || now.a == State::defined;
        b_somewhere = b_somewhere || now.b == State::defined;
        if (!now.defined()) {
            domain_differs = domain_differs || (!now.imprecise() && now.a != now.b);
            continue;
        }
        if (now.certain) return Truth::different;
        if (now.says_nothing) continue;
        const bool relative = aspect_ != Aspect::difference_is_zero;
        if (relative && usable.empty()) reference = now;
        const Distance gap = distance(now, relative ? &reference : nullptr, kLowLimbs);
        if (gap == Distance::apart) return Truth::different;
        usable.push_back(point);
    }
    // What exists at no real number is about integers: (-1)^n, n!, a sum to n.
    if (!integer && (!a_somewhere || !b_somewhere)) return points(true);
    if (domain_differs && !integer) return Truth::different;
    if (usable.size() < enough) return Truth::unknown;
    return confirmed(usable, kMiddleLimbs);
}

/// The chosen points again, at a precision that nothing hides from.
Truth Sampling::confirmed(std::span<const Point> chosen, std::size_t limbs) {
    const bool relative = aspect_ != Aspect::difference_is_zero;
    const std::size_t count = std::min<std::size_t>(chosen.size(), relative ? 3 : 2);
    Sample reference;
    for (std::size_t i = 0; i < count; ++i) {
        const Sample now = sample(chosen[i], limbs);
        if (relative && i == 0) reference = now;
        const bool good = now.defined() && !now.says_nothing;
        const Distance gap =
            good ? distance(now, relative ? &reference : nullptr, limbs) : Distance::vague;
        if (gap == Distance::apart) return Truth::different;
        if (gap == Distance::vague || now.coarse) {
            return limbs < kHighLimbs ? confirmed(chosen, kHighLimbs) : Truth::unknown;
        }
    }
    return Truth::equal;
}

Sampling::Sample Sampling::sample(const Point& point, std::size_t limbs) {
    Sample result;
    Work work{limbs, budget_};
    const Value a = BallValues(arena_, point, branch_, work).of(a_);
    result.a = a.state;
    if (a.state == State::unsupported) return result;
    const Value b = BallValues(arena_, point, branch_, work).of(b_);
    result.b = b.state;
    if (result.defined()) derive(result, a.ball, b.ball, work);
    result.coarse = work.coarse;
    return result;
}

void Sampling::derive(Sample& sample, const Complex& a, const Complex& b, Work& work) {
    if (aspect_ != Aspect::ratio) {
        const bool coarse = work.coarse;
        sample.quantity = subtract(a, b, work);
        // Values of different size are apart: nothing vanishes in this difference.
        if (aspect_ == Aspect::difference_is_zero) work.coarse = coarse;
        sample.scale = larger(upper_size(a), upper_size(b));
        // Two values that may be 0 are compared with 1.
        if (!certainly_not_zero(a) && !certainly_not_zero(b)) sample.scale = bound_of(1, 0);
        return;
    }
    const bool zero_a = !certainly_not_zero(a);
    const bool zero_b = !certainly_not_zero(b);
    sample.certain = (certainly_zero(a) && !zero_b) || (certainly_zero(b) && !zero_a);
    sample.says_nothing = zero_a || zero_b;
    if (sample.says_nothing) return;
    if (divide(sample.quantity, a, b, work) != State::defined) sample.says_nothing = true;
    if (!sample.says_nothing) sample.scale = upper_size(sample.quantity);
}

Sampling::Distance Sampling::distance(const Sample& sample, const Sample* reference,
                                      std::size_t limbs) {
    Work work{limbs, budget_};
    Complex gap = sample.quantity;
    Bound scale = sample.scale;
    if (reference != nullptr) {
        gap = subtract(gap, reference->quantity, work);
        scale = larger(scale, reference->scale);
    }
    if (certainly_not_zero(gap)) return Distance::apart;
    const Bound spread = gap.real ? gap.re.radius : gap.re.radius + gap.im.radius;
    const Bound fine = scale * bound_of(1, -static_cast<std::int64_t>(32 * limbs));
    return spread < fine || spread.is_zero() ? Distance::close : Distance::vague;
}

std::optional<Ball> real_constant(const Arena& arena, NodeId id, std::size_t limbs,
                                  Budget& budget) {
    for (const Branch branch : {Branch::real, Branch::principal}) {
        Work work{limbs, budget};
        const Value value = BallValues(arena, Point{}, branch, work).of(id);
        if (value.state == State::undefined) continue;
        if (value.state != State::defined || !value.ball.real) return std::nullopt;
        return value.ball.re;
    }
    return std::nullopt;
}

}  // namespace cohort

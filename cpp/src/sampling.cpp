#include "sampling.h"

#include <algorithm>
#include <iterator>

namespace cohort {
namespace {

constexpr std::size_t kEnoughReal = 3;     // usable points
constexpr std::size_t kEnoughInteger = 8;  // small integers pin down less
constexpr std::size_t kMaxImprecise = 4;   // points without a verdict
constexpr std::size_t kCorners = 8;        // real points that look into the corners of domains

constexpr unsigned kSpecial = 16;  // points where special functions are told apart

/// Whether one of the functions stands in the tree.
bool calls(const Arena& arena, NodeId id, std::initializer_list<Function> functions) {
    const bool here = arena.is(id, Kind::call) && std::ranges::any_of(functions, [&](Function one) {
                          return arena.is(id, one);
                      });
    return here || std::ranges::any_of(arena.children(id), [&](NodeId child) {
               return calls(arena, child, functions);
           });
}

/// The variables inside logarithms.
void add_logarithms(const Arena& arena, NodeId id, std::vector<std::string_view>& names) {
    if (arena.is(id, Function::ln) || arena.is(id, Function::log)) {
        const auto inside = variables(arena, arena.child(id, 0));
        names.insert(names.end(), inside.begin(), inside.end());
    }
    for (const NodeId child : arena.children(id)) add_logarithms(arena, child, names);
}

Bound larger(const Bound& a, const Bound& b) { return a < b ? b : a; }

}  // namespace

Sampling::Sampling(const Arena& arena, NodeId a, NodeId b, Aspect aspect, Budget& budget)
    : arena_(arena),
      a_(a),
      b_(b),
      aspect_(aspect),
      budget_(budget),
      branch_(is_complex(arena, a) || is_complex(arena, b) ? Branch::principal : Branch::real) {
    std::ranges::set_union(variables(arena, a), variables(arena, b),
                           std::back_inserter(variables_));
}

Truth Sampling::verdict() {
    if (variables_.empty()) return constants();
    using enum Function;
    const auto either_calls = [&](std::initializer_list<Function> functions) {
        return calls(arena_, a_, functions) || calls(arena_, b_, functions);
    };
    // Floors differ at whole numbers, parts of a complex number where it is not real.
    Point point{false, 0, variables_};
    point.complex = true;
    if (either_calls({re, im, conj, arg}) && apart_at(point)) return Truth::different;
    point = {true, 0, variables_, true};
    if (either_calls({floor, ceil}) && apart_at(point)) return Truth::different;
    return points(false);
}

bool Sampling::apart_at(Point point) {
    Survey survey;
    for (; point.index < kSpecial; ++point.index) {
        if (visit(point, survey) == Truth::different) return true;
    }
    return false;
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
    Survey survey;
    for (unsigned i = 0; i < most && (i < kCorners || survey.usable < enough); ++i) {
        const Truth truth = visit(Point{integer, i, variables_}, survey);
        if (truth == Truth::different || survey.unsupported) return truth;
        if (survey.imprecise >= kMaxImprecise) return Truth::unknown;
    }
    // What exists at no real number is about integers: (-1)^n, n!, a sum to n.
    if (!integer && (survey.a_nowhere || survey.b_nowhere)) return points(true);
    if (survey.domain_differs && !integer && !same_logarithms()) return Truth::different;
    if (survey.usable < enough) return Truth::unknown;
    return confirmed(survey.chosen, kMiddleLimbs);
}

/// Whether both have logarithms of the same variables, which says where they are meant: ln(ab) and
/// ln a + ln b, but not ln|x| and ln x.
bool Sampling::same_logarithms() const {
    using enum Function;
    if (calls(arena_, a_, {abs}) || calls(arena_, b_, {abs})) return false;
    std::vector<std::string_view> left;
    std::vector<std::string_view> right;
    add_logarithms(arena_, a_, left);
    add_logarithms(arena_, b_, right);
    const auto sorted = [](std::vector<std::string_view>& names) {
        std::ranges::sort(names);
        names.erase(std::unique(names.begin(), names.end()), names.end());
    };
    sorted(left);
    sorted(right);
    return !left.empty() && left == right;
}

/// `different` or nothing new.
Truth Sampling::visit(const Point& point, Survey& survey) {
    Sample now = sample(point, kLowLimbs);
    if (now.imprecise()) now = sample(point, kHighLimbs);
    survey.unsupported = now.unsupported();
    survey.imprecise += now.imprecise() ? 1 : 0;
    survey.a_nowhere = survey.a_nowhere && now.a == State::undefined;
    survey.b_nowhere = survey.b_nowhere && now.b == State::undefined;
    if (!now.defined()) {
        const bool differs = !now.imprecise() && now.a != now.b;
        survey.domain_differs = survey.domain_differs || differs;
        return Truth::unknown;
    }
    if (now.certain) return Truth::different;
    if (now.says_nothing) return Truth::unknown;
    const bool relative = aspect_ != Aspect::difference_is_zero;
    if (relative && survey.usable == 0) survey.reference = now;
    const Distance gap = distance(now, relative ? &survey.reference : nullptr, kLowLimbs);
    if (gap == Distance::apart) return Truth::different;
    // A few points are looked at again, and all where something may have been too small to see.
    const bool doubtful = gap == Distance::vague || now.coarse;
    if (survey.usable < (relative ? 3 : 2) || doubtful) survey.chosen.push_back(point);
    ++survey.usable;
    return Truth::unknown;
}

/// The chosen points again, at a precision that nothing hides from.
Truth Sampling::confirmed(std::span<const Point> chosen, std::size_t limbs) {
    const bool relative = aspect_ != Aspect::difference_is_zero;
    const bool last = limbs == kHighLimbs;
    Sample reference;
    std::size_t num_good = 0;
    for (const Point& point : chosen) {
        const Sample now = sample(point, limbs);
        if (now.certain) return Truth::different;
        const bool good = now.defined() && !now.says_nothing;
        if (good && relative && num_good == 0) reference = now;
        const Distance gap =
            good ? distance(now, relative ? &reference : nullptr, limbs) : Distance::vague;
        if (gap == Distance::apart) return Truth::different;
        const bool clear = gap == Distance::close && !now.coarse;
        if (!clear && !last) return confirmed(chosen, kHighLimbs);
        if (!clear && !point.is_large()) return Truth::unknown;
        num_good += clear ? 1 : 0;
    }
    const std::size_t wanted = std::min<std::size_t>(chosen.size(), relative ? 3 : 2);
    return num_good >= wanted ? Truth::equal : Truth::unknown;
}

bool Sampling::apart_at_one_point() {
    const Sample now = sample(Point{}, kLowLimbs);
    if (!now.defined() || aspect_ != Aspect::difference_is_zero) return false;
    return now.certain || distance(now, nullptr, kLowLimbs) == Distance::apart;
}

Sampling::Sample Sampling::sample(const Point& point, std::size_t limbs) {
    Sample result;
    Work work{limbs, budget_};
    const Value a = BallValues(arena_, point, branch_, work).of(a_);
    result.a = a.state;
    if (a.state == State::unsupported) return result;
    const Value b = BallValues(arena_, point, branch_, work).of(b_);
    result.b = b.state;
    result.coarse = work.coarse;
    if (!result.defined()) return result;
    if (aspect_ == Aspect::difference_is_zero && a.exact && b.exact) {
        result.certain = *a.exact != *b.exact;
        result.coarse = false;
        return result;  // the quantity is exactly 0
    }
    derive(result, a.ball, b.ball, work);
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

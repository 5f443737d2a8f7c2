#include "cohort/evaluate.h"

#include <algorithm>
#include <array>

#include "residues.h"
#include "sampling.h"

namespace cohort {
namespace {

constexpr int kMaxShown = 1'000;  // decimals of an answer

/// The aspect of two residues; nothing for a ratio with 0, which says nothing.
std::optional<std::uint64_t> aspect_of(const Field& field, Aspect aspect, std::uint64_t a,
                                       std::uint64_t b) {
    if (aspect != Aspect::ratio) return field.add(a, field.negative(b));
    if (a == 0 || b == 0) return std::nullopt;
    return field.multiply(a, field.inverse(b));
}

/// Two points in the first field and one in each other, or three in each where constants are free.
Truth by_residues(const Arena& arena, NodeId a, NodeId b, Aspect aspect, Budget& budget) {
    const bool zero = aspect == Aspect::difference_is_zero;
    bool first_point = true;
    for (const Field& field : kFields) {
        std::optional<std::uint64_t> wanted = zero ? std::optional<std::uint64_t>(0) : std::nullopt;
        const std::uint64_t num_points = first_point ? 2 : 1;
        for (std::uint64_t point = 0; point < num_points + (zero ? 0 : 1); ++point) {
            const auto left = Residues(arena, field, point, budget).of(a);
            const auto right = left ? Residues(arena, field, point, budget).of(b) : std::nullopt;
            if (!right) return Truth::unknown;
            if (aspect == Aspect::ratio && (*left == 0) != (*right == 0)) return Truth::different;
            const auto found = aspect_of(field, aspect, *left, *right);
            if (found && !wanted) wanted = found;
            if (found && *found != *wanted) return Truth::different;
        }
        first_point = false;
    }
    return Truth::equal;
}

/// Residues that agree are also checked by balls: no formula has a multiple of all the primes in it
/// by accident, and none shall have it by intent.
Truth compare(const Arena& arena, NodeId a, NodeId b, Aspect aspect, Budget& budget) {
    if (may_have_residue(arena, a) && may_have_residue(arena, b)) {
        const Truth truth = by_residues(arena, a, b, aspect, budget);
        if (truth == Truth::equal && Sampling(arena, a, b, aspect, budget).apart_at_one_point())
            return Truth::different;
        if (truth != Truth::unknown) return truth;
    }
    return Sampling(arena, a, b, aspect, budget).verdict();
}

/// 1 or -1 for an infinity, 0 for everything else.
int infinite_sign(const Arena& arena, NodeId id) {
    if (arena.is(id, Constant::infinity)) return 1;
    if (!arena.is(id, Kind::product) || arena.at(id).count != 2) return 0;
    const NodeId factor = arena.child(id, 0);
    const bool infinite = arena.is(arena.child(id, 1), Constant::infinity);
    return infinite && arena.is(factor, Kind::number) ? arena.value(factor).sign() : 0;
}

bool has_infinity(const Arena& arena, NodeId id) {
    if (arena.is(id, Constant::infinity) || arena.is(id, Constant::undefined)) return true;
    return std::ranges::any_of(arena.children(id),
                               [&](NodeId child) { return has_infinity(arena, child); });
}

/// What infinities say: nothing about themselves, but no number equals one.
std::optional<Truth> by_infinity(const Arena& arena, NodeId a, NodeId b) {
    const int left = infinite_sign(arena, a);
    const int right = infinite_sign(arena, b);
    if (left == 0 && right == 0) return std::nullopt;
    if (left != 0 && right != 0) return left == right ? Truth::unknown : Truth::different;
    return has_infinity(arena, left != 0 ? b : a) ? Truth::unknown : Truth::different;
}

/// By the ball of the difference, whose parts need not be real one by one.
std::optional<int> order_of_constants(const Arena& arena, NodeId a, NodeId b, Budget& budget) {
    if (!variables(arena, a).empty() || !variables(arena, b).empty()) return std::nullopt;
    for (const std::size_t limbs : {kLowLimbs, kHighLimbs}) {
        const auto left = real_constant(arena, a, limbs, budget);
        const auto right = left ? real_constant(arena, b, limbs, budget) : std::nullopt;
        if (!right) continue;
        Work work{limbs, budget};
        if (const auto sign = subtract(*left, *right, work).sign()) return sign;
    }
    const Truth same = Sampling(arena, a, b, Aspect::difference_is_zero, budget).verdict();
    return same == Truth::equal ? std::optional(0) : std::nullopt;
}

void collect(const Arena& arena, NodeId id, std::vector<std::string_view>& bound,
             std::vector<std::string_view>& found) {
    const Node& node = arena.at(id);
    if (node.kind == Kind::symbol) {
        const std::string_view name = arena.name(id);
        if (std::ranges::find(bound, name) == bound.end()) found.push_back(name);
        return;
    }
    const auto children = arena.children(id);
    const bool binds = node.kind == Kind::big && children.size() > 1;
    // Bounds are outside the scope of the index; an unknown function's name is no variable.
    const std::size_t skipped = node.kind == Kind::apply ? 1 : 0;
    for (std::size_t i = skipped; i < children.size(); ++i) {
        if (binds && i == 1) continue;
        if (binds && i == 0) bound.push_back(arena.name(children[1]));
        collect(arena, children[i], bound, found);
        if (binds && i == 0) bound.pop_back();
    }
}

}  // namespace

std::optional<Rational> exact_value(const Arena& arena, NodeId id, Budget& budget) {
    return ExactValues(arena, {}, Branch::real, budget).of(id);
}

Truth equal_values(const Arena& arena, NodeId a, NodeId b, Budget& budget) {
    if (arena.is(a, Kind::number) && arena.is(b, Kind::number)) {
        return arena.value(a) == arena.value(b) ? Truth::equal : Truth::different;
    }
    if (const auto truth = by_infinity(arena, a, b)) return *truth;
    return compare(arena, a, b, Aspect::difference_is_zero, budget);
}

Truth proportional(const Arena& arena, NodeId a, NodeId b, Budget& budget) {
    return compare(arena, a, b, Aspect::ratio, budget);
}

Truth differ_by_constant(const Arena& arena, NodeId a, NodeId b, Budget& budget) {
    return compare(arena, a, b, Aspect::difference, budget);
}

std::optional<int> order(const Arena& arena, NodeId a, NodeId b, Budget& budget) {
    const int left_infinity = infinite_sign(arena, a);
    const int right_infinity = infinite_sign(arena, b);
    if (left_infinity != 0 || right_infinity != 0) {
        const NodeId finite = left_infinity != 0 ? b : a;
        const bool both = left_infinity != 0 && right_infinity != 0;
        if (!both && (has_infinity(arena, finite) || !variables(arena, finite).empty())) {
            return std::nullopt;
        }
        return (left_infinity > right_infinity) - (left_infinity < right_infinity);
    }
    const auto left = exact_value(arena, a, budget);
    const auto right = left ? exact_value(arena, b, budget) : std::nullopt;
    if (right) return *left < *right ? -1 : *left > *right ? 1 : 0;
    return order_of_constants(arena, a, b, budget);
}

std::optional<bool> within_digits(const Arena& arena, NodeId id, const Rational& decimal, int shown,
                                  double ulps, Budget& budget) {
    if (!variables(arena, id).empty() || shown > kMaxShown || shown < -kMaxShown) {
        return std::nullopt;
    }
    constexpr std::int64_t parts = 1 << 20;
    const auto whole = static_cast<std::int64_t>(ulps * static_cast<double>(parts));
    const auto unit = Rational::power(Rational(10), Integer(-shown), budget);
    const Rational most = *Rational::of(Integer(whole), Integer(parts)) * *unit;
    if (const auto exact = exact_value(arena, id, budget)) {
        const Rational distance = *exact - decimal;
        return (distance.sign() < 0 ? -distance : distance) <= most;
    }
    for (const std::size_t limbs : {kLowLimbs, kHighLimbs}) {
        const auto value = real_constant(arena, id, limbs, budget);
        if (!value) continue;
        Work work{limbs, budget};
        const Ball distance = absolute(subtract(*value, ball_of(decimal, work), work));
        const auto beyond = subtract(distance, ball_of(most, work), work).sign();
        if (beyond) return *beyond <= 0;
    }
    return std::nullopt;
}

std::vector<std::string_view> variables(const Arena& arena, NodeId id) {
    std::vector<std::string_view> bound;
    std::vector<std::string_view> found;
    collect(arena, id, bound, found);
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

}  // namespace cohort

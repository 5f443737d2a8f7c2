#include "cohort/evaluate.h"

#include <algorithm>
#include <array>

#include "exact_value.h"
#include "residues.h"

namespace cohort {
namespace {

/// What must be the same at all points.
enum class Aspect { difference_is_zero, difference, ratio };

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

Truth compare(const Arena& arena, NodeId a, NodeId b, Aspect aspect, Budget& budget) {
    return by_residues(arena, a, b, aspect, budget);
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
    return compare(arena, a, b, Aspect::difference_is_zero, budget);
}

Truth proportional(const Arena& arena, NodeId a, NodeId b, Budget& budget) {
    return compare(arena, a, b, Aspect::ratio, budget);
}

Truth differ_by_constant(const Arena& arena, NodeId a, NodeId b, Budget& budget) {
    return compare(arena, a, b, Aspect::difference, budget);
}

std::optional<int> order(const Arena& arena, NodeId a, NodeId b, Budget& budget) {
    const auto left = exact_value(arena, a, budget);
    const auto right = left ? exact_value(arena, b, budget) : std::nullopt;
    if (!right) return std::nullopt;
    return *left < *right ? -1 : *left > *right ? 1 : 0;
}

std::optional<bool> within_digits(const Arena&, NodeId, const Rational&, int, double, Budget&) {
    return std::nullopt;
}

std::vector<std::string_view> variables(const Arena& arena, NodeId id) {
    std::vector<std::string_view> bound;
    std::vector<std::string_view> found;
    collect(arena, id, bound, found);
    std::ranges::sort(found);
    const auto again = std::ranges::unique(found);
    found.erase(again.begin(), again.end());
    return found;
}

}  // namespace cohort

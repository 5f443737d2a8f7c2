// Matrices, vectors and functions that are defined case by case.
#include <algorithm>
#include <array>

#include "cohort/canonical.h"
#include "cohort/evaluate.h"
#include "matcher.h"
#include "tree.h"

namespace cohort {
namespace {

constexpr std::size_t kMaxBounds = 8;
/// Beside the bounds of the cases: where two pieces are compared.
constexpr std::array<std::int64_t, 10> kSamples{-907, -310, -101, -43, -8, 5, 37, 104, 293, 1013};
constexpr std::int64_t kSampleUnit = 41;

bool is_vector(const Arena& arena, NodeId node) {
    if (arena.is(node, Kind::tuple)) return true;
    return arena.is(node, Kind::matrix) &&
           (arena.at(node).index == 1 || arena.at(node).index == arena.at(node).count);
}

/// The place of a unit vector: i, j, k, however they are printed.
std::optional<std::size_t> unit_vector(const Arena& arena, NodeId node) {
    if (arena.is(node, Constant::i)) return 0;
    if (!arena.is(node, Kind::symbol)) return std::nullopt;
    const std::string_view name = arena.name(node);
    for (std::size_t place = 0; place < 3; ++place) {
        const char letter = "ijk"[place];
        const bool plain = name.size() == 1 && name[0] == letter;
        const bool bold = name.size() == 9 && name.starts_with("\\mathbf ") && name[8] == letter;
        if (plain || bold) return place;
    }
    return std::nullopt;
}

}  // namespace

bool Matcher::same_matrix(NodeId answer, NodeId truth) {
    const bool mine = arena_.is(answer, Kind::matrix);
    const bool wanted = arena_.is(truth, Kind::matrix);
    if (mine && wanted && arena_.at(answer).index != arena_.at(truth).index) return false;
    if (mine && wanted)
        return same_in_order(children_of(arena_, answer), children_of(arena_, truth));
    const bool answers = mine || arena_.is(answer, Kind::tuple);
    const NodeId matrix = answers ? answer : truth;
    const NodeId other = answers ? truth : answer;
    if (!is_vector(arena_, matrix)) return false;
    if (!is_vector(arena_, other)) return same_vector(other, children_of(arena_, matrix));
    return same_in_order(children_of(arena_, answer), children_of(arena_, truth));
}

/// 2 (1, 2) is (2, 4); other products stay.
NodeId Matcher::multiplied_out(NodeId node) {
    const bool product = arena_.is(node, Kind::product) &&
                         std::ranges::any_of(arena_.children(node), [&](NodeId child) {
                             return arena_.is(child, Kind::matrix);
                         });
    return product ? canonical_of(node) : node;
}

bool Matcher::has_unit_vectors(NodeId node) {
    return any_node(arena_, node, budget_, [&](NodeId part) {
        return arena_.is(part, Kind::symbol) && arena_.name(part).starts_with("\\mathbf ");
    });
}

/// Whether a i + b j + c k has the entries.
bool Matcher::same_vector(NodeId expression, std::span<const NodeId> entries) {
    if (entries.size() < 2 || entries.size() > 3) return false;
    std::vector<NodeId> terms{expression};
    if (arena_.is(expression, Kind::sum)) terms = children_of(arena_, expression);
    std::vector<std::vector<NodeId>> sums(3);
    for (const NodeId term : terms) {
        std::vector<NodeId> factors{term};
        while (arena_.is(factors.back(), Kind::product)) {  // -(2 j)
            const std::vector<NodeId> inner = children_of(arena_, factors.back());
            factors.pop_back();
            factors.insert(factors.end(), inner.begin(), inner.end());
        }
        std::optional<std::size_t> place;
        std::vector<NodeId> rest;
        for (const NodeId factor : factors) {
            const auto unit = unit_vector(arena_, factor);
            if (unit && place) return false;
            if (unit) place = unit;
            if (!unit) rest.push_back(factor);
        }
        if (!place) return false;
        sums[*place].push_back(rest.empty() ? arena_.number(1) : arena_.make(Kind::product, rest));
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const NodeId sum = sums[i].empty() ? arena_.number(0) : arena_.make(Kind::sum, sums[i]);
        const NodeId entry = i < entries.size() ? entries[i] : arena_.number(0);
        if (!equal_in_value(sum, entry)) return false;
    }
    return true;
}

// cases

/// Whether a condition holds at `point`; nothing when that cannot be told.
std::optional<bool> Matcher::holds(NodeId condition, std::string_view name, NodeId point) {
    if (arena_.is(condition, Kind::all) || arena_.is(condition, Kind::list)) {
        const bool any = arena_.is(condition, Kind::list) && arena_.at(condition).flag;
        for (const NodeId part : children_of(arena_, condition)) {
            const auto held = holds(part, name, point);
            if (!held) return std::nullopt;
            if (*held == any) return any;
        }
        return !any;
    }
    if (!arena_.is(condition, Kind::relation)) return std::nullopt;
    const auto relation = static_cast<Relation>(arena_.at(condition).code);
    const std::vector<NodeId> sides = children_of(arena_, condition);
    const NodeId left = substitute(arena_, sides[0], name, point, budget_);
    const NodeId right = substitute(arena_, sides[1], name, point, budget_);
    const auto sign = order(arena_, canonical_of(left), canonical_of(right), budget_);
    if (!sign) return std::nullopt;
    switch (relation) {
        case Relation::equal: return *sign == 0;
        case Relation::not_equal: return *sign != 0;
        case Relation::less: return *sign < 0;
        case Relation::less_equal: return *sign <= 0;
        case Relation::greater: return *sign > 0;
        case Relation::greater_equal: return *sign >= 0;
        default: return std::nullopt;
    }
}

std::optional<NodeId> Matcher::value_at(NodeId node, std::string_view name, NodeId point) {
    if (!arena_.is(node, Kind::cases)) return substitute(arena_, node, name, point, budget_);
    const std::vector<NodeId> parts = children_of(arena_, node);
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
        const auto held = holds(parts[i + 1], name, point);
        if (!held) return std::nullopt;
        if (*held) return substitute(arena_, parts[i], name, point, budget_);
    }
    if (parts.size() % 2 == 0) return std::nullopt;
    return substitute(arena_, parts.back(), name, point, budget_);
}

/// The numbers that the conditions of cases compare with.
void Matcher::add_bounds(NodeId node, std::vector<NodeId>& bounds) {
    any_node(arena_, node, budget_, [&](NodeId part) {
        if (!arena_.is(part, Kind::relation)) return false;
        for (const NodeId side : children_of(arena_, part)) {
            const bool number = free_symbols(arena_, side, budget_).empty();
            if (number && bounds.size() < kMaxBounds) bounds.push_back(side);
        }
        return false;
    });
}

/// Equal at the bounds of all cases, between them, and at some points on both sides of them.
bool Matcher::same_cases(NodeId answer, NodeId truth) {
    std::vector<std::string> names = free_symbols(arena_, truth, budget_);
    for (const std::string& name : free_symbols(arena_, answer, budget_)) {
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    if (names.size() != 1) return same_pieces(answer, truth);
    std::vector<NodeId> bounds;
    add_bounds(truth, bounds);
    add_bounds(answer, bounds);
    std::vector<NodeId> points = bounds;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const std::array ends{bounds[i], bounds[j]};
            const NodeId sum = arena_.make(Kind::sum, ends);
            points.push_back(arena_.quotient(sum, arena_.number(2)));
        }
    }
    for (const std::int64_t sample : kSamples) {
        points.push_back(arena_.number(*Rational::of(sample, kSampleUnit)));
    }
    for (const NodeId point : points) {
        const auto mine = value_at(answer, names[0], point);
        const auto wanted = value_at(truth, names[0], point);
        if (mine.has_value() != wanted.has_value()) return false;
        if (mine && !equal_in_value(*mine, *wanted)) return false;
    }
    return true;
}

/// Value by value and condition by condition, in any order.
bool Matcher::same_pieces(NodeId answer, NodeId truth) {
    if (!arena_.is(answer, Kind::cases) || !arena_.is(truth, Kind::cases)) return false;
    const auto pairs = [&](NodeId node) {
        std::vector<NodeId> tuples;
        const std::vector<NodeId> parts = children_of(arena_, node);
        for (std::size_t i = 0; i < parts.size(); i += 2) {
            const std::size_t size = std::min<std::size_t>(2, parts.size() - i);
            tuples.push_back(arena_.make(Kind::tuple, std::span(parts).subspan(i, size)));
        }
        return tuples;
    };
    return same_in_any_order(pairs(answer), pairs(truth));
}

}  // namespace cohort

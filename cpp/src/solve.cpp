// Inequalities in one variable as regions: the variable alone, and, where that counts as an answer,
// linear ones and distances such as |2x - 5| < 3.
#include <algorithm>
#include <array>

#include "cohort/canonical.h"
#include "cohort/evaluate.h"
#include "regions.h"
#include "tree.h"

namespace cohort {
namespace {

Relation flipped(Relation relation) {
    switch (relation) {
        case Relation::less: return Relation::greater;
        case Relation::less_equal: return Relation::greater_equal;
        case Relation::greater: return Relation::less;
        case Relation::greater_equal: return Relation::less_equal;
        default: return relation;
    }
}

bool is_above(Relation relation) {
    return relation == Relation::greater || relation == Relation::greater_equal;
}

bool is_symbol(const Arena& arena, NodeId node, std::string_view name) {
    return arena.is(node, Kind::symbol) && arena.name(node) == name;
}

/// Whether `node` is -x.
bool is_minus(const Arena& arena, NodeId node, std::string_view name) {
    if (!arena.is(node, Kind::product) || arena.at(node).count != 2) return false;
    const NodeId factor = arena.child(node, 0);
    return arena.is(factor, Kind::number) && arena.value(factor) == Rational(-1) &&
           is_symbol(arena, arena.child(node, 1), name);
}

}  // namespace

Regions::Maybe Regions::half_line(Relation relation, NodeId bound, const std::string& name) {
    const bool closed = relation == Relation::equal || relation == Relation::less_equal ||
                        relation == Relation::greater_equal;
    const End edge = end(bound, closed);
    if (is_infinite(edge)) return std::nullopt;
    Region result{{}, name};
    bool known = true;
    switch (relation) {
        case Relation::equal: known = add(result, {edge, edge}).has_value(); break;
        case Relation::not_equal:
            known = add(result, {infinity(-1), edge}) && add(result, {edge, infinity(1)});
            break;
        default:
            known = (is_above(relation) ? add(result, {edge, infinity(1)})
                                        : add(result, {infinity(-1), edge}))
                        .has_value();
    }
    return known ? Maybe(result) : std::nullopt;
}

Regions::Maybe Regions::solve(Relation relation, NodeId left, NodeId right) {
    std::vector<std::string> names = free_symbols(arena_, left, budget_);
    const std::vector<std::string> others = free_symbols(arena_, right, budget_);
    if (names.empty()) {
        if (others.empty()) return std::nullopt;
        return solve(flipped(relation), right, left);
    }
    if (names.size() != 1 || (!others.empty() && !solves_)) return std::nullopt;
    if (!others.empty() && others != names) return std::nullopt;
    const std::string name = names[0];
    if (others.empty() && is_symbol(arena_, left, name)) return half_line(relation, right, name);
    if (others.empty() && is_minus(arena_, left, name)) {
        return half_line(flipped(relation), arena_.negative(right), name);
    }
    if (!solves_) return std::nullopt;
    if (arena_.is(left, Function::abs)) return solve_distance(relation, left, right);
    return solve_linear(relation, left, right, name);
}

/// a x + b < 0, where a and b are found from the values at 0 and 1 and then proved.
Regions::Maybe Regions::solve_linear(Relation relation, NodeId left, NodeId right,
                                     const std::string& name) {
    const NodeId side = arena_.difference_of(left, right);
    const NodeId zero = arena_.number(0);
    const NodeId at_0 = canonical(arena_, substitute(arena_, side, name, zero, budget_), budget_);
    const NodeId at_1 =
        canonical(arena_, substitute(arena_, side, name, arena_.number(1), budget_), budget_);
    const NodeId slope = canonical(arena_, arena_.difference_of(at_1, at_0), budget_);
    const std::array line_parts{slope, arena_.symbol(name)};
    const std::array terms{arena_.make(Kind::product, line_parts), at_0};
    const NodeId linear = canonical(arena_, arena_.make(Kind::sum, terms), budget_);
    const NodeId whole = canonical(arena_, side, budget_);
    const bool proved = identical(arena_, whole, linear) ||
                        equal_values(arena_, whole, linear, budget_) == Truth::equal;
    const auto sign = order(arena_, slope, zero, budget_);
    if (!proved || !sign || *sign == 0) return std::nullopt;
    const NodeId bound = arena_.negative(arena_.quotient(at_0, slope));
    return half_line(*sign < 0 ? flipped(relation) : relation, bound, name);
}

Regions::Maybe Regions::solve_distance(Relation relation, NodeId left, NodeId right) {
    if (relation == Relation::equal || relation == Relation::not_equal) return std::nullopt;
    const NodeId inside = arena_.child(left, 0);
    const auto above = solve(relation, inside, right);
    const auto below = solve(flipped(relation), inside, arena_.negative(right));
    if (!above || !below) return std::nullopt;
    return is_above(relation) ? unite(*above, *below) : intersect(*above, *below);
}

}  // namespace cohort

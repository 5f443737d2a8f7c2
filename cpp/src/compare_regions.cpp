// Intervals, unions and number sets, and the inequalities that say the same.
#include <algorithm>

#include "matcher.h"
#include "regions.h"
#include "tree.h"

namespace cohort {
namespace {

bool is_inequality(const Arena& arena, NodeId node) {
    if (!arena.is(node, Kind::relation)) return false;
    const auto relation = static_cast<Relation>(arena.at(node).code);
    return relation == Relation::not_equal ||
           (relation >= Relation::less && relation <= Relation::greater_equal);
}

bool is_infinite(const Arena& arena, NodeId node) {
    if (arena.is(node, Constant::infinity)) return true;
    return arena.at(node).count == 2 && arena.is(arena.child(node, 1), Constant::infinity);
}

}  // namespace

bool Matcher::is_region(NodeId node) {
    budget_.spend();
    const auto any_child = [&] {
        return std::ranges::any_of(children_of(arena_, node),
                                   [&](NodeId child) { return is_region(child); });
    };
    switch (arena_.at(node).kind) {
        case Kind::interval:
        case Kind::unite:
        case Kind::intersect:
        case Kind::difference: return true;
        case Kind::number_set: return arena_.name(node).starts_with('R');
        case Kind::builder: return is_region(arena_.child(node, 1));
        case Kind::all:
        case Kind::list: return any_child();
        case Kind::relation:
            if (is_inequality(arena_, node) || arena_.is(node, Relation::not_in)) return true;
            return (arena_.is(node, Relation::in) || arena_.is(node, Relation::equal)) &&
                   is_region(arena_.child(node, 1));
        default: return false;
    }
}

bool Matcher::same_region(NodeId answer, NodeId truth) {
    const auto is_statement = [&](NodeId node) {
        return any_node(arena_, node, budget_, [&](NodeId n) { return is_inequality(arena_, n); });
    };
    const bool both_statements = is_statement(answer) && is_statement(truth);
    if (policy_.inequalities == Policy::Inequalities::exact && !both_statements &&
        (is_statement(answer) || is_statement(truth))) {
        return false;
    }
    const auto wanted = Regions(arena_, budget_, true, true).read(truth);
    const bool solves = policy_.unsolved == Policy::Unsolved::accept;
    const auto mine = wanted ? Regions(arena_, budget_, solves).read(answer) : std::nullopt;
    if (!wanted || !mine) {
        // A truth that is solved needs a solved answer: 2x < 6 does not say x < 3.
        const bool solved = wanted && !solves && Regions(arena_, budget_, false).read(truth);
        if (both_statements && !solved && same_statement(answer, truth)) return true;
        return same_parts(answer, truth);
    }
    if (!wanted->variable.empty() && !mine->variable.empty() &&
        wanted->variable != mine->variable) {
        return false;
    }
    const auto same_end = [&](const End& a, const End& b) {
        const bool infinite = is_infinite(arena_, b.written);
        return same(a.written, b.written) && (infinite || a.closed == b.closed);
    };
    return std::ranges::equal(mine->pieces, wanted->pieces, [&](const Piece& a, const Piece& b) {
        return same_end(a.low, b.low) && same_end(a.high, b.high);
    });
}

/// Piece by piece, for ends that cannot be put in order, such as (a, b).
bool Matcher::same_parts(NodeId answer, NodeId truth) {
    if (arena_.is(answer, Relation::equal) && is_name(arena_.child(answer, 0))) {
        return same_parts(arena_.child(answer, 1), truth);
    }
    if (arena_.is(truth, Relation::equal) && is_name(arena_.child(truth, 0))) {
        return same_parts(answer, arena_.child(truth, 1));
    }
    const auto is_interval = [&](NodeId node) {
        return arena_.is(node, Kind::interval) ||
               (arena_.is(node, Kind::tuple) && arena_.at(node).count == 2);
    };
    const auto mine = children_of(arena_, answer);
    const auto wanted = children_of(arena_, truth);
    const Node& shape = arena_.at(truth);
    const Node& own = arena_.at(answer);
    if (is_interval(answer) && is_interval(truth)) {
        return own.flag == shape.flag && own.flag2 == shape.flag2 && same_in_order(mine, wanted);
    }
    if (own.kind != shape.kind) return false;
    switch (shape.kind) {
        case Kind::unite:
        case Kind::intersect: return same_in_any_order(mine, wanted);
        case Kind::difference: return same_in_order(mine, wanted);
        case Kind::list: return own.flag == shape.flag && same_in_any_order(mine, wanted);
        case Kind::builder: return same_in_order(mine, wanted);
        case Kind::number_set: return arena_.name(answer) == arena_.name(truth);
        default: return false;
    }
}

}  // namespace cohort

// Equations and other relations, residues and ratios.
#include <algorithm>
#include <array>

#include "cohort/canonical.h"
#include "cohort/evaluate.h"
#include "matcher.h"
#include "tree.h"

namespace cohort {
namespace {

constexpr std::size_t kMaxDenominators = 4;

bool is_statement(const Arena& arena, NodeId node) {
    return arena.is(node, Kind::relation) || arena.is(node, Kind::all);
}

bool is_symmetric(Relation relation) {
    return relation == Relation::parallel || relation == Relation::perpendicular ||
           relation == Relation::similar || relation == Relation::not_equal ||
           relation == Relation::approx;
}

/// left < right or left <= right, whichever way it is written.
struct Below {
    NodeId left, right;
    bool strict;
};

std::optional<Below> below(const Arena& arena, NodeId node) {
    const NodeId left = arena.child(node, 0);
    const NodeId right = arena.child(node, 1);
    switch (static_cast<Relation>(arena.at(node).code)) {
        case Relation::less: return Below{left, right, true};
        case Relation::less_equal: return Below{left, right, false};
        case Relation::greater: return Below{right, left, true};
        case Relation::greater_equal: return Below{right, left, false};
        default: return std::nullopt;
    }
}

}  // namespace

bool Matcher::same_statement(NodeId answer, NodeId truth) {
    if (!is_statement(arena_, answer) || !is_statement(arena_, truth)) return false;
    if (arena_.at(answer).kind != arena_.at(truth).kind) return false;
    if (arena_.is(truth, Kind::all)) {
        return same_in_any_order(children_of(arena_, answer), children_of(arena_, truth));
    }
    if (arena_.is(answer, Relation::equal) && arena_.is(truth, Relation::equal)) {
        return same_equation(answer, truth);
    }
    if (below(arena_, answer) && below(arena_, truth)) return same_inequality(answer, truth);
    return same_relation(answer, truth);
}

bool Matcher::same_equation(NodeId answer, NodeId truth) {
    const auto wanted = named(truth);
    if (wanted && wanted->name && arena_.is(*wanted->name, Kind::symbol) &&
        free_symbols(arena_, wanted->value, budget_).empty() &&
        policy_.unsolved == Policy::Unsolved::refuse) {
        // x = 5 is an answer, 2x = 10 is a question.
        const auto mine = named(answer);
        if (!mine || !mine->name) return false;
    }
    if (same_relation(answer, truth)) return true;
    const auto side = [&](NodeId equation) {
        const NodeId gap =
            arena_.difference_of(arena_.child(equation, 0), arena_.child(equation, 1));
        return canonical_of(without_denominators(gap));
    };
    const NodeId mine = side(answer);
    const NodeId other = side(truth);
    // Of x + 1 = x and 0 = 0 only the spelling is left to compare.
    if (free_symbols(arena_, other, budget_).empty()) return false;
    return proportional(arena_, mine, other, budget_) == Truth::equal;
}

/// The sum times what stands below its terms: y - 1/x becomes xy - 1.
NodeId Matcher::without_denominators(NodeId node) {
    std::vector<NodeId> below;
    const auto gather = [&](auto&& again, NodeId part) -> void {
        budget_.spend();
        const bool power = arena_.is(part, Kind::power);
        if (power && arena_.is(arena_.child(part, 1), Kind::number)) {
            const Rational exponent = arena_.value(arena_.child(part, 1));
            const bool divides = exponent.is_integer() && exponent.sign() < 0 &&
                                 !free_symbols(arena_, part, budget_).empty();
            const NodeId inverse =
                divides ? canonical_of(arena_.quotient(arena_.number(1), part)) : part;
            const bool known = std::ranges::any_of(
                below, [&](NodeId other) { return identical(arena_, other, inverse); });
            if (divides && !known && below.size() < kMaxDenominators) below.push_back(inverse);
        }
        if (!arena_.is(part, Kind::sum) && !arena_.is(part, Kind::product)) return;
        for (const NodeId child : children_of(arena_, part)) again(again, child);
    };
    gather(gather, canonical_of(node));
    if (below.empty()) return node;
    below.push_back(node);
    return arena_.make(Kind::product, below);
}

/// Side by side; a symmetric relation and an equation either way round.
bool Matcher::same_relation(NodeId answer, NodeId truth) {
    if (arena_.at(answer).code != arena_.at(truth).code) return false;
    const std::array mine{arena_.child(answer, 0), arena_.child(answer, 1)};
    const std::array wanted{arena_.child(truth, 0), arena_.child(truth, 1)};
    if (arena_.is(truth, Relation::equal)) {
        const auto equal = [&](std::size_t i, std::size_t j) {
            return identical(arena_, canonical_of(mine[i]), canonical_of(wanted[j]));
        };
        return (equal(0, 0) && equal(1, 1)) || (equal(0, 1) && equal(1, 0));
    }
    if (same(mine[0], wanted[0]) && same(mine[1], wanted[1])) return true;
    return is_symmetric(static_cast<Relation>(arena_.at(truth).code)) && same(mine[0], wanted[1]) &&
           same(mine[1], wanted[0]);
}

bool Matcher::same_inequality(NodeId answer, NodeId truth) {
    const auto mine = below(arena_, answer);
    const auto wanted = below(arena_, truth);
    if (mine->strict != wanted->strict) return false;
    const NodeId left = canonical_of(arena_.difference_of(mine->left, mine->right));
    const NodeId right = canonical_of(arena_.difference_of(wanted->left, wanted->right));
    if (identical(arena_, left, right)) return true;
    if (proportional(arena_, left, right, budget_) != Truth::equal) return false;
    // The same up to a factor: it must not turn the sign.
    const auto names = free_symbols(arena_, right, budget_);
    const auto my_sign = sign_at_sample(left, names);
    const auto other_sign = sign_at_sample(right, names);
    return my_sign && other_sign && *my_sign != 0 && *my_sign == *other_sign;
}

std::optional<int> Matcher::sign_at_sample(NodeId node, std::span<const std::string> names) {
    std::int64_t point = 7;
    for (const std::string& name : names) {
        const NodeId value = arena_.number(*Rational::of(point, 11));
        node = substitute(arena_, node, name, value, budget_);
        point += 13;
    }
    return order(arena_, canonical_of(node), arena_.number(0), budget_);
}

bool Matcher::same_residue(NodeId answer, NodeId truth) {
    if (arena_.is(truth, Relation::equivalent) && arena_.is(arena_.child(truth, 0), Kind::symbol)) {
        truth = arena_.child(truth, 1);  // x \equiv 3 \pmod 7
        if (!arena_.is(truth, Kind::residue)) return false;
    }
    const bool mine = arena_.is(answer, Kind::residue);
    const bool wanted = arena_.is(truth, Kind::residue);
    const NodeId modulus = arena_.child(wanted ? truth : answer, 1);
    const NodeId left = mine ? arena_.child(answer, 0) : answer;
    const NodeId right = wanted ? arena_.child(truth, 0) : truth;
    if (!mine) return same(left, right);
    if (wanted && !equal_in_value(arena_.child(answer, 1), modulus)) return false;
    if (equal_in_value(left, right)) return true;
    const auto size = exact_value(arena_, canonical_of(modulus), budget_);
    const NodeId gap = canonical_of(arena_.difference_of(left, right));
    const auto distance = exact_value(arena_, gap, budget_);
    if (!size || !distance || size->is_zero() || !distance->is_integer()) return false;
    const bool multiple = (*distance * *size->inverse()).is_integer();
    if (wanted || !multiple) return multiple;
    // A truth without a modulus is the least residue.
    const auto least = exact_value(arena_, canonical_of(right), budget_);
    return least && least->sign() >= 0 && *least < *size;
}

/// 12:30 is no 6:15.
bool Matcher::may_be_time(std::span<const NodeId> parts) const {
    if (parts.size() != 2) return false;
    const auto below = [&](NodeId part, std::int64_t limit) {
        return arena_.is(part, Kind::number) && arena_.value(part) < Rational(limit);
    };
    const auto small = [&](NodeId part) { return below(part, 10) && !below(part, 1); };
    return below(parts[0], 25) && below(parts[1], 60) && !small(parts[1]);
}

bool Matcher::same_ratio(NodeId answer, NodeId truth) {
    const auto parts = [&](NodeId node) { return children_of(arena_, node); };
    const bool mine = arena_.is(answer, Kind::ratio);
    const bool wanted = arena_.is(truth, Kind::ratio);
    if (!mine || !wanted) {
        const auto two = parts(mine ? answer : truth);
        if (two.size() != 2) return false;
        const NodeId quotient = arena_.quotient(two[0], two[1]);
        return mine ? same(quotient, truth) : same(answer, quotient);
    }
    const auto left = parts(answer);
    const auto right = parts(truth);
    if (left.size() != right.size()) return false;
    if (same_in_order(left, right)) return true;
    const auto has_zero = [&](NodeId part) { return is_zero(part); };
    if (std::ranges::any_of(right, has_zero)) return false;
    if (may_be_time(left) && may_be_time(right)) return false;
    for (std::size_t i = 1; i < left.size(); ++i) {
        const std::array across{left[i], right[0]};
        const std::array back{right[i], left[0]};
        if (!equal_in_value(arena_.make(Kind::product, across), arena_.make(Kind::product, back))) {
            return false;
        }
    }
    return true;
}

}  // namespace cohort

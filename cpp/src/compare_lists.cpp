// Lists, sets and tuples. A bare list has no order unless the policy says so; brackets
// give a tuple, which has one; a set and a tuple differ.
#include <algorithm>
#include <array>

#include "cohort/ascii.h"
#include "cohort/canonical.h"
#include "matcher.h"
#include "matching.h"
#include "tree.h"

namespace cohort {
namespace {

constexpr std::size_t kMaxMatched = 128;
constexpr std::size_t kMaxSigns = 4;  // independent plus-minus signs: 16 values

/// Rebuilds a tree with each plus-minus replaced by the sign that its bit of `choice` says.
class Signs {
public:
    Signs(Arena& arena, Budget& budget, unsigned choice, bool together)
        : arena_(arena), budget_(budget), choice_(choice), together_(together) {}

    NodeId rebuild(NodeId node) {
        budget_.spend();
        if (arena_.at(node).count == 0) return node;
        std::vector<NodeId> children = children_of(arena_, node);
        const bool mine = arena_.is(node, Kind::plus_minus);
        const unsigned bit = mine && !together_ ? next_++ : 0;
        for (NodeId& child : children) child = rebuild(child);
        if (!mine) return with_children(arena_, node, children);
        const bool minus = ((choice_ >> bit) & 1U) != (arena_.at(node).flag ? 1U : 0U);
        const NodeId last = minus ? arena_.negative(children.back()) : children.back();
        if (children.size() == 1) return last;
        return arena_.make(Kind::sum, std::array{children[0], last});
    }

private:
    Arena& arena_;
    Budget& budget_;
    unsigned choice_;
    bool together_;
    unsigned next_ = 0;
};

}  // namespace

std::vector<NodeId> Matcher::signs_expanded(NodeId node) {
    std::size_t num_signs = 0;
    bool together = false;
    any_node(arena_, node, budget_, [&](NodeId part) {
        if (arena_.is(part, Kind::plus_minus)) {
            ++num_signs;
            together = together || arena_.at(part).flag;
        }
        return false;
    });
    if (num_signs == 0) return {node};
    together = together || num_signs > kMaxSigns;
    const unsigned num_choices = 1U << (together ? 1 : num_signs);
    std::vector<NodeId> values;
    for (unsigned choice = 0; choice < num_choices; ++choice) {
        values.push_back(Signs(arena_, budget_, choice, together).rebuild(node));
    }
    without_repeats(values);
    return values;
}

Items Matcher::items(NodeId node) {
    const Kind kind = arena_.at(node).kind;
    if (kind == Kind::list || kind == Kind::all) return listed(node);
    if (kind == Kind::set) {
        Items result{.form = Items::Form::set, .values = {}, .names = {}};
        for (const NodeId child : children_of(arena_, node)) {
            const auto expanded = signs_expanded(child);
            result.values.insert(result.values.end(), expanded.begin(), expanded.end());
        }
        return result;
    }
    auto values = signs_expanded(node);
    if (values.size() > 1) return {.form = Items::Form::bare, .values = values, .names = {}};
    if (kind == Kind::tuple) {
        return {.form = Items::Form::tuple, .values = children_of(arena_, node), .names = {}};
    }
    return {.form = Items::Form::single, .values = values, .names = {}};
}

Items Matcher::listed(NodeId node) {
    if (auto together = assigned_together(node)) return *together;
    const std::vector<NodeId> children = children_of(arena_, node);
    const bool either = arena_.is(node, Kind::list) && arena_.at(node).flag;
    Items result{.form = Items::Form::bare, .values = {}, .names = {}, .either = either};
    for (const NodeId child : children) {
        const auto one = named(child);
        const bool has_name = one && one->name && arena_.is(*one->name, Kind::symbol);
        if (has_name) result.names.emplace_back(arena_.name(*one->name));
        result.values.push_back(one && (has_name || !one->name) ? one->value : child);
    }
    if (result.names.size() == children.size() && children.size() > 1) return result;
    // Names for some of it: a list of statements.
    const bool mixed = !result.names.empty();
    const std::vector<NodeId> values = mixed ? children : result.values;
    result.names.clear();
    result.values.clear();
    for (const NodeId value : values) {
        const auto inner = arena_.is(value, Kind::list) ? children_of(arena_, value)
                           : mixed                      ? std::vector{value}
                                                        : signs_expanded(value);
        result.values.insert(result.values.end(), inner.begin(), inner.end());
    }
    return result;
}

bool Matcher::same_items(const Items& answer, const Items& truth) {
    using Form = Items::Form;
    if (!answer.names.empty() || !truth.names.empty()) return same_assignments(answer, truth);
    const bool one_alone = answer.form == Form::single || truth.form == Form::single;
    const bool a_tuple = answer.form == Form::tuple || truth.form == Form::tuple;
    const bool a_set = answer.form == Form::set || truth.form == Form::set;
    const auto are = [&](const Items& items, Kind kind) {
        return std::ranges::all_of(items.values, [&](NodeId v) { return arena_.is(v, kind); });
    };
    if (answer.form == Form::set && truth.form == Form::set) return same_sets(answer, truth);
    if (answer.values.size() == 1 && truth.values.size() == 1 && (one_alone || a_set)) {
        return same(answer.values[0], truth.values[0]);
    }
    if (one_alone || (a_tuple && a_set)) return false;
    // `and` between statements is not `or`; between values it is.
    const bool no_values = are(truth, Kind::word) || are(truth, Kind::symbol);
    if (no_values && answer.either != truth.either) return false;
    const bool dots = std::ranges::any_of(
        truth.values, [&](NodeId value) { return arena_.is(value, Kind::dots); });
    const bool labels = are(truth, Kind::relation) && !are(answer, Kind::relation);
    const bool ordered = policy_.lists == Policy::Lists::ordered && !a_set;
    if (a_tuple || dots || labels || ordered) return same_in_order(answer.values, truth.values);
    return same_in_any_order(answer.values, truth.values);
}

/// A set in a set is not its elements: what is a set is compared with sets alone.
bool Matcher::same_sets(const Items& answer, const Items& truth) {
    const auto part = [&](const Items& items, bool sets) {
        std::vector<NodeId> values;
        for (const NodeId value : items.values) {
            if (arena_.is(value, Kind::set) == sets) values.push_back(value);
        }
        return values;
    };
    return same_in_any_order(part(answer, true), part(truth, true)) &&
           same_in_any_order(part(answer, false), part(truth, false));
}

bool Matcher::same_in_order(std::span<const NodeId> answer, std::span<const NodeId> truth) {
    if (answer.size() != truth.size()) return false;
    for (std::size_t i = 0; i < answer.size(); ++i) {
        if (!same(answer[i], truth[i])) return false;
    }
    return true;
}

bool Matcher::same_in_any_order(std::vector<NodeId> answer, std::vector<NodeId> truth) {
    if (answer.size() != truth.size()) {
        without_repeats(answer);
        without_repeats(truth);
    }
    if (answer.size() != truth.size() || answer.size() > kMaxMatched) return false;
    without_twins(answer, truth);
    return has_perfect_matching(
        answer.size(), [&](std::size_t i, std::size_t j) { return same(answer[i], truth[j]); });
}

/// Takes off what is on both sides in the same form: long lists mostly differ in their order.
void Matcher::without_twins(std::vector<NodeId>& answer, std::vector<NodeId>& truth) {
    std::erase_if(answer, [&](NodeId mine) {
        const NodeId form = canonical_of(mine);
        const auto twin = std::ranges::find_if(truth, [&](NodeId other) {
            budget_.spend(4);
            return identical(arena_, form, canonical_of(other));
        });
        if (twin == truth.end()) return false;
        truth.erase(twin);
        return true;
    });
}

void Matcher::without_repeats(std::vector<NodeId>& values) {
    if (values.size() > kMaxMatched) return;
    std::vector<NodeId> kept;
    for (const NodeId value : values) {
        const bool repeated = std::ranges::any_of(kept, [&](NodeId other) {
            budget_.spend(8);
            return identical(arena_, canonical_of(value), canonical_of(other));
        });
        if (!repeated) kept.push_back(value);
    }
    values = std::move(kept);
}

}  // namespace cohort

// Lists, sets, tuples and assignments. A bare list has no order unless the policy says so; brackets
// give a tuple, which has one; a set and a tuple differ.
#include <algorithm>
#include <array>

#include "cohort/ascii.h"
#include "cohort/canonical.h"
#include "matcher.h"
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

bool is_letter_name(std::string_view name) { return name.size() == 1 && is_letter(name[0]); }

/// `x` of `x_1`; the whole name when it has no index.
std::string_view stem(std::string_view name) { return name.substr(0, name.find('_')); }

/// Pairs each answer with a truth of its own by augmenting paths.
template <typename Same>
bool has_perfect_matching(std::size_t size, Same same) {
    std::vector<std::size_t> taken_by(size, npos);
    std::vector<bool> seen;
    const auto place = [&](auto&& again, std::size_t i) -> bool {
        for (std::size_t j = 0; j < size; ++j) {
            if (seen[j] || !same(i, j)) continue;
            seen[j] = true;
            if (taken_by[j] == npos || again(again, taken_by[j])) {
                taken_by[j] = i;
                return true;
            }
        }
        return false;
    };
    for (std::size_t i = 0; i < size; ++i) {
        seen.assign(size, false);
        if (!place(place, i)) return false;
    }
    return true;
}

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
    if (values.size() > 1) return {Items::Form::bare, std::move(values), {}};
    if (kind == Kind::tuple) return {Items::Form::tuple, children_of(arena_, node), {}};
    return {Items::Form::single, std::move(values), {}};
}

Items Matcher::listed(NodeId node) {
    const std::vector<NodeId> children = children_of(arena_, node);
    std::vector<NodeId> values;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < children.size(); ++i) {
        const auto one = named(children[i]);
        const bool has_name = one && one->name && arena_.is(*one->name, Kind::symbol);
        if (has_name) names.emplace_back(arena_.name(*one->name));
        values.push_back(one && (has_name || !one->name) ? one->value : children[i]);
        if (i == 0 && names.empty()) continue;
        // `x = 1, 2` names the first only; any other mixture is a list of statements.
        if (has_name != (names.size() == i + 1)) return {Items::Form::bare, children, {}};
    }
    const auto same_stem = [&](const std::string& name) { return stem(name) == stem(names[0]); };
    const bool several = names.size() == children.size() && names.size() > 1 &&
                         !std::ranges::all_of(names, same_stem);
    if (!names.empty() && names.size() != 1 && names.size() != children.size()) {
        return {Items::Form::bare, children, {}};
    }
    Items result{.form = Items::Form::bare, .values = {}, .names = {}};
    if (several) {
        result.values = std::move(values);
        result.names = std::move(names);
        return result;
    }
    for (const NodeId value : values) {
        if (arena_.is(value, Kind::list)) {
            const auto inner = children_of(arena_, value);
            result.values.insert(result.values.end(), inner.begin(), inner.end());
            continue;
        }
        const auto expanded = signs_expanded(value);
        result.values.insert(result.values.end(), expanded.begin(), expanded.end());
    }
    return result;
}

bool Matcher::same_items(const Items& answer, const Items& truth) {
    using Form = Items::Form;
    if (!answer.names.empty() || !truth.names.empty()) return same_assignments(answer, truth);
    const bool one_alone = answer.form == Form::single || truth.form == Form::single;
    const bool a_tuple = answer.form == Form::tuple || truth.form == Form::tuple;
    const bool a_set = answer.form == Form::set || truth.form == Form::set;
    if (answer.values.size() == 1 && truth.values.size() == 1 && (one_alone || a_set)) {
        return same(answer.values[0], truth.values[0]);
    }
    if (one_alone || (a_tuple && a_set)) return false;
    const bool dots = std::ranges::any_of(truth.values, [&](NodeId value) {
        return arena_.is(value, Kind::dots);
    });
    const bool ordered = policy_.lists == Policy::Lists::ordered && !a_set;
    if (a_tuple || dots || ordered) return same_in_order(answer.values, truth.values);
    return same_in_any_order(answer.values, truth.values);
}

/// Assignments to different variables are the tuple of their values in alphabetical order.
bool Matcher::same_assignments(const Items& answer, const Items& truth) {
    if (answer.values.size() != truth.values.size()) return false;
    if (answer.form == Items::Form::set || truth.form == Items::Form::set) return false;
    if (!answer.names.empty() && !truth.names.empty()) {
        for (std::size_t i = 0; i < truth.names.size(); ++i) {
            const auto name = std::ranges::find(answer.names, truth.names[i]);
            if (name == answer.names.end()) return false;
            const auto place = static_cast<std::size_t>(name - answer.names.begin());
            if (!same(answer.values[place], truth.values[i])) return false;
        }
        return true;
    }
    if (policy_.assignments == Policy::Assignments::exact) return false;
    const Items& assigned = answer.names.empty() ? truth : answer;
    std::vector<std::size_t> places(assigned.names.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    if (std::ranges::all_of(assigned.names, is_letter_name)) {
        std::ranges::stable_sort(places, {}, [&](std::size_t i) { return assigned.names[i]; });
    }
    std::vector<NodeId> sorted;
    for (const std::size_t i : places) sorted.push_back(assigned.values[i]);
    return answer.names.empty() ? same_in_order(answer.values, sorted)
                                : same_in_order(sorted, truth.values);
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
    return has_perfect_matching(answer.size(), [&](std::size_t i, std::size_t j) {
        return same(answer[i], truth[j]);
    });
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

// Values with names: `x = 1, y = 2`, `a = b = 1`, `P_1 = (1, 2), P_2 = (3, 4)`. Where both have
// names they decide; a truth without names takes the values, and an answer without names is read in
// the order of the truth.
#include <algorithm>

#include "cohort/ascii.h"
#include "matcher.h"
#include "matching.h"
#include "tree.h"

namespace cohort {
namespace {

bool is_letter_name(std::string_view name) { return name.size() == 1 && is_letter(name[0]); }

bool is_coordinate(std::string_view name) {
    return name.size() == 1 && name[0] >= 'x' && name[0] <= 'z';
}

/// `x` of `x_1`; the whole name when it has no index.
std::string_view stem(std::string_view name) { return name.substr(0, name.find('_')); }

/// x_1 and x_2, which number the solutions of one equation.
bool are_numbered(const std::vector<std::string>& names) {
    return std::ranges::all_of(names, [&](const std::string& name) {
        return stem(name) == stem(names[0]) && name.size() > stem(name).size();
    });
}

/// `x = 1, y = 2 or x = 3, y = 4` has two names in each solution.
std::size_t solution_size(const std::vector<std::string>& names) {
    const auto again = std::find(names.begin() + 1, names.end(), names[0]);
    return static_cast<std::size_t>(again - names.begin());
}

Items without_names(Items items) {
    items.names.clear();
    return items;
}

}  // namespace

/// `x = 1 or x = 2` is x with the values 1, 2.
std::optional<Named> Matcher::named_list(NodeId node) {
    const std::vector<NodeId> children = children_of(arena_, node);
    std::optional<NodeId> name;
    std::vector<NodeId> values;
    for (const NodeId child : children) {
        if (!arena_.is(child, Relation::equal)) return std::nullopt;
        const auto one = named_relation(child);
        if (!one || !one->name || !arena_.is(*one->name, Kind::symbol)) return std::nullopt;
        if (name && !same_name(*one->name, *name)) return std::nullopt;
        name = one->name;
        values.push_back(one->value);
    }
    if (!name || values.size() < 2) return std::nullopt;
    return Named{name, with_children(arena_, node, values)};
}

/// All names of `a = b = 1` with the one value; nothing for fewer than two.
std::optional<Items> Matcher::assigned_together(NodeId node) {
    if (!arena_.is(node, Kind::all)) return std::nullopt;
    const auto chain = named_chain(node);
    if (!chain || !chain->name) return std::nullopt;
    Items result{.form = Items::Form::bare, .values = {}, .names = {}};
    for (const NodeId link : children_of(arena_, node)) {
        const NodeId left = arena_.child(link, 0);
        if (!arena_.is(left, Kind::symbol)) continue;
        result.names.emplace_back(arena_.name(left));
        result.values.push_back(chain->value);
    }
    return result.names.size() > 1 ? std::optional(result) : std::nullopt;
}

bool Matcher::same_by_name(const Items& answer, const Items& truth) {
    if (answer.either != truth.either || answer.values.size() != truth.values.size()) return false;
    const std::size_t size = solution_size(truth.names);
    const auto equal = [&](std::size_t i, std::size_t j) {
        budget_.spend();
        return answer.names[i] == truth.names[j] && same(answer.values[i], truth.values[j]);
    };
    if (size == truth.names.size()) return has_perfect_matching(size, equal);
    if (answer.names.size() % size != 0) return false;
    return has_perfect_matching(answer.names.size() / size, [&](std::size_t i, std::size_t j) {
        for (std::size_t k = 0; k < size; ++k) {
            if (!equal(i * size + k, j * size + k)) return false;
        }
        return true;
    });
}

bool Matcher::same_assignments(const Items& answer, const Items& truth) {
    if (!answer.names.empty() && !truth.names.empty()) return same_by_name(answer, truth);
    if (policy_.assignments == Policy::Assignments::exact) return false;
    const bool named_truth = !truth.names.empty();
    const Items& assigned = named_truth ? truth : answer;
    if (are_numbered(assigned.names) && (!named_truth || is_one_of(truth.names[0][0], "xyztuvw"))) {
        return same_items(without_names(answer), without_names(truth));
    }
    if (answer.values.size() != truth.values.size() || assigned.either) return false;
    if (answer.form == Items::Form::set || truth.form == Items::Form::set) return false;
    // Coordinates are the tuple of their values, also where x does not stand first.
    std::vector<std::size_t> places(assigned.names.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    const bool sorts = named_truth ? std::ranges::all_of(assigned.names, is_coordinate)
                                   : std::ranges::all_of(assigned.names, is_letter_name);
    if (sorts) {
        std::ranges::stable_sort(places, {}, [&](std::size_t i) { return assigned.names[i]; });
    }
    std::vector<NodeId> sorted;
    for (const std::size_t i : places) sorted.push_back(assigned.values[i]);
    return named_truth ? same_in_order(answer.values, sorted) : same_in_order(sorted, truth.values);
}

}  // namespace cohort

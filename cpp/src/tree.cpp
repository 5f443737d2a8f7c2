#include "tree.h"

#include <algorithm>

namespace cohort {
namespace {

/// The symbol that a sum, product, integral or limit runs over; empty for anything else.
std::string_view bound_symbol(const Arena& arena, NodeId id) {
    if (!arena.is(id, Kind::big) || arena.at(id).count < 2) return {};
    const NodeId index = arena.child(id, 1);
    return arena.is(index, Kind::symbol) ? arena.name(index) : std::string_view{};
}

void collect(const Arena& arena, NodeId id, std::vector<std::string_view>& bound,
             std::vector<std::string>& names, Budget& budget) {
    budget.spend();
    if (arena.is(id, Kind::symbol)) {
        const std::string_view name = arena.name(id);
        const bool new_name = std::ranges::find(bound, name) == bound.end() &&
                              std::ranges::find(names, name) == names.end();
        if (new_name) names.emplace_back(name);
        return;
    }
    const std::string_view index = bound_symbol(arena, id);
    if (!index.empty()) bound.push_back(index);
    // The name of an unknown function is no variable.
    for (std::size_t i = arena.is(id, Kind::apply) ? 1 : 0; i < arena.at(id).count; ++i) {
        collect(arena, arena.child(id, i), bound, names, budget);
    }
    if (!index.empty()) bound.pop_back();
}

}  // namespace

std::vector<std::string> free_symbols(const Arena& arena, NodeId id, Budget& budget) {
    std::vector<std::string_view> bound;
    std::vector<std::string> names;
    collect(arena, id, bound, names, budget);
    return names;
}

std::vector<NodeId> children_of(const Arena& arena, NodeId id) {
    const std::span<const NodeId> children = arena.children(id);
    return {children.begin(), children.end()};
}

NodeId with_children(Arena& arena, NodeId id, const std::vector<NodeId>& children) {
    const Node old = arena.at(id);
    const NodeId made = arena.make(old.kind, children);
    Node& node = arena.at(made);
    node.flag = old.flag;
    node.flag2 = old.flag2;
    node.code = old.code;
    node.shown = old.shown;
    node.index = old.index;
    node.payload = old.payload;
    return made;
}

NodeId substitute(Arena& arena, NodeId id, std::string_view name, NodeId replacement,
                  Budget& budget) {
    budget.spend();
    if (arena.is(id, Kind::symbol)) return arena.name(id) == name ? replacement : id;
    if (arena.at(id).count == 0 || bound_symbol(arena, id) == name) return id;
    std::vector<NodeId> children = children_of(arena, id);
    bool changed = false;
    for (std::size_t i = arena.is(id, Kind::apply) ? 1 : 0; i < children.size(); ++i) {
        const NodeId child = substitute(arena, children[i], name, replacement, budget);
        changed = changed || child != children[i];
        children[i] = child;
    }
    return changed ? with_children(arena, id, children) : id;
}

}  // namespace cohort

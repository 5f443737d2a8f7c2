// Looking at trees and making new ones of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cohort/expression.h"

namespace cohort {

/// Whether `test(node id)` holds for `id` or anything below it.
template <typename Test>
bool any_node(const Arena& arena, NodeId id, Budget& budget, Test test) {
    budget.spend();
    if (test(id)) return true;
    for (std::size_t i = 0; i < arena.at(id).count; ++i) {
        if (any_node(arena, arena.child(id, i), budget, test)) return true;
    }
    return false;
}

/// Names of the symbols that are not bound by a sum, product, integral or limit; each once.
std::vector<std::string> free_symbols(const Arena& arena, NodeId id, Budget& budget);

/// The tree with `replacement` for every free symbol `name`; `id` itself when there is none.
NodeId substitute(Arena& arena, NodeId id, std::string_view name, NodeId replacement,
                  Budget& budget);

/// The node with other children; everything else as it is.
NodeId with_children(Arena& arena, NodeId id, const std::vector<NodeId>& children);

/// A copy of the children's ids, which stays valid when nodes are made.
std::vector<NodeId> children_of(const Arena& arena, NodeId id);

}  // namespace cohort

// One form for expressions that are equal by the rules of a commutative ring and little more:
// nested sums and products are flat and sorted, rational arithmetic is done, like terms and like
// powers are collected, \sin^2 x is power(sin(x), 2). Nothing is expanded, no power above 64 is
// multiplied out and no factorial evaluated, so the form is never much larger than what was
// written.
#pragma once

#include "cohort/expression.h"

namespace cohort {

NodeId canonical(Arena& arena, NodeId id, Budget& budget);

/// Whether two trees are the same, node by node (`shown` apart).
bool identical(const Arena& arena, NodeId a, NodeId b);

/// A total order on trees, used for sorting: negative, 0 or positive.
int structural_order(const Arena& arena, NodeId a, NodeId b);

}  // namespace cohort

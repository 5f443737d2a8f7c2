// Huge integers in exponents, known by their residues.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "exact_value.h"

namespace cohort {

/// The integer `id` modulo the first of `totients` (each the totient of the one before, down to 1);
/// nothing unless it is an integer made of sums, products, powers and factorials.
std::optional<std::uint64_t> tower_residue(const Arena& arena, NodeId id, const Scope& scope,
                                           std::span<const std::uint64_t> totients, Budget& budget);

}  // namespace cohort

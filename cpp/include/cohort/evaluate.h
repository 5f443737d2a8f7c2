// Values: exact rationals, residues modulo 61-bit primes, and balls (midpoint and radius) of
// growing precision, real or complex.
//
// "Different" is always certain: a residue differs, or two balls are disjoint. "Equal" is exact for
// rational arithmetic; for rational functions it means equal residues at random points in several
// prime fields, otherwise balls that overlap at high precision at several random points and a
// domain that is the same. The random points are fixed: the same input gives the same verdict.
#pragma once

#include <optional>

#include "cohort/expression.h"

namespace cohort {

enum class Truth { equal, different, unknown };

/// The exact value when it is a rational that is cheap to compute (4096 bits, powers to 10 000).
std::optional<Rational> exact_value(const Arena& arena, NodeId id, Budget& budget);

/// Whether both have the same value for all values of their variables (real numbers).
/// Percent is a hundredth, a degree is pi/180. Trees that have no value (sets, words) are unknown.
Truth equal_values(const Arena& arena, NodeId a, NodeId b, Budget& budget);

/// Whether a = c * b for one number c other than 0, whatever the variables are.
Truth proportional(const Arena& arena, NodeId a, NodeId b, Budget& budget);

/// Whether a - b is one number, whatever the variables are.
Truth differ_by_constant(const Arena& arena, NodeId a, NodeId b, Budget& budget);

/// -1, 0, 1: the order of two real constants (infinity included); nothing when undecided.
std::optional<int> order(const Arena& arena, NodeId a, NodeId b, Budget& budget);

/// The constant's distance from `decimal` in units of its last shown digit is below `ulps`
/// (0.5: correctly rounded; 1: cut off); nothing when the value is no real constant.
std::optional<bool> within_digits(const Arena& arena, NodeId id, const Rational& decimal, int shown,
                                  double ulps, Budget& budget);

/// Names of the free variables, sorted, each once.
std::vector<std::string_view> variables(const Arena& arena, NodeId id);

}  // namespace cohort

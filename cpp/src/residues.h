// Values modulo a prime, every variable at a fixed pseudo-random residue.
//
// Rational functions, powers with huge integer exponents (towers too), factorials, binomials and
// short sums have a residue; it is certain: equal expressions have equal residues wherever both
// exist. A residue does not exist where a denominator is 0 modulo the prime.
#pragma once

#include <cstdint>
#include <optional>

#include "exact_value.h"
#include "fields.h"

namespace cohort {

class Residues {
public:
    /// The residues of variables depend on their names and on `point`.
    Residues(const Arena& arena, const Field& field, std::uint64_t point, Budget& budget)
        : arena_(arena), field_(field), point_(point), budget_(budget) {}

    std::optional<std::uint64_t> of(NodeId id);

private:
    using Residue = std::optional<std::uint64_t>;

    Residue number(const Rational& value);
    Residue symbol(std::string_view name);
    Residue sum(NodeId id);
    Residue product(NodeId id);
    Residue power(NodeId id);
    Residue raised(std::uint64_t base, NodeId exponent, bool flip);
    Residue call(NodeId id);
    Residue factorial(NodeId argument);
    Residue choices(NodeId id, bool ordered);
    Residue unknown_function(NodeId id);
    Residue repeated(NodeId id);
    std::optional<Rational> exact(NodeId id);

    const Arena& arena_;
    const Field& field_;
    std::uint64_t point_;
    Budget& budget_;
    Scope scope_;
};

/// Whether a residue may exist: no roots, no numbers such as pi and no transcendental functions.
bool may_have_residue(const Arena& arena, NodeId id);

/// A pseudo-random word for a name, the same on every machine.
std::uint64_t scramble(std::uint64_t seed, std::string_view name);

}  // namespace cohort

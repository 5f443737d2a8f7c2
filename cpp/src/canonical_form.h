// The makers of canonical sums, products and powers; their children are canonical already.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cohort/canonical.h"

namespace cohort {

class CanonicalForm {
public:
    CanonicalForm(Arena& arena, Budget& budget) : arena_(arena), budget_(budget) {}

    NodeId of(NodeId id);

private:
    struct Term {
        Rational coefficient;
        NodeId rest;
    };

    NodeId with_children(NodeId id, std::span<const NodeId> children);
    NodeId call(NodeId id);
    NodeId sorted(NodeId id, bool flat);

    // canonical_sums.cpp
    NodeId sum(std::span<const NodeId> terms);
    NodeId product(std::span<const NodeId> factors);
    void add_term(NodeId term, Rational& constant, std::vector<Term>& terms);
    NodeId scaled(const Rational& coefficient, NodeId node);
    void gather(NodeId node, Rational& coefficient, std::vector<NodeId>& factors);
    bool merge_powers(Rational& coefficient, std::vector<NodeId>& factors);
    bool merge_roots(Rational& coefficient, std::vector<NodeId>& factors);
    std::optional<NodeId> matrix(const Rational& coefficient, const std::vector<NodeId>& factors);
    std::int64_t root_degree(NodeId factor) const;
    bool may_merge(NodeId base, NodeId left, NodeId right) const;
    NodeId base_of(NodeId factor) const;
    NodeId exponent_of(NodeId factor);

    // canonical_powers.cpp
    NodeId power(NodeId base, NodeId exponent);
    NodeId integer_power(NodeId base, NodeId exponent);
    NodeId number_power(const Rational& base, const Rational& exponent);
    NodeId root(Rational base, std::int64_t degree);
    NodeId positive_root(const Rational& base, std::int64_t degree);
    NodeId split_exponent(NodeId base, NodeId exponent);
    NodeId raw_power(NodeId base, NodeId exponent);
    bool is_finite(NodeId id) const;
    bool is_nonzero(NodeId id) const;
    bool is_positive(NodeId id) const;
    bool has_symbol(NodeId id) const;

    const Rational* number(NodeId id) const {
        return arena_.is(id, Kind::number) ? &arena_.value(id) : nullptr;
    }

    Arena& arena_;
    Budget& budget_;
};

}  // namespace cohort

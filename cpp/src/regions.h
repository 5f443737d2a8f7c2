// One form for intervals, unions, number sets and inequalities in one variable: disjoint pieces of
// the real line from left to right.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/expression.h"

namespace cohort {

/// `written` is compared with the truth's, `value` is what is ordered.
struct End {
    NodeId written, value;
    bool closed;
};

struct Piece {
    End low, high;
};

struct Region {
    std::vector<Piece> pieces;
    std::string variable;  // of inequalities; empty for sets
};

class Regions {
public:
    /// `solves`: an inequality may have its variable anywhere, else it must stand alone. `truth`:
    /// what no number satisfies is meant as `or`, however it is joined.
    Regions(Arena& arena, Budget& budget, bool solves, bool truth = false)
        : arena_(arena), budget_(budget), solves_(solves), truth_(truth) {}

    /// Nothing for what is no region of real numbers or cannot be put in order.
    std::optional<Region> read(NodeId node);

private:
    using Maybe = std::optional<Region>;

    Maybe read_interval(NodeId low, NodeId high, bool low_closed, bool high_closed);
    Maybe read_number_set(std::string_view name);
    Maybe read_points(NodeId node);
    Maybe read_relation(NodeId node);
    Maybe read_builder(NodeId node);
    Maybe read_list(NodeId node);
    Maybe fold(NodeId node, bool unite);
    Maybe solve(Relation relation, NodeId left, NodeId right);
    Maybe solve_linear(Relation relation, NodeId left, NodeId right, const std::string& name);
    Maybe solve_distance(Relation relation, NodeId left, NodeId right);
    Maybe half_line(Relation relation, NodeId bound, const std::string& name);

    Maybe unite(const Region& a, const Region& b);
    Maybe intersect(const Region& a, const Region& b);
    Maybe complement(const Region& region);
    Region line();
    End end(NodeId written, bool closed);
    End infinity(int sign);
    bool is_infinite(const End& end) const;
    std::optional<int> compare(const End& a, const End& b);
    std::optional<bool> add(Region& region, Piece piece);

    Arena& arena_;
    Budget& budget_;
    bool solves_;
    bool truth_;
};

}  // namespace cohort

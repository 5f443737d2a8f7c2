// Whether two parsed answers say the same, kind by kind. What a kind needs stands in its own file:
//
//   compare_values.cpp      numbers, expressions, decimals, percent, units
//   compare_names.cpp       what `x =`, `f(x) =`, chains and approximations stand for
//   compare_lists.cpp       lists, sets, tuples
//   compare_assignments.cpp values with names: x = 1, y = 2
//   compare_regions.cpp     intervals, unions, inequalities (regions.cpp makes one form of them)
//   compare_statements.cpp  equations and other relations
//   compare_families.cpp    integer parameters, constants of integration
//   compare_layouts.cpp     matrices, vectors, cases
//
// The truth decides how the answer is read, never the other way round. What is not understood is
// different: nothing is equal because numbers inside it happen to match.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/expression.h"
#include "cohort/policy.h"

namespace cohort {

/// A value with the name that an answer gives it: `x` and 5 of `x = 5`.
struct Named {
    std::optional<NodeId> name;
    NodeId value;
};

/// Several things side by side.
struct Items {
    enum class Form { single, bare, tuple, set };

    Form form = Form::single;
    std::vector<NodeId> values;
    std::vector<std::string> names;  // of assignments to different variables, else empty
    bool either = false;             // joined by `or`
};

/// A decimal as it was written, also with a power of ten: 1.5 \times 10^{-7}.
struct Decimal {
    Rational value;
    int shown;  // digits after the point; negative: the last one stands for tens, hundreds ...
};

class Matcher {
public:
    Matcher(Arena& arena, const Policy& policy, Budget& budget)
        : arena_(arena), policy_(policy), budget_(budget) {}

    /// Whether the whole answer is the whole truth.
    bool matches(NodeId answer, NodeId truth);

private:
    /// Variables that are said to be integers, and of which set.
    struct Integers {
        std::vector<std::string> names;
        std::string set;
    };

    bool same(NodeId answer, NodeId truth);
    bool same_kind(NodeId answer, NodeId truth);
    bool same_unnamed(NodeId answer, NodeId truth);
    bool is_defined(NodeId node);
    bool is_zero(NodeId node);
    NodeId without_prose(NodeId node);
    bool counts_other(NodeId answer, NodeId truth);

    // values
    bool same_value(NodeId answer, NodeId truth);
    bool same_percent(NodeId answer, NodeId truth);
    bool same_measure(NodeId answer, NodeId truth);
    bool same_based(NodeId answer, NodeId truth);
    bool same_plain(NodeId answer, NodeId truth);
    bool same_decimal(NodeId answer, NodeId truth);
    bool has_more_digits(NodeId exact, const Decimal& decimal);
    bool rounds_to(NodeId exact, const Decimal& decimal);
    bool shows(NodeId exact, const Decimal& decimal);
    bool equal_in_value(NodeId a, NodeId b);
    std::optional<Decimal> decimal(NodeId node);
    std::optional<std::string> unit_of(NodeId node);
    std::optional<NodeId> without_unit(NodeId node, std::string_view target);
    NodeId scaled(NodeId node, const Rational& factor);
    NodeId canonical_of(NodeId node);
    NodeId principal(NodeId node);

    // names
    std::optional<Named> named(NodeId node);
    std::optional<Named> named_relation(NodeId node);
    std::optional<Named> named_chain(NodeId node);
    std::optional<Named> named_list(NodeId node);
    bool is_name(NodeId node);
    bool same_name(NodeId answer, NodeId truth);
    bool same_named(const Named& answer, const Named& truth);
    std::optional<NodeId> function_body(const Named& named, NodeId parameter);
    std::optional<NodeId> calculated(NodeId left, NodeId right);
    bool agrees(NodeId exact, NodeId approximation);

    // lists
    Items items(NodeId node);
    Items listed(NodeId node);
    std::vector<NodeId> signs_expanded(NodeId node);
    bool same_items(const Items& answer, const Items& truth);
    std::optional<Items> assigned_together(NodeId node);
    bool same_assignments(const Items& answer, const Items& truth);
    bool same_by_name(const Items& answer, const Items& truth);
    bool same_sets(const Items& answer, const Items& truth);
    bool same_in_order(std::span<const NodeId> answer, std::span<const NodeId> truth);
    bool same_in_any_order(std::vector<NodeId> answer, std::vector<NodeId> truth);
    void without_twins(std::vector<NodeId>& answer, std::vector<NodeId>& truth);
    void without_repeats(std::vector<NodeId>& values);

    // regions
    bool is_region(NodeId node);
    bool same_region(NodeId answer, NodeId truth);
    bool same_parts(NodeId answer, NodeId truth);

    // statements
    bool same_statement(NodeId answer, NodeId truth);
    bool same_equation(NodeId answer, NodeId truth);
    NodeId without_denominators(NodeId node);
    bool same_inequality(NodeId answer, NodeId truth);
    bool same_relation(NodeId answer, NodeId truth);
    bool same_residue(NodeId answer, NodeId truth);
    bool same_ratio(NodeId answer, NodeId truth);
    bool may_be_time(std::span<const NodeId> parts) const;
    std::optional<int> sign_at_sample(NodeId node, std::span<const std::string> names);

    // families
    NodeId without_domain(NodeId node, Integers& integers);
    bool same_family(NodeId answer, NodeId truth);
    bool same_up_to_constant(NodeId answer, NodeId truth);
    std::optional<std::string> parameter_of(NodeId node, const Integers& integers);
    bool lists_solutions(std::string_view parameter, NodeId start, NodeId step);

    // layouts
    bool same_matrix(NodeId answer, NodeId truth);
    NodeId multiplied_out(NodeId node);
    bool has_unit_vectors(NodeId node);
    bool same_vector(NodeId expression, std::span<const NodeId> entries);
    bool same_cases(NodeId answer, NodeId truth);
    bool same_pieces(NodeId answer, NodeId truth);
    std::optional<bool> holds(NodeId condition, std::string_view name, NodeId point);
    std::optional<NodeId> value_at(NodeId node, std::string_view name, NodeId point);
    void add_bounds(NodeId node, std::vector<NodeId>& bounds);

    Arena& arena_;
    const Policy& policy_;
    Budget& budget_;
    std::vector<NodeId> canonical_;  // of each node that was asked for, plus 1; 0: not yet
    Integers integers_;              // in the truth
    Integers answer_integers_;       // which cannot make a formula a family
    int depth_ = 0;
    int in_named_ = 0;    // inside values that have a name
    int in_unknown_ = 0;  // and a name that equations are solved for
    int in_integer_ = 0;  // or the name of an integer: n = 3k
};

}  // namespace cohort

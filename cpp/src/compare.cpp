#include "cohort/compare.h"

#include <algorithm>

#include "cohort/canonical.h"
#include "cohort/evaluate.h"
#include "cohort/labels.h"
#include "cohort/parse.h"
#include "matcher.h"
#include "tree.h"

namespace cohort {
namespace {

constexpr int kMaxNesting = 24;  // of lists in names in sets ...

/// How the answer's letters and brackets are read, from the truth.
struct Context {
    std::string variables;
    bool intervals = false;
    bool measured = false;
};

bool is_statement(const Arena& arena, NodeId node) {
    return arena.is(node, Kind::relation) || arena.is(node, Kind::all);
}

/// A word or several: no formula.
bool is_text(const Arena& arena, NodeId node) {
    const auto is_word = [&](NodeId part) { return arena.is(part, Kind::word); };
    return is_word(node) ||
           (arena.is(node, Kind::list) && std::ranges::all_of(arena.children(node), is_word));
}

Context context_of(const Arena& arena, NodeId truth, Budget& budget) {
    Context context;
    any_node(arena, truth, budget, [&](NodeId node) {
        if (arena.is(node, Kind::symbol) && arena.name(node).size() == 1) {
            context.variables += arena.name(node);
        }
        context.measured = context.measured || arena.is(node, Kind::quantity);
        context.intervals =
            context.intervals || arena.is(node, Kind::interval) || arena.is(node, Kind::unite);
        return false;
    });
    return context;
}

}  // namespace

bool Matcher::matches(NodeId answer, NodeId truth) {
    if (!is_defined(answer)) return false;
    const auto is_open = [&](NodeId node) { return arena_.is(node, Kind::big); };
    if (policy_.open_forms == Policy::OpenForms::refuse &&
        any_node(arena_, answer, budget_, is_open) && !any_node(arena_, truth, budget_, is_open)) {
        return false;
    }
    const bool complex =
        any_node(arena_, truth, budget_, [&](NodeId node) { return arena_.is(node, Constant::i); });
    if (complex || policy_.roots == Policy::Roots::principal) {
        answer = principal(answer);
        truth = principal(truth);
    }
    return same(answer, truth);
}

/// Whether the value is 0 and cheap to compute.
bool Matcher::is_zero(NodeId node) {
    try {
        const auto value = exact_value(arena_, node, budget_);
        return value && value->is_zero();
    } catch (const LimitReached&) {
        return false;  // too large; a budget that is used up says so again
    }
}

/// No 0/0 and no calculation with infinity: such an answer is equal to nothing.
bool Matcher::is_defined(NodeId node) {
    return !any_node(arena_, node, budget_, [&](NodeId part) {
        if (arena_.is(part, Constant::undefined)) return true;
        const Node& shape = arena_.at(part);
        if (shape.kind == Kind::power && arena_.is(arena_.child(part, 1), Kind::number) &&
            arena_.value(arena_.child(part, 1)).sign() < 0) {
            return is_zero(arena_.child(part, 0));
        }
        const bool sum = shape.kind == Kind::sum || shape.kind == Kind::power;
        if (!sum && shape.kind != Kind::product) return false;
        const bool only_sign = shape.kind == Kind::product && shape.count == 2 &&
                               arena_.is(arena_.child(part, 0), Kind::number);
        const auto children = arena_.children(part);
        return !only_sign && std::ranges::any_of(children, [&](NodeId child) {
            return arena_.is(child, Constant::infinity);
        });
    });
}

bool Matcher::same(NodeId answer, NodeId truth) {
    budget_.spend(4);
    if (depth_ >= kMaxNesting) throw LimitReached{};
    ++depth_;
    const NodeId mine = without_domain(answer, answer_integers_);
    const NodeId wanted = without_domain(truth, integers_);
    const bool other_integers = !answer_integers_.set.empty() && !integers_.set.empty() &&
                                answer_integers_.set != integers_.set;
    const bool equal = !other_integers && !counts_other(mine, wanted) &&
                       same_kind(without_prose(mine), without_prose(wanted));
    --depth_;
    return equal;
}

/// 5 apples are 5: a word after a number that is no unit says nothing alone.
NodeId Matcher::without_prose(NodeId node) {
    const bool prose = arena_.is(node, Kind::quantity) && arena_.at(node).flag;
    return prose ? arena_.child(node, 0) : node;
}

/// Whether both say what they count or measure, and not the same: 5 boys and 5 girls.
bool Matcher::counts_other(NodeId answer, NodeId truth) {
    const NodeId mine = without_prose(answer);
    const NodeId wanted = without_prose(truth);
    if (mine == answer && wanted == truth) return false;
    if (mine != answer && wanted != truth && !same_label(arena_.name(answer), arena_.name(truth))) {
        return true;
    }
    const auto is_measured = [&](NodeId node) {
        return arena_.is(node, Kind::percent) || unit_of(node).has_value();
    };
    const auto names_no_unit = [&](NodeId whole, NodeId inside) {
        return whole != inside && !is_silent(arena_.name(whole)) && !is_measured(inside);
    };
    return (names_no_unit(answer, mine) && is_measured(wanted)) ||
           (names_no_unit(truth, wanted) && is_measured(mine));
}

bool Matcher::same_kind(NodeId answer, NodeId truth) {
    if (identical(arena_, answer, truth)) return true;
    if (is_region(answer) || is_region(truth)) return same_region(answer, truth);
    const bool several = arena_.is(truth, Kind::list) || arena_.is(truth, Kind::tuple);
    if (assigned_together(truth) || (several && assigned_together(answer))) {
        return same_items(items(answer), items(truth));
    }
    const auto mine = named(answer);
    const auto wanted = named(truth);
    if (mine && wanted && mine->name && wanted->name) {
        return same_named(*mine, *wanted) || same_statement(answer, truth);
    }
    if (is_statement(arena_, answer) && is_statement(arena_, truth)) {
        if (same_statement(answer, truth)) return true;
        if (!mine || !wanted) return false;
    }
    if (mine || wanted) {
        const bool has_name = (mine && mine->name) || (wanted && wanted->name);
        if (has_name && policy_.assignments == Policy::Assignments::exact) {
            return same_statement(answer, truth);
        }
        // 1 = 1 does not say x = 1.
        const bool empty = wanted && wanted->name && arena_.is(answer, Relation::equal) &&
                           identical(arena_, arena_.child(answer, 0), arena_.child(answer, 1));
        return !empty && same(mine ? mine->value : answer, wanted ? wanted->value : truth);
    }
    return same_unnamed(answer, truth);
}

/// By the kind of both when neither has a name.
bool Matcher::same_unnamed(NodeId answer, NodeId truth) {
    const auto either = [&](Kind kind) {
        return arena_.is(answer, kind) || arena_.is(truth, kind);
    };
    if (either(Kind::cases)) return same_cases(answer, truth);
    if (either(Kind::matrix)) return same_matrix(multiplied_out(answer), multiplied_out(truth));
    if (either(Kind::tuple) && (has_unit_vectors(answer) || has_unit_vectors(truth))) {
        return same_matrix(answer, truth);
    }
    if (either(Kind::residue)) return same_residue(answer, truth);
    if (either(Kind::ratio)) return same_ratio(answer, truth);
    if (either(Kind::list) || either(Kind::set) || either(Kind::tuple) || either(Kind::all)) {
        return same_items(items(answer), items(truth));
    }
    if (either(Kind::relation)) return same_statement(answer, truth);
    if (either(Kind::negation)) {
        return arena_.is(answer, Kind::negation) && arena_.is(truth, Kind::negation) &&
               same(arena_.child(answer, 0), arena_.child(truth, 0));
    }
    if (either(Kind::word) || either(Kind::dots) || either(Kind::number_set)) return false;
    const Items mine_items = items(answer);
    const Items wanted_items = items(truth);
    if (mine_items.values.size() > 1 || wanted_items.values.size() > 1) {
        return same_items(mine_items, wanted_items);
    }
    return same_value(answer, truth);
}

Comparison compare_answers(std::string_view answer, std::string_view truth, const Policy& policy,
                           std::int64_t steps) {
    thread_local Arena arena;
    arena.clear();
    Budget budget(steps);
    Context context;
    std::optional<NodeId> wanted;
    Reading reading;
    reading.log_is_ln = policy.log == Policy::Log::e;
    try {
        wanted = parse(truth, reading, arena, budget);
        if (!wanted) return Comparison::unparsable_truth;
        context = context_of(arena, *wanted, budget);
    } catch (const LimitReached&) {
        return Comparison::unparsable_truth;
    }
    try {
        reading.variables = context.variables;
        reading.intervals = context.intervals;
        reading.measured = context.measured;
        const auto mine = parse(answer, reading, arena, budget);
        if (!mine) return Comparison::unparsable_answer;
        if (Matcher(arena, policy, budget).matches(*mine, *wanted)) return Comparison::equal;
        // Of a text only the same text is right.
        return is_text(arena, *wanted) ? Comparison::unparsable_truth : Comparison::different;
    } catch (const LimitReached&) {
        return Comparison::limit;
    }
}

}  // namespace cohort

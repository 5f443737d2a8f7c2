#include "cohort/compare.h"

#include <algorithm>

#include "cohort/canonical.h"
#include "cohort/evaluate.h"
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
};

bool is_statement(const Arena& arena, NodeId node) {
    return arena.is(node, Kind::relation) || arena.is(node, Kind::all);
}

Context context_of(const Arena& arena, NodeId truth, Budget& budget) {
    Context context;
    any_node(arena, truth, budget, [&](NodeId node) {
        if (arena.is(node, Kind::symbol) && arena.name(node).size() == 1) {
            context.variables += arena.name(node);
        }
        context.intervals = context.intervals || arena.is(node, Kind::interval) ||
                            arena.is(node, Kind::unite);
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
    const bool complex = any_node(arena_, truth, budget_, [&](NodeId node) {
        return arena_.is(node, Constant::i);
    });
    if (complex || policy_.roots == Policy::Roots::principal) {
        answer = principal(answer);
        truth = principal(truth);
    }
    return same(answer, truth);
}

/// No 0/0 and no calculation with infinity: such an answer is equal to nothing.
bool Matcher::is_defined(NodeId node) {
    return !any_node(arena_, node, budget_, [&](NodeId part) {
        if (arena_.is(part, Constant::undefined)) return true;
        const Node& shape = arena_.at(part);
        if (shape.kind == Kind::power && arena_.is(arena_.child(part, 1), Kind::number) &&
            arena_.value(arena_.child(part, 1)).sign() < 0) {
            const auto base = exact_value(arena_, arena_.child(part, 0), budget_);
            return base && base->is_zero();
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
    const bool equal = same_kind(without_domain(answer), without_domain(truth));
    --depth_;
    return equal;
}

bool Matcher::same_kind(NodeId answer, NodeId truth) {
    if (identical(arena_, answer, truth)) return true;
    if (is_region(answer) || is_region(truth)) return same_region(answer, truth);
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
        return same(mine ? mine->value : answer, wanted ? wanted->value : truth);
    }
    const auto either = [&](Kind kind) { return arena_.is(answer, kind) || arena_.is(truth, kind); };
    if (either(Kind::cases)) return same_cases(answer, truth);
    if (either(Kind::matrix)) return same_matrix(answer, truth);
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
    const Items several = items(answer);
    const Items wanted_several = items(truth);
    if (several.values.size() > 1 || wanted_several.values.size() > 1) {
        return same_items(several, wanted_several);
    }
    return same_value(answer, truth);
}

bool parses(std::string_view text) {
    thread_local Arena arena;
    arena.clear();
    Budget budget(kDefaultSteps);
    try {
        return parse(text, Reading{}, arena, budget).has_value();
    } catch (const LimitReached&) {
        return false;
    }
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
        const auto mine = parse(answer, reading, arena, budget);
        if (!mine) return Comparison::unparsable_answer;
        return Matcher(arena, policy, budget).matches(*mine, *wanted) ? Comparison::equal
                                                                      : Comparison::different;
    } catch (const LimitReached&) {
        return Comparison::limit;
    }
}

}  // namespace cohort

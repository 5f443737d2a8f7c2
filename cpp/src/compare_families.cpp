// Families of answers: an integer parameter may have another name and another start, and two
// antiderivatives may differ by a number when both have their constant.
#include <algorithm>
#include <array>

#include "cohort/ascii.h"
#include "cohort/canonical.h"
#include "cohort/evaluate.h"
#include "matcher.h"
#include "tree.h"

namespace cohort {
namespace {

constexpr std::int64_t kMaxShift = 12;

bool is_integers(const Arena& arena, NodeId node) {
    return arena.is(node, Kind::number_set) && (arena.name(node) == "Z" || arena.name(node) == "N");
}

/// The constant of integration: C, C_1, and in an answer also c, K or c_1.
bool is_constant_name(std::string_view name, bool in_answer) {
    const char first = name.empty() ? '\0' : name[0];
    const bool letter = first == 'C' || (in_answer && (first == 'c' || first == 'K'));
    return letter && (name.size() == 1 || name[1] == '_');
}

/// a + b k, as its values at 0 and the step; nothing when it is not linear in k.
struct Progression {
    NodeId start, step;
};

}  // namespace

/// Takes `k \in \mathbb{Z}` off a list and remembers that k is an integer.
NodeId Matcher::without_domain(NodeId node, Integers& integers) {
    const auto note = [&](NodeId statement) {
        if (!arena_.is(statement, Relation::in)) return false;
        const NodeId element = arena_.child(statement, 0);
        if (!is_integers(arena_, arena_.child(statement, 1))) return false;
        if (!arena_.is(element, Kind::symbol)) return false;
        integers.names.emplace_back(arena_.name(element));
        integers.set = arena_.name(arena_.child(statement, 1));
        return true;
    };
    if (arena_.is(node, Kind::builder)) {
        const NodeId element = arena_.child(node, 0);
        const NodeId condition = arena_.child(node, 1);
        if (note(condition)) return element;
        const bool lists = arena_.is(condition, Relation::equal) &&
                           identical(arena_, element, arena_.child(condition, 0));
        return lists ? arena_.child(condition, 1) : node;  // {x | x = 1, 2}
    }
    if (!arena_.is(node, Kind::list) && !arena_.is(node, Kind::all)) return node;
    std::vector<NodeId> children = children_of(arena_, node);
    if (children.size() < 2 || !note(children.back())) return node;
    children.pop_back();
    return children.size() == 1 ? children[0] : with_children(arena_, node, children);
}

/// The only variable of a family: one that is said to be an integer, or a usual name of one beside
/// an angle (\pi/4 + k\pi) or in a named value (n = 3k).
std::optional<std::string> Matcher::parameter_of(NodeId node, const Integers& integers) {
    constexpr std::string_view kUsual = "klmnjKN";
    const auto names = free_symbols(arena_, node, budget_);
    if (names.size() != 1) return std::nullopt;
    if (std::ranges::find(integers.names, names[0]) != integers.names.end()) return names[0];
    if (names[0].size() != 1 || kUsual.find(names[0][0]) == npos) return std::nullopt;
    const bool angle = any_node(arena_, node, budget_, [&](NodeId part) {
        return arena_.is(part, Constant::pi) || arena_.is(part, Kind::degree);
    });
    return angle || in_named_ > 0 ? std::optional(names[0]) : std::nullopt;
}

/// Whether start + step k stands for all of its values and not for a formula such as the angle sum
/// (n - 2)\pi: the truth says that k is an integer, or it is solved for, or no k gives 0.
bool Matcher::lists_solutions(std::string_view parameter, NodeId start, NodeId step) {
    const auto& said = integers_.names;
    if (std::ranges::find(said, parameter) != said.end()) return true;
    const NodeId turns = canonical_of(arena_.quotient(step, arena_.constant(Constant::pi)));
    const auto rational = exact_value(arena_, turns, budget_);
    const bool degrees =
        any_node(arena_, step, budget_, [&](NodeId part) { return arena_.is(part, Kind::degree); });
    if (in_unknown_ > 0) return rational || degrees;
    const auto ratio = exact_value(arena_, canonical_of(arena_.quotient(start, step)), budget_);
    return rational && ratio && !ratio->is_integer();
}

bool Matcher::same_family(NodeId answer, NodeId truth) {
    const auto wanted = parameter_of(truth, integers_);
    const auto mine = wanted ? parameter_of(answer, answer_integers_) : std::nullopt;
    if (!mine) return false;
    const NodeId parameter = arena_.symbol(*wanted);
    const NodeId renamed =
        *mine == *wanted ? answer : substitute(arena_, answer, *mine, parameter, budget_);
    const auto progression = [&](NodeId node) -> std::optional<Progression> {
        const auto at = [&](std::int64_t k) {
            return canonical_of(substitute(arena_, node, *wanted, arena_.number(k), budget_));
        };
        const NodeId start = at(0);
        const NodeId step = canonical_of(arena_.difference_of(at(1), start));
        const std::array factors{step, parameter};
        const std::array terms{start, arena_.make(Kind::product, factors)};
        if (!equal_in_value(node, arena_.make(Kind::sum, terms))) return std::nullopt;
        return Progression{start, step};
    };
    const auto right = progression(truth);
    if (!right) return false;
    const bool renames = in_integer_ > 0 && exact_value(arena_, right->step, budget_);
    if (renames && equal_in_value(renamed, truth)) return true;
    if (!lists_solutions(*wanted, right->start, right->step)) return false;
    if (equal_in_value(renamed, truth)) return true;
    const auto left = progression(renamed);
    if (!left) return false;
    if (!equal_in_value(left->step, right->step) &&
        !equal_in_value(left->step, arena_.negative(right->step))) {
        return false;
    }
    const NodeId gap = canonical_of(arena_.difference_of(left->start, right->start));
    for (std::int64_t shift = 1; shift <= kMaxShift; ++shift) {
        for (const std::int64_t factor : {shift, -shift}) {
            const std::array factors{arena_.number(factor), right->step};
            if (equal_in_value(gap, arena_.make(Kind::product, factors))) return true;
        }
    }
    return equal_in_value(left->start, right->start);
}

bool Matcher::same_up_to_constant(NodeId answer, NodeId truth) {
    const auto constants = [&](NodeId node, bool in_answer) {
        std::vector<std::string> names = free_symbols(arena_, node, budget_);
        std::erase_if(names,
                      [&](const std::string& name) { return !is_constant_name(name, in_answer); });
        std::ranges::sort(names);
        return names;
    };
    const auto wanted = constants(truth, false);
    if (wanted.empty()) return false;
    const auto names = free_symbols(arena_, truth, budget_);
    const bool of_variable = std::ranges::any_of(names, [](const std::string& name) {
        return name.size() == 1 && name[0] >= 'a' && name[0] <= 'z';
    });
    const auto mine = constants(answer, true);
    if (!of_variable || mine.size() != wanted.size()) return false;
    NodeId renamed = answer;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        renamed = substitute(arena_, renamed, mine[i], arena_.symbol(wanted[i]), budget_);
    }
    if (equal_in_value(renamed, truth)) return true;
    if (wanted.size() != 1) return false;
    const auto without = [&](NodeId node) -> std::optional<NodeId> {
        const NodeId rest = substitute(arena_, node, wanted[0], arena_.number(0), budget_);
        const std::array terms{rest, arena_.symbol(wanted[0])};
        if (!equal_in_value(node, arena_.make(Kind::sum, terms))) return std::nullopt;
        return canonical_of(rest);
    };
    const auto left = without(renamed);
    const auto right = left ? without(truth) : std::nullopt;
    return right && differ_by_constant(arena_, *left, *right, budget_) == Truth::equal;
}

}  // namespace cohort

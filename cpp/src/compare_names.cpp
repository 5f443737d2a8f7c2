// What an equation with a name stands for: x = 5 is 5, f(x) = 2x + 1 its body, S = 3 \cdot 4 = 12
// is 12, \sqrt{2} \approx 1.41 is \sqrt{2}. Every link of a chain that can be evaluated must hold.
#include <algorithm>

#include "cohort/ascii.h"
#include "cohort/canonical.h"
#include "cohort/evaluate.h"
#include "matcher.h"
#include "tree.h"

namespace cohort {
namespace {

bool is_capital(const Arena& arena, NodeId node) {
    return arena.is(node, Kind::symbol) && is_upper(arena.name(node)[0]);
}

bool is_minus_one(const Arena& arena, NodeId power) {
    const NodeId exponent = arena.child(power, 1);
    return arena.is(exponent, Kind::number) && arena.value(exponent) == Rational(-1);
}

bool is_equation(const Arena& arena, NodeId node) {
    return arena.is(node, Relation::equal) || arena.is(node, Relation::approx);
}

/// Whether a name is one that equations are solved for: `x = k\pi` lists solutions, `A = k\pi` is a
/// formula.
bool is_unknown(const Arena& arena, NodeId name) {
    constexpr std::string_view kLetters = "xyztuvw";
    if (!arena.is(name, Kind::symbol)) return false;
    const std::string_view spelled = arena.name(name);
    return spelled.starts_with('\\') || kLetters.find(spelled.front()) != std::string_view::npos;
}

/// A usual name of an integer: `n = 3k` lists the multiples of 3.
bool is_integer_name(const Arena& arena, NodeId name) {
    if (!arena.is(name, Kind::symbol) || arena.name(name).size() != 1) return false;
    return is_one_of(arena.name(name)[0], "mnN");
}

}  // namespace

bool Matcher::is_name(NodeId node) {
    const std::span<const NodeId> children = arena_.children(node);
    switch (arena_.at(node).kind) {
        case Kind::symbol:
        case Kind::word:
        case Kind::apply: return true;
        case Kind::constant: return arena_.is(node, Constant::e);  // an eccentricity
        case Kind::product:  // a segment, or a quotient of two
            return std::ranges::all_of(children, [&](NodeId c) {
                const bool below = arena_.is(c, Kind::power) && is_minus_one(arena_, c);
                const NodeId segment = below ? arena_.child(c, 0) : c;
                return is_capital(arena_, segment) || arena_.is(segment, Kind::word) ||  // NO
                       (arena_.is(segment, Kind::product) && is_name(segment));
            });
        case Kind::ratio:
            return std::ranges::all_of(children, [&](NodeId c) { return is_name(c); });
        case Kind::tuple:
        case Kind::list:
            return !children.empty() && std::ranges::all_of(children, [&](NodeId c) {
                return arena_.is(c, Kind::symbol);
            });
        default: return false;
    }
}

std::optional<Named> Matcher::named(NodeId node) {
    if (arena_.is(node, Kind::relation)) return named_relation(node);
    if (arena_.is(node, Kind::all)) return named_chain(node);
    if (arena_.is(node, Kind::list)) return named_list(node);
    return std::nullopt;
}

std::optional<Named> Matcher::named_relation(NodeId node) {
    const NodeId left = arena_.child(node, 0);
    const NodeId right = arena_.child(node, 1);
    if (arena_.is(node, Relation::maps_to)) {  // 6 \to 5 is a limit, a step, anything
        if (free_symbols(arena_, left, budget_).empty()) return std::nullopt;
        return Named{std::nullopt, right};
    }
    if (arena_.is(node, Relation::in)) {
        if (!is_name(left) || is_region(right)) return std::nullopt;
        return Named{left, right};
    }

    if (!is_equation(arena_, node)) return std::nullopt;
    for (const auto& [name, value] : {std::pair{left, right}, std::pair{right, left}}) {
        if (!is_name(name) || (name == right && is_name(left))) continue;
        const bool inside = any_node(arena_, value, budget_, [&, one = name](NodeId part) {
            return identical(arena_, part, one);
        });
        if (!inside) return Named{name, value};
    }
    if (arena_.is(node, Relation::approx)) {
        if (!agrees(left, right)) return std::nullopt;
        return Named{std::nullopt, left};
    }
    const auto value = calculated(left, right);
    if (!value) return std::nullopt;
    return Named{std::nullopt, *value};
}

std::optional<Named> Matcher::named_chain(NodeId node) {
    const std::vector<NodeId> links = children_of(arena_, node);
    if (links.empty()) return std::nullopt;
    for (std::size_t i = 0; i < links.size(); ++i) {
        if (!is_equation(arena_, links[i])) return std::nullopt;
        const bool joined =
            i == 0 || identical(arena_, arena_.child(links[i - 1], 1), arena_.child(links[i], 0));
        if (!joined) return std::nullopt;
    }
    auto result = named_relation(links[0]);
    if (!result) return std::nullopt;
    for (std::size_t i = 1; i < links.size(); ++i) {
        const NodeId left = arena_.child(links[i], 0);
        const NodeId right = arena_.child(links[i], 1);
        if (arena_.is(links[i], Relation::approx)) {
            if (!agrees(left, right)) return std::nullopt;
            continue;  // what stands before the approximation is the value
        }
        const bool another_name = is_name(left) && result->name;
        const auto value = another_name ? std::optional(right) : calculated(left, right);
        if (!value) return std::nullopt;
        result->value = *value;
    }
    return result;
}

/// The right side when the left one has the same value, as in 12 + 33 = 45. A limit or an integral
/// that cannot be evaluated is believed; an equation to be solved is none.
std::optional<NodeId> Matcher::calculated(NodeId left, NodeId right) {
    const NodeId first = canonical_of(left);
    const NodeId second = canonical_of(right);
    switch (equal_values(arena_, first, second, budget_)) {
        case Truth::equal: return right;
        case Truth::different: {
            const auto decimal_right = decimal(right);
            const bool rounded = decimal_right && shows(left, *decimal_right);
            return rounded ? std::optional(right) : std::nullopt;
        }
        case Truth::unknown: break;
    }
    const bool open =
        any_node(arena_, left, budget_, [&](NodeId part) { return arena_.is(part, Kind::big); });
    return open && free_symbols(arena_, left, budget_).empty() ? std::optional(right)
                                                               : std::nullopt;
}

bool Matcher::agrees(NodeId exact, NodeId approximation) {
    if (arena_.is(approximation, Kind::percent)) {
        approximation = scaled(arena_.child(approximation, 0), *Rational::of(1, 100));
    }
    auto shown = decimal(approximation);
    if (!shown && arena_.is(approximation, Kind::number)) {
        shown = Decimal{arena_.value(approximation), 0};
    }
    if (!shown || !free_symbols(arena_, exact, budget_).empty()) return true;
    const bool real = order(arena_, canonical_of(exact), arena_.number(0), budget_).has_value();
    return !real || shows(exact, *shown);
}

bool Matcher::same_name(NodeId answer, NodeId truth) {
    return identical(arena_, answer, truth) ||
           identical(arena_, canonical_of(answer), canonical_of(truth));
}

bool Matcher::same_named(const Named& answer, const Named& truth) {
    if (arena_.is(*truth.name, Kind::apply) && arena_.at(*truth.name).count == 2) {
        const NodeId parameter = arena_.child(*truth.name, 1);
        const bool function = arena_.is(*answer.name, Kind::apply);
        if (function && !same_name(arena_.child(*answer.name, 0), arena_.child(*truth.name, 0))) {
            return false;
        }
        const auto body = function_body(answer, parameter);
        return body && same(*body, truth.value);
    }
    if (arena_.is(*answer.name, Kind::apply)) {
        const bool graph = arena_.is(*truth.name, Kind::symbol) && arena_.name(*truth.name) == "y";
        return graph && same(answer.value, truth.value);
    }
    if (!same_name(*answer.name, *truth.name)) return false;
    const bool unknown = is_unknown(arena_, *truth.name);
    ++in_named_;
    const bool integer = is_integer_name(arena_, *truth.name);
    in_unknown_ += unknown ? 1 : 0;
    in_integer_ += integer ? 1 : 0;
    const bool equal = same(answer.value, truth.value);
    in_unknown_ -= unknown ? 1 : 0;
    in_integer_ -= integer ? 1 : 0;
    --in_named_;
    return equal;
}

/// The value with the truth's parameter in place of its own; `y` is a function of anything.
std::optional<NodeId> Matcher::function_body(const Named& named, NodeId parameter) {
    const NodeId name = *named.name;
    if (arena_.is(name, Kind::symbol)) {
        return arena_.name(name) == "y" ? std::optional(named.value) : std::nullopt;
    }
    if (!arena_.is(name, Kind::apply) || arena_.at(name).count != 2) return std::nullopt;
    const NodeId own = arena_.child(name, 1);
    if (arena_.is(own, Kind::symbol) && arena_.is(parameter, Kind::symbol)) {
        const std::string own_name(arena_.name(own));
        const bool other = own_name != arena_.name(parameter);
        // f(y) = x^2 does not depend on y.
        const bool taken = other && any_node(arena_, named.value, budget_, [&](NodeId part) {
                               return identical(arena_, part, parameter);
                           });
        if (taken) return std::nullopt;
        return substitute(arena_, named.value, own_name, parameter, budget_);
    }
    if (!equal_in_value(own, parameter)) return std::nullopt;
    return named.value;
}

}  // namespace cohort

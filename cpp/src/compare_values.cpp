// Numbers and expressions: exact equality, rounding, percent, units, bases.
#include <array>
#include <string>

#include "cohort/canonical.h"
#include "cohort/evaluate.h"
#include "cohort/units.h"
#include "matcher.h"
#include "tree.h"

namespace cohort {
namespace {

/// A truth of fewer significant digits is no rounding (0.45 is not 0.5), nor is a whole one (18.0).
constexpr std::size_t kMinRoundedDigits = 2;
/// What has one digit more is another number, as 1.49 for 1.5, unless it goes on behind a truth of
/// so many: 33.33 for 33.3.
constexpr std::size_t kContinuedDigits = 3;

std::size_t significant_digits(const Decimal& decimal, Budget& budget) {
    const auto scale = Rational::power(10, decimal.shown, budget);
    const std::string digits = (decimal.value * *scale).numerator().to_string();
    return digits.size() - (digits.starts_with('-') ? 1 : 0);
}

Rational magnitude(const Rational& value) { return value.sign() < 0 ? -value : value; }

}  // namespace

NodeId Matcher::canonical_of(NodeId node) {
    if (canonical_.size() <= node) canonical_.resize(node + 1, 0);
    if (canonical_[node] == 0) {
        const NodeId made = canonical(arena_, node, budget_);
        canonical_[node] = made + 1;
    }
    return canonical_[node] - 1;
}

bool Matcher::equal_in_value(NodeId a, NodeId b) {
    const NodeId first = canonical_of(a);
    const NodeId second = canonical_of(b);
    if (identical(arena_, first, second)) return true;
    return equal_values(arena_, first, second, budget_) == Truth::equal;
}

bool Matcher::same_value(NodeId answer, NodeId truth) {
    if (arena_.is(answer, Kind::based) || arena_.is(truth, Kind::based)) {
        return same_based(answer, truth);
    }
    return same_measure(answer, truth) || same_family(answer, truth) ||
           same_up_to_constant(answer, truth);
}

bool Matcher::same_based(NodeId answer, NodeId truth) {
    // Digits in a base that the truth names need that base: 1358 does not say 2516 in base 8.
    if (!arena_.is(answer, Kind::based)) return false;
    const NodeId value = arena_.child(answer, 0);
    if (!arena_.is(truth, Kind::based)) return same_plain(value, truth);
    return arena_.at(answer).index == arena_.at(truth).index &&
           equal_in_value(value, arena_.child(truth, 0));
}

// units

std::optional<std::string> Matcher::unit_of(NodeId node) {
    budget_.spend();
    if (arena_.is(node, Kind::degree)) return "degree";
    if (arena_.is(node, Kind::quantity)) {
        if (arena_.at(node).flag) return unit_of(arena_.child(node, 0));
        return std::string(arena_.name(node));
    }
    const bool product = arena_.is(node, Kind::product);
    if (!product && !arena_.is(node, Kind::sum)) return std::nullopt;
    std::optional<std::string> unit;
    for (std::size_t i = 0; i < arena_.at(node).count; ++i) {
        auto part = unit_of(arena_.child(node, i));
        if (product && unit && part) return std::nullopt;
        if (!product && (!part || (unit && !conversion(*part, *unit, budget_)))) {
            return std::nullopt;
        }
        if (part && !unit) unit = std::move(part);
    }
    return unit;
}

std::optional<NodeId> Matcher::without_unit(NodeId node, std::string_view target) {
    budget_.spend();
    const bool degree = arena_.is(node, Kind::degree);
    if (degree && target == "radian") return node;
    if (arena_.is(node, Kind::quantity) && arena_.at(node).flag) {
        return without_unit(arena_.child(node, 0), target);
    }
    if (degree || arena_.is(node, Kind::quantity)) {
        const std::string_view unit = degree ? "degree" : arena_.name(node);
        const auto factor = conversion(unit, target, budget_);
        if (!factor) return std::nullopt;
        return scaled(arena_.child(node, 0), *factor);
    }
    if (!arena_.is(node, Kind::product) && !arena_.is(node, Kind::sum)) return node;
    std::vector<NodeId> parts = children_of(arena_, node);
    for (NodeId& part : parts) {
        const auto bare = without_unit(part, target);
        if (!bare) return std::nullopt;
        part = *bare;
    }
    if (parts.size() == 2 && arena_.is(node, Kind::product) && arena_.is(parts[0], Kind::number) &&
        arena_.value(parts[0]) == Rational(-1)) {
        return arena_.negative(parts[1]);
    }
    return with_children(arena_, node, parts);
}

NodeId Matcher::scaled(NodeId node, const Rational& factor) {
    if (factor == Rational(1)) return node;
    if (!arena_.is(node, Kind::number)) {
        return arena_.make(Kind::product, std::array{arena_.number(factor), node});
    }
    // A power of ten moves the point, so that as many digits are shown as before.
    int shown = arena_.at(node).shown;
    Rational power = factor;
    for (int i = 0; shown >= 0 && power < Rational(1) && i < 12; ++i) {
        power = power * Rational(10);
        ++shown;
    }
    const bool moved = power == Rational(1);
    return arena_.number(arena_.value(node) * factor, moved ? shown : -1);
}

bool Matcher::same_measure(NodeId answer, NodeId truth) {
    const auto mine = unit_of(answer);
    const auto wanted = unit_of(truth);
    if (!mine && !wanted) return same_percent(answer, truth);
    if (mine && wanted && policy_.units == Policy::Units::same && *mine != *wanted) return false;
    if (!mine && policy_.units == Policy::Units::required) return false;
    if (arena_.is(mine ? truth : answer, Kind::percent)) return false;  // $5 are not 5%
    // 45 degrees are pi/4; a number without a unit is meant in the truth's unit.
    const bool angle = (mine ? *mine : *wanted) == "degree";
    if (angle && !(mine && wanted) && equal_in_value(answer, truth)) return true;
    const bool radians = mine == "radian" || wanted == "radian";
    const std::string unit = radians ? "radian" : wanted.value_or(mine.value_or(""));
    const auto left = without_unit(answer, unit);
    const auto right = without_unit(truth, unit);
    return left && right && same_percent(*left, *right);
}

// percent

bool Matcher::same_percent(NodeId answer, NodeId truth) {
    const bool mine = arena_.is(answer, Kind::percent);
    const bool wanted = arena_.is(truth, Kind::percent);
    if (!mine && !wanted) return same_plain(answer, truth);
    const NodeId left = mine ? arena_.child(answer, 0) : answer;
    const NodeId right = wanted ? arena_.child(truth, 0) : truth;
    if (mine && wanted) return same_plain(left, right);
    const Rational hundredth = *Rational::of(1, 100);
    const bool equal_share = mine ? same_plain(scaled(left, hundredth), right)
                                  : same_plain(left, scaled(right, hundredth));
    if (equal_share || policy_.percent == Policy::Percent::exact) return equal_share;
    if (mine) {
        // A truth below 1 without a mark is a share: 0.25 is not 0.25 %.
        const auto above = order(arena_, canonical_of(right), arena_.number(1), budget_);
        const auto below = order(arena_, canonical_of(right), arena_.number(-1), budget_);
        if (!above || !below || (*above < 0 && *below > 0)) return false;
    }
    return same_plain(left, right);
}

// decimals

bool Matcher::same_plain(NodeId answer, NodeId truth) {
    const bool numbers = arena_.is(answer, Kind::number) && arena_.is(truth, Kind::number);
    if (numbers && arena_.value(answer) == arena_.value(truth)) return true;
    if (!numbers && equal_in_value(answer, truth)) return true;
    return policy_.decimals == Policy::Decimals::rounded && same_decimal(answer, truth);
}

bool Matcher::same_decimal(NodeId answer, NodeId truth) {
    if (const auto wanted = decimal(truth)) {
        return !wanted->value.is_integer() &&
               significant_digits(*wanted, budget_) >= kMinRoundedDigits &&
               has_more_digits(answer, *wanted) && rounds_to(answer, *wanted);
    }
    const auto mine = decimal(answer);
    return mine && mine->shown > 0 && significant_digits(*mine, budget_) >= policy_.digits &&
           shows(truth, *mine);
}

std::optional<Decimal> Matcher::decimal(NodeId node) {
    if (arena_.is(node, Kind::number)) {
        if (arena_.at(node).shown <= 0) return std::nullopt;
        return Decimal{arena_.value(node), arena_.at(node).shown};
    }
    if (!arena_.is(node, Kind::product) || arena_.at(node).count != 2) return std::nullopt;
    const NodeId digits = arena_.child(node, 0);
    const NodeId power = arena_.child(node, 1);
    if (!arena_.is(digits, Kind::number) || arena_.at(digits).shown <= 0) return std::nullopt;
    if (!arena_.is(power, Kind::power)) return std::nullopt;
    const NodeId base = arena_.child(power, 0);
    const auto exponent = exact_value(arena_, arena_.child(power, 1), budget_);
    const bool ten = arena_.is(base, Kind::number) && arena_.value(base) == Rational(10);
    if (!ten || !exponent || !exponent->is_integer()) return std::nullopt;
    const auto places = exponent->numerator().to_int64();
    if (!places || *places < -300 || *places > 300) return std::nullopt;
    const auto scale = Rational::power(10, exponent->numerator(), budget_);
    const int shown = arena_.at(digits).shown - static_cast<int>(*places);
    return Decimal{arena_.value(digits) * *scale, shown};
}

/// Whether a value has clearly more digits than the decimal that may be its rounding.
bool Matcher::has_more_digits(NodeId exact, const Decimal& decimal) {
    const auto value = exact_value(arena_, canonical_of(exact), budget_);
    const auto scale = Rational::power(10, decimal.shown + 1, budget_);
    if (!value || !(*value * *scale).is_integer()) return true;
    return significant_digits(decimal, budget_) >= kContinuedDigits &&
           magnitude(*value) > magnitude(decimal.value);
}

/// Whether the decimal is the rounding of the value, half away from zero.
bool Matcher::rounds_to(NodeId exact, const Decimal& decimal) {
    const NodeId node = canonical_of(exact);
    if (const auto value = exact_value(arena_, node, budget_)) {
        const Rational half = *Rational::power(10, -decimal.shown, budget_) * *Rational::of(1, 2);
        const Rational distance = magnitude(*value - decimal.value);
        const bool up = magnitude(decimal.value) > magnitude(*value);
        return distance < half || (up && distance == half);
    }
    if (decimal.shown < 0) return false;
    return within_digits(arena_, node, decimal.value, decimal.shown, 0.5, budget_).value_or(false);
}

/// Whether the decimal is the rounding of the value, or its digits cut off.
bool Matcher::shows(NodeId exact, const Decimal& decimal) {
    if (rounds_to(exact, decimal)) return true;
    const NodeId node = canonical_of(exact);
    const auto side = order(arena_, node, arena_.number(decimal.value), budget_);
    if (!side || *side != (decimal.value.sign() < 0 ? -1 : 1)) return false;
    if (const auto value = exact_value(arena_, node, budget_)) {
        const Rational unit = *Rational::power(10, -decimal.shown, budget_);
        return magnitude(*value - decimal.value) < unit;
    }
    if (decimal.shown < 0) return false;
    return within_digits(arena_, node, decimal.value, decimal.shown, 1.0, budget_).value_or(false);
}

// roots

NodeId Matcher::principal(NodeId node) {
    budget_.spend();
    if (arena_.at(node).count == 0) return node;
    std::vector<NodeId> children = children_of(arena_, node);
    bool changed = false;
    for (NodeId& child : children) {
        const NodeId made = principal(child);
        changed = changed || made != child;
        child = made;
    }
    if (arena_.is(node, Kind::power)) {
        const auto exponent = exact_value(arena_, children[1], budget_);
        const bool root = exponent && !exponent->is_integer() && exponent->denominator().is_odd();
        const auto sign = root ? order(arena_, canonical_of(children[0]), arena_.number(0), budget_)
                               : std::nullopt;
        if (sign && *sign < 0) {
            const std::array angle{arena_.number(*exponent), arena_.constant(Constant::pi)};
            const std::array turn{arena_.make(Kind::product, angle)};
            const std::array size{arena_.negative(children[0]), children[1]};
            const std::array parts{arena_.make(Kind::power, size),
                                   arena_.call(Function::cis, turn)};
            return arena_.make(Kind::product, parts);
        }
    }
    return changed ? with_children(arena_, node, children) : node;
}

}  // namespace cohort

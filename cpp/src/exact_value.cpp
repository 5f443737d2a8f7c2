#include "exact_value.h"

#include <algorithm>

#include "cohort/evaluate.h"

namespace cohort {
namespace {

using Exact = std::optional<Rational>;

std::size_t size_of(const Rational& value) {
    return std::max(value.numerator().bits(), value.denominator().bits());
}

/// Pays for an operation on values of these sizes; false when they are too large for it.
bool afford(const Rational& a, const Rational& b, Budget& budget) {
    const std::size_t left = size_of(a);
    const std::size_t right = size_of(b);
    if (std::max(left, right) > kExactBits) return false;
    const auto words_a = static_cast<std::int64_t>(left / 32 + 1);
    const auto words_b = static_cast<std::int64_t>(right / 32 + 1);
    // Fractions are brought to lowest terms, which costs more than their product.
    const bool whole = a.is_integer() && b.is_integer();
    const std::int64_t most = std::max(words_a, words_b);
    budget.spend(whole ? 6 + most / 2 + words_a * words_b / 2 : 12 + 4 * most * most + 24 * most);
    return true;
}

Exact small_enough(Rational value) {
    if (size_of(value) > kExactBits) return std::nullopt;
    return value;
}

std::optional<std::int64_t> count_of(const Rational& value, std::int64_t most) {
    const auto count = value.is_integer() ? value.numerator().to_int64() : std::nullopt;
    return count && *count >= 0 && *count <= most ? count : std::nullopt;
}

/// n (n - step) (n - 2 step) ... down to a positive number; larger ones have too many bits.
Exact factorial(const Rational& value, std::int64_t step, Budget& budget) {
    constexpr std::int64_t most = 550;
    const auto n = count_of(value, most * step);
    if (!n) return std::nullopt;
    Rational product(1);
    for (std::int64_t i = *n; i > 1; i -= step) {
        if (!afford(product, Rational(i), budget)) return std::nullopt;
        product = product * Rational(i);
    }
    return small_enough(std::move(product));
}

/// n (n - 1) ... (n - k + 1), divided by k! for combinations.
Exact choices(const Rational& n, const Rational& k, bool ordered, Budget& budget) {
    constexpr std::int64_t most = 300;
    if (!n.is_integer() || !k.is_integer()) return std::nullopt;
    if (k.sign() < 0 || (n.sign() >= 0 && k > n)) return Rational(0);
    const bool mirrored = !ordered && n.sign() > 0 && k + k > n;
    const auto count = count_of(mirrored ? n - k : k, most);
    if (!count) return std::nullopt;
    Rational chosen(1);
    for (std::int64_t i = 0; i < *count; ++i) {
        const Rational factor = n - Rational(i);
        if (!afford(chosen, factor, budget)) return std::nullopt;
        chosen = chosen * factor;
        if (ordered) continue;
        // A product of i + 1 integers in a row is a multiple of (i + 1)!.
        chosen = Rational(Integer::divide(chosen.numerator(), Integer(i + 1)).quotient);
    }
    return small_enough(std::move(chosen));
}

Integer floor_of(const Rational& value) {
    const auto [quotient, rest] = Integer::divide(value.numerator(), value.denominator());
    return rest.sign() < 0 ? quotient - Integer(1) : quotient;
}

Exact common_divisor(const Rational& a, const Rational& b, bool least_multiple) {
    if (!a.is_integer() || !b.is_integer()) return std::nullopt;
    const Integer divisor = Integer::gcd(a.numerator(), b.numerator());
    if (!least_multiple || divisor.is_zero()) return Rational(divisor);
    const Integer part = Integer::divide(a.numerator(), divisor).quotient;
    const Rational multiple(part * b.numerator());
    return multiple.sign() < 0 ? -multiple : multiple;
}

Exact remainder(const Rational& value, const Rational& modulus) {
    const auto inverse = modulus.inverse();
    if (!inverse) return std::nullopt;
    return value - modulus * Rational(floor_of(value * *inverse));
}

/// The exponent to which `base` gives `value`, when it is a small integer or its inverse.
Exact logarithm(const Rational& value, const Rational& base, Budget& budget) {
    if (value.sign() <= 0 || base.sign() <= 0 || base == Rational(1)) return std::nullopt;
    if (value == Rational(1)) return Rational(0);
    Rational power(1);
    const Rational above = *value.inverse();
    for (std::int64_t n = 1; size_of(power) <= std::max(size_of(value), size_of(base)); ++n) {
        if (!afford(power, base, budget)) return std::nullopt;
        power = power * base;
        if (power == value) return Rational(n);
        if (power == above) return Rational(-n);
    }
    return std::nullopt;
}

Exact of_one(Function function, const Rational& x, Budget& budget) {
    using enum Function;
    switch (function) {
        case abs: return x.sign() < 0 ? -x : x;
        case floor: return Rational(floor_of(x));
        case ceil: return -Rational(floor_of(-x));
        case sign: return Rational(x.sign());
        case factorial: return cohort::factorial(x, 1, budget);
        case double_factorial: return cohort::factorial(x, 2, budget);
        case re:
        case conj: return x;
        case im: return Rational(0);
        case sin:
        case tan:
        case arcsin:
        case arctan:
        case sinh:
        case tanh:
        case arsinh:
        case artanh: return x.is_zero() ? Exact(x) : std::nullopt;
        case cos:
        case sec:
        case cosh:
        case sech:
        case exp:
        case cis: return x.is_zero() ? Exact(Rational(1)) : std::nullopt;
        case ln:
        case arccos:
        case arcosh: return x == Rational(1) ? Exact(Rational(0)) : std::nullopt;
        case arg: return x.sign() > 0 ? Exact(Rational(0)) : std::nullopt;
        default: return std::nullopt;
    }
}

Exact of_two(Function function, const Rational& x, const Rational& y, Budget& budget) {
    if (!afford(x, y, budget)) return std::nullopt;
    using enum Function;
    switch (function) {
        case log: return logarithm(x, y, budget);
        case binomial: return choices(x, y, false, budget);
        case permutations: return choices(x, y, true, budget);
        case gcd: return common_divisor(x, y, false);
        case lcm: return common_divisor(x, y, true);
        case max: return std::max(x, y);
        case min: return std::min(x, y);
        case modulo: return remainder(x, y);
        default: return std::nullopt;
    }
}

bool takes_many(Function function) {
    using enum Function;
    return function == gcd || function == lcm || function == max || function == min;
}

}  // namespace

const Rational* find(const Scope& scope, std::string_view name) {
    for (std::size_t i = scope.size(); i-- > 0;) {
        if (scope[i].first == name) return &scope[i].second;
    }
    return nullptr;
}

Exact exact_sum(const Rational& a, const Rational& b, Budget& budget) {
    if (!afford(a, b, budget)) return std::nullopt;
    return small_enough(a + b);
}

Exact exact_product(const Rational& a, const Rational& b, Budget& budget) {
    if (!afford(a, b, budget)) return std::nullopt;
    return small_enough(a * b);
}

Exact exact_power(const Rational& base, const Rational& exponent, Branch branch, Budget& budget) {
    if (base.is_zero() || base == Rational(1)) {
        if (base.is_zero() && exponent.sign() <= 0) return std::nullopt;
        return base;
    }
    if (!afford(base, exponent, budget)) return std::nullopt;
    Rational root = base;
    if (!exponent.is_integer()) {
        const auto n = exponent.denominator().to_int64();
        if (!n || *n > kMaxExponent || (base.sign() < 0 && branch == Branch::principal)) {
            return std::nullopt;
        }
        const auto words = static_cast<std::int64_t>(size_of(base) / 32 + 1);
        budget.spend(100 + 8 * words * words);
        const auto top = Integer::exact_root(base.numerator(), static_cast<unsigned>(*n));
        const auto bottom = Integer::exact_root(base.denominator(), static_cast<unsigned>(*n));
        if (!top || !bottom) return std::nullopt;
        root = *Rational::of(*top, *bottom);
    }
    if (size_of(root) > 1) {
        const auto count = exponent.numerator().to_int64();
        const std::size_t most = kExactBits / (size_of(root) - 1);
        if (!count || std::max(*count, -*count) > static_cast<std::int64_t>(most)) {
            return std::nullopt;
        }
    }
    const Exact power = Rational::power(root, exponent.numerator(), budget);
    return power ? small_enough(*power) : std::nullopt;
}

Exact exact_call(Function function, std::span<const Rational> arguments, Budget& budget) {
    budget.spend(8);
    if (arguments.size() == 1) {
        return takes_many(function) ? arguments[0] : of_one(function, arguments[0], budget);
    }
    if (arguments.size() == 2) return of_two(function, arguments[0], arguments[1], budget);
    if (arguments.size() < 2 || !takes_many(function)) return std::nullopt;
    Exact value(arguments[0]);
    for (const Rational& next : arguments.subspan(1)) {
        if (value) value = of_two(function, *value, next, budget);
    }
    return value;
}

std::optional<Bounds> bounds_of(const Exact& lower, const Exact& upper) {
    if (!lower || !upper || !lower->is_integer() || !upper->is_integer()) return std::nullopt;
    const auto first = lower->numerator().to_int64();
    const auto last = upper->numerator().to_int64();
    constexpr std::int64_t far = std::int64_t{1} << 60;
    if (!first || !last || std::max(*first, *last) > far || std::min(*first, *last) < -far) {
        return std::nullopt;
    }
    return *last - *first < kMaxTerms ? std::optional(Bounds{*first, *last}) : std::nullopt;
}

Exact ExactValues::of(NodeId id) {
    budget_.spend(4);
    const Node& node = arena_.at(id);
    switch (node.kind) {
        case Kind::number: return arena_.value(id);
        case Kind::symbol: {
            const Rational* bound = find(scope_, arena_.name(id));
            return bound ? Exact(*bound) : std::nullopt;
        }
        case Kind::sum: return folded(id, false);
        case Kind::product: return folded(id, true);
        case Kind::power: {
            const Exact exponent = of(arena_.child(id, 1));
            const Exact base = exponent ? of(arena_.child(id, 0)) : std::nullopt;
            return base ? exact_power(*base, *exponent, branch_, budget_) : std::nullopt;
        }
        case Kind::call: return called(id);
        case Kind::big: return repeated(id);
        case Kind::based: return of(arena_.child(id, 0));
        case Kind::percent: {
            const Exact value = of(arena_.child(id, 0));
            if (!value) return std::nullopt;
            return exact_product(*value, *Rational::of(Integer(1), Integer(100)), budget_);
        }
        default: return std::nullopt;
    }
}

Exact ExactValues::folded(NodeId id, bool product) {
    Exact value(Rational(product ? 1 : 0));
    for (const NodeId child : arena_.children(id)) {
        const Exact next = of(child);
        if (!next) return std::nullopt;
        value = product ? exact_product(*value, *next, budget_) : exact_sum(*value, *next, budget_);
        if (!value) return std::nullopt;
    }
    return value;
}

Exact ExactValues::called(NodeId id) {
    std::vector<Rational> arguments;
    for (const NodeId child : arena_.children(id)) {
        Exact value = of(child);
        if (!value) return std::nullopt;
        arguments.push_back(*std::move(value));
    }
    return exact_call(static_cast<Function>(arena_.at(id).code), arguments, budget_);
}

Exact ExactValues::repeated(NodeId id) {
    const Node& node = arena_.at(id);
    const bool product = node.code == static_cast<std::uint8_t>(Big::product);
    if (node.count != 4 || (!product && node.code != static_cast<std::uint8_t>(Big::sum))) {
        return std::nullopt;
    }
    const auto bounds = bounds_of(of(arena_.child(id, 2)), of(arena_.child(id, 3)));
    if (!bounds) return std::nullopt;
    Exact value(Rational(product ? 1 : 0));
    const std::size_t place = scope_.size();
    scope_.emplace_back(arena_.name(arena_.child(id, 1)), Rational(0));
    for (std::int64_t i = bounds->first; value && i <= bounds->last; ++i) {
        budget_.spend(8);
        scope_[place].second = Rational(i);
        const Exact next = of(arena_.child(id, 0));
        if (!next) value.reset();
        if (value) {
            value =
                product ? exact_product(*value, *next, budget_) : exact_sum(*value, *next, budget_);
        }
    }
    scope_.pop_back();
    return value;
}

}  // namespace cohort

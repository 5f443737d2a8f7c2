// Powers: of numbers and their roots, of products, of powers.
#include <algorithm>
#include <array>

#include "canonical_form.h"

namespace cohort {
namespace {

constexpr std::int64_t kMaxExponent = 64;
constexpr std::size_t kMaxPowerBits = 4096;  // of a power that is multiplied out
constexpr std::int64_t kMaxDegree = 16;      // of a root that is taken apart
constexpr std::int64_t kMaxTrial = 1000;     // largest factor that is tried under a root

/// value = outside^degree * inside, with no small factor left to take out of `inside`.
struct Extracted {
    std::int64_t outside = 1, inside = 1;
};

Extracted extract(std::int64_t value, std::int64_t degree, Budget& budget) {
    Extracted result{1, value};
    for (std::int64_t f = 2; f <= kMaxTrial; f += f == 2 ? 1 : 2) {
        std::int64_t block = 1;
        bool small = true;
        for (std::int64_t k = 0; k < degree && small; ++k) {
            small = block <= result.inside / f;
            block *= small ? f : 1;
        }
        if (!small) return result;  // nothing to the power of `degree` is left in it
        while (result.inside % block == 0) {
            result.inside /= block;
            result.outside *= f;
        }
    }
    budget.spend(200);
    const auto whole = Integer::exact_root(Integer(result.inside), static_cast<unsigned>(degree));
    if (whole && result.inside > 1) {
        result.outside *= *whole->to_int64();
        result.inside = 1;
    }
    return result;
}

}  // namespace

// What is known about a value

bool CanonicalForm::has_symbol(NodeId id) const {
    budget_.spend();
    if (arena_.is(id, Kind::symbol)) return true;
    return std::ranges::any_of(arena_.children(id), [&](NodeId c) { return has_symbol(c); });
}

bool CanonicalForm::is_positive(NodeId id) const {
    if (const Rational* value = number(id)) return value->sign() > 0;
    return arena_.is(id, Constant::e) || arena_.is(id, Constant::pi);
}

bool CanonicalForm::is_nonzero(NodeId id) const {
    if (const Rational* value = number(id)) return !value->is_zero();
    const auto children = arena_.children(id);
    const auto nonzero = [&](NodeId child) { return is_nonzero(child); };
    switch (arena_.at(id).kind) {
        case Kind::symbol: return true;  // at all but a few points
        case Kind::constant: return is_positive(id) || arena_.is(id, Constant::i);
        case Kind::sum: return has_symbol(id);
        case Kind::product: return std::ranges::all_of(children, nonzero);
        case Kind::power: return is_nonzero(children[0]);
        case Kind::call: return has_symbol(id);
        default: return false;
    }
}

bool CanonicalForm::is_finite(NodeId id) const {
    budget_.spend();
    const auto children = arena_.children(id);
    const auto finite = [&](NodeId child) { return is_finite(child); };
    switch (arena_.at(id).kind) {
        case Kind::number:
        case Kind::symbol: return true;
        case Kind::constant: return is_positive(id) || arena_.is(id, Constant::i);
        case Kind::sum:
        case Kind::product: return std::ranges::all_of(children, finite);
        case Kind::power: {
            const Rational* exponent = number(children[1]);
            if (!std::ranges::all_of(children, finite)) return false;
            return (exponent && exponent->sign() > 0) || is_nonzero(children[0]);
        }
        case Kind::call: return has_symbol(id) && std::ranges::all_of(children, finite);
        default: return false;
    }
}

// Powers

NodeId CanonicalForm::raw_power(NodeId base, NodeId exponent) {
    return arena_.make(Kind::power, std::array{base, exponent});
}

NodeId CanonicalForm::power(NodeId base, NodeId exponent) {
    budget_.spend(16);
    const Rational* e = number(exponent);
    if (e == nullptr) return split_exponent(base, exponent);
    if (*e == Rational(1)) return base;
    if (e->is_zero()) {
        const bool one = is_finite(base) && is_nonzero(base);
        return one ? arena_.number(1) : raw_power(base, exponent);
    }
    if (const Rational* b = number(base)) return number_power(*b, *e);
    if (e->is_integer()) return integer_power(base, exponent);
    // A positive number comes out of the root of a product.
    if (arena_.is(base, Kind::product)) {
        const auto factors = arena_.children(base);
        const Rational* first = number(factors[0]);
        const bool odd = e->denominator().is_odd();
        if (first && !first->is_zero() && (first->sign() > 0 || odd || *first != Rational(-1))) {
            const Rational outside = first->sign() > 0 || odd ? *first : -*first;
            std::vector<NodeId> rest(factors.begin() + 1, factors.end());
            if (outside.sign() != first->sign()) rest.insert(rest.begin(), arena_.number(-1));
            const NodeId inside = rest.size() == 1 ? rest[0] : arena_.make(Kind::product, rest);
            const Rational raised = *e;
            const NodeId scale = number_power(outside, raised);
            return product(std::array{scale, power(inside, exponent)});
        }
    }
    return raw_power(base, exponent);
}

/// The exponent is an integer other than 0 and 1.
NodeId CanonicalForm::integer_power(NodeId base, NodeId exponent) {
    if (arena_.is(base, Constant::i)) {
        const std::uint64_t turn = number(exponent)->numerator().modulo(4);
        const NodeId unit = turn % 2 == 0 ? arena_.number(1) : base;
        return turn < 2 ? unit : product(std::array{arena_.number(-1), unit});
    }
    if (arena_.is(base, Kind::product)) {
        const auto children = arena_.children(base);
        std::vector<NodeId> factors(children.begin(), children.end());
        for (NodeId& factor : factors) factor = power(factor, exponent);
        return product(factors);
    }
    if (arena_.is(base, Kind::power)) {
        const NodeId inner_base = arena_.child(base, 0);
        const NodeId inner = arena_.child(base, 1);
        const NodeId joined = product(std::array{inner, exponent});
        const auto even = [&](NodeId id) {
            return number(id) && !number(id)->denominator().is_odd();
        };
        // (\sqrt x)^2 is x for some x only.
        const bool wider = even(inner) && !even(joined) && !is_positive(inner_base);
        if (!wider) return power(inner_base, joined);
    }
    return raw_power(base, exponent);
}

/// Of a positive number or e: c^(2 + x) is c^2 c^x, so that equal products look equal.
NodeId CanonicalForm::split_exponent(NodeId base, NodeId exponent) {
    const Rational* b = number(base);
    if (b && *b == Rational(1) && is_finite(exponent)) return base;
    const bool splits =
        b && b->sign() > 0 && arena_.is(exponent, Kind::sum) && number(arena_.child(exponent, 0));
    if (!splits) return raw_power(base, exponent);
    const Rational part = *number(arena_.child(exponent, 0));
    const auto terms = arena_.children(exponent).subspan(1);
    const NodeId rest = terms.size() == 1 ? terms[0] : arena_.make(Kind::sum, terms);
    const NodeId scale = number_power(*b, part);
    return product(std::array{scale, raw_power(base, rest)});
}

// Numbers

NodeId CanonicalForm::number_power(const Rational& base, const Rational& exponent) {
    const auto kept = [&] { return raw_power(arena_.number(base), arena_.number(exponent)); };
    if (exponent == Rational(1)) return arena_.number(base);
    if (base == Rational(1)) return arena_.number(1);
    if (base.is_zero()) return exponent.sign() > 0 ? arena_.number(0) : kept();
    const auto degree = exponent.denominator().to_int64();
    const auto above = exponent.numerator().to_int64();
    if (!degree || !above || *degree > kMaxDegree) return kept();
    // exponent = whole + part / degree, with 0 <= part < degree
    const std::int64_t part = ((*above % *degree) + *degree) % *degree;
    const std::int64_t whole = (*above - part) / *degree;
    const std::int64_t size = std::max(whole < 0 ? -whole : whole, part);
    const std::size_t bits = std::max(base.numerator().bits(), base.denominator().bits());
    if (size > kMaxExponent || bits * static_cast<std::size_t>(size) > kMaxPowerBits) return kept();
    const Rational outside = *Rational::power(base, Integer(whole), budget_);
    if (part == 0) return arena_.number(outside);
    if (base.sign() < 0 && *degree % 2 == 0 && *degree != 2) return kept();
    const Rational inside = *Rational::power(base, Integer(part), budget_);
    return product(std::array{arena_.number(outside), root(inside, *degree)});
}

/// \sqrt[degree]{base} of a positive number: small factors come out, no root stays in a
/// denominator.
NodeId CanonicalForm::positive_root(const Rational& base, std::int64_t degree) {
    const Integer& denominator = base.denominator();
    const auto times = static_cast<std::size_t>(degree);
    if (base.numerator().bits() + denominator.bits() * times > 62) {
        const NodeId exponent = arena_.number(*Rational(degree).inverse());
        return raw_power(arena_.number(base), exponent);
    }
    // \sqrt[n]{a/b} = \sqrt[n]{a b^(n-1)} / b
    const Rational raised = *Rational::power(Rational(denominator), Integer(degree - 1), budget_);
    const Rational whole = Rational(base.numerator()) * raised;
    Extracted found = extract(*whole.numerator().to_int64(), degree, budget_);
    for (const std::int64_t d : {2, 3, 5, 7}) {  // \sqrt[4]{4} = \sqrt 2
        while (found.inside > 1 && degree % d == 0 && degree > d) {
            const auto exact = Integer::exact_root(Integer(found.inside), static_cast<unsigned>(d));
            if (!exact) break;
            found.inside = *exact->to_int64();
            degree /= d;
        }
    }
    const Rational outside = Rational(found.outside) * *Rational(denominator).inverse();
    if (found.inside == 1) return arena_.number(outside);
    const NodeId exponent = arena_.number(*Rational(degree).inverse());
    const NodeId inside = raw_power(arena_.number(found.inside), exponent);
    if (outside == Rational(1)) return inside;
    return arena_.make(Kind::product, std::array{arena_.number(outside), inside});
}

/// i comes out of the square root of a negative number; an odd root of one is negative.
NodeId CanonicalForm::root(Rational base, std::int64_t degree) {
    if (base.sign() > 0) return positive_root(base, degree);
    const NodeId node = positive_root(-base, degree);
    const bool odd = degree % 2 != 0;
    const NodeId unit = odd ? arena_.number(-1) : arena_.constant(Constant::i);
    return product(std::array{unit, node});
}

}  // namespace cohort

// Sums with like terms collected, products with like powers collected.
#include <algorithm>
#include <array>
#include <utility>

#include "canonical_form.h"

namespace cohort {
namespace {

constexpr int kMaxRounds = 8;            // of merging, each of which leaves fewer factors
constexpr std::size_t kMaxRootBits = 62;  // of a product under one root

}  // namespace

// Sums

/// `node` times a number; `node` has no coefficient of its own.
NodeId CanonicalForm::scaled(const Rational& coefficient, NodeId node) {
    if (coefficient == Rational(1)) return node;
    std::vector<NodeId> factors{arena_.number(coefficient)};
    if (arena_.is(node, Kind::product)) {
        const auto inner = arena_.children(node);
        factors.insert(factors.end(), inner.begin(), inner.end());
    } else {
        factors.push_back(node);
    }
    return arena_.make(Kind::product, factors);
}

NodeId CanonicalForm::sum(std::span<const NodeId> terms) {
    struct Term {
        Rational coefficient;
        NodeId rest;
    };
    std::vector<Term> list;
    Rational constant;
    const auto add = [&](NodeId term) {
        budget_.spend(16);
        if (const Rational* value = number(term)) {
            constant = constant + *value;
            return;
        }
        const auto factors = arena_.children(term);
        const bool scaled_term = arena_.is(term, Kind::product) && number(factors[0]);
        if (!scaled_term) {
            list.push_back({1, term});
            return;
        }
        const Rational coefficient = *number(factors[0]);
        const NodeId rest = factors.size() == 2
                                ? factors[1]
                                : arena_.make(Kind::product, factors.subspan(1));
        list.push_back({coefficient, rest});
    };
    for (const NodeId term : terms) {
        if (!arena_.is(term, Kind::sum)) {
            add(term);
            continue;
        }
        for (std::size_t i = 0; i < arena_.at(term).count; ++i) add(arena_.child(term, i));
    }
    std::ranges::sort(list, [&](const Term& a, const Term& b) {
        return structural_order(arena_, a.rest, b.rest) < 0;
    });
    std::vector<NodeId> result;
    if (!constant.is_zero()) result.push_back(arena_.number(constant));
    for (std::size_t i = 0; i < list.size();) {
        Rational coefficient;
        std::size_t k = i;
        for (; k < list.size() && identical(arena_, list[i].rest, list[k].rest); ++k) {
            coefficient = coefficient + list[k].coefficient;
        }
        // Infinity minus infinity is not nothing.
        const bool gone = coefficient.is_zero() && is_finite(list[i].rest);
        if (!gone) result.push_back(scaled(coefficient, list[i].rest));
        i = k;
    }
    if (result.empty()) return arena_.number(0);
    return result.size() == 1 ? result[0] : arena_.make(Kind::sum, result);
}

// Products

NodeId CanonicalForm::base_of(NodeId factor) const {
    return arena_.is(factor, Kind::power) ? arena_.child(factor, 0) : factor;
}

NodeId CanonicalForm::exponent_of(NodeId factor) {
    return arena_.is(factor, Kind::power) ? arena_.child(factor, 1) : arena_.number(1);
}

void CanonicalForm::gather(NodeId node, Rational& coefficient, std::vector<NodeId>& factors) {
    budget_.spend(16);
    if (const Rational* value = number(node)) {
        coefficient = coefficient * *value;
    } else if (arena_.is(node, Kind::product)) {
        for (std::size_t i = 0; i < arena_.at(node).count; ++i) {
            gather(arena_.child(node, i), coefficient, factors);
        }
    } else {
        factors.push_back(node);
    }
}

/// Whether base^left base^right is base^(left + right) with no larger domain: \sqrt x \sqrt x is
/// not x for a negative x.
bool CanonicalForm::may_merge(NodeId base, NodeId left, NodeId right) const {
    if (is_positive(base)) return true;
    const Rational* a = number(left);
    const Rational* b = number(right);
    if (a == nullptr || b == nullptr) return true;
    const auto even = [](const Rational& value) { return !value.denominator().is_odd(); };
    return (!even(*a) && !even(*b)) || even(*a + *b);
}

/// Powers of one base become one; whether any did.
bool CanonicalForm::merge_powers(Rational& coefficient, std::vector<NodeId>& factors) {
    struct Factor {
        NodeId base, exponent, node;
    };
    std::vector<Factor> list;
    list.reserve(factors.size());
    for (const NodeId factor : factors) {
        list.push_back({base_of(factor), exponent_of(factor), factor});
    }
    std::ranges::sort(list, [&](const Factor& a, const Factor& b) {
        const int order = structural_order(arena_, a.base, b.base);
        return order != 0 ? order < 0 : structural_order(arena_, a.exponent, b.exponent) < 0;
    });
    factors.clear();
    bool merged = false;
    for (std::size_t i = 0; i < list.size();) {
        std::vector<NodeId> exponents{list[i].exponent};
        NodeId exponent = list[i].exponent;
        const NodeId base = list[i].base;
        const bool is_root = number(base) && number(exponent);
        std::size_t k = i + 1;
        while (!is_root && k < list.size() && identical(arena_, base, list[k].base) &&
               may_merge(base, exponent, list[k].exponent)) {
            exponents.push_back(list[k].exponent);
            exponent = sum(std::array{exponent, list[k].exponent});
            ++k;
        }
        if (exponents.size() == 1) {
            factors.push_back(list[i].node);
        } else {
            gather(power(base, exponent), coefficient, factors);
            merged = true;
        }
        i = k;
    }
    return merged;
}

/// Roots of numbers with one degree become one root; whether any did.
bool CanonicalForm::merge_roots(Rational& coefficient, std::vector<NodeId>& factors) {
    struct Root {
        std::int64_t degree;
        NodeId node;
    };
    std::vector<Root> roots;
    for (const NodeId factor : factors) {
        if (!arena_.is(factor, Kind::power)) continue;
        const Rational* base = number(arena_.child(factor, 0));
        const Rational* exponent = number(arena_.child(factor, 1));
        const bool root = base && exponent && base->sign() > 0 && base->is_integer() &&
                          exponent->numerator() == Integer(1) && !exponent->is_integer();
        if (!root) continue;
        if (const auto degree = exponent->denominator().to_int64()) {
            roots.push_back({*degree, factor});
        }
    }
    std::ranges::stable_sort(roots, {}, &Root::degree);
    bool merged = false;
    for (std::size_t i = 0; i + 1 < roots.size(); ++i) {
        Root& next = roots[i + 1];
        if (roots[i].degree != next.degree) continue;
        const Rational product = arena_.value(base_of(roots[i].node)) *
                                 arena_.value(base_of(next.node));
        if (product.numerator().bits() > kMaxRootBits) continue;
        std::erase(factors, roots[i].node);
        std::erase(factors, next.node);
        const NodeId joined = root(product, next.degree);
        const std::size_t count = factors.size();
        gather(joined, coefficient, factors);
        merged = true;
        const bool still_root = factors.size() == count + 1 &&
                                arena_.is(factors.back(), Kind::power) &&
                                number(arena_.child(factors.back(), 1)) &&
                                *number(arena_.child(factors.back(), 1)) ==
                                    *Rational(next.degree).inverse();
        if (!still_root) return true;  // the next round goes on
        next.node = factors.back();
    }
    return merged;
}

NodeId CanonicalForm::product(std::span<const NodeId> children) {
    Rational coefficient(1);
    std::vector<NodeId> factors;
    for (const NodeId child : children) gather(child, coefficient, factors);
    for (int round = 0; round < kMaxRounds; ++round) {
        const bool roots = factors.size() > 1 && merge_roots(coefficient, factors);
        const bool powers = factors.size() > 1 && merge_powers(coefficient, factors);
        if (!roots && !powers) break;
    }
    std::ranges::sort(factors, [&](NodeId a, NodeId b) {
        return structural_order(arena_, a, b) < 0;
    });
    const bool nothing = coefficient.is_zero() &&
                         std::ranges::all_of(factors, [&](NodeId f) { return is_finite(f); });
    if (nothing || factors.empty()) return arena_.number(coefficient);
    if (coefficient == Rational(1) && factors.size() == 1) return factors[0];
    // A number times a sum is the sum of its multiples: -(a - b) is b - a.
    if (factors.size() == 1 && arena_.is(factors[0], Kind::sum) && !coefficient.is_zero()) {
        std::vector<NodeId> terms;
        for (std::size_t i = 0; i < arena_.at(factors[0]).count; ++i) {
            terms.push_back(product(std::array{arena_.number(coefficient), arena_.child(factors[0], i)}));
        }
        return sum(terms);
    }
    if (coefficient != Rational(1)) factors.insert(factors.begin(), arena_.number(coefficient));
    return arena_.make(Kind::product, factors);
}

}  // namespace cohort

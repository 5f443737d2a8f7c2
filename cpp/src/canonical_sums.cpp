// Sums with like terms collected, products with like powers collected.
#include <algorithm>
#include <array>
#include <utility>

#include "canonical_form.h"

namespace cohort {
namespace {

constexpr int kMaxRounds = 8;             // of merging, each of which leaves fewer factors
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

/// A term as a number and what it multiplies; a number is a part of the constant.
void CanonicalForm::add_term(NodeId term, Rational& constant, std::vector<Term>& terms) {
    budget_.spend(16);
    if (const Rational* value = number(term)) {
        constant = constant + *value;
        return;
    }
    const auto factors = arena_.children(term);
    if (!arena_.is(term, Kind::product) || !number(factors[0])) {
        terms.push_back({1, term});
        return;
    }
    const Rational coefficient = *number(factors[0]);
    const bool single = factors.size() == 2;
    const NodeId rest = single ? factors[1] : arena_.make(Kind::product, factors.subspan(1));
    terms.push_back({coefficient, rest});
}

NodeId CanonicalForm::sum(std::span<const NodeId> children) {
    std::vector<Term> terms;
    Rational constant;
    for (const NodeId child : children) {
        if (!arena_.is(child, Kind::sum)) {
            add_term(child, constant, terms);
            continue;
        }
        for (std::size_t i = 0; i < arena_.at(child).count; ++i) {
            add_term(arena_.child(child, i), constant, terms);
        }
    }
    std::ranges::sort(terms, [&](const Term& a, const Term& b) {
        return structural_order(arena_, a.rest, b.rest) < 0;
    });
    std::vector<NodeId> result;
    if (!constant.is_zero()) result.push_back(arena_.number(constant));
    for (std::size_t i = 0; i < terms.size();) {
        Rational coefficient;
        std::size_t k = i;
        for (; k < terms.size() && identical(arena_, terms[i].rest, terms[k].rest); ++k) {
            coefficient = coefficient + terms[k].coefficient;
        }
        // Infinity minus infinity is not nothing.
        const bool gone = coefficient.is_zero() && is_finite(terms[i].rest);
        if (!gone) result.push_back(scaled(coefficient, terms[i].rest));
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

/// The degree of the root of a positive integer; 0 for anything else.
std::int64_t CanonicalForm::root_degree(NodeId factor) const {
    if (!arena_.is(factor, Kind::power)) return 0;
    const Rational* base = number(arena_.child(factor, 0));
    const Rational* exponent = number(arena_.child(factor, 1));
    const bool root = base && exponent && base->sign() > 0 && base->is_integer() &&
                      exponent->numerator() == Integer(1) && !exponent->is_integer();
    return root ? exponent->denominator().to_int64().value_or(0) : 0;
}

/// Two roots of numbers with one degree become one root; whether any did.
bool CanonicalForm::merge_roots(Rational& coefficient, std::vector<NodeId>& factors) {
    const auto degree = [&](NodeId factor) { return root_degree(factor); };
    std::ranges::stable_sort(factors, {}, degree);
    for (std::size_t i = 0; i + 1 < factors.size(); ++i) {
        const std::int64_t shared = degree(factors[i]);
        if (shared == 0 || shared != degree(factors[i + 1])) continue;
        const Rational inside =
            arena_.value(base_of(factors[i])) * arena_.value(base_of(factors[i + 1]));
        if (inside.numerator().bits() > kMaxRootBits) continue;
        const auto at = factors.begin() + static_cast<std::ptrdiff_t>(i);
        factors.erase(at, at + 2);
        gather(root(inside, shared), coefficient, factors);
        return true;
    }
    return false;
}

/// A matrix times one number or letter: its cells are multiplied; nothing for other products.
std::optional<NodeId> CanonicalForm::matrix(const Rational& coefficient,
                                            const std::vector<NodeId>& factors) {
    const auto is_matrix = [&](NodeId id) { return arena_.is(id, Kind::matrix); };
    if (std::ranges::count_if(factors, is_matrix) != 1) return std::nullopt;
    const NodeId whole = *std::ranges::find_if(factors, is_matrix);
    std::vector<NodeId> scale{arena_.number(coefficient)};
    for (const NodeId factor : factors) {
        if (factor != whole) scale.push_back(factor);
    }
    if (scale.size() == 1 && coefficient == Rational(1)) return whole;
    std::vector<NodeId> cells;
    for (std::size_t i = 0; i < arena_.at(whole).count; ++i) {
        scale.push_back(arena_.child(whole, i));
        cells.push_back(product(scale));
        scale.pop_back();
    }
    return with_children(whole, cells);
}

NodeId CanonicalForm::product(std::span<const NodeId> children) {
    const auto is_matrix = [&](NodeId id) { return arena_.is(id, Kind::matrix); };
    // The order of matrices matters.
    if (std::ranges::count_if(children, is_matrix) > 1) {
        return arena_.make(Kind::product, children);
    }
    Rational coefficient(1);
    std::vector<NodeId> factors;
    for (const NodeId child : children) gather(child, coefficient, factors);
    // Each round leaves fewer factors.
    while (factors.size() > 1 &&
           (merge_powers(coefficient, factors) || merge_roots(coefficient, factors))) {
        budget_.spend(static_cast<std::int64_t>(factors.size()) * 16);
    }
    std::ranges::sort(factors,
                      [&](NodeId a, NodeId b) { return structural_order(arena_, a, b) < 0; });
    if (const auto scaled_cells = matrix(coefficient, factors)) return *scaled_cells;
    const bool nothing = coefficient.is_zero() &&
                         std::ranges::all_of(factors, [&](NodeId f) { return is_finite(f); });
    if (nothing || factors.empty()) return arena_.number(coefficient);
    if (coefficient == Rational(1) && factors.size() == 1) return factors[0];
    // A number times a sum is the sum of its multiples: -(a - b) is b - a.
    if (factors.size() == 1 && arena_.is(factors[0], Kind::sum) && !coefficient.is_zero()) {
        std::vector<NodeId> terms;
        for (std::size_t i = 0; i < arena_.at(factors[0]).count; ++i) {
            terms.push_back(
                product(std::array{arena_.number(coefficient), arena_.child(factors[0], i)}));
        }
        return sum(terms);
    }
    if (coefficient != Rational(1)) factors.insert(factors.begin(), arena_.number(coefficient));
    return arena_.make(Kind::product, factors);
}

}  // namespace cohort

// Trees whose value is a rational that is cheap to compute.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cohort/expression.h"

namespace cohort {

inline constexpr std::size_t kExactBits = 4096;  // of a numerator or denominator
inline constexpr std::int64_t kMaxExponent = 10'000;
inline constexpr std::int64_t kMaxTerms = 10'000;  // of a sum or product with bounds

/// Values of bound variables, the innermost last.
using Scope = std::vector<std::pair<std::string_view, Rational>>;

const Rational* find(const Scope& scope, std::string_view name);

/// How powers of negative numbers and fractions are read.
enum class Branch { real, principal };

/// base^exponent when it is rational and small.
std::optional<Rational> exact_power(const Rational& base, const Rational& exponent, Branch branch,
                                    Budget& budget);

/// A function of rationals when its value is an obvious rational.
std::optional<Rational> exact_call(Function function, std::span<const Rational> arguments,
                                   Budget& budget);

std::optional<Rational> exact_sum(const Rational& a, const Rational& b, Budget& budget);
std::optional<Rational> exact_product(const Rational& a, const Rational& b, Budget& budget);

/// First and last value of the index of a sum or product; nothing when there are too many.
struct Bounds {
    std::int64_t first, last;
};
std::optional<Bounds> bounds_of(const std::optional<Rational>& lower,
                                const std::optional<Rational>& upper);

class ExactValues {
public:
    ExactValues(const Arena& arena, const Scope& scope, Branch branch, Budget& budget)
        : arena_(arena), scope_(scope), branch_(branch), budget_(budget) {}

    std::optional<Rational> of(NodeId id);

private:
    std::optional<Rational> folded(NodeId id, bool product);
    std::optional<Rational> called(NodeId id);
    std::optional<Rational> repeated(NodeId id);

    const Arena& arena_;
    Scope scope_;
    Branch branch_;
    Budget& budget_;
};

}  // namespace cohort

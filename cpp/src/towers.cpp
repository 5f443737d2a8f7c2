#include "towers.h"

namespace cohort {
namespace {

using Totients = std::span<const std::uint64_t>;

/// More than the exponent of any prime in a modulus, so that Euler's theorem holds above it even
/// for a base that shares factors with the modulus: b^n = b^(n mod totient + totient).
constexpr std::int64_t kBeyondFactors = 64;

std::uint64_t multiply(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b % modulus);
}

std::uint64_t power(std::uint64_t base, std::uint64_t exponent, std::uint64_t modulus) {
    std::uint64_t result = 1 % modulus;
    for (; exponent != 0; exponent >>= 1) {
        if ((exponent & 1) != 0) result = multiply(result, base, modulus);
        base = multiply(base, base, modulus);
    }
    return result;
}

/// What is known of an integer's size.
enum class Size {
    written,  // exact, and far below the huge ones
    large,    // exact
    huge,     // no exact value: more than twice as many bits as a written one
    unknown,  // huge parts may cancel
};

/// An integer: its residue, its size and, unless that is unknown, its sign.
struct Tower {
    std::uint64_t residue;
    Size size;
    int sign;
};

class Towers {
public:
    Towers(const Arena& arena, const Scope& scope, Budget& budget)
        : arena_(arena), exact_(arena, scope, Branch::real, budget), budget_(budget) {}

    std::optional<Tower> of(NodeId id, Totients totients) {
        budget_.spend(8);
        if (const auto value = exact_.of(id)) {
            const Integer& integer = value->numerator();
            if (!value->is_integer()) return std::nullopt;
            const bool small = integer.bits() <= kExactBits / 2;
            return Tower{integer.modulo(totients[0]), small ? Size::written : Size::large,
                         value->sign()};
        }
        switch (arena_.at(id).kind) {
            case Kind::sum: return sum(id, totients);
            case Kind::product: return product(id, totients);
            case Kind::power: return raised(id, totients);
            case Kind::call: return factorial(id, totients);
            default: return std::nullopt;
        }
    }

private:
    std::optional<Tower> sum(NodeId id, Totients totients) {
        Tower total{0, Size::unknown, 0};
        int huge_terms = 0;
        bool known = true;
        for (const NodeId child : arena_.children(id)) {
            const auto term = of(child, totients);
            if (!term) return std::nullopt;
            total.residue = (total.residue + term->residue) % totients[0];
            known = known && (term->size == Size::written || term->size == Size::huge);
            if (term->size == Size::huge) {
                ++huge_terms;
                total.sign = term->sign;
            }
        }
        // One huge term outweighs all written ones; several may cancel.
        if (known && huge_terms == 1) total.size = Size::huge;
        return total;
    }

    std::optional<Tower> product(NodeId id, Totients totients) {
        Tower total{1 % totients[0], Size::huge, 1};
        for (const NodeId child : arena_.children(id)) {
            const auto factor = of(child, totients);
            if (!factor) return std::nullopt;
            total.residue = multiply(total.residue, factor->residue, totients[0]);
            total.sign *= factor->sign;
            if (factor->size == Size::unknown) total.size = Size::unknown;
        }
        if (total.sign == 0) total.size = Size::unknown;
        return total;
    }

    std::optional<Tower> raised(NodeId id, Totients totients) {
        const auto base = of(arena_.child(id, 0), totients);
        const bool last = totients.size() == 1;  // modulo 1 only the size is of interest
        const auto exponent = of(arena_.child(id, 1), last ? totients : totients.subspan(1));
        if (!base || base->size == Size::unknown || base->sign <= 0) return std::nullopt;
        if (!exponent || exponent->size == Size::unknown || exponent->sign <= 0) {
            return std::nullopt;
        }
        const auto one = exact_.of(arena_.child(id, 0));
        if (one && *one == Rational(1)) return Tower{1 % totients[0], Size::unknown, 1};
        if (last) return Tower{0, Size::huge, 1};
        std::uint64_t count = exponent->residue + totients[1];
        if (exponent->size == Size::written) {
            const auto written = exact_.of(arena_.child(id, 1))->numerator().to_int64();
            if (written && *written < kBeyondFactors) count = static_cast<std::uint64_t>(*written);
        }
        return Tower{power(base->residue, count, totients[0]), Size::huge, 1};
    }

    std::optional<Tower> factorial(NodeId id, Totients totients) {
        if (!arena_.is(id, Function::factorial)) return std::nullopt;
        const auto n = exact_.of(arena_.child(id, 0));
        constexpr std::int64_t most = 20'000;
        if (!n || !n->is_integer() || n->sign() < 0 || *n > Rational(most)) return std::nullopt;
        const std::int64_t count = *n->numerator().to_int64();
        budget_.spend(8 * count);
        std::uint64_t product = 1 % totients[0];
        for (std::int64_t i = 2; i <= count && product != 0; ++i) {
            product = multiply(product, static_cast<std::uint64_t>(i), totients[0]);
        }
        return Tower{product, Size::huge, 1};
    }

    const Arena& arena_;
    ExactValues exact_;
    Budget& budget_;
};

}  // namespace

std::optional<std::uint64_t> tower_residue(const Arena& arena, NodeId id, const Scope& scope,
                                           std::span<const std::uint64_t> totients,
                                           Budget& budget) {
    const auto tower = Towers(arena, scope, budget).of(id, totients);
    return tower ? std::optional(tower->residue) : std::nullopt;
}

}  // namespace cohort

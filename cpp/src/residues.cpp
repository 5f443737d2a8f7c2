#include "residues.h"

#include <algorithm>

#include "towers.h"

namespace cohort {
namespace {

constexpr std::int64_t kMaxFactorial = 20'000;

std::uint64_t mixed(std::uint64_t word) {  // the finaliser of splitmix64
    word ^= word >> 30;
    word *= 0xbf58476d1ce4e5b9;
    word ^= word >> 27;
    word *= 0x94d049bb133111eb;
    return word ^ word >> 31;
}

std::optional<std::int64_t> count_of(const std::optional<Rational>& value) {
    const auto count = value && value->is_integer() ? value->numerator().to_int64() : std::nullopt;
    return count && *count >= 0 && *count <= kMaxFactorial ? count : std::nullopt;
}

bool may_be_rational(Function function) {
    return function >= Function::log && function < Function::re;  // from log to modulo
}

}  // namespace

bool may_have_residue(const Arena& arena, NodeId id) {
    const Node& node = arena.at(id);
    switch (node.kind) {
        case Kind::number:
        case Kind::symbol: return true;
        case Kind::sum:
        case Kind::product:
        case Kind::apply:
        case Kind::big:
        case Kind::based:
        case Kind::percent: break;
        case Kind::power: {
            const NodeId exponent = arena.child(id, 1);
            if (arena.is(exponent, Kind::symbol)) return false;
            if (!arena.is(exponent, Kind::number)) break;
            return arena.value(exponent).is_integer() &&
                   may_have_residue(arena, arena.child(id, 0));
        }
        case Kind::call:
            if (!may_be_rational(static_cast<Function>(node.code))) return false;
            break;
        default: return false;
    }
    return std::ranges::all_of(arena.children(id),
                               [&](NodeId child) { return may_have_residue(arena, child); });
}

std::uint64_t scramble(std::uint64_t seed, std::string_view name) {
    std::uint64_t word = mixed(seed + 0x9e3779b97f4a7c15);
    for (const char c : name) {
        word = (word ^ static_cast<unsigned char>(c)) * 0x100000001b3;  // FNV-1a
    }
    return mixed(word);
}

Residues::Residue Residues::of(NodeId id) {
    budget_.spend(3);
    const Node& node = arena_.at(id);
    switch (node.kind) {
        case Kind::number: return number(arena_.value(id));
        case Kind::symbol: return symbol(arena_.name(id));
        case Kind::sum: return sum(id);
        case Kind::product: return product(id);
        case Kind::power: return power(id);
        case Kind::call: return call(id);
        case Kind::apply: return unknown_function(id);
        case Kind::big: return repeated(id);
        case Kind::based: return of(arena_.child(id, 0));
        case Kind::percent: {
            const Residue value = of(arena_.child(id, 0));
            if (!value) return std::nullopt;
            return field_.multiply(*value, field_.inverse(100));
        }
        default: return std::nullopt;
    }
}

Residues::Residue Residues::number(const Rational& value) {
    const std::uint64_t top = value.numerator().modulo(field_.prime());
    if (value.is_integer()) return top;
    const std::uint64_t bottom = value.denominator().modulo(field_.prime());
    budget_.spend(150);
    return bottom == 0 ? Residue() : field_.multiply(top, field_.inverse(bottom));
}

Residues::Residue Residues::symbol(std::string_view name) {
    if (const Rational* bound = find(scope_, name)) return number(*bound);
    return scramble(point_, name) % field_.prime();
}

Residues::Residue Residues::sum(NodeId id) {
    std::uint64_t total = 0;
    for (const NodeId child : arena_.children(id)) {
        const Residue term = of(child);
        if (!term) return std::nullopt;
        total = field_.add(total, *term);
    }
    return total;
}

Residues::Residue Residues::product(NodeId id) {
    std::uint64_t top = 1;
    std::uint64_t bottom = 1;  // one inverse for all factors below the line
    for (const NodeId child : arena_.children(id)) {
        const bool below = arena_.is(child, Kind::power) &&
                           arena_.is(arena_.child(child, 1), Kind::number) &&
                           arena_.value(arena_.child(child, 1)).sign() < 0;
        const Residue factor = below ? of(arena_.child(child, 0)) : of(child);
        if (!factor) return std::nullopt;
        if (!below) {
            top = field_.multiply(top, *factor);
            continue;
        }
        const Residue divisor = raised(*factor, arena_.child(child, 1), true);
        if (!divisor || *divisor == 0) return std::nullopt;
        bottom = field_.multiply(bottom, *divisor);
    }
    if (bottom == 1) return top;
    budget_.spend(150);
    return field_.multiply(top, field_.inverse(bottom));
}

Residues::Residue Residues::power(NodeId id) {
    const Residue base = of(arena_.child(id, 0));
    return base ? raised(*base, arena_.child(id, 1), false) : std::nullopt;
}

/// base^exponent, or base^-exponent for `flip`.
Residues::Residue Residues::raised(std::uint64_t base, NodeId exponent, bool flip) {
    std::optional<std::int64_t> small;
    if (arena_.is(exponent, Kind::number)) {
        const Rational& value = arena_.value(exponent);
        if (!value.is_integer()) return std::nullopt;
        small = value.numerator().to_int64();
    }
    if (small && *small != INT64_MIN) {
        const std::int64_t count = flip ? -*small : *small;
        if (base == 0 && count <= 0) return std::nullopt;
        budget_.spend(count < 0 ? 150 : 4);
        const auto size = static_cast<std::uint64_t>(count < 0 ? -count : count);
        const std::uint64_t raised = field_.power(base, size);
        return count < 0 ? field_.inverse(raised) : raised;
    }
    if (base == 0) return std::nullopt;
    const auto count = tower_residue(arena_, exponent, scope_, field_.totients(), budget_);
    if (!count) return std::nullopt;
    budget_.spend(150);
    return field_.power(base, flip && *count != 0 ? field_.prime() - 1 - *count : *count);
}

std::optional<Rational> Residues::exact(NodeId id) {
    return ExactValues(arena_, scope_, Branch::real, budget_).of(id);
}

Residues::Residue Residues::call(NodeId id) {
    switch (static_cast<Function>(arena_.at(id).code)) {
        case Function::factorial: return factorial(arena_.child(id, 0));
        case Function::binomial: return choices(id, false);
        case Function::permutations: return choices(id, true);
        default: {
            const auto value = exact(id);
            return value ? number(*value) : std::nullopt;
        }
    }
}

Residues::Residue Residues::factorial(NodeId argument) {
    const auto count = count_of(exact(argument));
    if (!count) return std::nullopt;
    budget_.spend(1 + 2 * *count);
    std::uint64_t product = 1;
    for (std::int64_t i = 2; i <= *count; ++i) {
        product = field_.multiply(product, static_cast<std::uint64_t>(i));
    }
    return product;
}

/// n (n - 1) ... (n - k + 1), over k! for combinations: a polynomial in n.
Residues::Residue Residues::choices(NodeId id, bool ordered) {
    if (arena_.at(id).count != 2) return std::nullopt;
    const auto count = count_of(exact(arena_.child(id, 1)));
    const Residue n = count ? of(arena_.child(id, 0)) : std::nullopt;
    if (!n) return std::nullopt;
    budget_.spend(150 + 4 * *count);
    std::uint64_t top = 1;
    std::uint64_t bottom = 1;
    for (std::int64_t i = 0; i < *count; ++i) {
        const auto step = static_cast<std::uint64_t>(i);
        top = field_.multiply(top, field_.add(*n, field_.negative(step)));
        bottom = field_.multiply(bottom, step + 1);
    }
    return ordered ? top : field_.multiply(top, field_.inverse(bottom));
}

/// f(x): some value for each name and each value of the arguments.
Residues::Residue Residues::unknown_function(NodeId id) {
    const auto children = arena_.children(id);
    if (children.empty() || !arena_.is(children[0], Kind::symbol)) return std::nullopt;
    std::uint64_t word = scramble(point_ + 1, arena_.name(children[0]));
    for (const NodeId child : children.subspan(1)) {
        const Residue argument = of(child);
        if (!argument) return std::nullopt;
        word = mixed(word ^ *argument) * 0x9e3779b97f4a7c15;
    }
    return mixed(word) % field_.prime();
}

Residues::Residue Residues::repeated(NodeId id) {
    const Node& node = arena_.at(id);
    const bool product = node.code == static_cast<std::uint8_t>(Big::product);
    if (node.count != 4 || (!product && node.code != static_cast<std::uint8_t>(Big::sum))) {
        return std::nullopt;
    }
    const auto bounds = bounds_of(exact(arena_.child(id, 2)), exact(arena_.child(id, 3)));
    if (!bounds) return std::nullopt;
    Residue value = product ? 1 : 0;
    const std::size_t place = scope_.size();
    scope_.emplace_back(arena_.name(arena_.child(id, 1)), Rational(0));
    for (std::int64_t i = bounds->first; value && i <= bounds->last; ++i) {
        budget_.spend(8);
        scope_[place].second = Rational(i);
        const Residue next = of(arena_.child(id, 0));
        if (!next) {
            value.reset();
        } else {
            value = product ? field_.multiply(*value, *next) : field_.add(*value, *next);
        }
    }
    scope_.pop_back();
    return value;
}

}  // namespace cohort

#include "cohort/units.h"

#include <algorithm>
#include <array>

#include "cohort/ascii.h"

namespace cohort {
namespace {

constexpr Dimension kLength{1, 0, 0, 0, 0}, kVolume{3, 0, 0, 0, 0}, kMass{0, 1, 0, 0, 0},
    kTime{0, 0, 1, 0, 0}, kAngle{0, 0, 0, 1, 0}, kMoney{0, 0, 0, 0, 1};

constexpr int kMaxFactors = 4;

struct Entry {
    std::string_view name;
    Dimension dimension;
    std::int64_t numerator, denominator;
};

// By definition; months and years have no fixed length, only one in the other.
constexpr std::array kUnits{
    Entry{"$", kMoney, 100, 1},
    Entry{"cent", kMoney, 1, 1},
    Entry{"cm", kLength, 1, 100},
    Entry{"day", kTime, 86400, 1},
    Entry{"degree", kAngle, 1, 1},
    Entry{"dm", kLength, 1, 10},
    Entry{"foot", kLength, 3048, 10000},
    Entry{"g", kMass, 1, 1},
    Entry{"gallon", kVolume, 3785411784, 1000000000000},
    Entry{"hour", kTime, 3600, 1},
    Entry{"inch", kLength, 254, 10000},
    Entry{"kg", kMass, 1000, 1},
    Entry{"km", kLength, 1000, 1},
    Entry{"l", kVolume, 1, 1000},
    Entry{"m", kLength, 1, 1},
    Entry{"mg", kMass, 1, 1000},
    Entry{"mile", kLength, 1609344, 1000},
    Entry{"minute", kTime, 60, 1},
    Entry{"ml", kVolume, 1, 1000000},
    Entry{"mm", kLength, 1, 1000},
    Entry{"ounce", kMass, 28349523125, 1000000000},
    Entry{"pound", kMass, 45359237, 100000},
    Entry{"second", kTime, 1, 1},
    Entry{"ton", kMass, 1000000, 1},
    Entry{"week", kTime, 604800, 1},
    Entry{"yard", kLength, 9144, 10000},
};
static_assert(std::ranges::is_sorted(kUnits, {}, &Entry::name));

/// `cm^2` as its name and exponent; the exponent is one digit.
std::optional<Unit> read_factor(std::string_view text, Budget& budget) {
    int exponent = 1;
    if (const std::size_t hat = text.find('^'); hat != npos) {
        if (hat + 2 != text.size() || !is_digit(text[hat + 1])) return std::nullopt;
        exponent = text[hat + 1] - '0';
        text = text.substr(0, hat);
    }
    const auto entry = std::ranges::lower_bound(kUnits, text, {}, &Entry::name);
    if (entry == kUnits.end() || entry->name != text) return std::nullopt;
    const auto size = Rational::of(entry->numerator, entry->denominator);
    const auto power = Rational::power(*size, exponent, budget);
    Unit unit{entry->dimension, *power};
    for (std::int8_t& part : unit.dimension) part = static_cast<std::int8_t>(part * exponent);
    return unit;
}

}  // namespace

std::optional<Unit> read_unit(std::string_view name, Budget& budget) {
    Unit result;
    bool below = false;
    for (int i = 0; i < kMaxFactors; ++i) {
        const std::size_t end = name.find_first_of("*/ ");
        const auto factor = read_factor(name.substr(0, end), budget);
        if (!factor) return std::nullopt;
        result.size = result.size * (below ? *factor->size.inverse() : factor->size);
        for (std::size_t d = 0; d < result.dimension.size(); ++d) {
            const int part = below ? -factor->dimension[d] : factor->dimension[d];
            result.dimension[d] = static_cast<std::int8_t>(result.dimension[d] + part);
        }
        if (end == npos) return result;
        below = below || name[end] == '/';
        name = name.substr(end + 1);
    }
    return std::nullopt;
}

std::optional<Rational> conversion(std::string_view from, std::string_view to, Budget& budget) {
    if (from == to) return Rational(1);
    const auto source = read_unit(from, budget);
    const auto target = read_unit(to, budget);
    if (!source || !target || source->dimension != target->dimension) return std::nullopt;
    return source->size * *target->size.inverse();
}

}  // namespace cohort

#include "cohort/units.h"

#include <algorithm>
#include <array>

#include "cohort/ascii.h"

namespace cohort {
namespace {

constexpr Dimension kLength{1}, kArea{2}, kVolume{3}, kMass{0, 1}, kTime{0, 0, 1},
    kAngle{0, 0, 0, 1}, kMoney{0, 0, 0, 0, 1}, kCalendar{0, 0, 0, 0, 0, 1},
    kCurrent{0, 0, 0, 0, 0, 0, 1}, kAmount{0, 0, 0, 0, 0, 0, 0, 1}, kForce{1, 1, -2},
    kPressure{-1, 1, -2}, kEnergy{2, 1, -2}, kPower{2, 1, -3}, kVoltage{2, 1, -3, 0, 0, 0, -1},
    kFrequency{0, 0, -1};

constexpr int kMaxFactors = 4;

struct Entry {
    std::string_view name;
    Dimension dimension;
    std::int64_t numerator, denominator;
};

constexpr std::int64_t kGallon = 3785411784;  // by definition, in cubic millimetres / 1000

// By definition; months and years have no fixed length, only one in the other.
constexpr std::array kUnits{
    Entry{"$", kMoney, 100, 1},
    Entry{"acre", kArea, 40468564224, 10000000},
    Entry{"atm", kPressure, 101325000, 1},
    Entry{"cent", kMoney, 1, 1},
    Entry{"cup", kVolume, kGallon / 8, 2000000000000},
    Entry{"day", kTime, 86400, 1},
    Entry{"degree", kAngle, 1, 1},
    Entry{"foot", kLength, 3048, 10000},
    Entry{"gallon", kVolume, kGallon, 1000000000000},
    Entry{"hectare", kArea, 10000, 1},
    Entry{"hour", kTime, 3600, 1},
    Entry{"inch", kLength, 254, 10000},
    Entry{"mile", kLength, 1609344, 1000},
    Entry{"minute", kTime, 60, 1},
    Entry{"month", kCalendar, 1, 1},
    Entry{"ounce", kMass, 28349523125, 1000000000},
    Entry{"pint", kVolume, kGallon / 8, 1000000000000},
    Entry{"pound", kMass, 45359237, 100000},
    Entry{"quart", kVolume, kGallon / 4, 1000000000000},
    Entry{"second", kTime, 1, 1},
    Entry{"tablespoon", kVolume, kGallon / 8, 32000000000000},
    Entry{"teaspoon", kVolume, kGallon / 8, 96000000000000},
    Entry{"ton", kMass, 1000000, 1},
    Entry{"unit", kLength, 1, 1},
    Entry{"week", kTime, 604800, 1},
    Entry{"yard", kLength, 9144, 10000},
    Entry{"year", kCalendar, 12, 1},
};
static_assert(std::ranges::is_sorted(kUnits, {}, &Entry::name));

// Those that prefixes go with.
constexpr std::array kMetric{
    Entry{"A", kCurrent, 1, 1},  Entry{"Hz", kFrequency, 1, 1},    Entry{"J", kEnergy, 1000, 1},
    Entry{"N", kForce, 1000, 1}, Entry{"Pa", kPressure, 1000, 1},  Entry{"V", kVoltage, 1000, 1},
    Entry{"W", kPower, 1000, 1}, Entry{"Wh", kEnergy, 3600000, 1}, Entry{"cal", kEnergy, 4184, 1},
    Entry{"g", kMass, 1, 1},     Entry{"l", kVolume, 1, 1000},     Entry{"m", kLength, 1, 1},
    Entry{"mol", kAmount, 1, 1}, Entry{"s", kTime, 1, 1},
};
static_assert(std::ranges::is_sorted(kMetric, {}, &Entry::name));

template <std::size_t N>
const Entry* find(const std::array<Entry, N>& table, std::string_view name) {
    const auto entry = std::ranges::lower_bound(table, name, {}, &Entry::name);
    return entry == table.end() || entry->name != name ? nullptr : &*entry;
}

/// The power of ten of a prefix; 0 for none.
int prefix_exponent(char prefix) {
    switch (prefix) {
        case 'G': return 9;
        case 'M': return 6;
        case 'k': return 3;
        case 'd': return -1;
        case 'c': return -2;
        case 'm': return -3;
        case 'n': return -9;
        default: return 0;
    }
}

/// A unit without an exponent: `km`, `hour`.
std::optional<Unit> read_name(std::string_view name, Budget& budget) {
    const Entry* entry = find(kUnits, name);
    int exponent = 0;
    if (entry == nullptr) entry = find(kMetric, name);
    if (entry == nullptr && !name.empty()) {
        exponent = prefix_exponent(name[0]);
        if (exponent != 0) entry = find(kMetric, name.substr(1));
    }
    if (entry == nullptr) return std::nullopt;
    const auto size = Rational::of(entry->numerator, entry->denominator);
    return Unit{entry->dimension, *size * *Rational::power(10, exponent, budget)};
}

/// `unit`, `unit^2`: of which length is not said.
bool is_generic(std::string_view name) { return name.starts_with("unit"); }

/// `cm^2`, `s^-1` as name and exponent; the exponent has one digit.
std::optional<Unit> read_factor(std::string_view text, Budget& budget) {
    int exponent = 1;
    if (const std::size_t hat = text.find('^'); hat != npos) {
        std::string_view digits = text.substr(hat + 1);
        const bool minus = digits.starts_with('-');
        if (minus) digits.remove_prefix(1);
        if (digits.size() != 1 || !is_digit(digits[0])) return std::nullopt;
        exponent = minus ? '0' - digits[0] : digits[0] - '0';
        text = text.substr(0, hat);
    }
    auto unit = read_name(text, budget);
    if (!unit) return std::nullopt;
    unit->size = *Rational::power(unit->size, exponent, budget);
    for (std::int8_t& part : unit->dimension) part = static_cast<std::int8_t>(part * exponent);
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
    // 5 pounds may be those of money.
    const bool pounds = (from == "gbp" && to == "pound") || (from == "pound" && to == "gbp");
    if (from == to || pounds) return Rational(1);
    const auto source = read_unit(from, budget);
    const auto target = read_unit(to, budget);
    if (!source || !target || source->dimension != target->dimension) return std::nullopt;
    if (is_generic(from) || is_generic(to)) return Rational(1);
    return source->size * *target->size.inverse();
}

}  // namespace cohort

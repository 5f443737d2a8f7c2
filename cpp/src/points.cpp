#include "points.h"

#include <algorithm>
#include <array>

#include "residues.h"

namespace cohort {
namespace {

/// Signs: the same for all variables, or by the two lowest bits of a variable's place.
enum class Side { positive, negative, odd, even, upper, lower };

bool is_negative(Side side, std::size_t place) {
    switch (side) {
        case Side::positive: return false;
        case Side::negative: return true;
        case Side::odd: return place % 2 == 1;
        case Side::even: return place % 2 == 0;
        case Side::upper: return place % 4 >= 2;
        case Side::lower: return place % 4 < 2;
    }
    return false;
}

/// From `low` to `high` sixteenths.
struct Range {
    std::int64_t low, high;
    Side side;
};

constexpr std::int64_t kLarge = 48;

// The first point tells most wrong answers apart, the next ones look into the corners of domains,
// the others are for narrow ones.
constexpr std::array<Range, Point::kNumReal> kRanges = {{
    {16, 48, Side::positive},
    {2, 15, Side::positive},
    {16, 48, Side::negative},
    {48, 128, Side::positive},
    {4, 40, Side::odd},
    {4, 40, Side::even},
    {1, 15, Side::odd},
    {2, 15, Side::negative},
    {64, 160, Side::even},
    {4, 40, Side::upper},
    {1, 15, Side::lower},
    {1, 4, Side::positive},
    {1, 5, Side::even},
    {4, 32, Side::positive},
    {160, 480, Side::positive},
    {16, 32, Side::positive},
    {480, 1600, Side::positive},
    {1600, 16000, Side::positive},
}};

}  // namespace

Rational Point::of(std::string_view variable) const {
    const std::uint64_t word = scramble(index + (integer ? 2000 : 1000), variable);
    if (integer && halves) return *Rational::of(static_cast<std::int64_t>(word % 15) - 7, 2);
    if (integer) return Rational(static_cast<std::int64_t>(1 + index / 2 + word % 4));
    const Range& range = kRanges[index];
    const auto place = std::ranges::find(variables, variable) - variables.begin();
    const bool negative = is_negative(range.side, static_cast<std::size_t>(place));
    const auto part = static_cast<std::int64_t>(word >> 34);  // 30 bits
    const std::int64_t size = (range.low << 30) + (range.high - range.low) * part;
    return *Rational::of(Integer(negative ? -size : size), Integer(std::int64_t{16} << 30));
}

bool Point::is_complex(std::string_view variable) const {
    const bool plain = variable.size() == 1 || variable.substr(1).starts_with('_');
    return complex && plain && (variable[0] == 'z' || variable[0] == 'w');
}

bool Point::is_large() const { return !integer && kRanges[index].low >= kLarge; }

}  // namespace cohort

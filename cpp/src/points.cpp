#include "points.h"

#include <array>

#include "residues.h"

namespace cohort {
namespace {

enum class Side { positive, negative, either };

/// From `low` to `high` sixteenths.
struct Range {
    std::int64_t low, high;
    Side side;
};

// The first point tells most wrong answers apart; the others look into the corners of domains.
constexpr std::array<Range, Point::kNumReal> kRanges = {{
    {16, 48, Side::positive},
    {2, 15, Side::positive},
    {16, 48, Side::negative},
    {80, 480, Side::positive},
    {4, 48, Side::either},
    {1, 15, Side::either},
    {48, 160, Side::positive},
    {2, 15, Side::negative},
    {16, 160, Side::either},
    {1600, 16000, Side::positive},
    {1, 4, Side::positive},
    {4, 32, Side::positive},
}};

}  // namespace

Rational Point::of(std::string_view variable) const {
    const std::uint64_t word = scramble(index + (integer ? 2000 : 1000), variable);
    if (integer) return Rational(static_cast<std::int64_t>(1 + index / 2 + word % 4));
    const Range& range = kRanges[index];
    const bool negative =
        range.side == Side::negative || (range.side == Side::either && word % 2 == 1);
    const auto part = static_cast<std::int64_t>(word >> 34);  // 30 bits
    const std::int64_t size = (range.low << 30) + (range.high - range.low) * part;
    return *Rational::of(Integer(negative ? -size : size), Integer(std::int64_t{16} << 30));
}

}  // namespace cohort

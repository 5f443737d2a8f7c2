// Prime fields whose primes lie just below 2^61, with what exponents need: a^n depends on n modulo
// p - 1, a tower on the totient of that, and so on down to 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohort {

namespace totients {

/// 2^61 - 2 and its iterated totients.
inline constexpr std::array<std::uint64_t, 52> kBelow1 = {
    2305843009213693950,
    406467072000000000,
    98537472000000000,
    23887872000000000,
    6370099200000000,
    1698693120000000,
    452984832000000,
    120795955200000,
    32212254720000,
    8589934592000,
    3435973836800,
    1374389534720,
    549755813888,
    274877906944,
    137438953472,
    68719476736,
    34359738368,
    17179869184,
    8589934592,
    4294967296,
    2147483648,
    1073741824,
    536870912,
    268435456,
    134217728,
    67108864,
    33554432,
    16777216,
    8388608,
    4194304,
    2097152,
    1048576,
    524288,
    262144,
    131072,
    65536,
    32768,
    16384,
    8192,
    4096,
    2048,
    1024,
    512,
    256,
    128,
    64,
    32,
    16,
    8,
    4,
    2,
    1,
};
/// 2^61 - 32 and its iterated totients.
inline constexpr std::array<std::uint64_t, 52> kBelow31 = {
    2305843009213693920,
    536681683164856320,
    112764087183605760,
    25774648499109888,
    7364185285459968,
    2104052938702848,
    601157982486528,
    200385994162176,
    66795331387392,
    22265110462464,
    7421703487488,
    2473901162496,
    824633720832,
    274877906944,
    137438953472,
    68719476736,
    34359738368,
    17179869184,
    8589934592,
    4294967296,
    2147483648,
    1073741824,
    536870912,
    268435456,
    134217728,
    67108864,
    33554432,
    16777216,
    8388608,
    4194304,
    2097152,
    1048576,
    524288,
    262144,
    131072,
    65536,
    32768,
    16384,
    8192,
    4096,
    2048,
    1024,
    512,
    256,
    128,
    64,
    32,
    16,
    8,
    4,
    2,
    1,
};
/// 2^61 - 46 and its iterated totients.
inline constexpr std::array<std::uint64_t, 54> kBelow45 = {
    2305843009213693906,
    1035477824094013440,
    207876096471859200,
    41316323740876800,
    8581344657408000,
    2226511046246400,
    593736278999040,
    158329674399744,
    52776558133248,
    17592186044416,
    8796093022208,
    4398046511104,
    2199023255552,
    1099511627776,
    549755813888,
    274877906944,
    137438953472,
    68719476736,
    34359738368,
    17179869184,
    8589934592,
    4294967296,
    2147483648,
    1073741824,
    536870912,
    268435456,
    134217728,
    67108864,
    33554432,
    16777216,
    8388608,
    4194304,
    2097152,
    1048576,
    524288,
    262144,
    131072,
    65536,
    32768,
    16384,
    8192,
    4096,
    2048,
    1024,
    512,
    256,
    128,
    64,
    32,
    16,
    8,
    4,
    2,
    1,
};

}  // namespace totients

/// The field of residues modulo 2^61 - offset.
class Field {
public:
    constexpr Field(std::uint64_t offset, std::span<const std::uint64_t> totients)
        : offset_(offset), totients_(totients) {}

    constexpr std::uint64_t prime() const { return kTop - offset_; }
    /// p - 1, its totient, the totient of that, ..., 1.
    constexpr std::span<const std::uint64_t> totients() const { return totients_; }

    constexpr std::uint64_t add(std::uint64_t a, std::uint64_t b) const { return lowest(a + b); }

    constexpr std::uint64_t negative(std::uint64_t a) const { return a == 0 ? 0 : prime() - a; }

    constexpr std::uint64_t multiply(std::uint64_t a, std::uint64_t b) const {
        // 2^61 is congruent to the offset: what is above it folds back, twice.
        Wide value = Wide{a} * b;
        value = (value & kMask) + (value >> 61) * offset_;
        return lowest((static_cast<std::uint64_t>(value) & kMask) +
                      static_cast<std::uint64_t>(value >> 61) * offset_);
    }

    constexpr std::uint64_t power(std::uint64_t base, std::uint64_t exponent) const {
        std::uint64_t result = 1;
        for (; exponent != 0; exponent >>= 1) {
            if ((exponent & 1) != 0) result = multiply(result, base);
            base = multiply(base, base);
        }
        return result;
    }

    /// Of a residue other than 0.
    constexpr std::uint64_t inverse(std::uint64_t a) const { return power(a, prime() - 2); }

private:
    using Wide = unsigned __int128;
    static constexpr std::uint64_t kTop = std::uint64_t{1} << 61;
    static constexpr std::uint64_t kMask = kTop - 1;

    constexpr std::uint64_t lowest(std::uint64_t a) const { return a >= prime() ? a - prime() : a; }

    std::uint64_t offset_;
    std::span<const std::uint64_t> totients_;
};

inline constexpr std::array kFields = {
    Field(1, totients::kBelow1),
    Field(31, totients::kBelow31),
    Field(45, totients::kBelow45),
};

}  // namespace cohort

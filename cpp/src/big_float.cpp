#include "big_float.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace cohort {
namespace {

using Wide = unsigned __int128;

std::uint64_t low(Wide value) { return static_cast<std::uint64_t>(value); }

/// Writes `count` limbs (most significant first) as a float of n limbs; true when nothing is lost.
bool normalise(Float& result, const std::uint64_t* source, std::size_t count, std::size_t n) {
    std::size_t first = 0;
    while (first < count && source[first] == 0) ++first;
    result.zero = first == count;
    if (result.zero) return true;
    const auto shift = static_cast<unsigned>(std::countl_zero(source[first]));
    const auto at = [&](std::size_t i) { return i < count ? source[i] : 0; };
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t next = shift == 0 ? 0 : at(first + i + 1) >> (64 - shift);
        result.limbs[i] = at(first + i) << shift | next;
    }
    result.exponent -= static_cast<std::int64_t>(64 * first + shift);
    // What was cut off: the rest of the limb after the last one, and all limbs behind.
    std::uint64_t lost = shift == 0 ? at(first + n) : at(first + n) << shift;
    for (std::size_t i = first + n + 1; i < count; ++i) lost |= source[i];
    return lost == 0;
}

/// target[0..n] = value shifted right; true when no bit falls off the end.
bool shifted_right(std::uint64_t* target, const Float& value, std::uint64_t shift, std::size_t n) {
    const std::size_t whole = std::min<std::uint64_t>(shift / 64, n + 1);
    const auto part = static_cast<unsigned>(shift % 64);
    const auto at = [&](std::size_t i) { return i < n ? value.limbs[i] : 0; };
    for (std::size_t i = 0; i < whole; ++i) target[i] = 0;
    for (std::size_t i = whole; i <= n; ++i) {
        const std::size_t j = i - whole;
        const std::uint64_t above = part == 0 || j == 0 ? 0 : at(j - 1) << (64 - part);
        target[i] = above | at(j) >> part;
    }
    std::uint64_t lost = part == 0 || whole > n ? 0 : at(n - whole) << (64 - part);
    for (std::size_t j = n + 1 - whole; j < n; ++j) lost |= at(j);
    return lost == 0;
}

bool add_sizes(Float& result, const Float& a, const Float& b, std::size_t n) {
    std::array<std::uint64_t, kMaxLimbs + 2> sum;
    const bool kept =
        shifted_right(&sum[1], b, static_cast<std::uint64_t>(a.exponent - b.exponent), n);
    Wide carry = 0;
    for (std::size_t i = n; i-- > 0;) {
        carry += Wide{a.limbs[i]} + sum[i + 1];
        sum[i + 1] = low(carry);
        carry >>= 64;
    }
    sum[0] = low(carry);
    result.exponent = a.exponent + 64;
    return normalise(result, sum.data(), n + 2, n) && kept;
}

bool subtract_sizes(Float& result, const Float& a, const Float& b, std::size_t n) {
    std::array<std::uint64_t, kMaxLimbs + 1> difference;
    const bool kept =
        shifted_right(difference.data(), b, static_cast<std::uint64_t>(a.exponent - b.exponent), n);
    std::uint64_t borrow = 0;
    for (std::size_t i = n + 1; i-- > 0;) {
        const std::uint64_t upper = i < n ? a.limbs[i] : 0;
        const Wide step = Wide{upper} - difference[i] - borrow;
        difference[i] = low(step);
        borrow = static_cast<std::uint64_t>(step >> 64) & 1;
    }
    result.exponent = a.exponent;
    return normalise(result, difference.data(), n + 1, n) && kept;
}

bool add_signed(Float& result, const Float& a, const Float& b, bool flip, std::size_t n) {
    const bool b_negative = b.negative != flip;
    if (b.zero) {
        result = a;
        return true;
    }
    if (a.zero) {
        result = b;
        result.negative = b_negative;
        return true;
    }
    const bool swap = compare_sizes(a, b, n) < 0;
    const bool negative = swap ? b_negative : a.negative;
    const bool same = a.negative == b_negative;
    const bool exact = same ? add_sizes(result, swap ? b : a, swap ? a : b, n)
                            : subtract_sizes(result, swap ? b : a, swap ? a : b, n);
    result.negative = negative;
    return exact;
}

/// One digit of Knuth's algorithm D: divides what `rest` starts with, n + 1 limbs, by b.
std::uint64_t next_digit(std::uint64_t* rest, const Float& b, std::size_t n) {
    const std::uint64_t top = b.limbs[0];
    const std::uint64_t second = n > 1 ? b.limbs[1] : 0;
    const Wide head = Wide{rest[0]} << 64 | rest[1];
    Wide digit = rest[0] >= top ? Wide{std::numeric_limits<std::uint64_t>::max()} : head / top;
    Wide left = head - digit * top;
    while (left >> 64 == 0 && digit * second > (left << 64 | rest[2])) {
        --digit;
        left += top;
    }
    std::uint64_t carry = 0;
    for (std::size_t i = n; i > 0; --i) {
        const Wide product = digit * b.limbs[i - 1] + carry;
        carry = static_cast<std::uint64_t>(product >> 64) + (rest[i] < low(product) ? 1 : 0);
        rest[i] -= low(product);
    }
    const bool below_zero = rest[0] < carry;
    rest[0] -= carry;
    if (!below_zero) return low(digit);
    Wide sum = 0;
    for (std::size_t i = n; i > 0; --i) {
        sum += Wide{rest[i]} + b.limbs[i - 1];
        rest[i] = low(sum);
        sum >>= 64;
    }
    rest[0] += low(sum);
    return low(digit - 1);
}

}  // namespace

Float float_of(std::int64_t value, std::size_t n) {
    Float result;
    if (value == 0) return result;
    result.negative = value < 0;
    result.exponent = 64;
    const auto word = static_cast<std::uint64_t>(value);
    const std::uint64_t size = value < 0 ? 0 - word : word;
    normalise(result, &size, 1, n);
    return result;
}

Float float_of_double(double value, std::size_t n) {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    Float result = float_of(static_cast<std::int64_t>(std::ldexp(fraction, 53)), n);
    result.exponent += exponent - 53;
    return result;
}

Float float_of(const Integer& value, std::size_t n, bool& exact) {
    exact = true;
    if (const auto word = value.to_int64()) return float_of(*word, n);
    const auto magnitude = value.magnitude();
    std::array<std::uint64_t, kMaxLimbs + 1> words{};
    const auto limb = [&](std::size_t i) {  // counted from the top
        return i < magnitude.size() ? std::uint64_t{magnitude[magnitude.size() - 1 - i]} : 0;
    };
    for (std::size_t i = 0; i <= n; ++i) words[i] = limb(2 * i) << 32 | limb(2 * i + 1);
    Float result;
    result.exponent = static_cast<std::int64_t>(32 * magnitude.size());
    exact = normalise(result, words.data(), n + 1, n);
    for (std::size_t i = 2 * n + 2; i < magnitude.size(); ++i) exact = exact && limb(i) == 0;
    result.negative = value.sign() < 0;
    return result;
}

double to_double(const Float& value) {
    if (value.zero) return 0;
    const auto exponent = std::clamp<std::int64_t>(value.exponent - 64, -2000, 1000);
    const double size = std::ldexp(static_cast<double>(value.limbs[0]), static_cast<int>(exponent));
    return value.negative ? -size : size;
}

Float negated(const Float& value) {
    Float result = value;
    result.negative = !value.negative;
    return result;
}

Float scaled(const Float& value, std::int64_t exponent) {
    Float result = value;
    result.exponent += exponent;
    return result;
}

void widen(Float& value, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) value.limbs[i] = 0;
}

int compare_sizes(const Float& a, const Float& b, std::size_t n) {
    if (a.zero || b.zero) return (a.zero ? 0 : 1) - (b.zero ? 0 : 1);
    if (a.exponent != b.exponent) return a.exponent < b.exponent ? -1 : 1;
    for (std::size_t i = 0; i < n; ++i) {
        if (a.limbs[i] != b.limbs[i]) return a.limbs[i] < b.limbs[i] ? -1 : 1;
    }
    return 0;
}

bool add(Float& result, const Float& a, const Float& b, std::size_t n) {
    return add_signed(result, a, b, false, n);
}

bool subtract(Float& result, const Float& a, const Float& b, std::size_t n) {
    return add_signed(result, a, b, true, n);
}

bool multiply(Float& result, const Float& a, const Float& b, std::size_t n) {
    if (a.zero || b.zero) {
        result.zero = true;
        return true;
    }
    std::array<std::uint64_t, 2 * kMaxLimbs> product;
    std::fill_n(product.begin(), 2 * n, 0);
    for (std::size_t i = n; i-- > 0;) {
        std::uint64_t carry = 0;
        const std::uint64_t factor = a.limbs[i];
        for (std::size_t j = n; j-- > 0;) {
            const Wide step = Wide{factor} * b.limbs[j] + product[i + j + 1] + carry;
            product[i + j + 1] = low(step);
            carry = static_cast<std::uint64_t>(step >> 64);
        }
        product[i] = carry;
    }
    result.negative = a.negative != b.negative;
    result.exponent = a.exponent + b.exponent;
    return normalise(result, product.data(), 2 * n, n);
}

bool divide(Float& result, const Float& a, const Float& b, std::size_t n) {
    if (a.zero) {
        result.zero = true;
        return true;
    }
    // n + 1 digits of 64 bits, for a quotient below 1; b is normalised as it stands.
    std::array<std::uint64_t, 2 * kMaxLimbs + 2> rest{};
    std::copy_n(a.limbs.begin(), n, rest.begin() + 1);
    std::array<std::uint64_t, kMaxLimbs + 1> quotient;
    for (std::size_t j = 0; j <= n; ++j) quotient[j] = next_digit(&rest[j], b, n);
    const bool remains =
        std::any_of(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(2 * n + 2),
                    [](std::uint64_t limb) { return limb != 0; });
    result.negative = a.negative != b.negative;
    result.exponent = a.exponent - b.exponent + 64;
    return normalise(result, quotient.data(), n + 1, n) && !remains;
}

bool divide(Float& result, const Float& a, std::uint64_t b, std::size_t n) {
    if (a.zero) {
        result.zero = true;
        return true;
    }
    std::array<std::uint64_t, kMaxLimbs + 1> quotient;
    Wide rest = 0;
    for (std::size_t i = 0; i <= n; ++i) {
        rest = rest << 64 | (i < n ? a.limbs[i] : 0);
        quotient[i] = low(rest / b);
        rest %= b;
    }
    result.negative = a.negative;
    result.exponent = a.exponent;
    return normalise(result, quotient.data(), n + 1, n) && rest == 0;
}

}  // namespace cohort

#include "limbs.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace cohort::limbs {
namespace {

constexpr unsigned kLimbBits = 32;

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// The 62 bits from position `shift` up.
std::int64_t leading(const Limbs& value, std::size_t shift) {
    const std::size_t limb = shift / kLimbBits;
    const std::size_t offset = shift % kLimbBits;
    unsigned __int128 window = 0;
    for (std::size_t i = 3; i-- > 0;) {
        window = window << kLimbBits | (limb + i < value.size() ? value[limb + i] : 0);
    }
    constexpr std::uint64_t mask = (std::uint64_t{1} << 62) - 1;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(window >> offset) & mask);
}

/// How a pair (a, b) follows from the first one: (A a + B b, C a + D b).
struct Cofactors {
    std::int64_t a = 1, b = 0, c = 0, d = 1;
};

/// Steps of Euclid's algorithm that the leading bits decide.
Cofactors leading_steps(std::int64_t high, std::int64_t low_part) {
    constexpr std::int64_t limit = std::int64_t{1} << 31;
    Cofactors now;
    while (low_part + now.c != 0 && low_part + now.d != 0) {
        const std::int64_t quotient = (high + now.a) / (low_part + now.c);
        if (quotient != (high + now.b) / (low_part + now.d) || quotient >= limit) break;
        const std::int64_t c = now.a - quotient * now.c;
        const std::int64_t d = now.b - quotient * now.d;
        if (c >= limit || c <= -limit || d >= limit || d <= -limit) break;
        now = {now.c, now.d, c, d};
        high = std::exchange(low_part, high - quotient * low_part);
    }
    return now;
}

/// x * a + y * b, which is not negative; one of x and y is at most 0.
Limbs combine(std::int64_t x, const Limbs& a, std::int64_t y, const Limbs& b) {
    Limbs sum(std::max(a.size(), b.size()));
    __int128 carry = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
        if (i < a.size()) carry += static_cast<__int128>(x) * a[i];
        if (i < b.size()) carry += static_cast<__int128>(y) * b[i];
        sum[i] = low(static_cast<std::uint64_t>(carry));
        carry >>= kLimbBits;
    }
    trim(sum);
    return sum;
}

/// dividend[from ...] -= digit * divisor; returns whether it went below 0.
bool subtract_multiple(Limbs& dividend, std::size_t from, const Limbs& divisor,
                       std::uint64_t digit) {
    std::uint64_t carry = 0;
    std::int64_t borrow = 0;
    for (std::size_t i = 0; i < divisor.size(); ++i) {
        carry += digit * divisor[i];
        borrow += std::int64_t{dividend[from + i]} - std::int64_t{low(carry)};
        dividend[from + i] = low(static_cast<std::uint64_t>(borrow));
        borrow >>= kLimbBits;
        carry >>= kLimbBits;
    }
    borrow += std::int64_t{dividend[from + divisor.size()]} - static_cast<std::int64_t>(carry);
    dividend[from + divisor.size()] = low(static_cast<std::uint64_t>(borrow));
    return borrow < 0;
}

void add_back(Limbs& dividend, std::size_t from, const Limbs& divisor) {
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < divisor.size(); ++i) {
        carry += std::uint64_t{dividend[from + i]} + divisor[i];
        dividend[from + i] = low(carry);
        carry >>= kLimbBits;
    }
    dividend[from + divisor.size()] += low(carry);
}

}  // namespace

void trim(Limbs& value) {
    while (!value.empty() && value.back() == 0) value.pop_back();
}

std::size_t bits(const Limbs& value) {
    if (value.empty()) return 0;
    return value.size() * kLimbBits - static_cast<std::size_t>(std::countl_zero(value.back()));
}

std::strong_ordering compare(const Limbs& a, const Limbs& b) {
    if (a.size() != b.size()) return a.size() <=> b.size();
    for (std::size_t i = a.size(); i-- > 0;) {
        if (a[i] != b[i]) return a[i] <=> b[i];
    }
    return std::strong_ordering::equal;
}

Limbs from_word(std::uint64_t value) {
    Limbs result{low(value), low(value >> kLimbBits)};
    trim(result);
    return result;
}

std::uint64_t low_word(const Limbs& value) {
    std::uint64_t word = value.empty() ? 0 : value[0];
    if (value.size() > 1) word |= std::uint64_t{value[1]} << kLimbBits;
    return word;
}

Limbs add(const Limbs& a, const Limbs& b) {
    const Limbs& longer = a.size() >= b.size() ? a : b;
    const Limbs& shorter = a.size() >= b.size() ? b : a;
    Limbs sum;
    sum.reserve(longer.size() + 1);
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < longer.size(); ++i) {
        carry += std::uint64_t{longer[i]} + (i < shorter.size() ? shorter[i] : 0);
        sum.push_back(low(carry));
        carry >>= kLimbBits;
    }
    if (carry != 0) sum.push_back(low(carry));
    return sum;
}

Limbs subtract(const Limbs& a, const Limbs& b) {
    Limbs difference(a.size());
    std::int64_t borrow = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        borrow += std::int64_t{a[i]} - std::int64_t{i < b.size() ? b[i] : 0};
        difference[i] = low(static_cast<std::uint64_t>(borrow));
        borrow >>= kLimbBits;
    }
    trim(difference);
    return difference;
}

Limbs multiply(const Limbs& a, const Limbs& b) {
    Limbs product(a.size() + b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::uint64_t carry = 0;
        const std::uint64_t factor = a[i];
        for (std::size_t j = 0; j < b.size(); ++j) {
            carry += factor * b[j] + product[i + j];
            product[i + j] = low(carry);
            carry >>= kLimbBits;
        }
        product[i + b.size()] = low(carry);
    }
    trim(product);
    return product;
}

Limbs shift_left(const Limbs& value, std::size_t count) {
    if (value.empty()) return value;
    const std::size_t whole = count / kLimbBits;
    const std::size_t part = count % kLimbBits;
    Limbs shifted(value.size() + whole + 1);
    for (std::size_t i = 0; i < value.size(); ++i) {
        const std::uint64_t moved = std::uint64_t{value[i]} << part;
        shifted[i + whole] |= low(moved);
        shifted[i + whole + 1] = low(moved >> kLimbBits);
    }
    trim(shifted);
    return shifted;
}

Limbs shift_right(const Limbs& value, std::size_t count) {
    const std::size_t whole = count / kLimbBits;
    const std::size_t part = count % kLimbBits;
    if (whole >= value.size()) return {};
    Limbs shifted(value.size() - whole);
    for (std::size_t i = 0; i < shifted.size(); ++i) {
        const std::uint64_t next = i + whole + 1 < value.size() ? value[i + whole + 1] : 0;
        shifted[i] = low((next << kLimbBits | value[i + whole]) >> part);
    }
    trim(shifted);
    return shifted;
}

void multiply_add(Limbs& value, std::uint32_t factor, std::uint32_t addend) {
    std::uint64_t carry = addend;
    for (std::uint32_t& limb : value) {
        carry += std::uint64_t{limb} * factor;
        limb = low(carry);
        carry >>= kLimbBits;
    }
    if (carry != 0) value.push_back(low(carry));
}

std::uint32_t divide_small(Limbs& value, std::uint32_t divisor) {
    std::uint64_t rest = 0;
    for (std::size_t i = value.size(); i-- > 0;) {
        rest = rest << kLimbBits | value[i];
        value[i] = low(rest / divisor);
        rest %= divisor;
    }
    trim(value);
    return low(rest);
}

Limbs divide(const Limbs& dividend, const Limbs& divisor, Limbs& remainder) {
    if (compare(dividend, divisor) < 0) {
        remainder = dividend;
        return {};
    }
    if (divisor.size() == 1) {
        Limbs quotient = dividend;
        remainder = from_word(divide_small(quotient, divisor[0]));
        return quotient;
    }
    const auto shift = static_cast<std::size_t>(std::countl_zero(divisor.back()));
    const Limbs bottom = shift_left(divisor, shift);
    Limbs top = shift_left(dividend, shift);
    top.resize(dividend.size() + 1);
    const std::size_t n = bottom.size();
    Limbs quotient(top.size() - n);
    for (std::size_t j = quotient.size(); j-- > 0;) {
        const std::uint64_t head = std::uint64_t{top[j + n]} << kLimbBits | top[j + n - 1];
        std::uint64_t digit = head / bottom[n - 1];
        std::uint64_t rest = head % bottom[n - 1];
        while (digit >> kLimbBits != 0 ||
               digit * bottom[n - 2] > (rest << kLimbBits | top[j + n - 2])) {
            --digit;
            rest += bottom[n - 1];
            if (rest >> kLimbBits != 0) break;
        }
        if (subtract_multiple(top, j, bottom, digit)) {
            --digit;
            add_back(top, j, bottom);
        }
        quotient[j] = low(digit);
    }
    trim(quotient);
    trim(top);
    remainder = shift_right(top, shift);
    return quotient;
}

Limbs gcd(Limbs a, Limbs b) {
    if (compare(a, b) < 0) std::swap(a, b);
    while (b.size() > 2) {
        const std::size_t shift = bits(a) - 62;
        const Cofactors steps = leading_steps(leading(a, shift), leading(b, shift));
        if (steps.b == 0) {
            Limbs rest;
            divide(a, b, rest);
            a = std::exchange(b, std::move(rest));
        } else {
            Limbs next = combine(steps.c, a, steps.d, b);
            a = combine(steps.a, a, steps.b, b);
            b = std::move(next);
        }
    }
    if (b.empty()) return a;
    Limbs rest;
    divide(a, b, rest);
    return from_word(std::gcd(low_word(b), low_word(rest)));
}

}  // namespace cohort::limbs

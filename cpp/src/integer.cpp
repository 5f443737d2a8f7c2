// Integers: 64 bits with overflow checks, else sign and limbs.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "cohort/rational.h"
#include "limbs.h"

namespace cohort {
namespace {

using limbs::Limbs;

std::uint64_t absolute(std::int64_t value) {
    const auto word = static_cast<std::uint64_t>(value);
    return value < 0 ? 0 - word : word;
}

void check_bits(std::size_t bits) {
    if (bits > kMaxBits) throw LimitReached{};
}

unsigned digit_value(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'z') return static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'Z') return static_cast<unsigned>(c - 'A') + 10;
    return std::numeric_limits<unsigned>::max();
}

/// base^n, or nothing when it has more bits than `most`.
std::optional<Integer> power_within(const Integer& base, unsigned n, std::size_t most) {
    Integer result(1);
    for (unsigned bit = std::bit_floor(n); bit != 0; bit >>= 1) {
        if (2 * result.bits() > most + 2) return std::nullopt;
        result = result * result;
        if ((n & bit) != 0) result = result * base;
        if (result.bits() > most) return std::nullopt;
    }
    return result;
}

/// The n-th root rounded down, or something else when it is not exact; Newton from above.
Integer newton_root(const Integer& value, unsigned n) {
    Integer root = Integer(1).shifted_left(value.bits() / n + 1);
    while (true) {
        const auto below = power_within(root, n - 1, kMaxBits);
        if (!below) return Integer(0);
        const Integer next =
            Integer::divide(root * Integer(n - 1) + Integer::divide(value, *below).quotient,
                            Integer(n))
                .quotient;
        if (next >= root) return root;
        root = next;
    }
}

}  // namespace

std::optional<Integer> Integer::from_digits(std::string_view digits, unsigned base) {
    if (digits.empty() || base < 2 || base > 36) return std::nullopt;
    Limbs value;
    std::uint32_t chunk = 0;
    std::uint32_t scale = 1;
    const auto flush = [&] {
        limbs::multiply_add(value, scale, chunk);
        check_bits(limbs::bits(value));
        chunk = 0;
        scale = 1;
    };
    for (const char c : digits) {
        const unsigned digit = digit_value(c);
        if (digit >= base) return std::nullopt;
        chunk = chunk * base + digit;
        scale *= base;
        if (scale > std::numeric_limits<std::uint32_t>::max() / base) flush();
    }
    flush();
    return from_magnitude(false, std::move(value));
}

Integer Integer::from_magnitude(bool negative, std::vector<std::uint32_t> value) {
    limbs::trim(value);
    check_bits(limbs::bits(value));
    Integer result;
    const std::uint64_t word = limbs::low_word(value);
    const std::uint64_t limit = absolute(std::numeric_limits<std::int64_t>::min());
    if (value.size() <= 2 && (word < limit || (negative && word == limit))) {
        result.small_ = static_cast<std::int64_t>(negative ? 0 - word : word);
        return result;
    }
    result.negative_ = negative;
    result.limbs_ = std::move(value);
    return result;
}

std::vector<std::uint32_t> Integer::magnitude() const {
    return is_small() ? limbs::from_word(absolute(small_)) : limbs_;
}

bool Integer::is_zero() const { return is_small() && small_ == 0; }

int Integer::sign() const {
    if (!is_small()) return negative_ ? -1 : 1;
    return (small_ > 0) - (small_ < 0);
}

bool Integer::is_odd() const { return is_small() ? (small_ & 1) != 0 : (limbs_[0] & 1) != 0; }

std::size_t Integer::bits() const {
    return is_small() ? static_cast<std::size_t>(std::bit_width(absolute(small_)))
                      : limbs::bits(limbs_);
}

std::optional<std::int64_t> Integer::to_int64() const {
    return is_small() ? std::optional(small_) : std::nullopt;
}

std::uint64_t Integer::modulo(std::uint64_t modulus) const {
    std::uint64_t rest = 0;
    if (is_small()) {
        rest = absolute(small_) % modulus;
    } else {
        for (std::size_t i = limbs_.size(); i-- > 0;) {
            const unsigned __int128 next = static_cast<unsigned __int128>(rest) << 32 | limbs_[i];
            rest = static_cast<std::uint64_t>(next % modulus);
        }
    }
    return sign() < 0 && rest != 0 ? modulus - rest : rest;
}

std::string Integer::to_string() const {
    if (is_small()) return std::to_string(small_);
    Limbs rest = limbs_;
    std::string text;
    while (!rest.empty()) {
        std::uint32_t chunk = limbs::divide_small(rest, 1'000'000'000);
        for (int i = 0; i < 9 && (chunk != 0 || !rest.empty()); ++i, chunk /= 10) {
            text += static_cast<char>('0' + chunk % 10);
        }
    }
    if (negative_) text += '-';
    std::reverse(text.begin(), text.end());
    return text;
}

Integer Integer::operator-() const {
    if (is_small() && small_ != std::numeric_limits<std::int64_t>::min()) return Integer(-small_);
    return from_magnitude(sign() > 0, magnitude());
}

Integer operator+(const Integer& a, const Integer& b) {
    std::int64_t sum = 0;
    if (a.is_small() && b.is_small() && !__builtin_add_overflow(a.small_, b.small_, &sum)) {
        return Integer(sum);
    }
    const Limbs left = a.magnitude();
    const Limbs right = b.magnitude();
    if ((a.sign() < 0) == (b.sign() < 0)) {
        return Integer::from_magnitude(a.sign() < 0, limbs::add(left, right));
    }
    const bool larger = limbs::compare(left, right) >= 0;
    return Integer::from_magnitude((larger ? a : b).sign() < 0, larger
                                                                    ? limbs::subtract(left, right)
                                                                    : limbs::subtract(right, left));
}

Integer operator-(const Integer& a, const Integer& b) {
    std::int64_t difference = 0;
    if (a.is_small() && b.is_small() && !__builtin_sub_overflow(a.small_, b.small_, &difference)) {
        return Integer(difference);
    }
    return a + -b;
}

Integer operator*(const Integer& a, const Integer& b) {
    std::int64_t product = 0;
    if (a.is_small() && b.is_small() && !__builtin_mul_overflow(a.small_, b.small_, &product)) {
        return Integer(product);
    }
    if (a.bits() + b.bits() > kMaxBits + 1) throw LimitReached{};
    return Integer::from_magnitude((a.sign() < 0) != (b.sign() < 0),
                                   limbs::multiply(a.magnitude(), b.magnitude()));
}

std::strong_ordering operator<=>(const Integer& a, const Integer& b) {
    if (a.is_small() && b.is_small()) return a.small_ <=> b.small_;
    if (a.sign() != b.sign()) return a.sign() <=> b.sign();
    const auto order = limbs::compare(a.magnitude(), b.magnitude());
    return a.sign() < 0 ? 0 <=> order : order;
}

bool operator==(const Integer& a, const Integer& b) {
    return a.small_ == b.small_ && a.negative_ == b.negative_ && a.limbs_ == b.limbs_;
}

Integer::Division Integer::divide(const Integer& dividend, const Integer& divisor) {
    const bool overflows = divisor.is_small() && divisor.small_ == -1;
    if (dividend.is_small() && divisor.is_small() && !overflows) {
        return {Integer(dividend.small_ / divisor.small_),
                Integer(dividend.small_ % divisor.small_)};
    }
    Limbs rest;
    Limbs quotient = limbs::divide(dividend.magnitude(), divisor.magnitude(), rest);
    return {from_magnitude(dividend.sign() * divisor.sign() < 0, std::move(quotient)),
            from_magnitude(dividend.sign() < 0, std::move(rest))};
}

Integer Integer::gcd(const Integer& a, const Integer& b) {
    if (a.is_small() && b.is_small()) {
        std::uint64_t x = absolute(a.small_);
        std::uint64_t y = absolute(b.small_);
        while (y != 0) x = std::exchange(y, x % y);
        return from_magnitude(false, limbs::from_word(x));
    }
    return from_magnitude(false, limbs::gcd(a.magnitude(), b.magnitude()));
}

std::optional<Integer> Integer::exact_root(const Integer& value, unsigned n) {
    if (n == 0) return std::nullopt;
    if (n == 1 || value.is_zero()) return value;
    if (value.sign() < 0) {
        if (n % 2 == 0) return std::nullopt;
        const auto root = exact_root(-value, n);
        return root ? std::optional(-*root) : std::nullopt;
    }
    if (value.bits() > std::size_t{n} * 50) {
        const Integer root = newton_root(value, n);
        const auto again = power_within(root, n, value.bits());
        return again && *again == value ? std::optional(root) : std::nullopt;
    }
    const std::size_t shift = value.bits() > 60 ? value.bits() - 60 : 0;
    const auto head = static_cast<double>(*value.shifted_right(shift).to_int64());
    const double guess = std::exp2((std::log2(head) + static_cast<double>(shift)) / n);
    for (std::int64_t root = std::llround(guess) - 1; root <= std::llround(guess) + 1; ++root) {
        const auto again = power_within(Integer(root), n, value.bits());
        if (again && *again == value) return Integer(root);
    }
    return std::nullopt;
}

Integer Integer::shifted_left(std::size_t count) const {
    if (is_zero()) return *this;
    if (count > kMaxBits) throw LimitReached{};
    check_bits(bits() + count);
    return from_magnitude(sign() < 0, limbs::shift_left(magnitude(), count));
}

Integer Integer::shifted_right(std::size_t count) const {
    return from_magnitude(sign() < 0, limbs::shift_right(magnitude(), count));
}

}  // namespace cohort

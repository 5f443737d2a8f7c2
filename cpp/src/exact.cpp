#include "cohort/exact.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "cohort/ascii.h"

namespace cohort {
namespace {

constexpr std::size_t kMaxDigits = 18;
constexpr int kMaxExponent = 300;

struct Parts {
    bool negative = false;
    std::string whole, part;  // digits before and after the point
};

/// Sign and digits of a written decimal; separators, spaces and braces are passed over.
Parts split(std::string_view written) {
    Parts parts;
    bool after_point = false;
    for (const char c : written) {
        if (c == '-') parts.negative = true;
        if (c == '.') after_point = true;
        if (is_digit(c)) (after_point ? parts.part : parts.whole) += c;
    }
    return parts;
}

std::string_view without_zeros(std::string_view digits) {
    const std::size_t first = digits.find_first_not_of('0');
    return first == npos ? "0" : digits.substr(first);
}

std::string join(const Parts& parts) {
    const std::string_view part = strip_right(parts.part, "0");
    const std::string_view whole = without_zeros(parts.whole);
    std::string digits(parts.negative && (whole != "0" || !part.empty()) ? "-" : "");
    digits.append(whole);
    if (!part.empty()) digits.append(".").append(part);
    return digits;
}

std::uint64_t to_integer(std::string_view digits) {
    std::uint64_t value = 0;
    for (const char c : digits) value = value * 10 + static_cast<std::uint64_t>(c - '0');
    return value;
}

/// `top / bottom` as a decimal where one ends, else in lowest terms. Both have at most 18 digits.
std::string ratio(bool negative, std::uint64_t top, std::uint64_t bottom) {
    const std::uint64_t shared = std::gcd(top, bottom);
    top /= shared;
    bottom /= shared;
    std::uint64_t rest = bottom;
    for (const std::uint64_t prime : {2U, 5U}) {
        while (rest % prime == 0) rest /= prime;
    }
    if (rest > 1) {
        std::string fraction(negative ? "-" : "");
        return fraction.append(std::to_string(top)).append("/").append(std::to_string(bottom));
    }
    Parts parts{negative, std::to_string(top / bottom), ""};
    for (std::uint64_t remainder = top % bottom; remainder != 0; remainder %= bottom) {
        remainder *= 10;
        parts.part += static_cast<char>('0' + remainder / bottom);
    }
    return join(parts);
}

}  // namespace

std::string decimal(std::string_view written) { return join(split(written)); }

std::string negate(std::string value) {
    if (value == "0") return value;
    return value.front() == '-' ? value.substr(1) : value.insert(0, 1, '-');
}

std::optional<std::string> shift(std::string_view value, std::string_view exponent) {
    const bool down = exponent.starts_with('-');
    const std::string_view digits =
        without_zeros(exponent.substr(std::min(exponent.find_first_not_of("+-"), exponent.size())));
    if (value.find('/') != npos || digits.size() > 3) return std::nullopt;
    const auto places = static_cast<std::size_t>(to_integer(digits));
    if (places > kMaxExponent) return std::nullopt;
    Parts parts = split(value);
    if (down) {
        if (parts.whole.size() < places) parts.whole.insert(0, places - parts.whole.size(), '0');
        const std::size_t point = places == 0 ? parts.whole.size() : parts.whole.size() - places;
        parts.part.insert(0, parts.whole, point, npos);
        parts.whole.resize(point);
    } else {
        if (parts.part.size() < places) parts.part.append(places - parts.part.size(), '0');
        parts.whole.append(parts.part, 0, places);
        parts.part.erase(0, places);
    }
    return join(parts);
}

std::optional<std::string> quotient(std::string_view numerator, std::string_view denominator) {
    Parts top = split(numerator);
    Parts bottom = split(denominator);
    const std::size_t places = std::max(top.part.size(), bottom.part.size());
    for (Parts* parts : {&top, &bottom}) {
        parts->part.append(places - parts->part.size(), '0');
        parts->whole += parts->part;
    }
    const std::string_view above = without_zeros(top.whole);
    const std::string_view below = without_zeros(bottom.whole);
    if (below == "0" || std::max(above.size(), below.size()) > kMaxDigits) return std::nullopt;
    return ratio(top.negative != bottom.negative, to_integer(above), to_integer(below));
}

std::optional<std::string> mixed(std::string_view whole, std::string_view numerator,
                                 std::string_view denominator) {
    whole = without_zeros(whole);
    numerator = without_zeros(numerator);
    denominator = without_zeros(denominator);
    if (numerator.size() > kMaxDigits || whole.size() + denominator.size() > kMaxDigits) {
        return std::nullopt;
    }
    const std::uint64_t top = to_integer(numerator);
    const std::uint64_t bottom = to_integer(denominator);
    if (top >= bottom) return std::nullopt;
    return ratio(false, to_integer(whole) * bottom + top, bottom);
}

}  // namespace cohort

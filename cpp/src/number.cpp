// Every match_* function returns the end of what it matched at `start`, or npos.
#include "cohort/number.h"

#include "cohort/ascii.h"
#include "cohort/exact.h"
#include "cohort/number_words.h"

namespace cohort {
namespace {

using View = std::string_view;

bool three_digits(View text, std::size_t start) {
    return is_digit(at(text, start)) && is_digit(at(text, start + 1)) &&
           is_digit(at(text, start + 2)) && !is_digit(at(text, start + 3));
}

/// Digits, with groups of thousands when the first group has one to three and no leading zero.
std::size_t match_digits(View text, std::size_t start) {
    std::size_t end = skip_digits(text, start);
    if (end == start) return npos;
    const char separator = at(text, end);
    if (end - start > 3 || text[start] == '0' || (separator != ',' && separator != ' ')) return end;
    while (at(text, end) == separator && three_digits(text, end + 1)) end += 4;
    return end;
}

std::size_t match_decimal(View text, std::size_t start) {
    std::size_t end = match_digits(text, start);
    if (end == npos) end = start;
    if (at(text, end) == '.' && is_digit(at(text, end + 1))) end = skip_digits(text, end + 1);
    return end == start ? npos : end;
}

/// `+`, `-` or nothing, with spaces on both sides.
std::size_t skip_sign(View text, std::size_t start) {
    start = skip_spaces(text, start);
    return skip_spaces(text, start + (is_one_of(at(text, start), "+-") ? 1 : 0));
}

/// `{...}` around a signed decimal, or one digit.
std::size_t match_argument(View text, std::size_t start) {
    if (is_digit(at(text, start))) return start + 1;
    if (at(text, start) != '{') return npos;
    const std::size_t end = match_decimal(text, skip_sign(text, start + 1));
    if (end == npos) return npos;
    const std::size_t close = skip_spaces(text, end);
    return at(text, close) == '}' ? close + 1 : npos;
}

/// Two parts of a fraction, and the end of the second.
struct Pair {
    View first, second;
    std::size_t end = npos;
};

Pair match_frac(View text, std::size_t start) {
    if (!text.substr(start).starts_with("\\frac")) return {};
    const std::size_t first = skip_spaces(text, start + 5);
    const std::size_t first_end = match_argument(text, first);
    if (first_end == npos) return {};
    const std::size_t second = skip_spaces(text, first_end);
    const std::size_t end = match_argument(text, second);
    if (end == npos) return {};
    return {text.substr(first, first_end - first), text.substr(second, end - second), end};
}

Pair match_quotient(View text, std::size_t start) {
    const std::size_t first_end = match_decimal(text, start);
    if (first_end == npos) return {};
    const std::size_t slash = skip_spaces(text, first_end);
    if (at(text, slash) != '/') return {};
    const std::size_t end = match_decimal(text, skip_sign(text, slash + 1));
    if (end == npos) return {};
    return {text.substr(start, first_end - start), text.substr(slash + 1, end - slash - 1), end};
}

View strip_group(View argument) { return strip(argument, "{} "); }

bool all_digits(View text) { return skip_digits(text, 0) == text.size(); }

/// The fraction of a mixed number, which begins where its whole part ends.
Pair match_proper(View text, std::size_t start) {
    const std::size_t begin = skip_spaces(text, start);
    if (const Pair frac = match_frac(text, begin); frac.end != npos) {
        const Pair parts{strip_group(frac.first), strip_group(frac.second), frac.end};
        return all_digits(parts.first) && all_digits(parts.second) ? parts : Pair{};
    }
    const std::size_t slash = skip_digits(text, begin);
    if (begin == start || slash == begin || at(text, slash) != '/') return {};
    const std::size_t end = skip_digits(text, slash + 1);
    if (end == slash + 1) return {};
    return {text.substr(begin, slash - begin), text.substr(slash + 1, end - slash - 1), end};
}

struct Magnitude {
    std::optional<std::string> value;
    std::size_t end;
};

/// The unsigned number at `start`; it has no value when there is none or it is not defined.
Magnitude read_magnitude(View text, std::size_t start) {
    if (const Pair frac = match_frac(text, start); frac.end != npos) {
        return {quotient(frac.first, frac.second), frac.end};
    }
    if (const std::size_t whole = skip_digits(text, start); whole != start) {
        if (const Pair part = match_proper(text, whole); part.end != npos) {
            return {mixed(text.substr(start, whole - start), part.first, part.second), part.end};
        }
    }
    if (const Pair parts = match_quotient(text, start); parts.end != npos) {
        return {quotient(parts.first, parts.second), parts.end};
    }
    const std::size_t end = match_decimal(text, start);
    if (end != npos) return {decimal(text.substr(start, end - start)), end};
    const auto words = read_words(text, start);
    if (!words) return {std::nullopt, start};
    return {std::to_string(words->value), words->end};
}

/// An exponent and the end of the power of ten that it stands in; npos when there is none.
struct Power {
    View exponent;
    std::size_t end = npos;
};

Power match_exponent(View text, std::size_t start) {
    const std::size_t digits = start + (is_one_of(at(text, start), "+-") ? 1 : 0);
    const std::size_t end = skip_digits(text, digits);
    return end == digits ? Power{} : Power{text.substr(start, end - start), end};
}

Power match_power_of_ten(View text, std::size_t start) {
    std::size_t i = skip_spaces(text, start);
    for (const View sign : {View("\\times"), View("\\cdot"), View("*")}) {
        if (!text.substr(i).starts_with(sign)) continue;
        i = skip_spaces(text, i + sign.size());
        if (!text.substr(i).starts_with("10^")) return {};
        i += 3;
        if (at(text, i) != '{') return match_exponent(text, i);
        const Power power = match_exponent(text, skip_spaces(text, i + 1));
        if (power.end == npos) return {};
        const std::size_t close = skip_spaces(text, power.end);
        return at(text, close) == '}' ? Power{power.exponent, close + 1} : Power{};
    }
    return {};
}

/// `\times 10^{8}` or `e8` after a number.
Power match_power(View text, std::size_t start) {
    if (at(text, start) != 'e' && at(text, start) != 'E') return match_power_of_ten(text, start);
    const Power power = match_exponent(text, start + 1);
    return power.end != npos && is_letter(at(text, power.end)) ? Power{} : power;
}

}  // namespace

std::optional<Number> read_number(std::string_view text) {
    std::size_t i = skip_spaces(text, 0);
    const bool signed_before = is_one_of(at(text, i), "+-");
    bool negative = at(text, i) == '-';
    i = skip_sign(text, i);
    CurrencySign currency = currency_sign(text.substr(i));
    if (at(text, i) == '$') currency = {"$", 1};
    i = skip_spaces(text, i + currency.size);
    if (is_one_of(at(text, i), "+-")) {
        if (signed_before) return std::nullopt;
        negative = text[i] == '-';
        i = skip_sign(text, i);
    }
    auto [value, end] = read_magnitude(text, i);
    if (value && negative) value = negate(std::move(*value));
    if (!value) return std::nullopt;
    if (const Power power = match_power(text, end); power.end != npos) {
        value = shift(*value, power.exponent);
        end = power.end;
    }
    if (!value) return std::nullopt;
    return read_tail(std::move(*value), currency.name, text.substr(end));
}

}  // namespace cohort

// Numbers as they are written: separators, repeating decimals, mixed numbers, other bases.
#include <array>

#include "cohort/ascii.h"
#include "parser.h"
#include "vocabulary.h"

namespace cohort {
namespace {

constexpr std::int64_t kMaxExponent = 400;  // larger powers of ten stay powers

std::optional<std::int64_t> small_integer(std::string_view digits) {
    if (digits.empty() || digits.size() > 18) return std::nullopt;
    std::int64_t value = 0;
    for (const char c : digits) {
        if (!is_digit(c)) return std::nullopt;
        value = value * 10 + (c - '0');
    }
    return value;
}

Integer integer(std::string_view digits, unsigned base = 10) {
    if (base == 10) {
        if (const auto value = small_integer(digits)) return *value;
    }
    auto value = Integer::from_digits(digits, base);
    if (!value) fail();
    return *std::move(value);
}

Rational ratio_of(Integer numerator, Integer denominator) {
    auto value = Rational::of(std::move(numerator), std::move(denominator));
    if (!value) fail();
    return *std::move(value);
}

Integer power_of_ten(std::size_t exponent) {
    return integer(std::string(1, '1') + std::string(exponent, '0'));
}

/// The digits before and after the point, without separators.
struct Digits {
    std::string all;
    std::size_t decimals = 0;
    bool point = false;
};

Digits digits_of(std::string_view text) {
    Digits result;
    for (const char c : text) {
        if (c == '.') result.point = true;
        if (!is_digit(c)) continue;
        result.all += c;
        if (result.point) ++result.decimals;
    }
    return result;
}

/// The shortest block that the decimals end with twice.
std::size_t period(std::string_view decimals) {
    for (std::size_t size = 1; 2 * size <= decimals.size() && size <= 32; ++size) {
        const std::string_view block = decimals.substr(decimals.size() - size);
        if (decimals.substr(decimals.size() - 2 * size, size) == block) return size;
    }
    return 0;
}

}  // namespace

/// A number without anything behind it; a large exponent stays a power of ten.
NodeId Parser::literal(std::string_view text) {
    if (const auto value = small_integer(text)) return arena_.number(*value);
    const std::size_t mark = text.find_first_of("eE");
    const Digits digits = digits_of(text.substr(0, mark));
    if (digits.all.empty()) fail();
    budget_.spend(static_cast<std::int64_t>(digits.all.size() * digits.all.size() / 64));
    const Rational mantissa = ratio_of(integer(digits.all), power_of_ten(digits.decimals));
    const int shown = digits.point ? static_cast<int>(digits.decimals) : -1;
    if (mark == npos) return arena_.number(mantissa, shown);
    std::string_view rest = text.substr(mark + 1);
    const bool minus = rest.starts_with('-');
    if (minus || rest.starts_with('+')) rest.remove_prefix(1);
    const auto size = small_integer(rest);
    if (!size) throw LimitReached{};
    if (*size > kMaxExponent) {
        const NodeId ten = arena_.number(10);
        const NodeId scale = power(ten, arena_.number(minus ? -*size : *size));
        return arena_.make(Kind::product, std::array{arena_.number(mantissa), scale});
    }
    const Rational scale(power_of_ten(static_cast<std::size_t>(*size)));
    if (!minus) return arena_.number(mantissa * scale);
    const int decimals = static_cast<int>(digits.decimals) + static_cast<int>(*size);
    return arena_.number(mantissa * *scale.inverse(), decimals);
}

NodeId Parser::number(bool mixed) {
    const Token token = take();
    const bool point = token.text.find('.') != npos;
    if (point) {
        const bool block = sees(Sign::open_paren) && !peek().spaced && sees(Sign::number, 1) &&
                           sees(Sign::close_paren, 2) && small_integer(peek(1).text);
        if (block || sees(Sign::overline) || sees(Sign::dot_accent) || sees(Sign::dots)) {
            return repeating(token);
        }
    }
    if (sees(Sign::subscript)) return based(token);
    if (const auto node = base_in_words(token)) return *node;
    if (!mixed) return literal(token.text);
    if (!point && fraction_ahead()) return mixed_number(token);
    NodeId node = literal(token.text);
    while (sees(Sign::name) && arena_.is(node, Kind::number)) {
        const auto word = number_word(lowered(peek().text));
        if (!word || word->role < NumberWord::Role::hundred ||
            word->role == NumberWord::Role::part) {
            break;
        }
        take();
        const Node& written = arena_.at(node);
        const int shown = written.shown >= 0 ? 0 : -1;
        node = arena_.number(arena_.value(node) * Rational(word->value), shown);
    }
    return node;
}

// Mixed numbers

std::optional<Parser::Fraction> Parser::fraction_ahead() const {
    const auto plain = [&](std::size_t k) {
        return sees(Sign::number, k) ? small_integer(peek(k).text) : std::nullopt;
    };
    if (sees(Sign::number) && sees(Sign::divide, 1)) {
        const auto above = plain(0);
        const auto below = plain(2);
        if (!above || !below) return std::nullopt;
        return Fraction{*above, *below, 3};
    }
    if (!sees(Sign::frac)) return std::nullopt;
    std::size_t k = 1;
    if (sees(Sign::number, 1) && peek(1).text.size() == 2) {  // \frac12
        const std::string_view digits = peek(1).text;
        return Fraction{digits[0] - '0', digits[1] - '0', 2};
    }
    std::array<std::int64_t, 2> parts{};
    for (std::int64_t& part : parts) {
        const bool braced = sees(Sign::open_brace, k);
        const auto value = plain(k + (braced ? 1 : 0));
        if (!value || (braced && !sees(Sign::close_brace, k + 2))) return std::nullopt;
        if (!braced && peek(k).text.size() > 1) return std::nullopt;
        part = *value;
        k += braced ? 3 : 1;
    }
    return Fraction{parts[0], parts[1], k};
}

/// `2\frac14`, `2 1/4`; `4 10/3` is no number.
NodeId Parser::mixed_number(const Token& whole) {
    const Fraction part = *fraction_ahead();
    if (part.numerator >= part.denominator) fail();
    next_ += part.tokens;
    const Rational value =
        Rational(integer(digits_of(whole.text).all)) + ratio_of(part.numerator, part.denominator);
    return arena_.number(value);
}

// Repeating decimals

/// The digits that repeat: under a line, in parentheses, between dots, or before an ellipsis.
std::string Parser::repeated_block() {
    std::string block;
    if (accept(Sign::open_paren)) {
        block = take().text;
        expect(Sign::close_paren);
        return block;
    }
    const bool line = sees(Sign::overline);
    for (;;) {
        if (sees(Sign::dot_accent) || sees(Sign::overline)) {
            take();
            const bool braced = accept(Sign::open_brace);
            if (!sees(Sign::number)) fail();
            if (braced || peek().text.size() == 1) {
                block += take().text;
            } else {  // \dot34: the mark is over one digit
                block += peek().text[0];
                tokens_[next_].text.remove_prefix(1);
            }
            if (braced) expect(Sign::close_brace);
        } else if (!line && sees(Sign::number) && !peek().spaced) {
            block += take().text;
        } else {
            break;
        }
        if (line) break;
    }
    return block;
}

NodeId Parser::repeating(const Token& token) {
    Digits digits = digits_of(token.text);
    std::string block;
    if (accept(Sign::dots)) {
        const std::string_view decimals =
            std::string_view(digits.all).substr(digits.all.size() - digits.decimals);
        const std::size_t size = period(decimals);
        if (size == 0) fail();
        block = decimals.substr(decimals.size() - size);
    } else {
        block = repeated_block();
        accept(Sign::dots);
    }
    if (block.empty() || !std::ranges::all_of(block, is_digit) || token.text.find('e') != npos) {
        fail();
    }
    if (block.size() + digits.all.size() > 256) throw LimitReached{};
    if (digits.all.empty()) digits.all = "0";
    const std::string below = std::string(block.size(), '9') + std::string(digits.decimals, '0');
    const Integer above = integer(digits.all + block) - integer(digits.all);
    return arena_.number(ratio_of(above, integer(below)));
}

// Other bases

/// `2516_8`, `204_{five}`: digits that the base has.
NodeId Parser::based(const Token& token) {
    take();
    const std::string text = script();
    return in_base(token, strip(text, "{()}"));
}

/// `2516 base 8`, `2516 (base 8)`.
std::optional<NodeId> Parser::base_in_words(const Token& token) {
    const std::size_t paren = sees(Sign::open_paren) ? 1 : 0;
    if (peek(paren).text != "base" || !sees(Sign::name, paren)) return std::nullopt;
    next_ += paren + 1;
    const std::string_view base = take().text;
    if (paren > 0) expect(Sign::close_paren);
    return in_base(token, base);
}

NodeId Parser::in_base(const Token& token, std::string_view text) {
    auto base = small_integer(text);
    if (!base) {
        const auto word = number_word(lowered(text));
        if (word && word->role == NumberWord::Role::ones) base = word->value;
    }
    if (!base || *base < 2 || *base > 10 || !std::ranges::all_of(token.text, is_digit)) fail();
    const bool possible = std::ranges::all_of(token.text, [&](char c) { return c - '0' < *base; });
    if (!possible) fail();
    const NodeId value = arena_.number(integer(token.text, static_cast<unsigned>(*base)));
    const NodeId node = arena_.make(Kind::based, std::array{value});
    arena_.set_name(node, token.text);
    arena_.at(node).index = static_cast<std::uint32_t>(*base);
    return node;
}

}  // namespace cohort

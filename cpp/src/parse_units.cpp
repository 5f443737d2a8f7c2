// Units behind a value, what is counted, and currency.
#include <algorithm>
#include <array>

#include "cohort/ascii.h"
#include "cohort/words.h"
#include "parser.h"

namespace cohort {
namespace {

/// How much a unit is raised by a word before it.
int power_word(std::string_view word) {
    if (word == "square" || word == "sq") return 2;
    return word == "cubic" || word == "cu" ? 3 : 0;
}

std::string_view currency_name(std::string_view text) {
    if (text.starts_with('\\') && text.size() > 2) text.remove_prefix(1);
    if (text.starts_with("euro")) return "euro";
    if (text == "pounds") return "gbp";
    if (text == "yen" || text == "yuan") return text;
    if (text.starts_with("rupee")) return "rupee";
    return "$";
}

std::optional<std::string_view> unit_name(std::string_view word) {
    if (const auto name = unit_form(word)) return name;
    if (word.size() > 1) {
        if (const auto name = unit_form(lowered(word))) return name;  // mL, KG
    }
    if (word == "unit" || word == "units") return "unit";
    return std::nullopt;
}

bool is_prose_word(const Token& token) {
    return token.sign == Sign::name || (token.sign == Sign::letter && token.style == Style::roman);
}

}  // namespace

bool Parser::unit_ahead() const {
    const Token& token = peek();
    if (token.sign == Sign::name || token.sign == Sign::currency) return true;
    const bool behind_number = tokens_[next_ - 1].sign == Sign::number;
    if (token.sign == Sign::function && (token.text == "min" || token.text == "sec")) {
        return behind_number && !starts_value(peek(1));
    }
    if (token.sign != Sign::letter || !unit_form(token.text)) return false;
    if (token.style == Style::roman) return true;
    // A lone letter is a unit only where it looks like nothing else: `5 m/s`.
    const bool variable = is_one_of(token.text[0], reading_.variables);
    return !variable && behind_number && token.spaced && sees(Sign::divide, 1) &&
           (peek(2).text == "s" || peek(2).text == "h") && !sees(Sign::letter, 3);
}

/// One unit with its power; `^2`, `squared` and `square` say the same.
bool Parser::unit_factor(std::string& name) {
    int exponent = power_word(lowered(peek().text));
    const std::size_t skip = exponent > 0 ? 1 : 0;
    const Token token = peek(skip);
    const auto unit = unit_name(token.text);
    const bool word =
        token.sign == Sign::name || token.sign == Sign::letter || token.sign == Sign::function;
    if (!word || !unit) return false;
    next_ += skip + 1;
    name += *unit;
    if (sees(Sign::squared)) exponent = take().code;
    if (accept(Sign::power)) {
        const bool braced = accept(Sign::open_brace);
        const bool minus = accept(Sign::minus);
        if (!sees(Sign::number) || peek().text.size() > 1) fail();
        exponent = take().text[0] - '0';
        if (minus) exponent = -exponent;
        if (braced) expect(Sign::close_brace);
    }
    if (exponent != 0 && exponent != 1) name.append("^").append(std::to_string(exponent));
    return true;
}

NodeId Parser::quantity(NodeId value, std::string_view unit, bool prose) {
    const std::string name(unit);
    const NodeId node = arena_.make(Kind::quantity, std::array{value});
    arena_.set_name(node, name);
    arena_.at(node).flag = prose;
    return node;
}

/// `5 pm` is `5:00 pm`.
NodeId Parser::hour(NodeId value, std::string_view half) {
    if (!arena_.is(value, Kind::number)) fail();
    return arena_.word(to_string(arena_, value).append(":00 ").append(half));
}

/// What is counted, in words that are no unit: `9 chickens`, `12 different ways`.
NodeId Parser::counted(NodeId value) {
    if (has_letters(value)) fail();
    std::string noun;
    while (is_prose_word(peek())) {
        const std::string word = plain_word(take().text);
        if (is_math_word(word)) fail();  // `7 if n is odd`
        if (noun.empty() && (word == "am" || word == "pm")) return hour(value, word);
        noun.append(noun.empty() ? "" : " ").append(word);
    }
    return quantity(value, noun, true);
}

bool Parser::has_letters(NodeId node) const {
    if (arena_.is(node, Kind::symbol) || arena_.is(node, Kind::word)) return true;
    return std::ranges::any_of(arena_.children(node), [&](NodeId c) { return has_letters(c); });
}

/// The value with the unit that comes next.
NodeId Parser::measure(NodeId value) {
    std::string name;
    if (arena_.is(value, Kind::quantity)) {
        name = arena_.name(value);
        value = arena_.child(value, 0);
        const bool again = sees(Sign::currency) && currency_name(peek().text) == name;
        if (again) {
            take();
        } else if (peek().text != "per") {
            fail();
        }
    } else if (sees(Sign::currency)) {
        name = currency_name(take().text);
    } else if (!unit_factor(name)) {
        return counted(value);
    }
    for (;;) {
        const bool over = sees(Sign::divide) || peek().text == "per";
        const bool times = sees(Sign::times);
        const Token& next = peek(over || times ? 1 : 0);
        const bool unit = (next.sign == Sign::name || next.sign == Sign::letter) &&
                          unit_form(next.text) &&
                          (next.sign == Sign::name || over || next.style == Style::roman);
        if (!unit) break;
        if (over || times) take();
        name += over ? '/' : '*';
        if (!unit_factor(name)) fail();
    }
    while (sees(Sign::name)) {  // `of carpet`
        if (is_math_word(plain_word(take().text))) fail();
    }
    return quantity(value, name);
}

/// `$18`, `\$3.5 million`.
NodeId Parser::currency() {
    const std::string_view name = currency_name(take().text);
    if (!sees(Sign::number) && !sees(Sign::minus)) fail();
    const bool minus = accept(Sign::minus);
    const NodeId amount = number(true);
    return quantity(minus ? negative(amount) : amount, name);
}

}  // namespace cohort

// Units behind a value, what is counted, and currency.
#include <algorithm>
#include <array>

#include "cohort/ascii.h"
#include "cohort/labels.h"
#include "cohort/units.h"
#include "cohort/words.h"
#include "parser.h"

namespace cohort {
namespace {

/// How much a unit is raised by a word before it.
int power_word(std::string_view word) {
    if (word == "square" || word == "sq") return 2;
    return word == "cubic" || word == "cu" ? 3 : 0;
}

std::string currency_name(std::string_view text) {
    if (text.starts_with('\\') && text.size() > 2) text.remove_prefix(1);
    if (text == "pounds") return "gbp";
    return unit_form(text).value_or("$");
}

bool is_prose_word(const Token& token) {
    return token.sign == Sign::name || (token.sign == Sign::letter && token.style == Style::roman);
}

}  // namespace

bool Parser::unit_ahead() const {
    const Token& token = peek();
    if (token.sign == Sign::name || token.sign == Sign::currency) return true;
    if (unit_fraction_ahead()) return true;
    const bool group = token.sign == Sign::open_brace && peek(1).style == Style::roman;
    if (group && sees(Sign::letter, 1) && unit_form(peek(1).text)) return true;
    const bool behind_number = tokens_[next_ - 1].sign == Sign::number;
    if (token.sign == Sign::function && (token.text == "min" || token.text == "sec")) {
        return behind_number && !starts_value(peek(1));
    }
    if (token.sign != Sign::letter || !unit_form(token.text)) return false;
    if (token.style == Style::roman) return true;
    // A lone letter is a unit only where it looks like nothing else: `5 m/s`.
    const bool variable = is_one_of(token.text[0], reading_.variables);
    if (reading_.measured && !variable && behind_number && sees(Sign::end, 1)) return true;
    return !variable && behind_number && token.spaced && sees(Sign::divide, 1) &&
           (peek(2).text == "s" || peek(2).text == "h") && !sees(Sign::letter, 3);
}

/// `\frac{\text{km}}{\text{h}}`.
bool Parser::unit_fraction_ahead() const {
    const auto is_unit = [&](std::size_t k) {
        return sees(Sign::open_brace, k) && sees(Sign::close_brace, k + 2) &&
               peek(k + 1).style == Style::roman && unit_form(peek(k + 1).text);
    };
    return sees(Sign::frac) && is_unit(1) && is_unit(4);
}

/// One unit with its power; `^2`, `squared` and `square` say the same.
bool Parser::unit_factor(std::string& name) {
    int exponent = power_word(lowered(peek().text));
    const std::size_t skip = exponent > 0 ? 1 : 0;
    const Token token = peek(skip);
    const auto unit = unit_of_word(token.text);
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

/// The value with the unit and the words of another one.
NodeId Parser::measured_like(NodeId value, NodeId like) {
    if (!arena_.is(like, Kind::quantity)) return value;
    const NodeId inside = measured_like(value, arena_.child(like, 0));
    return quantity(inside, arena_.name(like), arena_.at(like).flag);
}

/// `5 pm` is `5:00 pm`.
NodeId Parser::hour(NodeId value, std::string_view half) {
    if (!arena_.is(value, Kind::number)) fail();
    return arena_.word(to_string(arena_, value).append(":00 ").append(half));
}

/// The words that come next: what is counted.
std::string Parser::label_words() {
    std::string text;
    while (is_prose_word(peek())) {
        const std::string word = plain_word(take().text);
        if (is_math_word(word)) fail();  // `7 if n is odd`
        text.append(text.empty() ? "" : " ").append(word);
    }
    return text;
}

/// What is counted, in words that are no unit: `9 chickens`, `12 different ways`.
NodeId Parser::counted(NodeId value) {
    if (has_letters(value)) fail();
    const std::string words = label_words();
    if (words == "am" || words == "pm") return hour(value, words);
    return quantity(value, label(words), true);
}

bool Parser::has_letters(NodeId node) const {
    if (arena_.is(node, Kind::symbol) || arena_.is(node, Kind::word)) return true;
    return std::ranges::any_of(arena_.children(node), [&](NodeId c) { return has_letters(c); });
}

/// The value with the unit that comes next, and with the words behind it: `5 km north`.
NodeId Parser::measure(NodeId value) {
    std::string name;
    if (arena_.is(value, Kind::quantity)) {
        name = arena_.name(value);
        const bool again = sees(Sign::currency) && currency_name(peek().text) == name;
        const bool words = is_currency(name) && is_prose_word(peek());  // `$5 profit`
        if (arena_.at(value).flag || (!again && !words && peek().text != "per")) fail();
        value = arena_.child(value, 0);
        if (again) take();
    } else if (sees(Sign::currency)) {
        name = currency_name(take().text);
    } else if (unit_fraction_ahead()) {
        name = *unit_form(peek(2).text) + '/' + *unit_form(peek(5).text);
        next_ += 7;
    } else {
        const bool group = accept(Sign::open_brace);
        if (!unit_factor(name)) return counted(value);
        further_units(name);
        if (group) expect(Sign::close_brace);
    }
    if (is_currency(name)) {
        accept(Sign::divide);  // `$5 / hour`
    } else {
        further_units(name);
    }
    const NodeId node = with_smaller(quantity(value, name), name);
    const std::string words = label(label_words());
    return words.empty() ? node : quantity(node, words, true);
}

/// `1 hour 30 minutes`, `5 feet and 6 inches`.
NodeId Parser::with_smaller(NodeId node, std::string_view name) {
    constexpr std::array kCompound{"day", "foot", "hour", "minute", "pound", "week", "year"};
    const std::size_t skip = sees(Sign::conjunction) ? 1 : 0;
    if (!sees(Sign::number, skip) || std::ranges::find(kCompound, name) == kCompound.end()) {
        return node;
    }
    const auto unit = unit_of_word(peek(skip + 1).text);
    const auto factor = unit ? conversion(name, *unit, budget_) : std::nullopt;
    if (!factor || *factor <= Rational(1)) return node;
    next_ += skip;
    const NodeId value = literal(take().text);
    std::string smaller;
    if (!unit_factor(smaller)) fail();
    const NodeId rest = with_smaller(quantity(value, smaller), smaller);
    return arena_.make(Kind::sum, std::array{node, rest});
}

/// `/h`, ` per second`, ` m` behind a unit.
void Parser::further_units(std::string& name) {
    for (;;) {
        const bool over = sees(Sign::divide) || peek().text == "per";
        const bool times = sees(Sign::times);
        const Token& next = peek(over || times ? 1 : 0);
        const bool word = next.sign == Sign::name || next.sign == Sign::letter ||
                          (next.sign == Sign::function && over);  // km/min
        const bool unit = word && unit_form(next.text) &&
                          (next.sign == Sign::name || over || next.style == Style::roman);
        if (!unit) return;
        if (over || times) take();
        name += over ? '/' : '*';
        if (!unit_factor(name)) fail();
    }
}

/// `$18`, `\$3.5 million`.
NodeId Parser::currency() {
    const std::string name = currency_name(take().text);
    if (!sees(Sign::number) && !sees(Sign::minus)) fail();
    const bool minus = accept(Sign::minus);
    const NodeId amount = number(true);
    return quantity(minus ? negative(amount) : amount, name);
}

}  // namespace cohort

// Words: numbers in words, units behind a value, phrases that mean a set, and prose.
#include <algorithm>
#include <array>

#include "cohort/ascii.h"
#include "cohort/words.h"
#include "parser.h"
#include "vocabulary.h"

namespace cohort {
namespace {

using Role = NumberWord::Role;

std::optional<NumberWord> number_in(const Token& token) {
    return token.sign == Sign::name ? number_word(lowered(token.text)) : std::nullopt;
}

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

/// `$5` may be written with minus signs of either side: what the words of a unit are called.
std::optional<std::string_view> unit_name(std::string_view word) {
    if (const auto name = unit_form(word)) return name;
    if (word == "unit" || word == "units") return "unit";
    return std::nullopt;
}

bool is_prose_word(const Token& token) {
    return token.sign == Sign::name || (token.sign == Sign::letter && token.style == Style::roman);
}

/// `p.m.` and `PM` are `pm`; other words are in lower case.
std::string plain_word(std::string_view text) {
    std::string word = lowered(text);
    if (word.find('.') != npos) std::erase_if(word, [](char c) { return c == '.' || c == ' '; });
    return word;
}

}  // namespace

// Numbers in words

/// `twenty-one`, `one hundred and five`, `three and a half`, `two thirds`.
NodeId Parser::number_words() {
    std::int64_t total = 0;
    std::int64_t current = -1;
    Role last = Role::scale;
    bool any = false;
    for (;;) {
        const bool hyphen = any && sees(Sign::minus) && !peek().spaced;
        const bool conjunction = any && sees(Sign::conjunction) && last >= Role::hundred;
        const std::size_t skip = hyphen || conjunction ? 1 : 0;
        const auto word = number_in(peek(skip));
        if (!word || word->role == Role::part) break;
        next_ += skip + 1;
        budget_.spend(4);
        if (any && word->role <= Role::tens && last <= word->role) fail();  // `two three`
        if (word->role <= Role::tens) {
            current = std::max<std::int64_t>(current, 0) + word->value;
        } else if (word->role == Role::hundred) {
            current = (current < 0 ? 1 : current) * 100;
        } else {
            total += (current < 0 ? 1 : current) * word->value;
            current = -1;
        }
        if (total > 1'000'000'000'000'000 || current > 1'000'000) fail();
        last = word->role;
        any = true;
    }
    Rational value(total + std::max<std::int64_t>(current, 0));
    const std::size_t hyphen = any && sees(Sign::minus) && !peek().spaced ? 1 : 0;
    if (const auto part = number_in(peek(hyphen)); part && part->role == Role::part) {
        if (!any && part->value != 2) fail();  // `third` is an ordinal
        next_ += hyphen + 1;
        return arena_.number((any ? value : Rational(1)) * *Rational(part->value).inverse());
    }
    if (sees(Sign::conjunction) && (peek(1).text == "a" || peek(1).text == "one")) {
        if (const auto part = number_in(peek(2)); part && part->role == Role::part) {
            next_ += 3;
            value = value + *Rational(part->value).inverse();
        }
    }
    return arena_.number(value);
}

// Units

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
    const bool word = token.sign == Sign::name || token.sign == Sign::letter ||
                      token.sign == Sign::function;
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

/// What is counted, in words that are no unit: `9 chickens`, `12 different ways`.
NodeId Parser::counted(NodeId value) {
    if (has_letters(value)) fail();
    std::string noun;
    while (is_prose_word(peek())) {
        const std::string word = plain_word(take().text);
        if (is_math_word(word)) fail();  // `7 if n is odd`
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
                          unit_form(next.text) && (next.sign == Sign::name || over ||
                                                   next.style == Style::roman);
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

// Phrases

/// A phrase that says a set or a value, else one word.
NodeId Parser::phrase(std::string_view text) {
    struct Phrase {
        std::string_view phrase;
        char set;  // of numbers; 0: the empty set; '?': no value
    };
    static constexpr Phrase kPhrases[] = {
        {"all real numbers", 'R'}, {"all reals", 'R'}, {"real numbers", 'R'}, {"reals", 'R'},
        {"any real number", 'R'}, {"set of real numbers", 'R'}, {"set of all real numbers", 'R'},
        {"all real values", 'R'}, {"every real number", 'R'}, {"all integers", 'Z'},
        {"integers", 'Z'}, {"any integer", 'Z'}, {"set of integers", 'Z'},
        {"set of all integers", 'Z'}, {"complex numbers", 'C'}, {"all complex numbers", 'C'},
        {"rational numbers", 'Q'}, {"all rational numbers", 'Q'}, {"natural numbers", 'N'},
        {"all natural numbers", 'N'}, {"no solution", 0}, {"no solutions", 0},
        {"no real solution", 0}, {"no real solutions", 0}, {"empty set", 0}, {"null set", 0},
        {"has no solution", 0}, {"has no solutions", 0}, {"no such solution", 0},
        {"does not exist", '?'}, {"dne", '?'}, {"not defined", '?'}, {"is undefined", '?'},
    };
    if (text.starts_with("the ")) text.remove_prefix(4);
    for (const Phrase& meaning : kPhrases) {
        if (meaning.phrase != text) continue;
        if (meaning.set == 0) return arena_.make(Kind::set);
        if (meaning.set == '?') return arena_.constant(Constant::undefined);
        const NodeId node = arena_.make(Kind::number_set);
        arena_.set_name(node, std::string_view(&meaning.set, 1));
        return node;
    }
    return arena_.word(text);
}

NodeId Parser::words() {
    if (number_in(peek())) return number_words();
    if (lowered(peek().text) == "square" && peek(1).text == "root" && peek(2).text == "o") {
        next_ += 4;  // `square root of`
        return power(operand(), arena_.number(*Rational(2).inverse()));
    }
    std::string text;
    bool lone = true;
    while (sees(Sign::name) || (!text.empty() && sees(Sign::letter))) {
        lone = text.empty();
        const Token token = take();
        if (!text.empty() && (token.spaced || token.sign == Sign::name)) text += ' ';
        text += plain_word(token.text);
    }
    if (lone && (sees(Sign::open_paren) || sees(Sign::open_bracket))) fail();  // a call in a program
    if (text.starts_with("if ") || text.starts_with("when ") || text.starts_with("for ")) fail();
    return phrase(text);
}

std::optional<NodeId> prose(std::string_view, std::span<const Token> tokens, Arena& arena) {
    std::string text;
    bool any = false;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        const Token& token = tokens[i];
        switch (token.sign) {
            case Sign::name:
                any = true;
                if (tokens[i + 1].sign == Sign::open_paren && !tokens[i + 1].spaced) return {};
                break;
            case Sign::letter: case Sign::number: case Sign::comma: case Sign::colon:
            case Sign::semicolon: case Sign::conjunction: case Sign::disjunction:
            case Sign::open_paren: case Sign::close_paren: case Sign::minus: case Sign::prime:
            case Sign::constant: case Sign::except: case Sign::currency: case Sign::percent:
            case Sign::plus_minus: case Sign::squared: case Sign::degree:
                if (token.text.starts_with('\\') && token.sign == Sign::letter) return {};
                break;
            default: return {};
        }
        if (token.spaced && !text.empty()) text += ' ';
        const bool capitals = token.sign == Sign::letter;
        text += capitals ? std::string(token.text) : lowered(token.text);
    }
    if (!any) return std::nullopt;
    return arena.word(text);
}

}  // namespace cohort

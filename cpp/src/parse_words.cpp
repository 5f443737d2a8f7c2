// Words: numbers in words, phrases that mean a set, and prose.
#include <algorithm>
#include <array>

#include "cohort/ascii.h"
#include "parser.h"
#include "vocabulary.h"

namespace cohort {
namespace {

using Role = NumberWord::Role;

std::optional<NumberWord> number_in(const Token& token) {
    return token.sign == Sign::name ? number_word(lowered(token.text)) : std::nullopt;
}

struct Phrase {
    std::string_view phrase;
    char set;  // of numbers; 0: the empty set; '?': no value; '>', '+': from 0, or with it
};
constexpr Phrase kPhrases[] = {
    {"all real numbers", 'R'},
    {"all reals", 'R'},
    {"real numbers", 'R'},
    {"reals", 'R'},
    {"any real number", 'R'},
    {"set of real numbers", 'R'},
    {"set of all real numbers", 'R'},
    {"all real values", 'R'},
    {"every real number", 'R'},
    {"all integers", 'Z'},
    {"integers", 'Z'},
    {"any integer", 'Z'},
    {"set of integers", 'Z'},
    {"set of all integers", 'Z'},
    {"complex numbers", 'C'},
    {"all complex numbers", 'C'},
    {"rational numbers", 'Q'},
    {"all rational numbers", 'Q'},
    {"natural numbers", 'N'},
    {"all natural numbers", 'N'},
    {"positive real numbers", '>'},
    {"positive reals", '>'},
    {"all positive real numbers", '>'},
    {"nonnegative real numbers", '+'},
    {"all nonnegative real numbers", '+'},
    {"there is no solution", 0},
    {"there are no solutions", 0},
    {"there is no real solution", 0},
    {"there are no real solutions", 0},
    {"no solution", 0},
    {"no solutions", 0},
    {"no real solution", 0},
    {"no real solutions", 0},
    {"empty set", 0},
    {"null set", 0},
    {"has no solution", 0},
    {"has no solutions", 0},
    {"no such solution", 0},
    {"does not exist", '?'},
    {"dne", '?'},
    {"not defined", '?'},
    {"is undefined", '?'},
};

}  // namespace

std::string plain_word(std::string_view text) {
    std::string word = lowered(text);
    if (word.find('.') != npos) std::erase_if(word, [](char c) { return c == '.' || c == ' '; });
    return word;
}

// Numbers in words

/// `twenty-one`, `one hundred and five`; nothing when no such word comes next.
std::optional<std::int64_t> Parser::whole_in_words() {
    std::int64_t total = 0;
    std::int64_t current = -1;
    std::int64_t scale = 0;  // the last one; the next is smaller
    std::optional<NumberWord> last;
    for (;;) {
        const bool hyphen = last && sees(Sign::minus) && !peek().spaced;
        const bool joined = last && last->role >= Role::hundred && sees(Sign::conjunction);
        const std::size_t skip = hyphen || joined ? 1 : 0;
        const auto word = number_in(peek(skip));
        if (!word || word->role == Role::part) break;
        next_ += skip + 1;
        budget_.spend(4);
        if (word->role <= Role::tens) {
            const bool after_tens = last && last->role == Role::tens && word->value < 10;
            if (last && last->role < Role::hundred && !after_tens) fail();  // `two three`
            current = std::max<std::int64_t>(current, 0) + word->value;
        } else if (word->role == Role::hundred) {
            current = (current < 0 ? 1 : current) * 100;
        } else {
            if (scale != 0 && word->value >= scale) fail();
            scale = word->value;
            total += (current < 0 ? 1 : current) * word->value;
            current = -1;
        }
        if (current > 10'000) fail();
        last = word;
    }
    if (!last) return std::nullopt;
    return total + std::max<std::int64_t>(current, 0);
}

/// `twelve`, `two thirds`, `three and a half`.
NodeId Parser::number_words() {
    const auto whole = whole_in_words();
    const Rational value(whole.value_or(1));
    const std::size_t hyphen = whole && sees(Sign::minus) && !peek().spaced ? 1 : 0;
    if (const auto part = number_in(peek(hyphen)); part && part->role == Role::part) {
        if (!whole && part->value != 2) fail();  // `third` is an ordinal
        next_ += hyphen + 1;
        return arena_.number(value * *Rational(part->value).inverse());
    }
    if (sees(Sign::conjunction) && (peek(1).text == "a" || peek(1).text == "one")) {
        if (const auto part = number_in(peek(2)); part && part->role == Role::part) {
            next_ += 3;
            return arena_.number(value + *Rational(part->value).inverse());
        }
    }
    return arena_.number(value);
}

// Phrases

/// A phrase that says a set or a value, else one word.
NodeId Parser::phrase(std::string_view text) {
    if (text.starts_with("the ")) text.remove_prefix(4);
    for (const Phrase& meaning : kPhrases) {
        if (meaning.phrase != text) continue;
        if (meaning.set == 0) return arena_.make(Kind::set);
        if (meaning.set == '>' || meaning.set == '+') return positive(meaning.set == '+');
        if (meaning.set == '?') return arena_.word("undefined");
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
    if (lone && (sees(Sign::open_paren) || sees(Sign::open_bracket)))
        fail();  // a call in a program
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
            case Sign::letter:
            case Sign::number:
            case Sign::comma:
            case Sign::colon:
            case Sign::semicolon:
            case Sign::conjunction:
            case Sign::disjunction:
            case Sign::open_paren:
            case Sign::close_paren:
            case Sign::minus:
            case Sign::prime:
            case Sign::constant:
            case Sign::except:
            case Sign::currency:
            case Sign::percent:
            case Sign::plus_minus:
            case Sign::squared:
            case Sign::degree:
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

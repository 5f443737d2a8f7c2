#include "cohort/ascii.h"
#include "cohort/exact.h"
#include "cohort/labels.h"
#include "cohort/number.h"
#include "cohort/number_words.h"
#include "cohort/spelling.h"
#include "cohort/words.h"

namespace cohort {
namespace {

using View = std::string_view;

/// A unit's name and the end of its spelling.
struct Unit {
    std::string name;
    std::size_t end = 0;
};

/// `^2`, `^{3}`: the digit and its end; the end is `start` when there is none.
struct Exponent {
    char digit;
    std::size_t end;
};

Exponent match_exponent(View text, std::size_t start) {
    if (at(text, start) != '^') return {'\0', start};
    const std::size_t digit = start + (at(text, start + 1) == '{' ? 2 : 1);
    if (at(text, digit) != '2' && at(text, digit) != '3') return {'\0', start};
    return {text[digit], digit + (at(text, digit + 1) == '}' ? 2U : 1U)};
}

std::string with_exponent(View name, char digit) {
    std::string result(name);
    if (digit != '\0') result.append("^").append(1, digit);
    return result;
}

/// `/h`, ` per second^2` after a unit.
Unit match_per(View text, std::size_t start) {
    const std::size_t slash = skip_spaces(text, start);
    std::size_t word = npos;
    if (at(text, slash) == '/') word = skip_spaces(text, slash + 1);
    if (text.substr(start).starts_with(" per ")) word = start + 5;
    if (word == npos) return {};
    const std::size_t end = skip_letters(text, word);
    const auto name = unit_of_word(text.substr(word, end - word));
    if (!name) return {};
    const Exponent exponent = match_exponent(text, end);
    return {with_exponent(*name, exponent.digit), exponent.end};
}

/// The exponent of a word such as `square` before a unit.
char prefix_exponent(View word) {
    if (word == "square" || word == "sq") return '2';
    return word == "cubic" ? '3' : '\0';
}

Unit match_named(View text, bool wrapped) {
    std::size_t start = skip_spaces(text, 0);
    std::size_t end = skip_letters(text, start);
    char power = prefix_exponent(text.substr(start, end - start));
    if (power != '\0' && at(text, end) == ' ' && is_letter(at(text, end + 1))) {
        start = end + 1;
        end = skip_letters(text, start);
    } else {
        power = '\0';
    }
    const View word = text.substr(start, end - start);
    const auto name = unit_of_word(word);
    if (!name || (is_lone_unit(word) && !wrapped)) return {};
    if (is_currency(*name)) return {*name, end};
    const Exponent exponent = match_exponent(text, end);
    const std::string unit = with_exponent(*name, exponent.digit != '\0' ? exponent.digit : power);
    const Unit per = match_per(text, exponent.end);
    if (per.name.empty()) return {unit, exponent.end};
    return {unit + "/" + per.name, per.end};
}

/// The unit that `text` begins with; its name is empty when there is none.
Unit match_unit(View text, bool wrapped) {
    const std::size_t start = skip_spaces(text, 0);
    const View rest = text.substr(start);
    if (rest.starts_with('%')) return {"%", start + 1};
    for (const View percent : {View("percent"), View("percentage"), View("pct")}) {
        const bool ends = !is_letter(at(rest, percent.size()));
        if (rest.starts_with(percent) && ends) return {"%", start + percent.size()};
    }
    if (const CurrencySign sign = currency_sign(rest); sign.size > 0) {
        return {std::string(sign.name), start + sign.size};
    }
    if (!rest.starts_with("^\\circ")) return match_named(text, wrapped);
    const std::size_t scale = skip_spaces(text, start + 6);
    const char letter = at(text, scale);
    if ((letter == 'C' || letter == 'F') && !is_letter(at(text, scale + 1))) {
        return {std::string("degree ") + letter, scale + 1};
    }
    return {"degree", scale};
}

bool is_prose_word(View word, bool last) {
    if (is_math_word(word) || is_number_word(word)) return false;
    return word.size() > 2 || is_short_word(word) || (word == "a" && !last);
}

/// Whether `text` has words only, none of which could belong to a formula.
bool is_prose(View text) {
    const auto is_mark = [](char c) { return is_one_of(c, " ,;:()"); };
    for (std::size_t i = skip(text, 0, is_mark); i < text.size();) {
        const std::size_t end = skip_letters(text, i);
        if (end == i) return false;
        const std::size_t next = skip(text, end, is_mark);
        if (!is_prose_word(lowered(text.substr(i, end - i)), next == text.size())) return false;
        i = next;
    }
    return true;
}

/// The length of a `$`, `**` or `__` that closes what was opened before the number.
std::size_t match_closing(View text) {
    for (const View mark : {View("$"), View("**"), View("__")}) {
        if (!text.starts_with(mark)) continue;
        const bool ends = text.size() == mark.size() || is_one_of(text[mark.size()], " ,;:)");
        return ends ? mark.size() : 0;
    }
    return 0;
}

}  // namespace

CurrencySign currency_sign(std::string_view text) {
    if (at(text, 0) != '\\') return {};
    const std::size_t end = skip_letters(text, 1);
    const View command = text.substr(1, end - 1);
    if (command == "pounds") return {"gbp", end};
    const bool known = command == "euro" || command == "rupee" || command == "yen";
    return known ? CurrencySign{command, end} : CurrencySign{};
}

std::optional<Number> read_tail(std::string value, std::string_view currency,
                                std::string_view tail) {
    const std::string plain = unwrap(tail);
    const bool wrapped = plain != tail;
    View rest = plain;
    bool apart = wrapped || (!rest.empty() && is_one_of(rest[0], " ,;:("));
    if (const std::size_t closing = match_closing(rest); closing != 0) {
        if (rest.substr(0, closing) == currency) currency = "";  // `$5$` is a formula
        rest.remove_prefix(closing);
        apart = true;
    }
    const std::size_t word = skip_spaces(rest, 0);
    const std::size_t word_end = skip_letters(rest, word);
    const auto exponent = scale_exponent(lowered(rest.substr(word, word_end - word)));
    if (apart && exponent) {
        auto scaled = shift(value, std::to_string(*exponent));
        if (!scaled) return std::nullopt;
        value = std::move(*scaled);
        rest.remove_prefix(word_end);
    }
    Unit unit = match_unit(rest, wrapped);
    const bool lone = unit.name.empty() && !apart && !rest.empty();
    if (unit.name.empty()) unit.name = currency;
    rest.remove_prefix(unit.end);
    if (const std::size_t slash = skip_spaces(rest, 0);
        is_currency(unit.name) && at(rest, slash) == '/') {
        const std::size_t below = skip_spaces(rest, slash + 1);  // `$5/hour`
        if (is_letter(at(rest, below))) rest.remove_prefix(below);
    }
    if (lone || !is_prose(rest)) return std::nullopt;
    return Number{std::move(value), std::move(unit.name), label(rest)};
}

}  // namespace cohort

// Numbers, letters and signs.
#include "tokens.h"

#include <algorithm>

#include "cohort/ascii.h"
#include "cohort/words.h"
#include "tokenizer.h"
#include "vocabulary.h"

namespace cohort {

void Tokenizer::next() {
    const char c = look();
    if (is_one_of(c, kSpace) || c == '~') return space(1);
    if (is_digit(c) || (c == '.' && is_digit(look(1)))) return number();
    if (in_word(c)) return word();
    if (c == '\\') return command();
    if (c == '$') return dollar();
    if (c == '{' || c == '}') return brace();
    sign();
}

/// Size of the separator of thousands at `at` when three digits and no more follow it.
std::size_t Tokenizer::separator(std::size_t at_index) const {
    const std::string_view rest = text_.substr(at_index);
    if (!is_one_of(at(rest, 0), "{\\, ~") || rest.empty()) return 0;
    std::size_t size = 0;
    for (const std::string_view mark :
         {"{,}", "\\!,\\!", "\\,", "\\ ", "\\;", "\\!", ",", " ", "~"}) {
        if (!rest.starts_with(mark)) continue;
        // In brackets a comma stands between values, but none of them begins with 0.
        if (mark == "," && comma_depth_ > 0 && at(rest, 1) != '0') return 0;
        size = mark.size();
        break;
    }
    if (size == 1 && rest[0] == ',' && rest.starts_with(",\\!")) size = 3;
    if (size == 0) return 0;
    if (rest[size - 1] == '!') size = skip_spaces(rest, size);  // `32,\! 349`
    for (std::size_t k = 0; k < 3; ++k) {
        if (!is_digit(at(rest, size + k))) return 0;
    }
    return is_digit(at(rest, size + 3)) ? 0 : size;
}

std::size_t Tokenizer::thousands(std::size_t end) const {
    const std::size_t start = i_;
    if (end - start > 3 || text_[start] == '0') return end;
    // In `1,2,300` commas stand between values.
    if (last() == Sign::comma && !spaced_) return end;
    const char mark = at(text_, end);
    std::size_t grouped = end;
    while (const std::size_t size = separator(grouped)) {
        if (at(text_, grouped) != mark) break;
        grouped += size + 3;
    }
    if (mark == ',' && at(text_, grouped) == ',' && is_digit(at(text_, grouped + 1))) return end;
    // `1 234/5` would be a mixed number with a numerator of three digits.
    if (is_one_of(mark, " ~") && at(text_, grouped) == '/') return end;
    return grouped;
}

/// Where `e8` or `E-7` after a number ends. `2e-1` is 2e - 1: nobody writes a lone digit so.
std::size_t Tokenizer::exponent(std::size_t end) const {
    const char mark = at(text_, end);
    if (mark != 'e' && mark != 'E') return end;
    std::size_t k = end + 1;
    const bool is_signed = is_one_of(at(text_, k), "+-") && k < text_.size();
    if (is_signed) ++k;
    const std::size_t stop = skip_digits(text_, k);
    if (stop == k || in_word(at(text_, stop)) || at(text_, stop) == '.') return end;
    const std::string_view mantissa = text_.substr(i_, end - i_);
    const bool sure =
        mark == 'E' || !is_signed || stop - k > 1 || mantissa == "1" || mantissa.find('.') != npos;
    return sure ? stop : end;
}

/// Whether digits that repeat follow the point before `rest`: 0.\overline{3}, 0.(3).
static bool repeats(std::string_view rest) {
    for (const std::string_view mark : {"\\overline", "\\bar", "\\dot{", "\\dot "}) {
        if (rest.starts_with(mark)) return true;
    }
    return (rest.starts_with("\\dot") && is_digit(at(rest, 4))) ||
           (rest.starts_with("(") && is_digit(at(rest, 1)));
}

void Tokenizer::number() {
    std::size_t end = skip_digits(text_, i_);
    if (end > i_) end = thousands(end);
    if (at(text_, end) == '.' && at(text_, end + 1) != '.') {
        const std::size_t decimals = skip_digits(text_, end + 1);
        if (decimals == end + 1 && !repeats(text_.substr(decimals))) {
            add(Sign::number, end - i_);
            ++i_;  // `5.` is 5
            return;
        }
        end = decimals;
    }
    add(Sign::number, exponent(end) - i_);
}

// Letters

bool Tokenizer::are_variables(std::string_view run) const {
    const auto variable = [&](char c) { return is_one_of(c, reading_.variables); };
    return std::ranges::all_of(run, variable);
}

/// Whether a run of letters that is no known word is a product of variables.
bool Tokenizer::is_product(std::string_view run) const {
    if (are_variables(run)) return true;
    if (!std::ranges::all_of(run, is_letter)) return false;
    if (run.size() == 2) {
        const std::string lower = lowered(run);
        return lower != "no" && lower != "am" && lower != "pm";
    }
    if (run.size() < 5 && std::ranges::all_of(run, is_upper)) return true;  // a name of points
    const bool title = is_upper(run[0]) && std::ranges::all_of(run.substr(1), is_lower);
    if (title) return false;
    if (run.size() == 3) return !is_three_letter_word(run);
    if (last() == Sign::number && !spaced_ && run.size() <= 5) return true;
    bool consecutive = true;
    for (std::size_t k = 1; k < run.size(); ++k) consecutive &= run[k] == run[k - 1] + 1;
    return consecutive ||
           std::ranges::none_of(run, [](char c) { return is_one_of(c, "aeiouAEIOU"); });
}

void Tokenizer::letters(std::size_t end) {
    const std::string_view run = text_.substr(i_, end - i_);
    const bool capitals = run.size() > 1 && run.size() < 5 && std::ranges::all_of(run, is_upper);
    if (capitals && !are_variables(run)) return add(Sign::letter, run.size());
    while (i_ < end) add(Sign::letter, 1);
}

/// Size of `p.m.`, `A.M` at the start of `text`.
static std::size_t half_of_day(std::string_view text) {
    if (!is_one_of(at(text, 0), "aApP") || at(text, 1) != '.') return 0;
    const std::size_t m = skip_spaces(text, 2);
    if (to_lower(at(text, m)) != 'm' || is_letter(at(text, m + 1))) return 0;
    return at(text, m + 1) == '.' ? m + 2 : m + 1;
}

/// A run of letters that is known as a whole; false when it is not.
bool Tokenizer::known_word(std::string_view run) {
    if (const auto meaning = word_meaning(run)) {
        add(meaning->sign, run.size(), meaning->code);
        return true;
    }
    const bool ordinal = is_ordinal_end(run);
    if (ordinal && last() == Sign::number && !spaced_) {
        space(run.size());
        return true;
    }
    const bool after_value = last() == Sign::number || last() == Sign::close_brace ||
                             last() == Sign::close_paren || last() == Sign::divide;
    const bool raised = ordinal && (last() == Sign::power || last() == Sign::open_brace);
    if (!raised && style_ != Style::roman && !number_word(lowered(run)) &&
        !(after_value && !are_variables(run) && unit_form(run))) {
        return false;
    }
    add(Sign::name, run.size());
    return true;
}

void Tokenizer::word() {
    if (const std::size_t size = half_of_day(text_.substr(i_))) return add(Sign::name, size);
    const std::size_t end = skip(text_, i_, in_word);
    const std::string_view run = text_.substr(i_, end - i_);
    if (run.size() == 1) return add(is_letter(run[0]) ? Sign::letter : Sign::name, 1);
    if (known_word(run)) return;
    for (const std::string_view function : {"arctan", "sin", "cos", "tan", "cot", "log", "ln"}) {
        if (run.size() != function.size() + 1 || !run.starts_with(function)) continue;
        add(Sign::function, function.size(), word_meaning(function)->code);
        return letters(end);  // sinx
    }
    if (is_product(run)) return letters(end);
    add(Sign::name, run.size());
}

// Signs

/// A pair of $ holds a formula; a lone one is a currency, as both are in `$5 and $7`.
void Tokenizer::dollar() {
    if (look(1) == '$') return space(2);
    if (i_ == dollar_end_) return space(1);
    std::size_t close = text_.find('$', i_ + 1);
    while (close != npos && text_[close - 1] == '\\') close = text_.find('$', close + 1);
    const bool pair = close != npos && text_[close - 1] != ' ' && !is_digit(at(text_, close + 1));
    if (!pair) return add(Sign::currency, 1);
    dollar_end_ = close;
    space(1);
}

void Tokenizer::brace() {
    if (look() == '{') {
        const bool argument = last() != Sign::end && last() != Sign::comma &&
                              last() != Sign::relation && last() != Sign::without &&
                              last() != Sign::open_brace && last() != Sign::cup;
        if (++depth_ > kMaxDepth) throw LimitReached{};
        if (!argument) ++comma_depth_;
        braces_.push_back(argument ? 'g' : 's');
        return add(Sign::open_brace, 1);
    }
    if (depth_ > 0) --depth_;
    const char kind = braces_.empty() ? 'g' : braces_.back();
    if (!braces_.empty()) braces_.pop_back();
    if (kind == 's' && comma_depth_ > 0) --comma_depth_;
    if (kind == 'w' || kind == 'W') {
        style_ = styles_.back();
        styles_.pop_back();
        if (kind == 'w') return space(1);
    }
    add(Sign::close_brace, 1);
}

/// Signs of several characters; false when none stands here.
bool Tokenizer::long_sign() {
    struct Spelled {
        std::string_view text;
        Sign sign;
        Relation relation = Relation::equal;
    };
    static constexpr Spelled kSigns[] = {
        {"...", Sign::dots},
        {"+/-", Sign::plus_minus},
        {"+-", Sign::plus_minus},
        {"<=>", Sign::unknown},
        {"<=", Sign::relation, Relation::less_equal},
        {">=", Sign::relation, Relation::greater_equal},
        {"=>", Sign::relation, Relation::implies},
        {"->", Sign::relation, Relation::maps_to},
        {"==", Sign::relation},
        {"**", Sign::power},
    };
    const std::string_view rest = text_.substr(i_);
    for (const Spelled& spelled : kSigns) {
        if (!rest.starts_with(spelled.text)) continue;
        add(spelled.sign, spelled.text.size(), spelled.relation);
        return true;
    }
    const bool factorial = last() == Sign::number || last() == Sign::close_paren;
    if (!rest.starts_with("!=") || factorial) return false;  // 5!=120
    add(Sign::relation, 2, Relation::not_equal);
    return true;
}

void Tokenizer::sign() {
    if (is_one_of(look(1), "./-=>*") && long_sign()) return;
    switch (look()) {
        case '(': return open(Sign::open_paren, 1);
        case ')': return close(Sign::close_paren, 1);
        case '[': return open(Sign::open_bracket, 1);
        case ']': return close(Sign::close_bracket, 1);
        case '+': return add(Sign::plus, 1);
        case '-': return add(Sign::minus, 1);
        case '*': return add(Sign::times, 1);
        case '/': return add(Sign::divide, 1);
        case '^': return add(Sign::power, 1);
        case '_': return add(Sign::subscript, 1);
        case '=': return add(Sign::relation, 1, Relation::equal);
        case '<': return add(Sign::relation, 1, Relation::less);
        case '>': return add(Sign::relation, 1, Relation::greater);
        case ',': return add(Sign::comma, 1);
        case ';': return add(Sign::semicolon, 1);
        case ':': return add(Sign::colon, 1);
        case '|': return add(Sign::bar, 1);
        case '!': return add(Sign::bang, 1);
        case '%': return add(Sign::percent, 1);
        case '\'': return add(Sign::prime, 1);
        case '&': return add(Sign::cell, 1);
        case '"':
        case '`': return space(1);
        case '.': return is_alnum(look(1)) ? add(Sign::unknown, 1) : space(1);  // a stop
        default: return add(Sign::unknown, 1);
    }
}

void tokenize(std::string_view text, const Reading& reading, Budget& budget,
              std::vector<Token>& tokens) {
    Tokenizer(text, reading, budget, tokens).run();
}

}  // namespace cohort

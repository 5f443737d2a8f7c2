#include "tokens.h"

#include <algorithm>

#include "cohort/ascii.h"
#include "cohort/words.h"
#include "vocabulary.h"

namespace cohort {
namespace {

constexpr std::size_t kMaxTokens = 2 * kMaxNodes;

constexpr bool in_word(char c) { return is_letter(c) || (static_cast<unsigned char>(c) & 0x80U); }

class Tokenizer {
public:
    Tokenizer(std::string_view text, const Reading& reading, Budget& budget,
              std::vector<Token>& tokens)
        : text_(text), reading_(reading), budget_(budget), tokens_(tokens) {}

    void run() {
        tokens_.clear();
        while (i_ < text_.size()) next();
        add(Sign::end, 0);
    }

private:
    char look(std::size_t ahead = 0) const { return at(text_, i_ + ahead); }
    Sign last() const { return tokens_.empty() ? Sign::end : tokens_.back().sign; }

    void add(Sign sign, std::size_t size, std::uint8_t code = 0) {
        if (tokens_.size() >= kMaxTokens) throw LimitReached{};
        budget_.spend(4);
        tokens_.push_back({text_.substr(i_, size), sign, code, style_, spaced_});
        spaced_ = false;
        if (lone_style_) style_ = Style::plain;
        lone_style_ = false;
        i_ += size;
    }
    void add(Sign sign, std::size_t size, Relation code) {
        add(sign, size, static_cast<std::uint8_t>(code));
    }

    void space(std::size_t size) {
        spaced_ = true;
        i_ += size;
    }

    void next();
    void number();
    std::size_t thousands(std::size_t end) const;
    std::size_t separator(std::size_t at) const;
    std::size_t exponent(std::size_t end) const;
    void word();
    void letters(std::size_t end);
    bool is_product(std::string_view run) const;
    void command();
    void escaped();
    void shaped(Shape shape, std::size_t name_end);
    void style(Style style);
    void drop_group();
    void bracket_command(std::string_view name);
    void number_set();
    void environment(Sign sign);
    void dollar();
    void brace();
    void sign();
    void open(Sign sign, std::size_t size) {
        if (++depth_ > kMaxDepth) throw LimitReached{};
        ++comma_depth_;
        add(sign, size);
    }
    void close(Sign sign, std::size_t size) {
        if (depth_ > 0) --depth_;
        if (comma_depth_ > 0) --comma_depth_;
        add(sign, size);
    }

    std::string_view text_;
    const Reading& reading_;
    Budget& budget_;
    std::vector<Token>& tokens_;
    std::size_t i_ = 0;
    std::size_t depth_ = 0;        // of all brackets
    std::size_t comma_depth_ = 0;  // of those in which a comma stands between values
    std::vector<char> braces_;     // 'g': of a group, 's': may be a set, 'w': of a wrapper, dropped
    std::vector<Style> styles_;    // outside of each wrapper
    Style style_ = Style::plain;
    bool lone_style_ = false;  // the style ends with the next token
    bool spaced_ = false;
    std::size_t dollar_end_ = npos;  // where the formula that a $ began ends
};

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

// Numbers

/// Size of the separator of thousands at `at` when three digits and no more follow it.
std::size_t Tokenizer::separator(std::size_t at_index) const {
    const std::string_view rest = text_.substr(at_index);
    std::size_t size = 0;
    for (const std::string_view mark : {"{,}", "\\!,\\!", "\\,", "\\ ", "\\;", "\\!", ",", " ", "~"}) {
        if (!rest.starts_with(mark)) continue;
        if (mark == "," && comma_depth_ > 0) return 0;
        size = mark.size();
        break;
    }
    if (size == 1 && rest[0] == ',' && rest.starts_with(",\\!")) size = 3;
    if (size == 0) return 0;
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
    const bool sure = mark == 'E' || !is_signed || stop - k > 1 || mantissa == "1" ||
                      mantissa.find('.') != npos;
    return sure ? stop : end;
}

void Tokenizer::number() {
    std::size_t end = skip_digits(text_, i_);
    if (end > i_) end = thousands(end);
    if (at(text_, end) == '.' && at(text_, end + 1) != '.') {
        const std::string_view rest = text_.substr(end + 1);
        const bool repeats = rest.starts_with("\\overline") || rest.starts_with("\\bar") ||
                             rest.starts_with("\\dot{") || rest.starts_with("\\dot ") ||
                             (rest.starts_with("\\dot") && is_digit(at(rest, 4))) ||
                             (rest.starts_with("(") && is_digit(at(rest, 1)));
        const std::size_t decimals = skip_digits(text_, end + 1);
        if (decimals > end + 1 || repeats) {
            end = decimals;
        } else {
            add(Sign::number, end - i_);
            ++i_;  // `5.` is 5
            return;
        }
    }
    add(Sign::number, exponent(end) - i_);
}

// Letters

/// Whether a run of letters that is no known word is a product of variables.
bool Tokenizer::is_product(std::string_view run) const {
    const auto variable = [&](char c) { return is_one_of(c, reading_.variables); };
    if (run.size() == 1 || std::ranges::all_of(run, variable)) return true;
    if (!std::ranges::all_of(run, is_letter)) return false;
    if (run.size() == 2) return run != "No" && run != "no" && run != "am" && run != "pm" &&
                                run != "AM" && run != "PM";
    if (run.size() < 5 && std::ranges::all_of(run, is_upper)) return true;  // a name of points
    const bool title = is_upper(run[0]) && std::ranges::all_of(run.substr(1), is_lower);
    if (title) return false;
    if (run.size() == 3) return !is_three_letter_word(run);
    if (last() == Sign::number && !spaced_ && run.size() <= 5) return true;
    bool consecutive = true;
    for (std::size_t k = 1; k < run.size(); ++k) consecutive &= run[k] == run[k - 1] + 1;
    return consecutive || std::ranges::none_of(run, [](char c) { return is_one_of(c, "aeiouAEIOU"); });
}

void Tokenizer::letters(std::size_t end) {
    const std::string_view run = text_.substr(i_, end - i_);
    const auto known = reading_.variables;
    const bool capitals = run.size() > 1 && run.size() < 5 && std::ranges::all_of(run, is_upper);
    const bool split = std::ranges::all_of(run, [&](char c) { return is_one_of(c, known); });
    if (capitals && !split) return add(Sign::letter, run.size());
    while (i_ < end) add(Sign::letter, 1);
}

/// Size of `p.m.`, `A.M` at the start of `text`.
std::size_t half_of_day(std::string_view text) {
    if (!is_one_of(at(text, 0), "aApP") || at(text, 1) != '.') return 0;
    const std::size_t m = skip_spaces(text, 2);
    if (to_lower(at(text, m)) != 'm' || is_letter(at(text, m + 1))) return 0;
    return at(text, m + 1) == '.' ? m + 2 : m + 1;
}

void Tokenizer::word() {
    if (const std::size_t size = half_of_day(text_.substr(i_))) return add(Sign::name, size);
    const std::size_t end = skip(text_, i_, in_word);
    const std::string_view run = text_.substr(i_, end - i_);
    if (run.size() > 1) {
        if (const auto meaning = word_meaning(run)) {
            return add(meaning->sign, run.size(), meaning->code);
        }
        if (is_ordinal_end(run)) {
            if (last() == Sign::number && !spaced_) return space(run.size());
            if (last() == Sign::power || last() == Sign::open_brace) return add(Sign::name, 2);
        }
        if (style_ == Style::roman || number_word(lowered(run))) return add(Sign::name, run.size());
        const bool after_value = last() == Sign::number || last() == Sign::close_brace ||
                                 last() == Sign::close_paren || last() == Sign::divide;
        const bool split = std::ranges::all_of(
            run, [&](char c) { return is_one_of(c, reading_.variables); });
        if (after_value && !split && unit_form(run)) return add(Sign::name, run.size());
        for (const std::string_view function : {"arctan", "sin", "cos", "tan", "cot", "log", "ln"}) {
            if (!run.starts_with(function) || run.size() != function.size() + 1) continue;
            add(Sign::function, function.size(), word_meaning(function)->code);
            return letters(end);
        }
    }
    if (is_product(run)) return letters(end);
    add(Sign::name, run.size());
}

// Commands

void Tokenizer::escaped() {
    switch (look(1)) {
        case '\\': return add(Sign::row, 2);
        case '{': return open(Sign::open_set, 2);
        case '}': return close(Sign::close_set, 2);
        case '|': return add(Sign::double_bar, 2);
        case '%': return add(Sign::percent, 2);
        case '$': return add(Sign::currency, 2);
        case ' ': {
            const std::size_t after = skip_spaces(text_, i_ + 1);
            const bool set = at(text_, after) == '{' || text_.substr(after).starts_with("\\{");
            const bool letter = last() == Sign::letter || last() == Sign::number_set;
            return set && letter ? add(Sign::without, 1) : space(2);
        }
        case ',': case ';': case ':': case '!': case '>': case '(': case ')': case '[': case ']':
        case '/':
            return space(2);
        case '\0': return space(1);
        default: return add(Sign::unknown, 1);
    }
}

void Tokenizer::command() {
    if (!is_letter(look(1))) return escaped();
    std::size_t end = skip_letters(text_, i_ + 1);
    if (at(text_, end) == '*') ++end;
    const std::string_view name = text_.substr(i_ + 1, end - i_ - 1);
    if (const Shape shape = shape_of(name); shape != Shape::none) return shaped(shape, end);
    if (name == "begin") return environment(Sign::begin);
    if (name == "end") return environment(Sign::finish);
    if (name == "not") {
        const std::size_t after = skip_spaces(text_, end);
        i_ = after;
        const std::size_t count = tokens_.size();
        if (after < text_.size()) next();
        if (tokens_.size() != count + 1) return add(Sign::unknown, 0);
        Token& token = tokens_.back();
        const auto negate = [&](Sign sign, Relation plain, Relation negated) {
            if (token.sign != sign) return false;
            if (sign == Sign::relation && token.code != static_cast<std::uint8_t>(plain)) return false;
            token.sign = Sign::relation;
            token.code = static_cast<std::uint8_t>(negated);
            return true;
        };
        if (!negate(Sign::relation, Relation::equivalent, Relation::not_equivalent) &&
            !negate(Sign::relation, Relation::equal, Relation::not_equal) &&
            !negate(Sign::relation, Relation::in, Relation::not_in) &&
            !negate(Sign::mid, Relation::divides, Relation::not_divides)) {
            token.sign = Sign::unknown;
        }
        return;
    }
    std::string_view known = name;
    if (known.ends_with('*')) known.remove_suffix(1);
    const auto meaning = command_meaning(known);
    if (!meaning) return add(Sign::unknown, known.size() + 1);
    const Sign sign = meaning->sign;
    const bool opens = sign == Sign::open_set || sign == Sign::open_angle || sign == Sign::open_bracket;
    const bool closes =
        sign == Sign::close_set || sign == Sign::close_angle || sign == Sign::close_bracket;
    if (opens) return open(sign, known.size() + 1);
    if (closes) return close(sign, known.size() + 1);
    add(sign, known.size() + 1, meaning->code);
}

void Tokenizer::style(Style style) {
    i_ = skip_spaces(text_, i_);
    if (look() != '{') {
        style_ = style;
        lone_style_ = true;
        return;
    }
    // The braces go when they hold words or digits, so that `\text{ cm}^2` is cm ^ 2.
    const std::size_t stop = text_.find_first_of("{}\\^_+-=<>", i_ + 1);
    const bool words = stop == npos || text_[stop] == '}';
    if (++depth_ > kMaxDepth) throw LimitReached{};
    braces_.push_back(words ? 'w' : 'W');
    styles_.push_back(style_);
    words ? space(1) : add(Sign::open_brace, 1);
    // Only words and letters are bold for their meaning: `\mathbf{x+1}` is x + 1.
    style_ = words || style != Style::bold ? style : style_;
}

void Tokenizer::drop_group() {
    i_ = skip_spaces(text_, i_);
    if (look() != '{') return;
    const std::size_t end = text_.find_first_of("{}", i_ + 1);
    if (end == npos || text_[end] == '{') return add(Sign::unknown, 1);
    i_ = end + 1;
}

void Tokenizer::bracket_command(std::string_view name) {
    i_ = skip_spaces(text_, i_);
    if (look() == '.') {
        if (name == "right") return add(Sign::no_bracket, 1);
        ++i_;
    } else if (look() == '<') {
        open(Sign::open_angle, 1);
    } else if (look() == '>') {
        close(Sign::close_angle, 1);
    }
}

void Tokenizer::number_set() {
    i_ = skip_spaces(text_, i_);
    const bool braced = look() == '{';
    const std::size_t letter = i_ + (braced ? 1 : 0);
    const bool closed = !braced || at(text_, letter + 1) == '}';
    if (!closed || !is_one_of(at(text_, letter), "RZNQC") || letter >= text_.size()) {
        return add(Sign::unknown, 0);
    }
    i_ = letter;
    add(Sign::number_set, 1);
    if (braced) ++i_;
}

void Tokenizer::shaped(Shape shape, std::size_t name_end) {
    const std::string_view name = text_.substr(i_ + 1, name_end - i_ - 1);
    i_ = name_end;
    switch (shape) {
        case Shape::space: return space(0);
        case Shape::skip: return;
        case Shape::bracket: return bracket_command(name);
        case Shape::roman: return style(Style::roman);
        case Shape::bold: return style(Style::bold);
        case Shape::wrap: return style(style_);
        case Shape::dropped: return drop_group();
        case Shape::set: return number_set();
        case Shape::none: return;
    }
}

void Tokenizer::environment(Sign sign) {
    const std::size_t open_brace = text_.find('{', i_);
    const std::size_t end = text_.find('}', i_);
    if (open_brace == npos || end == npos || end < open_brace) return add(Sign::unknown, 1);
    i_ = open_brace + 1;
    add(sign, end - i_);
    ++i_;
    if (sign == Sign::begin && ++depth_ > kMaxDepth) throw LimitReached{};
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

void Tokenizer::sign() {
    const std::string_view rest = text_.substr(i_);
    struct Spelled {
        std::string_view text;
        Sign sign;
        Relation relation = Relation::equal;
    };
    static constexpr Spelled kSigns[] = {
        {"...", Sign::dots}, {"+/-", Sign::plus_minus}, {"+-", Sign::plus_minus},
        {"<=>", Sign::unknown}, {"<=", Sign::relation, Relation::less_equal},
        {">=", Sign::relation, Relation::greater_equal}, {"=>", Sign::relation, Relation::implies},
        {"->", Sign::relation, Relation::maps_to}, {"==", Sign::relation}, {"**", Sign::power},
        {"||", Sign::double_bar}, {"+", Sign::plus}, {"-", Sign::minus}, {"*", Sign::times},
        {"/", Sign::divide}, {"^", Sign::power}, {"_", Sign::subscript}, {"'", Sign::prime},
        {"%", Sign::percent}, {"=", Sign::relation}, {"<", Sign::relation, Relation::less},
        {">", Sign::relation, Relation::greater}, {":", Sign::colon}, {",", Sign::comma},
        {";", Sign::semicolon}, {"|", Sign::bar}, {"&", Sign::cell},
    };
    switch (look()) {
        case '(': return open(Sign::open_paren, 1);
        case ')': return close(Sign::close_paren, 1);
        case '[': return open(Sign::open_bracket, 1);
        case ']': return close(Sign::close_bracket, 1);
        case '"': case '`': return space(1);
        case '.':
            if (!is_alnum(look(1)) && !rest.starts_with("...")) return space(1);
            break;
        case '!':
            if (look(1) == '=' && last() != Sign::number && last() != Sign::close_paren) {
                return add(Sign::relation, 2, Relation::not_equal);
            }
            return add(Sign::bang, 1);
        default: break;
    }
    for (const Spelled& spelled : kSigns) {
        if (!rest.starts_with(spelled.text)) continue;
        const bool bars = spelled.sign == Sign::double_bar;
        if (bars) return add(Sign::bar, 1);  // `||x|-1|` has two lone bars
        return add(spelled.sign, spelled.text.size(), spelled.relation);
    }
    add(Sign::unknown, 1);
}

}  // namespace

void tokenize(std::string_view text, const Reading& reading, Budget& budget,
              std::vector<Token>& tokens) {
    Tokenizer(text, reading, budget, tokens).run();
}

}  // namespace cohort

// Commands: what they shape, wrap or open.
#include "tokenizer.h"
#include "vocabulary.h"

namespace cohort {

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
        case ',':
        case ';':
        case ':':
        case '!':
        case '>':
        case '(':
        case ')':
        case '[':
        case ']':
        case '/': return space(2);
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
    if (name == "begin") return environment(Sign::begin, end);
    if (name == "end") return environment(Sign::finish, end);
    if (name == "not") {
        i_ = end;
        negated_ = true;
        return;
    }
    std::string_view known = name;
    if (known.ends_with('*')) known.remove_suffix(1);
    const auto meaning = command_meaning(known);
    if (!meaning) return add(Sign::unknown, known.size() + 1);
    const Sign sign = meaning->sign;
    const bool opens =
        sign == Sign::open_set || sign == Sign::open_angle || sign == Sign::open_bracket;
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
    std::size_t stop = text_.find_first_of("{}\\^_+-=<>", i_ + 1);
    while (stop != npos && text_[stop] == '\\' && is_one_of(at(text_, stop + 1), "$% ,")) {
        stop = text_.find_first_of("{}\\^_+-=<>", stop + 2);
    }
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

void Tokenizer::environment(Sign sign, std::size_t name_end) {
    const std::size_t start = skip_spaces(text_, name_end);
    const std::size_t end = skip(text_, start + 1, [](char c) { return is_letter(c) || c == '*'; });
    if (at(text_, start) != '{' || at(text_, end) != '}') return add(Sign::unknown, 1);
    i_ = start + 1;
    add(sign, end - i_);
    ++i_;
    if (sign == Sign::begin && ++depth_ > kMaxDepth) throw LimitReached{};
}

/// What `\not` makes of the sign that follows it.
void Tokenizer::negate(Token& token) {
    struct Pair {
        Sign sign;
        Relation plain, negated;
    };
    static constexpr Pair kPairs[] = {
        {Sign::relation, Relation::equivalent, Relation::not_equivalent},
        {Sign::relation, Relation::equal, Relation::not_equal},
        {Sign::relation, Relation::in, Relation::not_in},
        {Sign::mid, Relation::divides, Relation::not_divides},
    };
    for (const Pair& pair : kPairs) {
        const bool same_code = token.code == static_cast<std::uint8_t>(pair.plain);
        if (token.sign != pair.sign || (pair.sign == Sign::relation && !same_code)) continue;
        token.sign = Sign::relation;
        token.code = static_cast<std::uint8_t>(pair.negated);
        return;
    }
    token.sign = Sign::unknown;
}

}  // namespace cohort

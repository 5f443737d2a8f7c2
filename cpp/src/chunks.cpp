#include "chunks.h"

#include "cohort/words.h"
#include "lines.h"

namespace cohort {
namespace {

using View = std::string_view;
using std::string_view_literals::operator""sv;

// pi, root, infinity, halves and quarters, squared, cubed
constexpr std::array kWideValues{"\xCF\x80"sv, "\xE2\x88\x9A"sv, "\xE2\x88\x9E"sv, "\xC2\xBD"sv,
                                 "\xC2\xBC"sv, "\xC2\xBE"sv,     "\xC2\xB2"sv,     "\xC2\xB3"sv};
// minus, dash, times, division, dot, at most, at least, not equal, union, section, plus-minus,
// degree
constexpr std::array kWideSigns{"\xE2\x88\x92"sv, "\xE2\x80\x93"sv, "\xC3\x97"sv,
                                "\xC3\xB7"sv,     "\xC2\xB7"sv,     "\xE2\x89\xA4"sv,
                                "\xE2\x89\xA5"sv, "\xE2\x89\xA0"sv, "\xE2\x88\xAA"sv,
                                "\xE2\x88\xA9"sv, "\xC2\xB1"sv,     "\xC2\xB0"sv};
constexpr View kFixedSpace = "\xC2\xA0";
constexpr View kRoot = "\xE2\x88\x9A";
constexpr View kMinus = "\xE2\x88\x92";
// Of the signs, those that bind a letter on either side; the root binds one behind it.
constexpr std::array kWideOperators{"\xE2\x88\x92"sv, "\xE2\x89\xA4"sv, "\xE2\x89\xA5"sv,
                                    "\xE2\x89\xA0"sv, "\xC3\x97"sv,     "\xC3\xB7"sv,
                                    "\xC2\xB7"sv};
constexpr std::array kFunctions{"sqrt"sv, "sin"sv, "cos"sv, "tan"sv, "cot"sv,
                                "csc"sv,  "log"sv, "ln"sv,  "exp"sv};
constexpr std::array kOrdinals{"st"sv, "nd"sv, "rd"sv, "th"sv};

bool is_word_char(char c) { return is_alnum(c) || c == '\''; }

}  // namespace

Chunk Chunks::take(ChunkKind kind, std::size_t size) {
    const Chunk token{kind, sentence_.substr(place_, size)};
    place_ += token.text.size();
    return token;
}

Chunk Chunks::command() {
    const View rest = sentence_.substr(place_);
    if (rest.size() == 1) return take(ChunkKind::word, 1);
    if (!is_letter(rest[1])) return take(ChunkKind::sign, 1 + forward(rest.substr(1), 0, 1));
    const std::size_t end = skip_letters(rest, 1);
    const View name = rest.substr(1, end - 1);
    if (name == "text" || name == "mbox" || name == "mathrm") {
        const std::size_t brace = end + (at(rest, end) == ' ' ? 1 : 0);
        const std::size_t close = rest.find_first_of("{}\\", brace + 1);
        if (at(rest, brace) == '{' && close != npos && rest[close] == '}') {
            return take(ChunkKind::sign, close + 1);
        }
    }
    return take(name == "boxed" || name == "fbox" ? ChunkKind::word : ChunkKind::value, end);
}

/// A letter that touches an operator is a variable; another one is a word.
ChunkKind Chunks::lone_letter(std::size_t end) const {
    const View before = strip_right(sentence_.substr(0, place_), " ");
    const View after = sentence_.substr(skip_spaces(sentence_, end));
    const bool number_before =
        !before.empty() && (is_digit(before.back()) || is_one_of(before.back(), ")%"));
    const bool number_after = is_digit(at(after, 0)) || is_one_of(at(after, 0), "$(.");
    if (sentence_[place_] == 'x' && number_before && number_after) return ChunkKind::sign;
    const bool bound_before = (!before.empty() && is_one_of(before.back(), "=^_+*/<>([{-")) ||
                              before.ends_with(kRoot) || ends_among(before, kWideOperators);
    const bool bound_after = (!after.empty() && is_one_of(after[0], "=^_+*/<>-")) ||
                             after.starts_with("!=") || match_among(after, kWideOperators) != 0;
    return bound_before || bound_after || at(sentence_, end) == '(' ? ChunkKind::letter
                                                                    : ChunkKind::word;
}

Chunk Chunks::word() {
    const std::size_t end = skip(sentence_, place_, is_word_char);
    const std::size_t size = end - place_;
    const View word = sentence_.substr(place_, size);
    if (is_digit(at(sentence_, place_ - 1))) {
        const bool loose = is_among(word, kOrdinals) || (unit_form(word) && !is_lone_unit(word));
        return take(loose ? ChunkKind::word : ChunkKind::letter, size);
    }
    if (word == "and" || word == "or") return take(ChunkKind::join, size);
    if (word == "pi") return take(ChunkKind::value, size);
    if (is_among(word, kFunctions)) {
        const char next = at(sentence_, skip_spaces(sentence_, end));
        const bool applied = is_digit(next) || next == '(' || next == '\\';
        return take(applied ? ChunkKind::value : ChunkKind::word, size);
    }
    return take(size > 1 ? ChunkKind::word : lone_letter(end), size);
}

Chunk Chunks::next() {
    const View rest = sentence_.substr(place_);
    if (rest[0] == '\\') return command();
    if (match_among(rest, std::array{"<<"sv, ">>"sv, "<|"sv, "</"sv}) != 0) {
        return take(ChunkKind::word, 2);
    }
    const std::size_t first = rest[0] == '.' ? 1 : 0;
    if (is_digit(at(rest, first))) {
        std::size_t end = skip_digits(rest, first);
        while (is_one_of(at(rest, end), ".,:") && is_digit(at(rest, end + 1))) {
            end = skip_digits(rest, end + 1);
        }
        const bool ordinal = is_among(rest.substr(end, skip_letters(rest, end) - end), kOrdinals);
        return take(ordinal ? ChunkKind::word : ChunkKind::value, end);
    }
    if (is_letter(rest[0])) return word();
    if (rest[0] == ' ' || rest[0] == '\t') return take(ChunkKind::space, 1);
    if (rest.starts_with(kFixedSpace)) return take(ChunkKind::space, kFixedSpace.size());
    if (rest[0] == ',' || rest[0] == ';') return take(ChunkKind::join, 1);
    if (const std::size_t size = match_among(rest, kWideValues))
        return take(ChunkKind::value, size);
    if (const std::size_t size = match_among(rest, kWideSigns)) return take(ChunkKind::sign, size);
    return take(is_one_of(rest[0], "-+*/^_=<>|!()[]{}%$&~") ? ChunkKind::sign : ChunkKind::word,
                forward(rest, 0, 1));
}

bool Chunks::number_follows() const {
    const auto is_loose = [](char c) { return c == ' ' || c == '$'; };
    View rest = sentence_.substr(skip(sentence_, place_, is_loose));
    if (rest.starts_with("and ")) rest.remove_prefix(4);
    else if (rest.starts_with("or ")) rest.remove_prefix(3);
    if (is_letter(at(rest, 0))) {  // a label, as in `x = 1 and x = 2`
        const std::size_t equals = 1 + (at(rest, 1) == ' ' ? 1 : 0);
        if (at(rest, equals) != '=') return false;
        rest.remove_prefix(equals + 1 + (at(rest, equals + 1) == ' ' ? 1 : 0));
    }
    if (rest.starts_with(kMinus)) rest.remove_prefix(kMinus.size());
    else if (!rest.empty() && is_one_of(rest[0], "-+")) rest.remove_prefix(1);
    rest = rest.substr(skip(rest, 0, [](char c) { return c == '\\' || c == '$'; }));
    return is_digit(at(rest, 0)) || rest.starts_with(kRoot) || rest.starts_with(kWideValues[0]);
}

}  // namespace cohort

// Character classes by name. Text is UTF-8 and every byte above 0x7F belongs to none of them, so
// that nothing here depends on a locale or on a version of Unicode.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace cohort {

inline constexpr std::size_t npos = std::string_view::npos;
inline constexpr std::string_view kSpace = " \t\n\v\f\r";

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_letter(char c) { return is_upper(c) || is_lower(c); }
constexpr bool is_alnum(char c) { return is_digit(c) || is_letter(c); }
constexpr bool is_one_of(char c, std::string_view set) {
    for (const char one : set) {  // with a literal set the compiler makes a few comparisons of it
        if (one == c) return true;
    }
    return false;
}
/// A set of bytes that is looked up in one step, for loops over long texts.
class CharSet {
public:
    constexpr explicit CharSet(std::string_view chars) : has_{} {
        for (const char c : chars) has_[static_cast<unsigned char>(c)] = true;
    }
    constexpr bool has(char c) const { return has_[static_cast<unsigned char>(c)]; }

private:
    std::array<bool, 256> has_;
};

constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

/// The byte at `index`, 0 outside of the text (also for an index that went below 0).
constexpr char at(std::string_view text, std::size_t index) {
    return index < text.size() ? text[index] : '\0';
}

/// Index of the first byte from `start` on that is not in the class.
template <typename Class>
constexpr std::size_t skip(std::string_view text, std::size_t start, Class in_class) {
    while (start < text.size() && in_class(text[start])) ++start;
    return start;
}

constexpr std::size_t skip_spaces(std::string_view text, std::size_t start) {
    return skip(text, start, [](char c) { return c == ' '; });
}

constexpr std::size_t skip_digits(std::string_view text, std::size_t start) {
    return skip(text, start, is_digit);
}

constexpr std::size_t skip_letters(std::string_view text, std::size_t start) {
    return skip(text, start, is_letter);
}

/// The text without bytes of `set` at its ends.
constexpr std::string_view strip_right(std::string_view text, std::string_view set) {
    return text.substr(0, text.find_last_not_of(set) + 1);
}

constexpr std::string_view strip(std::string_view text, std::string_view set) {
    const std::size_t first = text.find_first_not_of(set);
    return first == npos ? std::string_view{} : strip_right(text.substr(first), set);
}

inline std::string lowered(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = to_lower(c);
    return result;
}

}  // namespace cohort

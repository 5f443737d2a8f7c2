#include <cstdint>
#include <optional>

#include "cohort/ascii.h"
#include "cohort/spelling.h"
#include "cohort/words.h"

namespace cohort {
namespace {

struct CodePoint {
    std::uint32_t value;
    std::size_t size;  // bytes; 1 for ASCII, for what is not folded and for what is not UTF-8
};

/// The code point at `i` when it has two or three bytes, which all folded ones have.
CodePoint decode(std::string_view text, std::size_t i) {
    const auto byte = [&](std::size_t k) { return static_cast<std::uint8_t>(at(text, i + k)); };
    const auto continues = [&](std::size_t k) { return (byte(k) & 0xC0U) == 0x80U; };
    const std::uint32_t first = byte(0);
    if ((first & 0xE0U) == 0xC0U && continues(1)) {
        return {((first & 0x1FU) << 6U) | (byte(1) & 0x3FU), 2};
    }
    if ((first & 0xF0U) == 0xE0U && continues(1) && continues(2)) {
        const std::uint32_t middle = (byte(1) & 0x3FU) << 6U;
        return {((first & 0x0FU) << 12U) | middle | (byte(2) & 0x3FU), 3};
    }
    return {first < 0x80U ? first : 0, 1};
}

constexpr bool within(std::uint32_t code, std::uint32_t low, std::uint32_t high) {
    return code >= low && code <= high;
}

/// What stands for one code point outside of full-width ASCII.
std::optional<std::string_view> folded(std::uint32_t code) {
    if (within(code, 0x2000, 0x200A) || within(code, 0x09, 0x0D)) return " ";
    // clang-format off
    switch (code) {
        case '~': case 0xA0: case 0x202F: case 0x205F: case 0x3000: return " ";
        case 0x2010: case 0x2011: case 0x2012: case 0x2013: case 0x2212: case 0xFE63: return "-";
        case 0x200B: case 0x200C: case 0x200D: case 0x2060: case 0xFEFF: return "";
        case 0xA2: return " cents ";
        case 0xA3: return "\\pounds ";
        case 0xA5: return "\\yen ";
        case 0x20AC: return "\\euro ";
        case 0x20B9: return "\\rupee ";
        case 0xB0: return "^\\circ ";
        case 0xB2: return "^2";
        case 0xB3: return "^3";
        case 0xBC: return " 1/4";
        case 0xBD: return " 1/2";
        case 0xBE: return " 3/4";
        case 0xD7: return "\\times ";
        case 0xF7: case 0x2044: case 0x2215: return "/";
        case 0x2018: case 0x2019: return "'";
        case 0x201C: case 0x201D: return "\"";
        case 0x3001: return ",";
        case 0x3002: return ".";
        default: return std::nullopt;
    }
    // clang-format on
}

std::string fold_unicode(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const CodePoint point = decode(text, i);
        if (within(point.value, 0xFF01, 0xFF5E)) {
            result += static_cast<char>(point.value - 0xFEE0);
        } else if (const auto replacement = folded(point.value)) {
            result += *replacement;
        } else {
            result += text.substr(i, point.size);
        }
        i += point.size;
    }
    return result;
}

std::string fold_commands(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i + 1;
        if (text[i] == '\\' && end < text.size()) {
            end = is_letter(text[end]) ? skip_letters(text, end) : end + 1;
        }
        const std::string_view token = text.substr(i, end - i);
        const auto replacement = token.size() > 1 ? loose_command(token.substr(1)) : std::nullopt;
        result += replacement.value_or(token);
        i = end;
    }
    return result;
}

void replace_all(std::string& text, std::string_view old, std::string_view replacement) {
    for (std::size_t i = text.find(old); i != npos; i = text.find(old, i + replacement.size())) {
        text.replace(i, old.size(), replacement);
    }
}

}  // namespace

std::string fold(std::string_view answer) {
    std::string text = fold_commands(fold_unicode(answer));
    replace_all(text, "{,}", ",");
    replace_all(text, "^{\\circ}", "^\\circ ");
    return text;
}

}  // namespace cohort

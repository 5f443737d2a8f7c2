#include "unicode.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace cohort {
namespace {

struct Spelling {
    std::uint32_t code;
    std::string_view latex;
};

// Sorted by code point.
// clang-format off
constexpr std::array kSpellings{
    Spelling{0xA0, " "}, Spelling{0xA2, "\\text{ cents}"}, Spelling{0xA3, "\\pounds "}, Spelling{0xA5, "\\yen "},
    Spelling{0xB0, "^{\\circ}"}, Spelling{0xB1, "\\pm "}, Spelling{0xB5, "\\mu "},
    Spelling{0xB7, "\\cdot "}, Spelling{0xBC, "\\frac{1}{4}"}, Spelling{0xBD, "\\frac{1}{2}"},
    Spelling{0xBE, "\\frac{3}{4}"}, Spelling{0xD7, "\\times "}, Spelling{0xF7, "\\div "},
    Spelling{0x391, "A"}, Spelling{0x393, "\\Gamma "}, Spelling{0x394, "\\Delta "},
    Spelling{0x398, "\\Theta "}, Spelling{0x39B, "\\Lambda "}, Spelling{0x39E, "\\Xi "},
    Spelling{0x3A0, "\\Pi "}, Spelling{0x3A3, "\\Sigma "}, Spelling{0x3A6, "\\Phi "},
    Spelling{0x3A8, "\\Psi "}, Spelling{0x3A9, "\\Omega "}, Spelling{0x3B1, "\\alpha "},
    Spelling{0x3B2, "\\beta "}, Spelling{0x3B3, "\\gamma "}, Spelling{0x3B4, "\\delta "},
    Spelling{0x3B5, "\\epsilon "}, Spelling{0x3B6, "\\zeta "}, Spelling{0x3B7, "\\eta "},
    Spelling{0x3B8, "\\theta "}, Spelling{0x3B9, "\\iota "}, Spelling{0x3BA, "\\kappa "},
    Spelling{0x3BB, "\\lambda "}, Spelling{0x3BC, "\\mu "}, Spelling{0x3BD, "\\nu "},
    Spelling{0x3BE, "\\xi "}, Spelling{0x3C0, "\\pi "}, Spelling{0x3C1, "\\rho "},
    Spelling{0x3C2, "\\sigma "}, Spelling{0x3C3, "\\sigma "}, Spelling{0x3C4, "\\tau "},
    Spelling{0x3C5, "\\upsilon "}, Spelling{0x3C6, "\\phi "}, Spelling{0x3C7, "\\chi "},
    Spelling{0x3C8, "\\psi "}, Spelling{0x3C9, "\\omega "}, Spelling{0x3D1, "\\theta "},
    Spelling{0x3D5, "\\phi "}, Spelling{0x3F5, "\\epsilon "}, Spelling{0x2010, "-"},
    Spelling{0x2011, "-"}, Spelling{0x2012, "-"}, Spelling{0x2013, "-"}, Spelling{0x2016, "\\| "},
    Spelling{0x2018, "'"}, Spelling{0x2019, "'"}, Spelling{0x201C, "\""}, Spelling{0x201D, "\""},
    Spelling{0x2022, "\\cdot "}, Spelling{0x2026, "\\dots "}, Spelling{0x202F, " "},
    Spelling{0x2032, "'"}, Spelling{0x2033, "''"}, Spelling{0x2044, "/"}, Spelling{0x205F, " "},
    Spelling{0x20AC, "\\euro "}, Spelling{0x20B9, "\\rupee "}, Spelling{0x2102, "\\mathbb{C}"},
    Spelling{0x2103, "^{\\circ}C"}, Spelling{0x2109, "^{\\circ}F"},
    Spelling{0x2115, "\\mathbb{N}"}, Spelling{0x211A, "\\mathbb{Q}"},
    Spelling{0x211D, "\\mathbb{R}"}, Spelling{0x2124, "\\mathbb{Z}"}, Spelling{0x2126, "\\Omega "},
    Spelling{0x212F, "e"}, Spelling{0x2147, "e"}, Spelling{0x2148, "i"},
    Spelling{0x2153, "\\frac{1}{3}"}, Spelling{0x2154, "\\frac{2}{3}"},
    Spelling{0x2155, "\\frac{1}{5}"}, Spelling{0x2156, "\\frac{2}{5}"},
    Spelling{0x2157, "\\frac{3}{5}"}, Spelling{0x2158, "\\frac{4}{5}"},
    Spelling{0x2159, "\\frac{1}{6}"}, Spelling{0x215A, "\\frac{5}{6}"},
    Spelling{0x215B, "\\frac{1}{8}"}, Spelling{0x215C, "\\frac{3}{8}"},
    Spelling{0x215D, "\\frac{5}{8}"}, Spelling{0x215E, "\\frac{7}{8}"}, Spelling{0x2192, "\\to "},
    Spelling{0x21A6, "\\mapsto "}, Spelling{0x21D2, "\\implies "}, Spelling{0x2205, "\\emptyset "},
    Spelling{0x2206, "\\Delta "}, Spelling{0x2208, "\\in "}, Spelling{0x2209, "\\notin "},
    Spelling{0x220F, "\\prod "}, Spelling{0x2211, "\\sum "}, Spelling{0x2212, "-"},
    Spelling{0x2213, "\\mp "}, Spelling{0x2215, "/"}, Spelling{0x2216, "\\setminus "},
    Spelling{0x2217, "*"}, Spelling{0x2219, "\\cdot "}, Spelling{0x221A, "\\surd "},
    Spelling{0x221B, "\\cbrt "}, Spelling{0x221E, "\\infty "}, Spelling{0x2220, "\\angle "},
    Spelling{0x2223, "\\mid "}, Spelling{0x2224, "\\nmid "}, Spelling{0x2225, "\\parallel "},
    Spelling{0x2227, "\\land "}, Spelling{0x2228, "\\lor "}, Spelling{0x2229, "\\cap "},
    Spelling{0x222A, "\\cup "}, Spelling{0x222B, "\\int "}, Spelling{0x2236, ":"},
    Spelling{0x223C, "\\sim "}, Spelling{0x2245, "\\cong "}, Spelling{0x2248, "\\approx "},
    Spelling{0x2260, "\\ne "}, Spelling{0x2261, "\\equiv "}, Spelling{0x2262, "\\not\\equiv "},
    Spelling{0x2264, "\\le "}, Spelling{0x2265, "\\ge "}, Spelling{0x2266, "\\le "},
    Spelling{0x2267, "\\ge "}, Spelling{0x2282, "\\subset "}, Spelling{0x2286, "\\subset "},
    Spelling{0x22A5, "\\perp "}, Spelling{0x22C5, "\\cdot "}, Spelling{0x22EF, "\\dots "},
    Spelling{0x2308, "\\lceil "}, Spelling{0x2309, "\\rceil "}, Spelling{0x230A, "\\lfloor "},
    Spelling{0x230B, "\\rfloor "}, Spelling{0x2329, "\\langle "}, Spelling{0x232A, "\\rangle "},
    Spelling{0x25B3, "\\triangle "}, Spelling{0x27E8, "\\langle "}, Spelling{0x27E9, "\\rangle "},
    Spelling{0x27F9, "\\implies "}, Spelling{0x2A7D, "\\le "}, Spelling{0x2A7E, "\\ge "},
    Spelling{0x3000, " "}, Spelling{0x3001, ","}, Spelling{0x3002, "."}, Spelling{0xFE63, "-"},
};
// clang-format on
static_assert(std::ranges::is_sorted(kSpellings, {}, &Spelling::code));

struct CodePoint {
    std::uint32_t value;
    std::size_t size;  // bytes; 1 for ASCII and for what is not UTF-8
};

CodePoint decode(std::string_view text, std::size_t i) {
    const auto byte = [&](std::size_t k) {
        return i + k < text.size() ? static_cast<std::uint8_t>(text[i + k]) : 0U;
    };
    const auto tail = [&](std::size_t k) { return byte(k) & 0x3FU; };
    const auto continues = [&](std::size_t k) { return (byte(k) & 0xC0U) == 0x80U; };
    const std::uint32_t first = byte(0);
    if (first < 0x80U || !continues(1)) return {first, 1};
    if ((first & 0xE0U) == 0xC0U) return {((first & 0x1FU) << 6U) | tail(1), 2};
    if (!continues(2)) return {first, 1};
    const std::uint32_t low = (tail(1) << 6U) | tail(2);
    if ((first & 0xF0U) == 0xE0U) return {((first & 0x0FU) << 12U) | low, 3};
    if ((first & 0xF8U) != 0xF0U || !continues(3)) return {first, 1};
    return {((first & 0x07U) << 18U) | (low << 6U) | tail(3), 4};
}

constexpr bool within(std::uint32_t code, std::uint32_t low, std::uint32_t high) {
    return code >= low && code <= high;
}

char digit(std::uint32_t value) { return static_cast<char>('0' + value); }

/// The plain character of a superscript, or 0.
char superscript(std::uint32_t code) {
    if (code == 0xB9) return '1';
    if (code == 0xB2 || code == 0xB3) return digit(code - 0xB0);
    if (code == 0x2070 || within(code, 0x2074, 0x2079)) return digit(code - 0x2070);
    switch (code) {
        case 0x2071: return 'i';
        case 0x207A: return '+';
        case 0x207B: return '-';
        case 0x207F: return 'n';
        case 0x02E3: return 'x';
        default: return 0;
    }
}

char subscript(std::uint32_t code) {
    if (within(code, 0x2080, 0x2089)) return digit(code - 0x2080);
    return code == 0x2099 ? 'n' : '\0';
}

/// ASCII that wears another form: full width, or the bold and italic letters of mathematics.
char restyled(std::uint32_t code) {
    if (within(code, 0xFF01, 0xFF5E)) return static_cast<char>(code - 0xFEE0);
    if (within(code, 0x1D400, 0x1D6A3)) {
        const std::uint32_t letter = (code - 0x1D400) % 52;
        return static_cast<char>(letter < 26 ? 'A' + letter : 'a' + letter - 26);
    }
    return within(code, 0x1D7CE, 0x1D7FF) ? digit((code - 0x1D7CE) % 10) : '\0';
}

std::optional<std::string_view> spelling(std::uint32_t code) {
    if (within(code, 0x2000, 0x200A)) return " ";
    if (within(code, 0x200B, 0x200D) || code == 0x2060 || code == 0xFEFF) return "";
    const auto entry = std::ranges::lower_bound(kSpellings, code, {}, &Spelling::code);
    if (entry != kSpellings.end() && entry->code == code) return entry->latex;
    // Arrows and operators that no answer needs must not look like letters.
    const bool sign = within(code, 0x2190, 0x23FF) || within(code, 0x2A00, 0x2AFF);
    return sign ? std::optional<std::string_view>("\\unknown ") : std::nullopt;
}

/// A run of raised or lowered signs as one group; the index after it.
std::size_t script(std::string_view text, std::size_t i, char mark, char (*plain)(std::uint32_t),
                   std::string& result) {
    result += mark;
    result += '{';
    while (i < text.size()) {
        const CodePoint point = decode(text, i);
        const char sign = point.size > 1 ? plain(point.value) : '\0';
        if (sign == 0) break;
        result += sign;
        i += point.size;
    }
    result += '}';
    return i;
}

}  // namespace

bool has_unicode(std::string_view text) {
    return std::ranges::any_of(text,
                               [](char c) { return (static_cast<unsigned>(c) & 0x80U) != 0; });
}

std::string spell_out(std::string_view text) {
    std::string result;
    result.reserve(text.size() + 16);
    for (std::size_t i = 0; i < text.size();) {
        const CodePoint point = decode(text, i);
        if (point.size == 1) {
            result += text[i++];
        } else if (superscript(point.value) != 0) {
            i = script(text, i, '^', superscript, result);
        } else if (subscript(point.value) != 0) {
            i = script(text, i, '_', subscript, result);
        } else {
            const char sign = restyled(point.value);
            if (sign != 0) {
                result += sign;
            } else {
                result += spelling(point.value).value_or(text.substr(i, point.size));
            }
            i += point.size;
        }
    }
    return result;
}

}  // namespace cohort

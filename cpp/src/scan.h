// Looking for marks from the end of a text, at some gigabytes per second also where none is.
#pragma once

#include <string_view>

#include "cohort/ascii.h"

namespace cohort {

/// What is looked for: a text that the compiler knows, and the two places in it at which the least
/// common bytes stand.
struct Pattern {
    consteval Pattern(const char* chars) : text(chars) {
        for (std::size_t i = 1; i < text.size(); ++i) {
            if (rarity(i) > rarity(first)) {
                second = first;
                first = i;
            } else if (second == first || rarity(i) > rarity(second)) {
                second = i;
            }
        }
    }

    std::string_view text;
    std::size_t first = 0, second = 0;

private:
    consteval std::size_t rarity(std::size_t place) const {
        constexpr std::string_view kFromCommon = " etaoinsrhldcumfpgywbvk";
        const std::size_t rank = kFromCommon.find(text[place]);
        return rank == npos ? kFromCommon.size() : rank;
    }
};

/// Whether what stands at an index is a mark.
using IsMark = bool (*)(std::string_view text, std::size_t index);

/// The last index at which the pattern stands with its end at most at `stop`; npos if none. With
/// `is_mark` only marks count.
std::size_t rfind(std::string_view text, const Pattern& pattern, std::size_t stop = npos,
                  IsMark is_mark = nullptr);

/// The same for a word in letters of any case; the pattern is all lower case. No letter stands
/// before it.
std::size_t rfind_word(std::string_view text, const Pattern& lower, std::size_t stop = npos);

}  // namespace cohort

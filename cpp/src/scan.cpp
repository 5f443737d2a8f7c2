#include "scan.h"

#include <algorithm>

namespace cohort {
namespace {

using View = std::string_view;

constexpr std::size_t kBlock = 64;

/// Two bytes of a pattern that seldom stand together elsewhere.
struct Rare {
    std::size_t first, second;  // their places
};

/// The two places of a pattern that are furthest from the letters of prose.
constexpr Rare rare(View pattern) {
    const auto rank = [&](std::size_t i) {
        constexpr View kCommon = " etaoinsrhldcumfpgywbvk";
        const std::size_t place = kCommon.find(pattern[i]);
        return place == npos ? kCommon.size() : place;
    };
    if (pattern.size() == 1) return {0, 0};
    Rare result{0, 1};
    if (rank(1) > rank(0)) result = {1, 0};
    for (std::size_t i = 2; i < pattern.size(); ++i) {
        if (rank(i) > rank(result.first)) result = {i, result.first};
        else if (rank(i) > rank(result.second)) result.second = i;
    }
    return result;
}

/// Whether both bytes stand at their places for one of the kBlock places from `text` on. The
/// compiler makes vector instructions of it.
bool may_match(const char* first, const char* second, char a, char b, char fold) {
    char hit = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
        const bool both =
            (static_cast<char>(first[i] | fold) == a) & (static_cast<char>(second[i] | fold) == b);
        hit = static_cast<char>(hit | static_cast<char>(both));
    }
    return hit != 0;
}

template <typename Matches>
std::size_t last_place(View text, View pattern, std::size_t stop, char fold, Matches matches) {
    stop = std::min(stop, text.size());
    if (stop < pattern.size()) return npos;
    const Rare places = rare(pattern);
    std::size_t end = stop - pattern.size() + 1;  // places from 0 to before `end` are left
    const char a = pattern[places.first];
    const char b = pattern[places.second];
    while (end > 0) {
        const std::size_t begin = end - std::min(end, kBlock);
        const char* const first = text.data() + begin + places.first;
        const char* const second = text.data() + begin + places.second;
        if (end - begin < kBlock || may_match(first, second, a, b, fold)) {
            for (std::size_t i = end - begin; i-- > 0;) {
                if ((first[i] | fold) == a && (second[i] | fold) == b && matches(begin + i)) {
                    return begin + i;
                }
            }
        }
        end = begin;
    }
    return npos;
}

}  // namespace

std::size_t rfind(View text, View pattern, std::size_t stop, IsMark is_mark) {
    return last_place(text, pattern, stop, 0, [&](std::size_t i) {
        std::size_t same = 0;  // a loop, because a call would cost more than the few bytes
        while (same < pattern.size() && text[i + same] == pattern[same]) ++same;
        return same == pattern.size() && (!is_mark || is_mark(text, i));
    });
}

std::size_t rfind_word(View text, View lower, std::size_t stop) {
    return last_place(text, lower, stop, 0x20, [&](std::size_t i) {
        const auto same = [](char a, char b) { return to_lower(a) == b; };
        return !is_letter(at(text, i - 1)) &&
               std::ranges::equal(text.substr(i, lower.size()), lower, same);
    });
}

}  // namespace cohort

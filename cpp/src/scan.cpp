#include "scan.h"

#include <algorithm>

namespace cohort {
namespace {

using View = std::string_view;

constexpr std::size_t kBlock = 64;

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
std::size_t last_place(View text, const Pattern& pattern, std::size_t stop, char fold,
                       Matches matches) {
    stop = std::min(stop, text.size());
    const View wanted = pattern.text;
    if (stop < wanted.size()) return npos;
    std::size_t end = stop - wanted.size() + 1;  // places from 0 to before `end` are left
    const char a = wanted[pattern.first];
    const char b = wanted[pattern.second];
    while (end > 0) {
        const std::size_t begin = end - std::min(end, kBlock);
        const char* const first = text.data() + begin + pattern.first;
        const char* const second = text.data() + begin + pattern.second;
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

std::size_t rfind(View text, const Pattern& pattern, std::size_t stop, IsMark is_mark) {
    const View wanted = pattern.text;
    return last_place(text, pattern, stop, 0, [&](std::size_t i) {
        std::size_t same = 0;  // a loop, because a call would cost more than the few bytes
        while (same < wanted.size() && text[i + same] == wanted[same]) ++same;
        return same == wanted.size() && (!is_mark || is_mark(text, i));
    });
}

std::size_t rfind_word(View text, const Pattern& lower, std::size_t stop) {
    const View wanted = lower.text;
    return last_place(text, lower, stop, 0x20, [&](std::size_t i) {
        const auto same = [](char a, char b) { return to_lower(a) == b; };
        return !is_letter(at(text, i - 1)) &&
               std::ranges::equal(text.substr(i, wanted.size()), wanted, same);
    });
}

}  // namespace cohort

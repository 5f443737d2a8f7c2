// Pairs the items of two lists.
#pragma once

#include <cstddef>
#include <vector>

#include "cohort/ascii.h"

namespace cohort {

/// Pairs each answer with a truth of its own by augmenting paths.
template <typename Same>
bool has_perfect_matching(std::size_t size, Same same) {
    std::vector<std::size_t> taken_by(size, npos);
    std::vector<bool> seen;
    const auto place = [&](auto&& again, std::size_t i) -> bool {
        for (std::size_t j = 0; j < size; ++j) {
            if (seen[j] || !same(i, j)) continue;
            seen[j] = true;
            if (taken_by[j] == npos || again(again, taken_by[j])) {
                taken_by[j] = i;
                return true;
            }
        }
        return false;
    };
    for (std::size_t i = 0; i < size; ++i) {
        seen.assign(size, false);
        if (!place(place, i)) return false;
    }
    return true;
}

}  // namespace cohort

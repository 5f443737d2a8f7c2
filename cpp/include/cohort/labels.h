// What is counted, in words behind a number.
//
//     5 red apples   5 apples         the same
//     5 km north     5 km to go       the same, as one of them is silent about the other's words
//     5% increase    5% decrease      not the same
#pragma once

#include <string>
#include <string_view>

namespace cohort {

/// The words that say what is counted, in singular; fillers only when there is nothing else.
std::string label(std::string_view text);

/// Whether a label says nothing: only fillers.
bool is_silent(std::string_view label);

/// Whether one of two labels has all words of the other, or only one of them says anything.
bool same_label(std::string_view one, std::string_view other);

}  // namespace cohort

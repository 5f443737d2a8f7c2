// Looking for marks from the end of a text, at some gigabytes per second also where none is.
#pragma once

#include <string_view>

#include "cohort/ascii.h"

namespace cohort {

/// Whether what stands at an index is a mark.
using IsMark = bool (*)(std::string_view text, std::size_t index);

/// The last index at which `pattern` stands with its end at most at `stop`; npos if none. With
/// `is_mark` only marks count.
std::size_t rfind(std::string_view text, std::string_view pattern, std::size_t stop = npos,
                  IsMark is_mark = nullptr);

/// The same for a word in letters of any case; `lower` is all lower case. No letter stands before
/// it.
std::size_t rfind_word(std::string_view text, std::string_view lower, std::size_t stop = npos);

}  // namespace cohort

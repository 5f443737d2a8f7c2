// Numbers in words: `twelve`, `twenty-one`, `three hundred and five`, `two million four thousand`.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace cohort {

struct WordNumber {
    unsigned long long value;
    std::size_t end;
};

/// The number in words at `start`.
std::optional<WordNumber> read_words(std::string_view text, std::size_t start);

/// Whether `word`, in lower case, is a number or a part of one.
bool is_number_word(std::string_view word);

}  // namespace cohort

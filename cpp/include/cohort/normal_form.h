// From an answer to its normal form, in which equal answers are spelled alike. A number has an
// exact value; everything else stays text.
#pragma once

#include <string>
#include <string_view>

namespace cohort {

/// Longer answers (in characters) are compared as they are.
inline constexpr std::size_t kMaxChars = 4096;

struct NormalForm {
    bool is_number = false;
    std::string value;  // a decimal, a fraction in lowest terms that no decimal equals, or text
    std::string unit;   // `%`, a name such as `cm^2`, or nothing
    std::string label;  // what is counted, in the words of labels.h

    bool operator==(const NormalForm&) const = default;
};

/// The normal form; its value is empty when nothing is left of the answer.
NormalForm normal_form(std::string_view answer);

/// Value and unit as one text.
std::string to_string(const NormalForm& form);

/// Whether the two are the same answer, `truth` being right. A missing unit is fine; another unit,
/// and other words in its place, are wrong. A percentage is its number or its hundredth; a truth
/// below 1 without a percent sign is read as a share, so 0.25 % is not 0.25.
bool same(const NormalForm& answer, const NormalForm& truth);

/// Characters of UTF-8 text.
std::size_t count_chars(std::string_view text);

}  // namespace cohort

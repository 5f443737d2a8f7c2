// The arithmetic steps of a worked solution, each found and checked.
//
//   Natalia sold 48/2 = <<48/2=24>>24 clips, so 48 + 24 = 72 clips in all.
//                           ------ right            ------- right
//
// A step is an `=` between two runs of arithmetic in one sentence, at least one with an operator.
// Words behind a number (`5 apples + 3 apples = 8 apples`), currency and LaTeX delimiters are
// passed over. `a = b = c` is two steps. A decimal may be rounded to the digits it shows (10/3
// = 3.33). Linear in the text; sums are exact.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

struct ArithmeticStep {
    std::size_t end;    // byte after its last character
    bool right;         // both sides have the same value
    std::string value;  // of the right side, exact: `24`, `7/2`; empty when it has none (1/0)
};

/// Later steps than these are not looked at.
inline constexpr std::size_t kMaxSteps = 1024;

std::vector<ArithmeticStep> find_steps(std::string_view text);

}  // namespace cohort

// Unicode signs spelled in LaTeX, so that the tokenizer knows one spelling of each.
#pragma once

#include <string>
#include <string_view>

namespace cohort {

/// Whether `text` has bytes outside of ASCII; if not, there is nothing to spell out.
bool has_unicode(std::string_view text);

/// `√2` is `\surd 2`, `x²` is `x^{2}`, `½` is `\frac{1}{2}`; letters of other scripts stay.
std::string spell_out(std::string_view text);

}  // namespace cohort

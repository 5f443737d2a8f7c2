// Exact values as text: a decimal of any length (`-12.5`), or a fraction in lowest terms that no
// decimal equals (`1/3`). Parts of fractions have at most 18 digits; exponents of ten end at 300.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cohort {

/// One spelling of an unsigned decimal as it was written: `0,123.50` gives `123.5`.
std::string decimal(std::string_view written);

std::string negate(std::string value);

/// `value` times a power of ten; nothing for a fraction or an exponent out of bounds.
std::optional<std::string> shift(std::string_view value, std::string_view exponent);

/// Exact quotient of two written decimals; nothing when it is not defined or has too many digits.
std::optional<std::string> quotient(std::string_view numerator, std::string_view denominator);

/// Exact `whole numerator/denominator`; nothing unless the fraction is proper and small enough.
std::optional<std::string> mixed(std::string_view whole, std::string_view numerator,
                                 std::string_view denominator);

}  // namespace cohort

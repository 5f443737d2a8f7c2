// Reading a number and what may follow it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cohort {

/// An exact value (exact.h), its unit (`%`, a name such as `cm^2`, or nothing), and what is
/// counted, in the words of labels.h.
struct Number {
    std::string value, unit, label;
};

/// A number with its unit, or nothing when the whole of `text` (folded and peeled) is not one.
std::optional<Number> read_number(std::string_view text);

/// A command for a currency at the start of `text`, such as `\euro`: its unit and its size.
struct CurrencySign {
    std::string_view name;
    std::size_t size = 0;
};
CurrencySign currency_sign(std::string_view text);

/// The number when `tail` is a unit, plain words, both or nothing; `currency` stood before it.
std::optional<Number> read_tail(std::string value, std::string_view currency,
                                std::string_view tail);

}  // namespace cohort

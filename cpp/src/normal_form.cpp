#include "cohort/normal_form.h"

#include <algorithm>
#include <cstdint>

#include "cohort/ascii.h"
#include "cohort/exact.h"
#include "cohort/labels.h"
#include "cohort/number.h"
#include "cohort/spelling.h"
#include "cohort/words.h"

namespace cohort {
namespace {

/// Length of the part of a calculation at the start of `text`: a digit, a sign or a command.
std::size_t match_arithmetic(std::string_view text) {
    for (const std::string_view times : {"\\times", "\\cdot"}) {
        if (text.starts_with(times)) return times.size();
    }
    return is_digit(at(text, 0)) || is_one_of(at(text, 0), "+-*/.,$()= ") ? 1 : 0;
}

/// What stands after the last `=` of a calculation (`12 + 33 = 45`); other text as it is.
std::string_view result(std::string_view text) {
    const std::size_t equals = text.rfind('=');
    if (equals == npos) return text;
    for (std::size_t i = 0; i < equals;) {
        const std::size_t size = match_arithmetic(text.substr(i));
        if (size == 0) return text;
        i += size;
    }
    return text.substr(equals + 1);
}

}  // namespace

std::size_t count_chars(std::string_view text) {
    const auto begins = [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0U) != 0x80U; };
    return static_cast<std::size_t>(std::ranges::count_if(text, begins));
}

NormalForm normal_form(std::string_view answer) {
    if (answer.size() > kMaxChars && count_chars(answer) > kMaxChars) {
        return {false, std::string(strip(answer, kSpace)), "", ""};
    }
    const std::string folded = fold(answer);
    const std::string_view text = peel(folded);
    if (auto number = read_number(result(text))) {
        return {true, std::move(number->value), std::move(number->unit), std::move(number->label)};
    }
    return {false, text_form(text), "", ""};
}

std::string to_string(const NormalForm& form) {
    if (form.unit.empty() || is_currency(form.unit)) return form.value;
    return form.value + (form.unit != "%" ? " " : "") + form.unit;
}

bool same(const NormalForm& answer, const NormalForm& truth) {
    if (answer.is_number != truth.is_number) return false;
    if (!same_label(answer.label, truth.label)) return false;
    // 5 points are not 5 cm.
    if (answer.unit.empty() && !truth.unit.empty() && !is_silent(answer.label)) return false;
    if (truth.unit.empty() && !answer.unit.empty() && !is_silent(truth.label)) return false;
    if (!answer.unit.empty() && !truth.unit.empty() && answer.unit != truth.unit) return false;
    const bool in_percent = answer.unit == "%";
    if (in_percent == (truth.unit == "%")) return answer.value == truth.value;
    const std::string_view size =
        std::string_view(truth.value).substr(truth.value.starts_with('-') ? 1 : 0);
    const bool is_share = in_percent && (size.starts_with("0.") || size.find('/') != npos);
    if (answer.value == truth.value && !is_share) return true;
    const std::string& percent = in_percent ? answer.value : truth.value;
    return shift(percent, "-2") == (in_percent ? truth.value : answer.value);
}

}  // namespace cohort

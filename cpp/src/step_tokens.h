// The marks of arithmetic in prose, for steps.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cohort {

enum class Mark : std::uint8_t {
    number,  // `1,234.5`
    plus,
    minus,
    times,
    over,
    power,
    percent,
    open,
    close,
    equal,
    word,  // letters apart from any number
    stop,  // the end of a sentence or line, or anything else that is no arithmetic
};

struct StepToken {
    Mark mark;
    std::string_view text;
    std::size_t end;  // byte after it
};

std::vector<StepToken> step_tokens(std::string_view text);

}  // namespace cohort

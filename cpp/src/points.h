// Where expressions with variables are compared: fixed pseudo-random numbers for each name.
#pragma once

#include <cstdint>
#include <string_view>

#include "cohort/rational.h"

namespace cohort {

struct Point {
    static constexpr unsigned kNumReal = 12;
    static constexpr unsigned kNumInteger = 24;

    bool integer = false;
    unsigned index = 0;

    Rational of(std::string_view variable) const;
};

}  // namespace cohort

// A check that says what differed, and the exit status of a test program.
#pragma once

#include <iostream>

inline int num_failed = 0;

/// Count and print a difference; goes on, so that one run shows all of them.
template <typename Actual, typename Expected>
void check_equal(const Actual& actual, const Expected& expected, const char* what, int line) {
    if (actual == expected) return;
    ++num_failed;
    std::cerr << "line " << line << ": " << what << " is '" << actual << "', expected '" << expected
              << "'\n";
}

#define CHECK_EQUAL(actual, expected) check_equal((actual), (expected), #actual, __LINE__)

inline int exit_status() { return num_failed == 0 ? 0 : 1; }

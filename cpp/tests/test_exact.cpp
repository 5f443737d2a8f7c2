#include <string>

#include "check.h"
#include "cohort/exact.h"

using cohort::decimal, cohort::mixed, cohort::negate, cohort::quotient, cohort::shift;

int main() {
    CHECK_EQUAL(decimal("0,012.500"), "12.5");
    CHECK_EQUAL(decimal(".5"), "0.5");
    CHECK_EQUAL(decimal(std::string(5000, '9')), std::string(5000, '9'));
    CHECK_EQUAL(negate("0"), "0");
    CHECK_EQUAL(negate("-1/3"), "1/3");

    CHECK_EQUAL(quotient("6", "4").value_or("none"), "1.5");
    CHECK_EQUAL(quotient("-6", "9").value_or("none"), "-2/3");
    CHECK_EQUAL(quotient("0.1", "-0.3").value_or("none"), "-1/3");
    CHECK_EQUAL(quotient("1", "0.0").value_or("none"), "none");
    const std::string most(18, '9');
    CHECK_EQUAL(quotient(most, most).value_or("none"), "1");
    CHECK_EQUAL(quotient(most + "9", "1").value_or("none"), "none");
    CHECK_EQUAL(quotient("1", "576460752303423488").value_or("none").size(), 61U);  // 1 / 2^59

    CHECK_EQUAL(mixed("2", "1", "4").value_or("none"), "2.25");
    CHECK_EQUAL(mixed("2", "5", "4").value_or("none"), "none");
    CHECK_EQUAL(mixed(most, "1", "3").value_or("none"), "none");

    CHECK_EQUAL(shift("1.25", "1").value_or("none"), "12.5");
    CHECK_EQUAL(shift("-1.25", "+3").value_or("none"), "-1250");
    CHECK_EQUAL(shift("25", "-2").value_or("none"), "0.25");
    CHECK_EQUAL(shift("-0.5", "-1").value_or("none"), "-0.05");
    CHECK_EQUAL(shift("7", "-0").value_or("none"), "7");
    CHECK_EQUAL(shift("1", "300").value_or("none").size(), 301U);
    CHECK_EQUAL(shift("1", "301").value_or("none"), "none");
    CHECK_EQUAL(shift("1/3", "2").value_or("none"), "none");
    return exit_status();
}

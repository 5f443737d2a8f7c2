#include "check.h"
#include "cohort/units.h"

namespace {

std::string factor(const char* from, const char* to) {
    cohort::Budget budget(10'000);
    const auto value = cohort::conversion(from, to, budget);
    return value ? value->to_string() : "none";
}

}  // namespace

int main() {
    CHECK_EQUAL(factor("m", "cm"), "100");
    CHECK_EQUAL(factor("cm^2", "m^2"), "1/10000");
    CHECK_EQUAL(factor("km/hour", "m/second"), "5/18");
    CHECK_EQUAL(factor("mile/hour", "km/hour"), "25146/15625");
    CHECK_EQUAL(factor("l", "cm^3"), "1000");
    CHECK_EQUAL(factor("foot", "inch"), "12");
    CHECK_EQUAL(factor("$", "cent"), "100");
    CHECK_EQUAL(factor("kPa", "Pa"), "1000");
    CHECK_EQUAL(factor("ms", "second"), "1/1000");
    CHECK_EQUAL(factor("kWh", "kJ"), "3600");
    CHECK_EQUAL(factor("m*s^-1", "m/second"), "1");
    CHECK_EQUAL(factor("gallon", "quart"), "4");
    CHECK_EQUAL(factor("pint", "cup"), "2");
    CHECK_EQUAL(factor("hectare", "m^2"), "10000");
    CHECK_EQUAL(factor("year", "month"), "12");
    CHECK_EQUAL(factor("unit^2", "cm^2"), "1");
    CHECK_EQUAL(factor("unit^2", "unit^3"), "none");
    CHECK_EQUAL(factor("Hz", "second"), "none");
    CHECK_EQUAL(factor("euro", "$"), "none");
    CHECK_EQUAL(factor("cm^2", "cm"), "none");
    CHECK_EQUAL(factor("kg", "m"), "none");
    CHECK_EQUAL(factor("apple", "apple"), "1");
    CHECK_EQUAL(factor("apple", "m"), "none");
    CHECK_EQUAL(factor("m^12", "m"), "none");
    CHECK_EQUAL(factor("m*m*m*m*m*m*m*m*m*m*m*m", "m"), "none");
    CHECK_EQUAL(factor("", "m"), "none");
    return exit_status();
}

// Exact numbers against values that any computer algebra system prints.
#include "check.h"
#include "cohort/rational.h"

using cohort::Budget;
using cohort::Integer;
using cohort::LimitReached;
using cohort::Rational;

namespace {

Integer integer(std::string_view text) {
    const bool negative = text.starts_with('-');
    const Integer value = *Integer::from_digits(text.substr(negative ? 1 : 0));
    return negative ? -value : value;
}

Rational fraction(std::int64_t numerator, std::int64_t denominator) {
    return *Rational::of(Integer(numerator), Integer(denominator));
}

std::string text(const std::optional<Rational>& value) {
    return value ? value->to_string() : "nothing";
}

std::string text(const std::optional<Integer>& value) {
    return value ? value->to_string() : "nothing";
}

template <typename Work>
bool meets_limit(Work work) {
    try {
        work();
        return false;
    } catch (const LimitReached&) {
        return true;
    }
}

Integer factorial(int n) {
    Integer product(1);
    for (int i = 2; i <= n; ++i) product = product * Integer(i);
    return product;
}

void test_integers_grow_beyond_words() {
    const Integer most = integer("9223372036854775807");
    CHECK_EQUAL((most + Integer(1)).to_string(), "9223372036854775808");
    CHECK_EQUAL((-most - Integer(2)).to_string(), "-9223372036854775809");
    CHECK_EQUAL((most * most).to_string(), "85070591730234615847396907784232501249");
    CHECK_EQUAL((-(-most - Integer(1))).to_string(), "9223372036854775808");
    CHECK_EQUAL((most + Integer(1) - Integer(1)).to_int64().has_value(), true);
    CHECK_EQUAL(factorial(30).to_string(), "265252859812191058636308480000000");
    CHECK_EQUAL(integer("-0").sign(), 0);
    CHECK_EQUAL(factorial(30).bits(), std::size_t{108});
    CHECK_EQUAL(factorial(30).modulo(1'000'000'007), std::uint64_t{109'361'473});
    CHECK_EQUAL(Integer(-1).modulo(7), std::uint64_t{6});
}

void test_integers_in_other_bases() {
    CHECK_EQUAL(Integer::from_digits("2516", 8)->to_string(), "1358");
    CHECK_EQUAL(Integer::from_digits("fF", 16)->to_string(), "255");
    CHECK_EQUAL(Integer::from_digits("8", 8).has_value(), false);
    CHECK_EQUAL(Integer::from_digits("").has_value(), false);
}

void test_division_rounds_toward_zero() {
    const auto [quotient, rest] = Integer::divide(-factorial(30), factorial(25) + Integer(1));
    CHECK_EQUAL(quotient.to_string(), "-17100719");
    CHECK_EQUAL(rest.to_string(), "-15511210043330985966899281");
    CHECK_EQUAL(Integer::divide(Integer(7), Integer(-2)).quotient.to_string(), "-3");
    CHECK_EQUAL(Integer::divide(integer("-9223372036854775808"), Integer(-1)).quotient.to_string(),
                "9223372036854775808");
    CHECK_EQUAL(Integer::gcd(factorial(30), integer("3486784401") * factorial(9)).to_string(),
                "21427701120");
    CHECK_EQUAL(Integer::gcd(Integer(0), Integer(-6)).to_string(), "6");
}

void test_roots_are_exact_or_nothing() {
    CHECK_EQUAL(text(Integer::exact_root(Integer(-8), 3)), "-2");
    CHECK_EQUAL(text(Integer::exact_root(Integer(-8), 2)), "nothing");
    CHECK_EQUAL(text(Integer::exact_root(Integer(8), 2)), "nothing");
    const Integer big = factorial(40) + Integer(1);
    CHECK_EQUAL(text(Integer::exact_root(big * big, 2)), big.to_string());
    CHECK_EQUAL(text(Integer::exact_root(big * big + Integer(1), 2)), "nothing");
    CHECK_EQUAL(text(Integer::exact_root(integer("100000000000000000000"), 20)), "10");
}

void test_fractions_are_in_lowest_terms() {
    CHECK_EQUAL(fraction(2, -4).to_string(), "-1/2");
    CHECK_EQUAL((fraction(1, 3) + fraction(1, 6)).to_string(), "1/2");
    CHECK_EQUAL((fraction(1, 3) * fraction(3, 1)).to_string(), "1");
    CHECK_EQUAL(text(Rational::of(Integer(1), Integer(0))), "nothing");
    CHECK_EQUAL(text(Rational(0).inverse()), "nothing");
    CHECK_EQUAL(text(fraction(-2, 3).inverse()), "-3/2");
    CHECK_EQUAL(text(Rational::from_decimal("12.50")), "25/2");
    CHECK_EQUAL(text(Rational::from_decimal(".5")), "1/2");
    CHECK_EQUAL(text(Rational::from_decimal(".")), "nothing");
    CHECK_EQUAL(text(Rational::from_decimal("1.2.3")), "nothing");
    CHECK_EQUAL(fraction(1, 3) < fraction(334, 1000), true);
    CHECK_EQUAL(fraction(-1, 3) > fraction(-334, 1000), true);
}

void test_powers_spend_and_end() {
    Budget budget(100'000);
    CHECK_EQUAL(text(Rational::power(fraction(-2, 3), Integer(-3), budget)), "-27/8");
    CHECK_EQUAL(text(Rational::power(Rational(2), Integer(100), budget)),
                "1267650600228229401496703205376");
    CHECK_EQUAL(text(Rational::power(Rational(0), Integer(-1), budget)), "nothing");
    CHECK_EQUAL(text(Rational::power(Rational(-1), factorial(30), budget)), "1");
    CHECK_EQUAL(meets_limit([&] { Rational::power(Rational(2), factorial(30), budget); }), true);
    Budget small(10);
    CHECK_EQUAL(meets_limit([&] { Rational::power(Rational(3), Integer(9000), small); }), true);
}

void test_sizes_are_capped() {
    const Integer big = Integer(1).shifted_left(cohort::kMaxBits - 1);
    CHECK_EQUAL(big.shifted_right(cohort::kMaxBits - 1).to_string(), "1");
    CHECK_EQUAL(meets_limit([&] { return big + big; }), true);
    CHECK_EQUAL(meets_limit([&] { return big * big; }), true);
    CHECK_EQUAL(meets_limit([&] { return big.shifted_left(1); }), true);
    CHECK_EQUAL(meets_limit([] { return Integer::from_digits(std::string(5000, '9')); }), true);
}

}  // namespace

int main() {
    test_integers_grow_beyond_words();
    test_integers_in_other_bases();
    test_division_rounds_toward_zero();
    test_roots_are_exact_or_nothing();
    test_fractions_are_in_lowest_terms();
    test_powers_spend_and_end();
    test_sizes_are_capped();
    return exit_status();
}

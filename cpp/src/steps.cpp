#include "cohort/steps.h"

#include <algorithm>
#include <optional>
#include <span>

#include "cohort/rational.h"
#include "step_tokens.h"

namespace cohort {
namespace {

using Run = std::span<const StepToken>;

constexpr std::size_t kMaxRun = 96;       // tokens on one side of `=`
constexpr std::size_t kMaxDigits = 64;    // of one number
constexpr std::int64_t kRunSteps = 4096;  // budget of one side
constexpr int kMaxNesting = 16;

bool is_operator(Mark mark) {
    return mark == Mark::plus || mark == Mark::minus || mark == Mark::times || mark == Mark::over ||
           mark == Mark::power;
}

/// One side's value by recursive descent; `ok` is false for what is no arithmetic.
class Evaluator {
public:
    explicit Evaluator(Run run) : run_(run) {}

    /// Nothing when the run is malformed; a side without a value (1/0) is `undefined`.
    bool evaluate() {
        value_ = sum(0);
        return ok_ && at_ == run_.size();
    }
    const std::optional<Rational>& value() const { return value_; }

private:
    using Value = std::optional<Rational>;

    Mark peek() const { return at_ < run_.size() ? run_[at_].mark : Mark::stop; }

    Value sum(int depth) {
        Value left = product(depth);
        while (ok_ && (peek() == Mark::plus || peek() == Mark::minus)) {
            const bool minus = run_[at_++].mark == Mark::minus;
            const Value right = product(depth);
            left = left && right ? Value(minus ? *left - *right : *left + *right) : std::nullopt;
        }
        return left;
    }

    Value product(int depth) {
        Value left = factor(depth);
        while (ok_) {
            const Mark mark = peek();
            const bool beside = mark == Mark::open;  // 2(3 + 4)
            if (mark != Mark::times && mark != Mark::over && !beside) break;
            if (!beside) ++at_;
            Value right = factor(depth);
            if (mark == Mark::over && right) right = right->inverse();
            left = left && right ? Value(*left * *right) : std::nullopt;
        }
        return left;
    }

    Value factor(int depth) {
        if (peek() == Mark::minus || peek() == Mark::plus) {
            const bool minus = run_[at_++].mark == Mark::minus;
            const Value value = depth < kMaxNesting ? factor(depth + 1) : fail();
            return value && minus ? Value(-*value) : value;
        }
        Value base = primary(depth);
        if (ok_ && peek() == Mark::power) {
            ++at_;
            const Value exponent = depth < kMaxNesting ? factor(depth + 1) : fail();
            if (!base || !exponent || !exponent->is_integer()) return std::nullopt;
            return Rational::power(*base, exponent->numerator(), budget_);
        }
        return base;
    }

    Value primary(int depth) {
        if (depth >= kMaxNesting) return fail();
        Value value;
        if (peek() == Mark::number) {
            value = read(run_[at_++].text);
        } else if (peek() == Mark::open) {
            ++at_;
            value = sum(depth + 1);
            if (peek() != Mark::close) return fail();
            ++at_;
        } else {
            return fail();
        }
        if (peek() == Mark::percent) {
            ++at_;
            if (value) value = *value * *Rational::of(1, 100);
        }
        return value;
    }

    Value read(std::string_view digits) {
        std::string plain(digits);
        std::erase(plain, ',');
        if (plain.size() > kMaxDigits) return fail();
        return Rational::from_decimal(plain);
    }

    Value fail() {
        ok_ = false;
        return std::nullopt;
    }

    Run run_;
    std::size_t at_ = 0;
    bool ok_ = true;
    Budget budget_{kRunSteps};
    Value value_;
};

/// The tokens of a run without the words that say what its numbers count.
std::vector<StepToken> arithmetic(Run run) {
    std::vector<StepToken> kept;
    for (const StepToken& token : run) {
        if (token.mark != Mark::word) kept.push_back(token);
    }
    return kept;
}

/// Index where the run that ends before `equal` begins.
std::size_t run_start(Run tokens, std::size_t equal) {
    std::size_t start = equal;
    while (start > 0 && equal - start < kMaxRun) {
        const Mark mark = tokens[start - 1].mark;
        if (mark == Mark::equal || mark == Mark::stop) break;
        if (mark == Mark::word) {
            // A word belongs to the number before it, if there is one.
            std::size_t word = start - 1;
            while (word > 0 && tokens[word - 1].mark == Mark::word) --word;
            if (word == 0 || tokens[word - 1].mark != Mark::number) break;
            if (start < equal && !is_operator(tokens[start].mark) &&
                tokens[start].mark != Mark::close) {
                break;
            }
            start = word;
        } else {
            --start;
        }
    }
    return start;
}

/// Index after the run that begins behind `equal`; words count only before an operator.
std::size_t run_end(Run tokens, std::size_t equal) {
    std::size_t end = equal + 1;
    const std::size_t limit = std::min(tokens.size(), end + kMaxRun);
    for (std::size_t i = end; i < limit; ++i) {
        const Mark mark = tokens[i].mark;
        if (mark == Mark::equal || mark == Mark::stop) break;
        if (mark == Mark::word) {
            const bool counted = tokens[i - 1].mark == Mark::number;
            const bool goes_on = i + 1 < limit && is_operator(tokens[i + 1].mark);
            const bool ends_side = i + 1 < limit && tokens[i + 1].mark == Mark::equal;
            if (!counted || !(goes_on || ends_side)) break;
            continue;
        }
        end = i + 1;
    }
    return end;
}

/// Take closing marks off the end of a run and opening ones off its start that have no partner.
Run balanced(Run run) {
    const auto count = [&run](Mark mark) {
        return std::ranges::count(run, mark, &StepToken::mark);
    };
    while (!run.empty() && run.back().mark == Mark::close &&
           count(Mark::close) > count(Mark::open)) {
        run = run.first(run.size() - 1);
    }
    while (!run.empty() && run.front().mark == Mark::open &&
           count(Mark::open) > count(Mark::close)) {
        run = run.subspan(1);
    }
    return run;
}

Run without_dangling(Run run) {
    while (!run.empty() && (is_operator(run.back().mark) || run.back().mark == Mark::open)) {
        run = run.first(run.size() - 1);
    }
    return balanced(run);
}

/// Whether a side is one decimal that may have been rounded, and to how many digits.
std::optional<int> shown_digits(Run run) {
    if (run.size() != 1) return std::nullopt;
    const std::size_t point = run[0].text.find('.');
    if (point == std::string_view::npos) return std::nullopt;
    return static_cast<int>(run[0].text.size() - point - 1);
}

bool rounds_to(const Rational& exact, const Rational& written, int digits) {
    Budget budget{kRunSteps};
    const auto scale = Rational::power(Rational(10), Integer(digits), budget);
    const Rational distance = (exact - written) * *scale;
    const Rational half = *Rational::of(1, 2);
    return distance <= half && -half <= distance;
}

bool same_value(const Rational& left, const Rational& right, Run left_run, Run right_run) {
    if (left == right) return true;
    if (const auto digits = shown_digits(right_run)) return rounds_to(left, right, *digits);
    if (const auto digits = shown_digits(left_run)) return rounds_to(right, left, *digits);
    return false;
}

std::size_t start_of(const StepToken& token) { return token.end - token.text.size(); }

/// Whether a variable takes part, so that the numbers alone say nothing: `M + 4 = 8`, `8 - y`.
bool has_variable(Run tokens, std::size_t start, std::size_t equal, std::size_t stop) {
    const auto is_word = [&](std::size_t i) {
        return i < tokens.size() && tokens[i].mark == Mark::word;
    };
    if (start < equal && is_operator(tokens[start].mark) && start > 0 && is_word(start - 1)) {
        const bool apart = start_of(tokens[start]) > tokens[start - 1].end;
        const bool signs =
            tokens[start].mark == Mark::minus && start_of(tokens[start + 1]) == tokens[start].end;
        if (!apart || !signs) return true;  // `is -3 + 5` has a sign, `x - 3` does not
    }
    const bool dangles = stop > equal + 1 && is_operator(tokens[stop - 1].mark);
    return dangles && is_word(stop) && tokens[stop].text.size() == 1;
}

std::optional<ArithmeticStep> step_at(Run tokens, std::size_t equal) {
    const std::size_t start = run_start(tokens, equal);
    const std::vector<StepToken> left_tokens = arithmetic(tokens.subspan(start, equal - start));
    const std::size_t stop = run_end(tokens, equal);
    if (equal - start >= kMaxRun || stop - equal > kMaxRun) return std::nullopt;
    if (has_variable(tokens, start, equal, stop)) return std::nullopt;
    const std::vector<StepToken> right_tokens =
        arithmetic(tokens.subspan(equal + 1, stop - equal - 1));
    const Run left = balanced(left_tokens);
    const Run right = without_dangling(right_tokens);
    const auto calculates = [](Run run) {
        return std::ranges::any_of(run.empty() ? run : run.subspan(1), is_operator,
                                   &StepToken::mark);
    };
    if (left.empty() || right.empty() || (!calculates(left) && !calculates(right))) {
        return std::nullopt;
    }
    ArithmeticStep step{right.back().end, false, {}};
    try {
        Evaluator first(left);
        Evaluator second(right);
        if (!first.evaluate() || !second.evaluate()) return std::nullopt;
        if (second.value()) step.value = second.value()->to_string();
        step.right = first.value() && second.value() &&
                     same_value(*first.value(), *second.value(), left, right);
    } catch (const LimitReached&) {
        step.value.clear();  // numbers too large to check are no right step
    }
    return step;
}

}  // namespace

std::vector<ArithmeticStep> find_steps(std::string_view text) {
    const std::vector<StepToken> tokens = step_tokens(text);
    std::vector<ArithmeticStep> steps;
    for (std::size_t i = 0; i < tokens.size() && steps.size() < kMaxSteps; ++i) {
        if (tokens[i].mark != Mark::equal) continue;
        if (auto step = step_at(tokens, i)) steps.push_back(std::move(*step));
    }
    return steps;
}

}  // namespace cohort

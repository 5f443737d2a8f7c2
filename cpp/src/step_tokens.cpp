#include "step_tokens.h"

#include <array>

#include "cohort/ascii.h"
#include "cohort/words.h"

namespace cohort {
namespace {

using View = std::string_view;

struct Sign {
    View text;
    Mark mark;
};

// What begins with another comes after it; commands before single characters.
constexpr std::array kSigns{
    Sign{"\\times", Mark::times},  Sign{"\\cdot", Mark::times},
    Sign{"\\div", Mark::over},     Sign{"\xC3\x97", Mark::times},
    Sign{"\xC2\xB7", Mark::times}, Sign{"\xE2\x8B\x85", Mark::times},
    Sign{"\xC3\xB7", Mark::over},  Sign{"\xE2\x88\x92", Mark::minus},
    Sign{"\\%", Mark::percent},    Sign{"<=", Mark::stop},
    Sign{">=", Mark::stop},        Sign{"!=", Mark::stop},
    Sign{"==", Mark::stop},        Sign{"+", Mark::plus},
    Sign{"-", Mark::minus},        Sign{"*", Mark::times},
    Sign{"/", Mark::over},         Sign{"^", Mark::power},
    Sign{"%", Mark::percent},      Sign{"(", Mark::open},
    Sign{")", Mark::close},        Sign{"=", Mark::equal},
};

// Passed over: they change the look, or say what a number counts.
constexpr std::array<View, 14> kBlank{"\\left", "\\right", "\\boxed", "\\dfrac", "\\tfrac",
                                      "\\frac", "\\,",     "\\(",     "\\)",     "\\[",
                                      "\\]",    "\\$",     "$",       "&"};

class Scanner {
public:
    explicit Scanner(View text) : text_(text) {}

    std::vector<StepToken> run() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (is_one_of(c, " \t\r")) {
                ++at_;
            } else if (is_digit(c) || (c == '.' && is_digit(at(text_, at_ + 1)))) {
                number();
            } else if (is_letter(c)) {
                word();
            } else if (bullet()) {
                push(Mark::stop, 1);
            } else if (!blank() && !braces() && !text_command() && !bold() && !sign()) {
                push(Mark::stop, 1);
            }
        }
        return std::move(tokens_);
    }

private:
    void push(Mark mark, std::size_t size) {
        tokens_.push_back({mark, text_.substr(at_, size), at_ + size});
        at_ += size;
    }

    Mark last() const { return tokens_.empty() ? Mark::stop : tokens_.back().mark; }

    /// `- ` or `* ` at the start of a line is no operator.
    bool bullet() const {
        if (!is_one_of(text_[at_], "-*+") || at(text_, at_ + 1) != ' ') return false;
        const std::size_t before = text_.substr(0, at_).find_last_not_of(" \t");
        return before == npos || text_[before] == '\n';
    }

    void number() {
        std::size_t end = skip_digits(text_, at_);
        while (at(text_, end) == ',' && skip_digits(text_, end + 1) == end + 4) end += 4;
        if (at(text_, end) == '.' && is_digit(at(text_, end + 1))) {
            end = skip_digits(text_, end + 1);
        }
        push(Mark::number, end - at_);
    }

    /// `x` alone between numbers multiplies; letters at a number are a unit or make it a formula.
    void word() {
        const std::size_t end = skip_letters(text_, at_);
        const View letters = text_.substr(at_, end - at_);
        const bool attached = at_ > 0 && is_alnum(at(text_, at_ - 1));
        const bool cross = letters == "x" || letters == "X";
        const std::size_t next = skip_spaces(text_, end);
        if (cross && last() == Mark::number &&
            (is_digit(at(text_, next)) || at(text_, next) == '$')) {
            push(Mark::times, letters.size());
        } else if (is_digit(at(text_, end)) || (attached && !unit_form(letters))) {
            push(Mark::stop, letters.size());
        } else {
            push(Mark::word, letters.size());
        }
    }

    bool blank() {
        for (const View mark : kBlank) {
            if (!text_.substr(at_).starts_with(mark)) continue;
            at_ += mark.size();
            return true;
        }
        return false;
    }

    /// Braces group; `}{` of a fraction divides.
    bool braces() {
        if (text_[at_] == '{') {
            push(Mark::open, 1);
        } else if (text_[at_] == '}') {
            push(Mark::close, 1);
            if (at(text_, at_) == '{') tokens_.push_back({Mark::over, "/", at_});
        } else {
            return false;
        }
        return true;
    }

    bool text_command() {
        for (const View command : {View("\\text{"), View("\\mbox{"), View("\\mathrm{")}) {
            if (!text_.substr(at_).starts_with(command)) continue;
            const std::size_t close = text_.find_first_of("}\n", at_);
            push(Mark::word, (close == npos ? text_.size() : close + 1) - at_);
            return true;
        }
        return false;
    }

    /// `**`: a power between numbers, emphasis elsewhere.
    bool bold() {
        if (!text_.substr(at_).starts_with("**")) return false;
        const char next = at(text_, at_ + 2);
        const bool operand = last() == Mark::number || last() == Mark::close;
        const bool close_by = at_ > 0 && (is_digit(text_[at_ - 1]) || text_[at_ - 1] == ')');
        if (operand && close_by && (is_digit(next) || next == '(')) {
            push(Mark::power, 2);
        } else {
            at_ += 2;
        }
        return true;
    }

    bool sign() {
        for (const Sign& known : kSigns) {
            if (!text_.substr(at_).starts_with(known.text)) continue;
            push(known.mark, known.text.size());
            return true;
        }
        return false;
    }

    View text_;
    std::size_t at_ = 0;
    std::vector<StepToken> tokens_;
};

}  // namespace

std::vector<StepToken> step_tokens(std::string_view text) { return Scanner(text).run(); }

}  // namespace cohort

#include "cohort/grade.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "choice.h"
#include "cohort/ascii.h"
#include "cohort/compare.h"
#include "cohort/extract.h"
#include "cohort/normal_form.h"

namespace cohort {
namespace {

constexpr std::ptrdiff_t kMaxWords = 20;  // of a truth that is no formula
constexpr std::array<std::string_view, kNumVerdicts> kNames{
    "correct", "wrong", "no_answer", "ambiguous", "unparsable_answer", "unparsable_gold", "limit",
};

/// A truth, read once for all completions that share it.
struct Truth {
    std::string text;
    NormalForm form;
    std::optional<char> choice;
};

bool is_prose(std::string_view text) { return std::ranges::count(text, ' ') >= kMaxWords; }

std::optional<Truth> read_answer(std::string_view text) {
    NormalForm form = normal_form(text);
    if (form.value.empty()) return std::nullopt;
    return Truth{std::string(text), std::move(form), choice_letter(text)};
}

std::optional<Truth> read_truth(std::string_view text) {
    std::string joined;
    const auto found = extract_answer(text);
    if (found && is_marked(found->rule)) return read_answer(found->answer(text, joined));
    const bool lines = strip(text, kSpace).find('\n') != npos;
    if (lines && text.find('\\') == npos) return std::nullopt;
    if (text.size() > kMaxChars && count_chars(text) > kMaxChars) return std::nullopt;
    return read_answer(text);
}

bool is_integer(const NormalForm& form) {
    return form.is_number && form.unit.empty() && form.value.find_first_of("./") == npos;
}

/// `1, 2, 3, ...`
bool goes_on(std::string_view text) {
    text = strip(text, kSpace);
    const auto ends = [&](std::string_view dots) { return text.ends_with(dots); };
    const bool dots = ends("...") || ends("\\ldots") || ends("\\dots") || ends("\\cdots");
    return dots && text.find(',') != npos;
}

bool is_calculation(std::string_view text) {
    return text.find('=') != npos || text.find("\\to ") != npos;
}

/// What the normal forms alone decide: most answers are plain numbers.
std::optional<Verdict> decide(std::string_view text, const NormalForm& answer, const Truth& truth,
                              const Policy& policy) {
    if (goes_on(text) != goes_on(truth.text)) return std::nullopt;
    if (answer == truth.form || (policy == Policy{} && same(answer, truth.form)))
        return Verdict::correct;
    if (is_integer(answer) && is_integer(truth.form)) return Verdict::wrong;
    return std::nullopt;
}

Verdict judge(std::string_view answer, const NormalForm& form, const Truth& truth,
              const Policy& policy) {
    if (const auto verdict = decide(answer, form, truth, policy)) {
        // Of `6 = 5` the normal form keeps the 5.
        const bool doubtful =
            verdict == Verdict::correct && answer != truth.text && is_calculation(answer);
        const bool wrong =
            doubtful && compare_answers(answer, truth.text, policy) == Comparison::different;
        return wrong ? Verdict::wrong : *verdict;
    }
    if (truth.choice) return picks(answer, *truth.choice) ? Verdict::correct : Verdict::wrong;
    switch (compare_answers(answer, truth.text, policy)) {
        case Comparison::equal: return Verdict::correct;
        case Comparison::unparsable_answer: return Verdict::unparsable_answer;
        case Comparison::limit: return Verdict::limit;
        case Comparison::different: return Verdict::wrong;
        case Comparison::unparsable_truth: break;
    }
    // A text, of which only the same text is right: nobody says a long one word for word.
    return is_prose(truth.text) ? Verdict::unparsable_gold : Verdict::wrong;
}

Verdict grade(std::string_view completion, const std::optional<Truth>& truth,
              const Policy& policy) {
    if (!truth) return Verdict::unparsable_gold;
    const auto found = extract_answer(completion);
    if (!found) return Verdict::no_answer;
    std::string joined;
    const std::string_view answer = found->answer(completion, joined);
    const NormalForm form = normal_form(answer);
    if (form.value.empty()) return Verdict::no_answer;
    if (found->ambiguous && policy.commitment == Policy::Commitment::single) {
        return Verdict::ambiguous;
    }
    return judge(answer, form, *truth, policy);
}

}  // namespace

std::string_view name(Verdict verdict) { return kNames[static_cast<std::size_t>(verdict)]; }

Verdict grade_math(std::string_view completion, std::string_view ground_truth,
                   const Policy& policy) {
    return grade(completion, read_truth(ground_truth), policy);
}

Verdict grade_answer(std::string_view answer, std::string_view truth, const Policy& policy) {
    const auto read = read_answer(truth);
    if (!read) return Verdict::unparsable_gold;
    const NormalForm form = normal_form(answer);
    return form.value.empty() ? Verdict::no_answer : judge(answer, form, *read, policy);
}

void grade_batch(std::span<const Pair> pairs, std::span<Verdict> verdicts, const Policy& policy) {
    std::optional<Truth> truth;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        // The completions of a group share their truth: it is read once.
        if (i == 0 || pairs[i].ground_truth != pairs[i - 1].ground_truth) {
            truth = read_truth(pairs[i].ground_truth);
        }
        verdicts[i] = grade(pairs[i].completion, truth, policy);
    }
}

}  // namespace cohort

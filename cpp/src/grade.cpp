#include "cohort/grade.h"

#include <optional>

#include "cohort/ascii.h"
#include "cohort/extract.h"
#include "cohort/normal_form.h"

namespace cohort {
namespace {

std::optional<NormalForm> read_truth(std::string_view text) {
    const auto found = extract_answer(text);
    if (found && is_marked(found->rule)) {
        text = found->span.of(text);
    } else {
        const bool lines = strip(text, kSpace).find('\n') != npos;
        if (lines && text.find('\\') == npos) return std::nullopt;
        if (text.size() > kMaxChars && count_chars(text) > kMaxChars) return std::nullopt;
    }
    NormalForm truth = normal_form(text);
    if (truth.value.empty()) return std::nullopt;
    return truth;
}

Verdict grade(std::string_view completion, const std::optional<NormalForm>& truth) {
    if (!truth) return Verdict::unparsable_gold;
    const auto found = extract_answer(completion);
    if (!found) return Verdict::no_answer;
    const NormalForm answer = normal_form(found->span.of(completion));
    if (answer.value.empty()) return Verdict::no_answer;
    return same(answer, *truth) ? Verdict::correct : Verdict::wrong;
}

}  // namespace

std::string_view name(Verdict verdict) {
    switch (verdict) {
        case Verdict::correct: return "correct";
        case Verdict::wrong: return "wrong";
        case Verdict::no_answer: return "no_answer";
        case Verdict::unparsable_gold: return "unparsable_gold";
    }
    return {};
}

Verdict grade_math(std::string_view completion, std::string_view ground_truth) {
    return grade(completion, read_truth(ground_truth));
}

void grade_batch(std::span<const Pair> pairs, std::span<Verdict> verdicts) {
    std::optional<NormalForm> truth;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        // The completions of a group share their truth: it is read once.
        if (i == 0 || pairs[i].ground_truth != pairs[i - 1].ground_truth) {
            truth = read_truth(pairs[i].ground_truth);
        }
        verdicts[i] = grade(pairs[i].completion, truth);
    }
}

}  // namespace cohort

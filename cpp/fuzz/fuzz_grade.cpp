// libFuzzer target: any completion against any truth. Beyond what the sanitizers find, extraction
// stays within the text, a verdict does not change, and an answer equals itself.
//
// The input is the completion, a record separator (0x1E) and the truth; without one both are the
// whole input. `run.sh` builds and runs it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cohort/extract.h"
#include "cohort/grade.h"
#include "cohort/normal_form.h"

namespace {

using cohort::Verdict;
using View = std::string_view;

void expect(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

void check_extraction(View text) {
    const auto found = cohort::extract_answer(text);
    if (!found) return;
    expect(found->span.start < found->span.end, "an answer is not empty");
    expect(found->span.end <= text.size(), "an answer is within the text");
    for (const auto& part : found->parts) {
        expect(part.start < part.end && part.end <= text.size(), "a part is within the text");
    }
    std::string joined;
    expect(!found->answer(text, joined).empty(), "an answer has a text");
}

void check_verdict(View completion, View truth) {
    const Verdict verdict = cohort::grade_math(completion, truth);
    expect(verdict == cohort::grade_math(completion, truth), "a verdict does not change");
    const auto found = cohort::extract_answer(completion);
    if (verdict == Verdict::correct) {
        expect(found.has_value() && !found->ambiguous, "only a committed answer is right");
    }
}

void check_identity(View text) {
    const Verdict itself = cohort::grade_answer(text, text);
    expect(itself != Verdict::wrong, "an answer does not differ from itself");
    const auto form = cohort::normal_form(text);
    expect(cohort::same(form, form), "a normal form is the same as itself");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const View input(reinterpret_cast<const char*>(data), size);
    const std::size_t split = input.find('\x1E');
    const View completion = input.substr(0, split);
    const View truth = split == View::npos ? input : input.substr(split + 1);
    check_extraction(completion);
    check_verdict(completion, truth);
    check_identity(truth);
    return 0;
}

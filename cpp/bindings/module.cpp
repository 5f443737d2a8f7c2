// The module that Python imports. Docs of what it exports: libs/cohort/grading/_native.pyi.
//
// Text is passed as views into the UTF-8 that CPython keeps with each str: nothing is copied. Text
// that has no UTF-8 (a lone surrogate) raises UnicodeEncodeError, a ValueError.
#include <pybind11/pybind11.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/extract.h"
#include "cohort/grade.h"
#include "cohort/normal_form.h"
#include "policy.h"
#include "steps.h"
#include "text.h"

namespace py = pybind11;
using cohort::Verdict;

namespace {

/// The word for a verdict: one str for all of them, made once and never freed.
py::handle word(Verdict verdict) {
    static const auto words = [] {
        std::array<PyObject*, cohort::kNumVerdicts> made{};
        for (std::size_t i = 0; i < made.size(); ++i) {
            const std::string text(cohort::name(static_cast<Verdict>(i)));
            made[i] = PyUnicode_InternFromString(text.c_str());
            if (made[i] == nullptr) throw py::error_already_set();
        }
        return made;
    }();
    return words[static_cast<std::size_t>(verdict)];
}

py::object extract_answer(const py::str& text) {
    const std::string_view bytes = view(text);
    const auto found = cohort::extract_answer(bytes);
    if (!found) return py::none();
    std::string joined;
    const std::string_view answer = found->answer(bytes, joined);
    const std::size_t start = cohort::count_chars(bytes.substr(0, found->span.start));
    const std::size_t end = start + cohort::count_chars(found->span.of(bytes));
    return py::make_tuple(to_str(answer), to_str(cohort::name(found->rule)), start, end,
                          found->ambiguous);
}

py::str normalize_answer(const py::str& answer) {
    return to_str(cohort::to_string(cohort::normal_form(view(answer))));
}

bool answers_equal(const py::str& answer, const py::str& truth, const py::kwargs& policy) {
    return cohort::grade_answer(view(answer), view(truth), to_policy(policy)) == Verdict::correct;
}

py::object grade_answer(const py::str& answer, const py::str& truth, const py::kwargs& policy) {
    const Verdict verdict = cohort::grade_answer(view(answer), view(truth), to_policy(policy));
    return py::reinterpret_borrow<py::object>(word(verdict));
}

py::object grade_math(const py::str& completion, const py::str& truth, const py::kwargs& policy) {
    const Verdict verdict = cohort::grade_math(view(completion), view(truth), to_policy(policy));
    return py::reinterpret_borrow<py::object>(word(verdict));
}

py::list grade_math_batch(const py::sequence& completions, const py::sequence& ground_truths,
                          const py::kwargs& arguments) {
    const cohort::Policy policy = to_policy(arguments);
    // Tuples of their own, so that no other thread can free a text while the GIL is released.
    const py::tuple texts(completions);
    const py::tuple truths(ground_truths);
    if (texts.size() != truths.size()) {
        throw py::value_error("grade_math_batch needs one ground truth for each completion: got " +
                              std::to_string(texts.size()) + " completions and " +
                              std::to_string(truths.size()) + " truths");
    }
    std::vector<cohort::Pair> pairs;
    pairs.reserve(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        pairs.push_back({view(PyTuple_GET_ITEM(texts.ptr(), static_cast<Py_ssize_t>(i))),
                         view(PyTuple_GET_ITEM(truths.ptr(), static_cast<Py_ssize_t>(i)))});
    }
    std::vector<Verdict> verdicts(pairs.size());
    {
        const py::gil_scoped_release released;
        cohort::grade_batch(pairs, verdicts, policy);
    }
    py::list words(verdicts.size());
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
        PyList_SET_ITEM(words.ptr(), static_cast<Py_ssize_t>(i), word(verdicts[i]).inc_ref().ptr());
    }
    return words;
}

}  // namespace

PYBIND11_MODULE(_native, module) {
    module.def("extract_answer", &extract_answer, py::arg("text"));
    module.def("normalize_answer", &normalize_answer, py::arg("answer"));
    module.def("answers_equal", &answers_equal, py::arg("answer"), py::arg("truth"));
    module.def("grade_answer", &grade_answer, py::arg("answer"), py::arg("truth"));
    module.def("grade_math", &grade_math, py::arg("completion"), py::arg("ground_truth"));
    module.def("grade_math_batch", &grade_math_batch, py::arg("completions"),
               py::arg("ground_truths"));
    bind_steps(module);
}

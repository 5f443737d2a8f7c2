// Arithmetic steps for Python: offsets become characters.
#include "steps.h"

#include <string_view>
#include <vector>

#include "cohort/steps.h"
#include "text.h"

namespace py = pybind11;

namespace {

py::list to_list(std::string_view text, const std::vector<cohort::ArithmeticStep>& steps) {
    py::list found;
    std::size_t bytes = 0;
    std::size_t chars = 0;
    for (const cohort::ArithmeticStep& step : steps) {
        chars += cohort::count_chars(text.substr(bytes, step.end - bytes));
        bytes = step.end;
        found.append(py::make_tuple(chars, step.right, to_str(step.value)));
    }
    return found;
}

py::list find_steps_batch(const py::sequence& texts) {
    const py::tuple kept(texts);  // no other thread can free a text while the GIL is released
    std::vector<std::string_view> views;
    views.reserve(kept.size());
    for (const py::handle text : kept) views.push_back(view(text));
    std::vector<std::vector<cohort::ArithmeticStep>> steps(views.size());
    {
        const py::gil_scoped_release released;
        for (std::size_t i = 0; i < views.size(); ++i) steps[i] = cohort::find_steps(views[i]);
    }
    py::list found;
    for (std::size_t i = 0; i < views.size(); ++i) found.append(to_list(views[i], steps[i]));
    return found;
}

}  // namespace

void bind_steps(py::module_& module) {
    module.def("find_steps_batch", &find_steps_batch, py::arg("texts"));
}

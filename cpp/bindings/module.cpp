#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

namespace cohort {
std::string normalize_answer(std::string_view answer);
}

PYBIND11_MODULE(_native, module) { module.def("normalize_answer", &cohort::normalize_answer); }

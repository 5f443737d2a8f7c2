// Text between Python and C++: views into the UTF-8 that CPython keeps with each str.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

#include "cohort/normal_form.h"

/// Valid as long as `text` lives. Raises TypeError for what is no str, UnicodeEncodeError (a
/// ValueError) for a lone surrogate, which no UTF-8 can carry.
inline std::string_view view(pybind11::handle text) {
    if (!PyUnicode_Check(text.ptr())) {
        throw pybind11::type_error(std::string("expected str, got ") +
                                   Py_TYPE(text.ptr())->tp_name);
    }
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data == nullptr) throw pybind11::error_already_set();
    return {data, static_cast<std::size_t>(size)};
}

inline pybind11::str to_str(std::string_view text) { return {text.data(), text.size()}; }

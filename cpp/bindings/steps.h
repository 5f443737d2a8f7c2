#pragma once

#include <pybind11/pybind11.h>

/// Adds `find_steps_batch` to the module.
void bind_steps(pybind11::module_& module);

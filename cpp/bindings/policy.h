#pragma once

#include <pybind11/pybind11.h>

#include "cohort/policy.h"

/// The policy that keyword arguments spell out (cohort.grading.Policy). Raises TypeError for a name
/// and ValueError for a value that it does not have.
cohort::Policy to_policy(const pybind11::kwargs& arguments);

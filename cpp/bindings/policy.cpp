// The words of the policies. The same words stand in libs/cohort/grading/policy.py.
#include "policy.h"

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

#include "text.h"

namespace py = pybind11;
using cohort::Policy;

namespace {

using Words = std::initializer_list<std::string_view>;

/// Sets `setting` to the place of the word among `words`, which stand in the enum's order.
template <typename Setting>
void choose(Setting& setting, std::string_view name, std::string_view word, Words words) {
    std::uint8_t place = 0;
    std::string known;
    for (const std::string_view one : words) {
        if (one == word) {
            setting = static_cast<Setting>(place);
            return;
        }
        known += (known.empty() ? "" : ", ") + std::string(one);
        ++place;
    }
    throw py::value_error("policy " + std::string(name) + " is one of " + known + ", not " +
                          std::string(word));
}

void set(Policy& policy, std::string_view name, std::string_view word) {
    if (name == "percent") return choose(policy.percent, name, word, {"gold", "exact"});
    if (name == "units") {
        return choose(policy.units, name, word, {"convert", "same", "required"});
    }
    if (name == "decimals") return choose(policy.decimals, name, word, {"rounded", "exact"});
    if (name == "unsolved") return choose(policy.unsolved, name, word, {"refuse", "accept"});
    if (name == "open_forms") return choose(policy.open_forms, name, word, {"accept", "refuse"});
    if (name == "assignments") return choose(policy.assignments, name, word, {"value", "exact"});
    if (name == "lists") return choose(policy.lists, name, word, {"unordered", "ordered"});
    if (name == "inequalities") {
        return choose(policy.inequalities, name, word, {"interval", "exact"});
    }
    if (name == "commitment") return choose(policy.commitment, name, word, {"single", "last"});
    if (name == "roots") return choose(policy.roots, name, word, {"real", "principal"});
    if (name == "log") return choose(policy.log, name, word, {"ten", "e"});
    throw py::type_error("there is no policy " + std::string(name));
}

}  // namespace

Policy to_policy(const py::kwargs& arguments) {
    Policy policy;
    for (const auto& [key, value] : arguments) {
        const std::string_view name = view(key);
        if (name != "digits") {
            set(policy, name, view(value));
            continue;
        }
        const int digits = py::cast<int>(value);
        if (digits < 1 || digits > 100) throw py::value_error("policy digits is 1 to 100");
        policy.digits = static_cast<std::uint8_t>(digits);
    }
    return policy;
}

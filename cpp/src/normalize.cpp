#include <string>
#include <string_view>

namespace cohort {
std::string normalize_answer(std::string_view answer);
std::string normalize_answer(std::string_view answer) { return std::string(answer); }
}  // namespace cohort

#include "cohort/spelling.h"

#include <array>
#include <vector>

#include "cohort/ascii.h"
#include "cohort/words.h"

namespace cohort {
namespace {

constexpr int kMaxLayers = 64;  // wrappers around wrappers that peel takes off

/// Index after the bracket that closes the one at `start`; npos when none does.
std::size_t group_end(std::string_view text, std::size_t start) {
    const char opening = at(text, start);
    if (opening != '{' && opening != '(') return npos;
    const char closing = opening == '{' ? '}' : ')';
    std::size_t depth = 0;
    for (std::size_t i = start; i < text.size(); ++i) {
        if (text[i] == '\\') {
            ++i;
        } else if (text[i] == opening) {
            ++depth;
        } else if (text[i] == closing && --depth == 0) {
            return i + 1;
        }
    }
    return npos;
}

std::string_view inside(std::string_view text, std::size_t start, std::size_t end) {
    return text.substr(start, text.size() - start - end);
}

/// The name of the command that `text` begins with when an argument in braces follows, and where.
struct Command {
    std::string_view name;
    std::size_t brace = npos;
};

Command command_with_argument(std::string_view text, std::size_t start) {
    if (at(text, start) != '\\' || !is_letter(at(text, start + 1))) return {};
    const std::size_t end = skip_letters(text, start + 1);
    const std::size_t brace = skip_spaces(text, end);
    if (at(text, brace) != '{') return {};
    return {text.substr(start + 1, end - start - 1), brace};
}

std::string_view peel_group(std::string_view text) {
    std::size_t start = 0;
    if (const Command command = command_with_argument(text, 0); command.brace != npos) {
        start = command.brace;
        if (command.name == "color" || command.name == "textcolor") {
            start = group_end(text, start);
        } else if (!is_wrapper(command.name)) {
            return text;
        }
    }
    const bool whole = at(text, start) == '{' && group_end(text, start) == text.size();
    return whole ? inside(text, start + 1, 1) : text;
}

std::string_view peel_layer(std::string_view text) {
    text = strip_right(strip(text, " "), ".,;:?");
    if (text.starts_with("**")) text.remove_prefix(2);
    if (text.ends_with("**")) text.remove_suffix(2);
    text = strip(text, " ");
    static constexpr std::array<std::string_view, 8> kPairs{"$$", "$", "**", "__",
                                                            "*",  "`", "\"", "'"};
    for (const std::string_view mark : kPairs) {
        if (text.size() >= 2 * mark.size() && text.starts_with(mark) && text.ends_with(mark)) {
            return inside(text, mark.size(), mark.size());
        }
    }
    if (at(text, 0) == '(' && group_end(text, 0) == text.size() && text.find(',') == npos) {
        return inside(text, 1, 1);
    }
    return peel_group(text);
}

/// `_{2}` as `_2`, `^{n}` as `^n`.
std::string open_lone_groups(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        result += text[i];
        if (text[i] != '_' && text[i] != '^') continue;
        if (at(text, i + 1) == '{' && is_alnum(at(text, i + 2)) && at(text, i + 3) == '}') {
            result += text[i + 2];
            i += 3;
        }
    }
    return result;
}

/// Spaces stay between letters and digits only, one each; a comma is followed by one.
std::string tidy_spaces(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] != ' ') {
            result += text[i] == ',' ? std::string_view(", ") : text.substr(i, 1);
            ++i;
            continue;
        }
        const std::size_t end = skip_spaces(text, i);
        if (is_alnum(at(text, i - 1)) && is_alnum(at(text, end))) result += ' ';
        i = end;
    }
    return result;
}

/// Words such as `Yes` and `Evelyn` in lower case; commands, `AB` and `aB` as they are.
void lower_names(std::string& text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t end = skip_letters(text, i);
        if (end == i) continue;
        const std::string_view word = std::string_view(text).substr(i, end - i);
        const bool title = is_upper(word[0]) && skip(word, 1, is_lower) == word.size();
        const bool command = at(text, i - 1) == '\\';
        if (title && !command && (word.size() > 2 || word == "No")) text[i] = to_lower(text[i]);
        i = end - 1;
    }
}

}  // namespace

std::string_view peel(std::string_view text) {
    for (int layer = 0; layer < kMaxLayers; ++layer) {
        const std::string_view inner = peel_layer(text);
        if (inner.size() == text.size()) break;
        text = inner;
    }
    return text;
}

std::string unwrap(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    std::vector<bool> kept;  // for each open brace, whether it was kept
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i + 1;
        bool keep = true;
        if (const Command command = command_with_argument(text, i); command.brace != npos) {
            end = command.brace + 1;
            keep = !is_wrapper(command.name);
            kept.push_back(keep);
        } else if (text[i] == '\\' && end < text.size()) {
            end = is_letter(text[end]) ? skip_letters(text, end) : end + 1;
        } else if (text[i] == '{') {
            kept.push_back(true);
        } else if (text[i] == '}' && !kept.empty()) {
            keep = kept.back();
            kept.pop_back();
        }
        if (keep) result += text.substr(i, end - i);
        i = end;
    }
    return result;
}

std::string text_form(std::string_view text) {
    std::string form(strip(tidy_spaces(open_lone_groups(unwrap(text))), " "));
    lower_names(form);
    return form;
}

}  // namespace cohort

#include "choice.h"

#include <algorithm>
#include <array>
#include <string>

#include "cohort/ascii.h"
#include "cohort/spelling.h"

namespace cohort {
namespace {

using View = std::string_view;

constexpr View kAround = " \t\n${}*_`\"'.";

/// A letter that stands for a choice, and what follows it.
struct Lead {
    char letter = '\0';
    bool marked = false;  // by a bracket or a sign after it, so that a small letter counts too
    View rest;
};

View without_word(View text, View word) {
    const bool leads = lowered(text.substr(0, word.size())) == word;
    return leads && !is_letter(at(text, word.size())) ? strip(text.substr(word.size()), " :")
                                                      : text;
}

Lead read_lead(View text) {
    for (const View word : {View("option"), View("choice"), View("answer")}) {
        text = without_word(text, word);
    }
    const bool bracket = at(text, 0) == '(' || at(text, 0) == '[';
    const std::size_t place = bracket ? 1 : 0;
    const char letter = at(text, place);
    const char next = at(text, place + 1);
    if (!is_letter(letter) || is_alnum(next) || next == '_' || next == '^') return {};
    if (bracket) {
        if (next != ')' && next != ']') return {};
        return {letter, true, strip(text.substr(place + 2), kAround)};
    }
    const bool marked = is_one_of(next, ").:") && next != '\0';
    return {letter, marked, text.substr(place + 1)};
}

/// Whether a capital letter or a Roman number stands alone somewhere in the text.
bool names_a_choice(View text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!is_upper(text[i]) || is_alnum(at(text, i - 1))) continue;
        std::size_t end = i + 1;
        while (is_one_of(text[i], "IVX") && is_one_of(at(text, end), "IVX")) ++end;
        if (!is_alnum(at(text, end))) return true;
    }
    return false;
}

bool is_reason(View text) {
    for (const View word :
         {View("because"), View("since"), View("as"), View("is"), View("with"), View("and not"),
          View("not"), View("rather than"), View("instead of")}) {
        if (without_word(text, word) != text) return true;
    }
    return false;
}

/// Whether the text behind a choice denies it, or names another one as well.
bool takes_back(View text, char letter) {
    const std::string words = lowered(text);
    for (const View denial : {View("or "), View("wrong"), View("incorrect"), View("is wrong"),
                              View("is incorrect"), View("is not"), View("no,")}) {
        if (words.starts_with(denial)) return true;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool alone = !is_alnum(at(text, i - 1)) && !is_alnum(at(text, i + 1));
        if (!is_upper(text[i]) || text[i] == letter || !alone) continue;
        if (is_one_of(at(text, i + 1), ".):") && i + 1 < text.size()) return true;
        const View before = strip_right(View(words).substr(0, i), " (");
        for (const View joint : {View("or"), View("maybe"), View("but"), View("be")}) {
            const std::size_t rest = before.size() - std::min(before.size(), joint.size());
            if (before.ends_with(joint) && !is_letter(at(before, rest - 1))) return true;
        }
    }
    return false;
}

}  // namespace

std::optional<char> choice_letter(View truth) {
    const std::string folded = unwrap(fold(truth));
    View text = strip(folded, kAround);
    if (text.size() == 3 && (text[0] == '(' || text[0] == '[')) text = text.substr(1, 1);
    if (text.size() != 1 || !is_upper(text[0])) return std::nullopt;
    return text[0];
}

bool picks(View answer, char letter) {
    const std::string folded = unwrap(fold(answer));
    const Lead lead = read_lead(strip(folded, kAround));
    const bool right = lead.letter == letter || (lead.marked && lead.letter == to_lower(letter));
    if (!right) return false;
    View rest = lead.rest;
    if (!rest.empty() && is_one_of(rest[0], ").:")) {
        // What follows is the text of the choice, unless it begins with another one.
        rest = strip(rest.substr(1), kAround);
        return !read_lead(rest).marked && !(rest.size() == 1 && is_upper(rest[0])) &&
               !takes_back(rest, letter);
    }
    const bool comma = at(rest, 0) == ',';
    rest = strip(rest, " ,-");
    if (takes_back(rest, letter)) return false;
    if (rest.empty() || is_reason(rest)) return true;
    return (lead.marked || comma) && !names_a_choice(rest) && lowered(rest).find("or ") != 0;
}

}  // namespace cohort

// Lines, sentences and words. Every window that a rule looks at has a bounded size, so that no text
// can make it slow. Sizes are in characters, as in the readable twin; places are bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cohort/ascii.h"
#include "cohort/extract.h"

namespace cohort {

inline constexpr std::string_view kIdeographicStop = "\xE3\x80\x82";
inline constexpr std::string_view kWideColon = "\xEF\xBC\x9A";

/// At most `chars` characters from `start` on end here.
std::size_t forward(std::string_view text, std::size_t start, std::size_t chars);

/// At most `chars` characters before `end` begin here.
std::size_t backward(std::string_view text, std::size_t end, std::size_t chars);

/// Where a window of `chars` characters from `start` on, or before `end`, ends or begins. Signs
/// that fill space, as blanks and dots, count as one in a row: any number of them is no distance.
std::size_t window_end(std::string_view text, std::size_t start, std::size_t chars);
std::size_t window_start(std::string_view text, std::size_t end, std::size_t chars);

/// Whether `text` has at most `chars` characters without such signs and the names of commands.
bool has_at_most(std::string_view text, std::size_t chars);

/// Whether something is calculated in `text`.
bool has_operation(std::string_view text);

/// Whether `text` has at most `chars` characters.
bool is_within(std::string_view text, std::size_t chars);

/// End of the line at `start`, or of its part before a closing tag or a special token.
std::size_t line_end(std::string_view text, std::size_t start, std::size_t stop);

/// The span without `before` at its start and `after` at its end; nothing when that is empty.
std::optional<Span> strip_span(std::string_view text, Span span, std::string_view before,
                               std::string_view after);

/// Words in lower case with one space around each: ` wait no ` for `Wait, no!`. The names of LaTeX
/// commands are no words.
std::string words_of(std::string_view text);

/// Phrases in lower case, sorted, and where those with each first letter begin.
struct PhraseView {
    const std::string_view* phrases;
    const std::uint8_t* starts;
};

/// Phrases that the compiler sorts.
template <std::size_t N>
class PhraseTable {
public:
    template <typename... Texts>
    consteval explicit PhraseTable(Texts... texts) : phrases_{texts...} {
        std::ranges::sort(phrases_);
        for (const std::string_view phrase : phrases_) {
            for (std::size_t i = 0; i < starts_.size(); ++i) {
                starts_[i] += static_cast<std::uint8_t>(phrase[0] - 'a' < static_cast<int>(i));
            }
        }
    }
    constexpr operator PhraseView() const { return {phrases_.data(), starts_.data()}; }

private:
    static_assert(N < 256);
    std::array<std::string_view, N> phrases_;
    std::array<std::uint8_t, 27> starts_{};
};
template <typename... Texts>
PhraseTable(Texts...) -> PhraseTable<sizeof...(Texts)>;

/// Whether one of `phrases` stands in what `words_of` gave.
bool has_any(std::string_view words, PhraseView phrases);

/// Whether one of `parts` stands anywhere in `text`.
template <std::size_t N>
bool contains_any(std::string_view text, const std::array<std::string_view, N>& parts) {
    return std::ranges::any_of(
        parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

/// The first or last `count` words of what `words_of` gave.
std::string_view first_words(std::string_view words, std::size_t count);
std::string_view last_words(std::string_view words, std::size_t count);
std::size_t count_words(std::string_view words);

/// What stands before `end` in its sentence, at most `chars` characters.
std::string_view sentence_lead(std::string_view text, std::size_t end, std::size_t chars);

/// What stands from `start` to the end of the sentence, at most `chars` characters.
std::string_view sentence_rest(std::string_view text, std::size_t start, std::size_t chars);

/// Index of the first byte from `start` on that is no ASCII space.
std::size_t skip_space(std::string_view text, std::size_t start);

/// Whether `text` begins with `lower` in any case of ASCII letters.
bool starts_with_word(std::string_view text, std::string_view lower);

}  // namespace cohort

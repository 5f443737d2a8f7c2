// The chunks of a sentence of prose that may hold an expression.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "cohort/ascii.h"

namespace cohort {

/// What a chunk is to an expression.
enum class ChunkKind { value, letter, sign, space, join, word };

struct Chunk {
    ChunkKind kind;
    std::string_view text;
};

template <std::size_t N>
bool is_among(std::string_view text, const std::array<std::string_view, N>& all) {
    return std::ranges::find(all, text) != all.end();
}

template <std::size_t N>
std::size_t match_among(std::string_view text, const std::array<std::string_view, N>& all) {
    for (const std::string_view one : all) {
        if (text.starts_with(one)) return one.size();
    }
    return 0;
}

template <std::size_t N>
bool ends_among(std::string_view text, const std::array<std::string_view, N>& all) {
    return std::ranges::any_of(all, [&](std::string_view one) { return text.ends_with(one); });
}

/// Reads the chunks of a sentence.
class Chunks {
public:
    explicit Chunks(std::string_view sentence) : sentence_(sentence) {}

    bool has_next() const { return place_ < sentence_.size(); }
    Chunk next();
    /// Whether a number follows, maybe after `and` or `or`.
    bool number_follows() const;

private:
    Chunk take(ChunkKind kind, std::size_t size);
    Chunk command();
    Chunk word();
    ChunkKind lone_letter(std::size_t end) const;

    std::string_view sentence_;
    std::size_t place_ = 0;
};

}  // namespace cohort

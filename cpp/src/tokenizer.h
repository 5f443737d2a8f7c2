// The tokenizer; commands are read in tokens_commands.cpp, the rest in tokens.cpp.
#pragma once

#include <vector>

#include "cohort/ascii.h"
#include "tokens.h"
#include "vocabulary.h"

namespace cohort {

inline constexpr std::size_t kMaxTokens = 2 * kMaxNodes;

constexpr bool in_word(char c) { return is_letter(c) || (static_cast<unsigned char>(c) & 0x80U); }

class Tokenizer {
public:
    Tokenizer(std::string_view text, const Reading& reading, Budget& budget,
              std::vector<Token>& tokens)
        : text_(text), reading_(reading), budget_(budget), tokens_(tokens) {}

    void run() {
        tokens_.clear();
        while (i_ < text_.size()) next();
        if (negated_) add(Sign::unknown, 0);
        add(Sign::end, 0);
    }

private:
    char look(std::size_t ahead = 0) const { return at(text_, i_ + ahead); }
    Sign last() const { return tokens_.empty() ? Sign::end : tokens_.back().sign; }

    void add(Sign sign, std::size_t size, std::uint8_t code = 0) {
        if (tokens_.size() >= kMaxTokens) throw LimitReached{};
        budget_.spend(4);
        tokens_.push_back({text_.substr(i_, size), sign, code, style_, spaced_});
        spaced_ = false;
        if (negated_) negate(tokens_.back());
        negated_ = false;
        if (lone_style_) style_ = Style::plain;
        lone_style_ = false;
        i_ += size;
    }
    void add(Sign sign, std::size_t size, Relation code) {
        add(sign, size, static_cast<std::uint8_t>(code));
    }

    void space(std::size_t size) {
        spaced_ = true;
        i_ += size;
    }

    void next();
    void number();
    std::size_t thousands(std::size_t end) const;
    std::size_t separator(std::size_t at) const;
    std::size_t exponent(std::size_t end) const;
    void word();
    bool known_word(std::string_view run);
    bool are_variables(std::string_view run) const;
    void letters(std::size_t end);
    bool is_product(std::string_view run) const;
    void command();
    void escaped();
    void shaped(Shape shape, std::size_t name_end);
    void style(Style style);
    void drop_group();
    void bracket_command(std::string_view name);
    void number_set();
    void environment(Sign sign, std::size_t name_end);
    static void negate(Token& token);
    void dollar();
    void brace();
    bool long_sign();
    void sign();
    void open(Sign sign, std::size_t size) {
        if (++depth_ > kMaxDepth) throw LimitReached{};
        ++comma_depth_;
        add(sign, size);
    }
    void close(Sign sign, std::size_t size) {
        if (depth_ > 0) --depth_;
        if (comma_depth_ > 0) --comma_depth_;
        add(sign, size);
    }

    std::string_view text_;
    const Reading& reading_;
    Budget& budget_;
    std::vector<Token>& tokens_;
    std::size_t i_ = 0;
    std::size_t depth_ = 0;        // of all brackets
    std::size_t comma_depth_ = 0;  // of those in which a comma stands between values
    std::vector<char> braces_;     // 'g': of a group, 's': may be a set, 'w': of a wrapper, dropped
    std::vector<Style> styles_;    // outside of each wrapper
    Style style_ = Style::plain;
    bool lone_style_ = false;  // the style ends with the next token
    bool spaced_ = false;
    bool negated_ = false;           // by a \not before it
    std::size_t dollar_end_ = npos;  // where the formula that a $ began ends
};

}  // namespace cohort

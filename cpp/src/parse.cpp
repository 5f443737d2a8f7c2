// The whole of an answer: what stands side by side in it.
#include "cohort/parse.h"

#include <algorithm>

#include "cohort/ascii.h"
#include "parser.h"
#include "unicode.h"
#include "vocabulary.h"

namespace cohort {

void fail() { throw NotUnderstood{}; }

Token Parser::take() {
    budget_.spend();
    const Token token = peek();
    if (next_ + 1 < tokens_.size()) ++next_;
    return token;
}

bool Parser::accept(Sign sign) {
    if (!sees(sign)) return false;
    take();
    return true;
}

void Parser::expect(Sign sign) {
    if (!accept(sign)) fail();
}

NodeId Parser::joined(Kind kind, std::size_t mark) {
    const std::span<const NodeId> parts(scratch_.data() + mark, scratch_.size() - mark);
    const bool alone = parts.size() == 1 && kind != Kind::set && kind != Kind::tuple;
    const NodeId node = alone ? parts[0] : arena_.make(kind, parts);
    scratch_.resize(mark);
    return node;
}

// Lists

bool Parser::at_list_end() const {
    switch (peek().sign) {
        case Sign::end:
        case Sign::close_paren:
        case Sign::close_bracket:
        case Sign::close_brace:
        case Sign::close_set:
        case Sign::close_angle:
        case Sign::row:
        case Sign::cell:
        case Sign::finish:
        case Sign::no_bracket: return true;
        default: return false;
    }
}

/// One or more of `,`, `;`, `and`, `or`; `, and` is one separator.
bool Parser::separator(Joints& joints) {
    bool found = accept(Sign::comma) || accept(Sign::semicolon) || domain_ahead();
    if (accept(Sign::conjunction)) {
        joints.both = found = true;
    } else if (accept(Sign::disjunction)) {
        joints.either = found = true;
    }
    return found;
}

/// `(n \in \mathbb{Z})` behind a value.
bool Parser::domain_ahead() const {
    return sees(Sign::open_paren) && peek().spaced && sees(Sign::letter, 1) &&
           sees(Sign::relation, 2) && peek(2).code == static_cast<std::uint8_t>(Relation::in);
}

Joints Parser::items() {
    Joints joints;
    scratch_.push_back(expression(Level::implies));
    while (separator(joints) && !at_list_end()) {
        const NodeId item = expression(Level::implies);
        scratch_.push_back(item);
    }
    return joints;
}

/// `x = 1, 2` is one equation with two values.
NodeId Parser::shared_left(std::size_t mark, Joints joints) {
    const NodeId first = scratch_[mark];
    const auto is_relation = [&](NodeId id) {
        return arena_.is(id, Kind::relation) || arena_.is(id, Kind::all);
    };
    const auto rest = std::span(scratch_).subspan(mark + 1);
    const bool shared = arena_.is(first, Relation::equal) && !rest.empty() &&
                        arena_.is(arena_.child(first, 0), Kind::symbol) &&
                        std::ranges::none_of(rest, is_relation);
    NodeId left = 0;
    if (shared) {
        left = arena_.child(first, 0);
        scratch_[mark] = arena_.child(first, 1);
    }
    // `5 or more`, `B, not A` are prose.
    const auto is_word = [&](NodeId id) { return arena_.is(id, Kind::word); };
    const auto words = std::ranges::count_if(rest, is_word) + (is_word(first) ? 1 : 0);
    if (words > 0 && static_cast<std::size_t>(words) <= rest.size()) fail();
    const bool several = !rest.empty();
    const auto is_interval = [&](NodeId id) { return arena_.is(id, Kind::interval); };
    const bool united = joints.either && several &&
                        std::ranges::all_of(std::span(scratch_).subspan(mark), is_interval);
    const NodeId node = joined(united ? Kind::unite : Kind::list, mark);
    if (several && !united) {
        arena_.at(node).flag = joints.either;
        arena_.at(node).flag2 = joints.both;
    }
    return shared ? arena_.relation(Relation::equal, left, node) : node;
}

NodeId Parser::list() {
    const std::size_t mark = scratch_.size();
    const Joints joints = items();
    return shared_left(mark, joints);
}

NodeId Parser::answer() {
    if (sees(Sign::relation)) {
        const Token token = take();
        const auto which = static_cast<Relation>(token.code);
        if (which >= Relation::less && which <= Relation::greater_equal) {
            // `\ge 3`: of what, only the question says.
            const NodeId node = arena_.relation(which, arena_.word(""), list());
            expect(Sign::end);
            return node;
        }
        if (which != Relation::equal && which != Relation::approx) fail();
    }
    const NodeId node = qualified(list());
    expect(Sign::end);
    return node;
}

/// `f(x) = x for all real x` says no more than f(x) = x; `for integer k` says what k is.
NodeId Parser::qualified(NodeId node) {
    if (!qualifier_ahead()) return node;
    take();
    const bool all = accept_word("all") || accept_word("every") || accept_word("any");
    const bool real = accept_word("real");
    const bool integer = !real && (accept_word("integer") || accept_word("integers"));
    if ((!all && !integer) || !sees(Sign::letter)) fail();
    const NodeId variable = letter();
    if (!sees(Sign::end)) fail();
    if (!integer) return node;
    const NodeId set = arena_.make(Kind::number_set);
    arena_.set_name(set, "Z");
    const NodeId domain = arena_.relation(Relation::in, variable, set);
    return arena_.make(Kind::list, std::array{node, domain});
}

bool Parser::accept_word(std::string_view word) {
    const bool found = sees(Sign::name) && peek().text == word;
    if (found) take();
    return found;
}

bool Parser::qualifier_ahead() const {
    if (peek().text != "for" || !sees(Sign::name)) return false;
    const std::string_view next = peek(1).text;
    return next == "all" || next == "every" || next == "any" || next == "integer" ||
           next == "integers";
}

namespace {

constexpr std::size_t kMaxText = 16384;  // bytes of an answer

/// Without spaces, marks of emphasis and stops around the whole; `\,` at the end stays whole.
std::string_view trimmed(std::string_view text) {
    text = strip(text, " \t\r\n*`\"");
    const std::string_view rest = strip_right(text, ".,;:? \t\r\n*`\"");
    if (rest.ends_with("\\\\")) return strip_right(rest, " \\");  // the end of a line
    return text.ends_with("...") || rest.ends_with('\\') || rest.ends_with("\\right") ? text : rest;
}

/// The tokens behind `The answer is`, `Answer:`; all of them when nothing else stands there.
std::span<Token> without_lead(std::span<Token> tokens) {
    std::size_t i = 0;
    const auto accept = [&](std::string_view word) {
        const bool found = i < tokens.size() && lowered(tokens[i].text) == word;
        i += found ? 1 : 0;
        return found;
    };
    accept("the");
    accept("final");
    if (!accept("answer")) return tokens;
    if (const bool is = accept("is"); !accept(":") && !is) return tokens;
    return i + 1 < tokens.size() ? tokens.subspan(i) : tokens;
}

std::optional<NodeId> parse_tokens(std::string_view text, const Reading& reading, Arena& arena,
                                   Budget& budget) {
    thread_local std::vector<Token> tokens;
    tokenize(text, reading, budget, tokens);
    if (tokens.size() == 1) return std::nullopt;
    try {
        return Parser(without_lead(tokens), reading, arena, budget).answer();
    } catch (const NotUnderstood&) {
        return prose(text, tokens, arena);
    }
}

}  // namespace

std::optional<NodeId> parse(std::string_view text, const Reading& reading, Arena& arena,
                            Budget& budget) {
    text = trimmed(text);
    if (text.size() > kMaxText) throw LimitReached{};
    if (!has_unicode(text)) return parse_tokens(text, reading, arena, budget);
    return parse_tokens(spell_out(text), reading, arena, budget);
}

}  // namespace cohort

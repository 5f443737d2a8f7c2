// Operators by how tightly they bind, and what stands side by side.
#include "cohort/parse.h"

#include <algorithm>

#include "cohort/ascii.h"
#include "parser.h"
#include "unicode.h"

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
        case Sign::end: case Sign::close_paren: case Sign::close_bracket: case Sign::close_brace:
        case Sign::close_set: case Sign::close_angle: case Sign::row: case Sign::cell:
        case Sign::finish: case Sign::no_bracket:
            return true;
        default: return false;
    }
}

/// One or more of `,`, `;`, `and`, `or`; `, and` is one separator.
bool Parser::separator(bool& either) {
    bool found = accept(Sign::comma) || accept(Sign::semicolon);
    if (accept(Sign::conjunction)) {
        found = true;
    } else if (accept(Sign::disjunction)) {
        either = found = true;
    }
    return found;
}

bool Parser::items() {
    bool either = false;
    scratch_.push_back(expression(Level::implies));
    while (separator(either) && !at_list_end()) {
        const NodeId item = expression(Level::implies);
        scratch_.push_back(item);
    }
    return either;
}

/// `x = 1, 2` is one equation with two values.
NodeId Parser::shared_left(std::size_t mark, bool either) {
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
    const bool several = !rest.empty();
    const NodeId node = joined(Kind::list, mark);
    if (several) arena_.at(node).flag = either;
    return shared ? arena_.relation(Relation::equal, left, node) : node;
}

NodeId Parser::list() {
    const std::size_t mark = scratch_.size();
    const bool either = items();
    return shared_left(mark, either);
}

NodeId Parser::answer() {
    const bool opening = sees(Sign::relation) &&
                         (peek().code == static_cast<std::uint8_t>(Relation::equal) ||
                          peek().code == static_cast<std::uint8_t>(Relation::approx));
    if (opening) take();
    const NodeId node = list();
    expect(Sign::end);
    return node;
}

// Operators

Level Parser::level_of(const Token& token) const {
    switch (token.sign) {
        case Sign::relation:
            return token.code == static_cast<std::uint8_t>(Relation::implies) ? Level::implies
                                                                              : Level::relation;
        case Sign::mid: return in_set_ ? Level::none : Level::relation;
        case Sign::bar:
            if (bars_ > 0 || in_set_) return Level::none;
            return closes_bar_later() ? Level::product : Level::relation;
        case Sign::modulus: return Level::modulus;
        case Sign::open_paren:
            return peek(1).sign == Sign::modulo ? Level::modulus : Level::product;
        case Sign::cup: case Sign::without: case Sign::except: return Level::unite;
        case Sign::cap: return Level::intersect;
        case Sign::colon: return in_set_ ? Level::none : Level::ratio;
        case Sign::over: case Sign::choose: return Level::over;
        case Sign::plus: case Sign::minus: case Sign::plus_minus: case Sign::minus_plus:
            return Level::sum;
        case Sign::times: case Sign::divide: case Sign::modulo: return Level::product;
        default:
            if (in_integral_ && at_differential()) return Level::none;
            return starts_value(token) ? Level::product : Level::none;
    }
}

NodeId Parser::expression(Level least) {
    const Depth depth(*this);
    NodeId left = signed_value();
    for (;;) {
        const Level level = level_of(peek());
        if (level == Level::none || level < least) return left;
        left = infix(level, left);
    }
}

NodeId Parser::infix(Level level, NodeId left) {
    switch (level) {
        case Level::implies: {
            take();
            const NodeId right = expression(Level::relation);
            return arena_.relation(Relation::implies, left, right);
        }
        case Level::relation: return relations(left);
        case Level::modulus: return modulus(left);
        case Level::unite: return unite(left);
        case Level::intersect: {
            const std::size_t mark = scratch_.size();
            scratch_.push_back(as_set(left));
            while (accept(Sign::cap)) {
                const NodeId right = as_set(expression(Level::ratio));
                scratch_.push_back(right);
            }
            return joined(Kind::intersect, mark);
        }
        case Level::ratio: return ratio(left);
        case Level::over: {
            const bool choose = take().sign == Sign::choose;
            const NodeId right = expression(Level::sum);
            if (!choose) return arena_.quotient(left, right);
            return arena_.call(Function::binomial, std::array{left, right});
        }
        case Level::sum: return sum(left);
        case Level::product: return product(left);
        case Level::none: break;
    }
    fail();
}

/// `1 < x < 3` is two statements that hold together.
NodeId Parser::relations(NodeId left) {
    const std::size_t mark = scratch_.size();
    while (level_of(peek()) == Level::relation) {
        const Token token = take();
        const Relation which = token.sign == Sign::relation ? static_cast<Relation>(token.code)
                                                            : Relation::divides;
        const bool member = which == Relation::in || which == Relation::not_in ||
                            which == Relation::subset;
        const Scoped<bool> interval(interval_, interval_ || member);
        NodeId right = expression(Level::modulus);
        if (member) right = as_set(right);
        scratch_.push_back(arena_.relation(which, left, right));
        left = right;
    }
    return joined(Kind::all, mark);
}

/// In a place where a set stands, R is the real numbers and (a, b) an interval.
NodeId Parser::as_set(NodeId node) {
    if (arena_.is(node, Kind::symbol) && arena_.name(node).size() == 1 &&
        is_one_of(arena_.name(node)[0], "RZNQC")) {
        const NodeId set = arena_.make(Kind::number_set);
        arena_.set_name(set, arena_.name(node));
        return set;
    }
    if (arena_.is(node, Kind::tuple) && arena_.at(node).count == 2) {
        return arena_.make(Kind::interval, arena_.children(node));
    }
    return node;
}

NodeId Parser::unite(NodeId left) {
    for (;;) {
        if (sees(Sign::except)) {
            left = except(as_set(left));
        } else if (accept(Sign::without)) {
            const NodeId right = as_set(expression(Level::intersect));
            left = arena_.make(Kind::difference, std::array{as_set(left), right});
        } else if (sees(Sign::cup)) {
            const std::size_t mark = scratch_.size();
            scratch_.push_back(as_set(left));
            while (accept(Sign::cup)) {
                const NodeId right = as_set(expression(Level::intersect));
                scratch_.push_back(right);
            }
            left = joined(Kind::unite, mark);
        } else {
            return left;
        }
    }
}

/// `all real numbers except -4`, `except x = 2 and x = 3`.
NodeId Parser::except(NodeId left) {
    take();
    const std::size_t mark = scratch_.size();
    items();
    for (std::size_t i = mark; i < scratch_.size(); ++i) {
        if (arena_.is(scratch_[i], Relation::equal)) scratch_[i] = arena_.child(scratch_[i], 1);
    }
    const NodeId excluded = joined(Kind::set, mark);
    return arena_.make(Kind::difference, std::array{left, excluded});
}

/// `a \pmod m`, `a (mod m)`.
NodeId Parser::modulus(NodeId left) {
    NodeId right = 0;
    if (accept(Sign::modulus)) {
        right = sees(Sign::open_brace) ? argument() : expression(Level::product);
    } else {
        expect(Sign::open_paren);
        expect(Sign::modulo);
        right = expression(Level::sum);
        expect(Sign::close_paren);
    }
    return arena_.make(Kind::residue, std::array{left, right});
}

NodeId Parser::ratio(NodeId left) {
    const std::size_t mark = scratch_.size();
    scratch_.push_back(left);
    while (accept(Sign::colon)) {
        const std::string_view shown = peek().text;
        const NodeId right = expression(Level::over);
        if (arena_.is(right, Kind::word)) fail();
        if (arena_.is(right, Kind::quantity) && arena_.is(left, Kind::number)) {
            const std::string_view half = arena_.name(right);
            if (half == "am" || half == "pm") {
                scratch_.resize(mark);
                return arena_.word(to_string(arena_, left).append(":").append(shown).append(" ").append(half));
            }
        }
        scratch_.push_back(right);
    }
    if (arena_.is(left, Kind::word)) fail();
    return joined(Kind::ratio, mark);
}

NodeId Parser::negative(NodeId node) {
    const Kind kind = arena_.at(node).kind;
    const bool measured = kind == Kind::percent || kind == Kind::degree || kind == Kind::quantity;
    if (!measured) return arena_.negative(node);
    const NodeId inside = negative(arena_.child(node, 0));
    const NodeId result = arena_.make(kind, std::array{inside});
    if (kind == Kind::quantity) {
        arena_.set_name(result, arena_.name(node));
        arena_.at(result).flag = arena_.at(node).flag;
    }
    return result;
}

NodeId Parser::power(NodeId base, NodeId exponent) {
    return arena_.make(Kind::power, std::array{base, exponent});
}

NodeId Parser::sum(NodeId left) {
    const std::size_t mark = scratch_.size();
    scratch_.push_back(left);
    while (level_of(peek()) == Level::sum) {
        const Sign sign = take().sign;
        NodeId right = expression(Level::product);
        if (sign == Sign::plus || sign == Sign::minus) {
            const bool sets = sign == Sign::minus && arena_.is(right, Kind::set);
            if (sets) {
                left = arena_.make(Kind::difference,
                                   std::array{as_set(joined(Kind::sum, mark)), right});
                scratch_.push_back(left);
                continue;
            }
            if (sign == Sign::minus) right = negative(right);
            scratch_.push_back(right);
            continue;
        }
        left = arena_.make(Kind::plus_minus, std::array{joined(Kind::sum, mark), right});
        arena_.at(left).flag = sign == Sign::minus_plus;
        scratch_.push_back(left);
    }
    // A unit at the end of a sum is the unit of all of it: `2 + \sqrt{3} \text{ cm}`.
    const NodeId last = scratch_.back();
    const auto measured = [&](NodeId id) { return arena_.is(id, Kind::quantity); };
    const std::span<const NodeId> terms(scratch_.data() + mark, scratch_.size() - mark);
    if (terms.size() == 1 || !measured(last) || std::ranges::count_if(terms, measured) != 1) {
        return joined(Kind::sum, mark);
    }
    scratch_.back() = arena_.child(last, 0);
    const NodeId whole = joined(Kind::sum, mark);
    return quantity(whole, arena_.name(last), arena_.at(last).flag);
}

/// Whether a value may stand right behind what was read last: then it is a factor.
bool Parser::implicit_factor(NodeId left) {
    if (!starts_value(peek())) return false;
    if (sees(Sign::number)) return tokens_[next_ - 1].sign == Sign::close_paren;
    // `[5][0]` is no product.
    if (sees(Sign::open_bracket)) return tokens_[next_ - 1].sign != Sign::close_bracket;
    return !arena_.is(left, Kind::word);
}

NodeId Parser::product(NodeId left) {
    const std::size_t mark = scratch_.size();
    scratch_.push_back(left);
    while (level_of(peek()) == Level::product) {
        const bool crossed = sees(Sign::letter) && peek().text == "x" && sees(Sign::number, 1) &&
                             tokens_[next_ - 1].sign == Sign::number &&
                             !is_one_of('x', reading_.variables);
        if (crossed || sees(Sign::times)) {
            take();
            const NodeId right = factor();
            scratch_.push_back(right);
        } else if (accept(Sign::divide)) {
            const NodeId right = factor();
            scratch_.push_back(power(right, arena_.number(-1)));
        } else if (accept(Sign::modulo)) {
            left = joined(Kind::product, mark);
            const NodeId right = factor();
            scratch_.push_back(arena_.call(Function::modulo, std::array{left, right}));
        } else if (unit_ahead()) {
            const NodeId measured = measure(joined(Kind::product, mark));
            scratch_.push_back(measured);
        } else {
            if (!implicit_factor(scratch_.back())) fail();
            const NodeId right = operand();
            scratch_.push_back(right);
        }
    }
    return joined(Kind::product, mark);
}

/// The start of an expression: `-x y` is -(x y).
NodeId Parser::signed_value() {
    bool minus = false;
    bool any = false;
    while (sees(Sign::minus) || sees(Sign::plus)) {
        minus ^= take().sign == Sign::minus;
        any = true;
    }
    if (sees(Sign::plus_minus) || sees(Sign::minus_plus)) {
        if (any) fail();
        const bool flipped = take().sign == Sign::minus_plus;
        const NodeId right = expression(Level::product);
        const NodeId node =
            arena_.make(Kind::plus_minus, std::array{arena_.number(0), right});
        arena_.at(node).flag = flipped;
        return node;
    }
    if (!any) return operand();
    const NodeId node = expression(Level::product);
    return minus ? negative(node) : node;
}

NodeId Parser::factor() {
    bool minus = false;
    while (sees(Sign::minus) || sees(Sign::plus)) minus ^= take().sign == Sign::minus;
    const NodeId node = operand();
    return minus ? negative(node) : node;
}

NodeId Parser::operand() { return postfix(value()); }

// What stands behind a value

NodeId Parser::exponent() {
    const Depth depth(*this);
    if (accept(Sign::minus)) return negative(exponent());
    accept(Sign::plus);
    NodeId node = sees(Sign::number) ? number(false) : value();
    if (accept(Sign::power)) node = power(node, exponent());
    return node;
}

NodeId Parser::postfix(NodeId node) {
    for (;;) {
        const bool braced = sees(Sign::open_brace, 1) && sees(Sign::close_brace, 3);
        const Token inner = peek(braced ? 2 : 1);
        if (sees(Sign::power) && (inner.sign == Sign::circle || inner.sign == Sign::degree)) {
            next_ += braced ? 4 : 2;
            node = degrees(node);
        } else if (sees(Sign::power) && (inner.text == "th" || inner.text == "st")) {
            next_ += braced ? 4 : 2;  // 5^{th}
        } else if (sees(Sign::power) && arena_.is(node, Kind::number_set) &&
                   (inner.sign == Sign::plus || inner.sign == Sign::minus)) {
            arena_.set_name(node, std::string(arena_.name(node)).append(inner.text));
            next_ += braced ? 4 : 2;
        } else if (accept(Sign::power)) {
            node = power(node, exponent());
        } else if (accept(Sign::degree)) {
            node = degrees(node);
        } else if (accept(Sign::bang)) {
            const bool twice = sees(Sign::bang) && !peek().spaced;
            if (twice) take();
            const Function which = twice ? Function::double_factorial : Function::factorial;
            node = arena_.call(which, std::array{node});
        } else if (accept(Sign::percent)) {
            node = arena_.make(Kind::percent, std::array{node});
        } else if (sees(Sign::squared)) {
            node = power(node, arena_.number(take().code));
        } else if (sees(Sign::subscript) || sees(Sign::prime)) {
            fail();
        } else {
            return node;
        }
    }
}

NodeId Parser::degrees(NodeId node) {
    const Token token = peek();
    const bool celsius = token.text == "C" || token.text == "Celsius" || token.text == "celsius";
    const bool other = token.text == "F" || token.text == "Fahrenheit";
    if (!celsius && !other) return arena_.make(Kind::degree, std::array{node});
    take();
    return quantity(node, celsius ? "degC" : "degF");
}

bool Parser::starts_value(const Token& token) const {
    switch (token.sign) {
        case Sign::number: case Sign::letter: case Sign::name: case Sign::constant:
        case Sign::function: case Sign::frac: case Sign::root: case Sign::surd: case Sign::binom:
        case Sign::accent: case Sign::overline: case Sign::figure: case Sign::big: case Sign::begin:
        case Sign::number_set: case Sign::currency: case Sign::dots: case Sign::open_paren:
        case Sign::open_bracket: case Sign::open_brace: case Sign::open_set: case Sign::open_angle:
        case Sign::open_floor: case Sign::open_ceil: case Sign::double_bar: case Sign::empty_set:
            return true;
        case Sign::bar: return bars_ == 0 && !in_set_ && closes_bar_later();
        default: return false;
    }
}

/// Whether the bar that comes next has another one to close it in the same bracket.
bool Parser::closes_bar_later() const {
    std::size_t depth = 0;
    for (std::size_t i = next_ + 1; i < tokens_.size(); ++i) {
        budget_.spend();
        switch (tokens_[i].sign) {
            case Sign::open_paren: case Sign::open_bracket: case Sign::open_brace:
            case Sign::open_set:
                ++depth;
                break;
            case Sign::close_paren: case Sign::close_bracket: case Sign::close_brace:
            case Sign::close_set:
                if (depth-- == 0) return false;
                break;
            case Sign::comma:
                if (depth == 0) return false;
                break;
            case Sign::bar:
                if (depth == 0) return true;
                break;
            default: break;
        }
    }
    return false;
}

namespace {

constexpr std::size_t kMaxText = 16384;  // bytes of an answer

/// Without spaces, marks of emphasis and stops around the whole; `\,` at the end stays whole.
std::string_view trimmed(std::string_view text) {
    text = strip(text, " \t\r\n*`\"");
    const std::string_view rest = strip_right(text, ".,;:? \t\r\n*`\"");
    return text.ends_with("...") || rest.ends_with('\\') ? text : rest;
}

std::optional<NodeId> parse_tokens(std::string_view text, const Reading& reading, Arena& arena,
                                   Budget& budget) {
    thread_local std::vector<Token> tokens;
    tokenize(text, reading, budget, tokens);
    if (tokens.size() == 1) return std::nullopt;
    try {
        return Parser(tokens, reading, arena, budget).answer();
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

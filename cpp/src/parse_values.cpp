// What begins a value, letters and the functions they may name.
#include "cohort/ascii.h"
#include "parser.h"

namespace cohort {

NodeId Parser::value() {
    const Depth depth(*this);
    switch (peek().sign) {
        case Sign::number: return number(true);
        case Sign::letter: return letter();
        case Sign::name: return words();
        case Sign::constant: return constant();
        case Sign::function: return function();
        case Sign::frac: return fraction();
        case Sign::root: return root();
        case Sign::surd: return surd();
        case Sign::binom: return binomial();
        case Sign::accent:
        case Sign::overline: return accented();
        case Sign::figure: return figure();
        case Sign::big: return big();
        case Sign::begin: return environment();
        case Sign::number_set: return number_set();
        case Sign::empty_set: take(); return arena_.make(Kind::set);
        case Sign::currency: return currency();
        case Sign::subscript: return chosen();
        case Sign::dots: take(); return arena_.make(Kind::dots);
        case Sign::open_paren: return paren();
        case Sign::open_bracket: return bracket();
        case Sign::open_brace: return brace();
        case Sign::open_set: return set();
        case Sign::open_angle: return angle();
        case Sign::open_floor: return between(Sign::close_floor, Function::floor);
        case Sign::open_ceil: return between(Sign::close_ceil, Function::ceil);
        case Sign::bar:
        case Sign::double_bar: return bars(peek().sign);
        default: fail();
    }
}

/// `\mathbb{R}`, and `\mathbb{R}_{>0}` as the interval that it is.
NodeId Parser::number_set() {
    const Token token = take();
    if (token.text == "R" && sees(Sign::subscript)) {
        take();
        const bool braced = accept(Sign::open_brace);
        const Token sign = take();
        const auto which = static_cast<Relation>(sign.code);
        const bool closed = which == Relation::greater_equal;
        const bool above = sign.sign == Sign::relation && (closed || which == Relation::greater);
        if (!above || take().text != "0" || (braced && !accept(Sign::close_brace))) fail();
        return positive(closed);
    }
    const NodeId node = arena_.make(Kind::number_set);
    arena_.set_name(node, token.text);
    return node;
}

/// (0, \infty), or [0, \infty).
NodeId Parser::positive(bool with_zero) {
    const std::array ends{arena_.number(0), arena_.constant(Constant::infinity)};
    const NodeId node = arena_.make(Kind::interval, ends);
    arena_.at(node).flag = with_zero;
    return node;
}

NodeId Parser::constant() {
    const auto which = static_cast<Constant>(take().code);
    // That there is no value is said in words: it equals what says the same, not a value.
    if (which == Constant::undefined) return arena_.word("undefined");
    return arena_.constant(which);
}

// Letters

/// A subscript as it stands in a name: `1`, `12`, `{n+1}`.
std::string Parser::script() {
    if (!accept(Sign::open_brace)) return std::string(take().text);
    std::string text;
    std::size_t depth = 1;
    bool plain = true;
    for (;;) {
        const Token token = take();
        if (token.sign == Sign::end) fail();
        if (token.sign == Sign::open_brace) ++depth;
        if (token.sign == Sign::close_brace && --depth == 0) break;
        for (const char c : token.text) plain &= is_alnum(c);
        text += token.text;
        if (text.size() > 64) fail();
    }
    return plain ? text : '{' + text + '}';
}

/// Whether `i` is the imaginary unit: not where it counts, nor beside a `j`.
bool Parser::imaginary() {
    if (imaginary_) return *imaginary_;
    bool result = !is_one_of('i', reading_.variables);
    for (std::size_t k = 0; result && k + 1 < tokens_.size(); ++k) {
        const bool braced = tokens_[k + 1].sign == Sign::open_brace;
        const Token& inside = tokens_[std::min(k + 2, tokens_.size() - 1)];
        const Token& script = braced ? inside : tokens_[k + 1];
        if (tokens_[k].sign == Sign::subscript && script.text == "i") result = false;
        if (tokens_[k].sign == Sign::letter && tokens_[k].text == "j") result = false;
    }
    imaginary_ = result;
    return result;
}

/// Whether `(` after a letter holds arguments: always for f and g, else where it is being defined
/// (`y(x) = `), and for a few more when the argument is one letter or number.
bool Parser::is_function_name(const Token& token) const {
    if (!sees(Sign::open_paren)) return false;
    const char c = token.text.size() == 1 ? token.text[0] : '\0';
    if (c != '\0' && (is_one_of(c, "fgFG") || is_one_of(c, functions_))) return true;
    if (c == 'P' && sees(Sign::letter, 1) && sees(Sign::relation, 2)) return true;
    std::size_t i = 1;
    std::size_t count = 0;
    while (sees(Sign::letter, i) || sees(Sign::number, i)) {
        ++count;
        if (!sees(Sign::comma, ++i)) break;
        ++i;
    }
    if (count == 0 || !sees(Sign::close_paren, i)) return false;
    if (count == 1 && c != '\0' && is_one_of(c, "hpqPQ")) return true;
    return sees(Sign::relation, i + 1) && peek(i + 1).code == 0 && sees(Sign::letter, 1);
}

NodeId Parser::apply(std::string_view name) {
    const std::size_t mark = scratch_.size();
    const NodeId symbol = arena_.symbol(name);
    scratch_.push_back(symbol);
    if (name.size() == 1) functions_ += name;
    expect(Sign::open_paren);
    {
        const Scoped<std::size_t> bars(bars_, 0);
        items();
    }
    expect(Sign::close_paren);
    return joined(Kind::apply, mark);
}

namespace {

constexpr std::size_t kInverse = 4;  // tokens of `^{-1}`

}  // namespace

/// Tokens of `^{-1}` or `^-1` that come next; 0 for anything else.
std::size_t Parser::inverse_ahead() const {
    if (!sees(Sign::power)) return 0;
    const bool braced = sees(Sign::open_brace, 1) && sees(Sign::close_brace, kInverse);
    const std::size_t minus = braced ? 2 : 1;
    if (!sees(Sign::minus, minus) || peek(minus + 1).text != "1") return 0;
    return minus + (braced ? 3 : 2);
}

NodeId Parser::letter() {
    const Token token = take();
    const bool scripted = sees(Sign::subscript);
    const bool known = token.text.size() == 1 && is_one_of(token.text[0], reading_.variables);
    if (token.style != Style::bold && !scripted && !known) {
        if (token.text == "e") return arena_.constant(Constant::e);
        if (token.text == "i" && imaginary()) return arena_.constant(Constant::i);
    }
    // Bold i, j, k are vectors of length 1; other letters are bold for looks.
    const bool vector = token.style == Style::bold && is_one_of(token.text[0], "ijk");
    std::string name(vector ? "\\mathbf " : "");
    // A Greek letter may be spelled without the backslash in plain text.
    if (token.text.size() > 1 && token.text[0] != '\\' && is_lower(token.text[0])) name += '\\';
    name += token.text;
    if (accept(Sign::subscript)) name.append("_").append(script());
    bool primed = false;
    while (sees(Sign::prime) || (sees(Sign::power) && sees(Sign::prime, 1))) {
        accept(Sign::power);
        take();
        name += '\'';
        primed = true;
    }
    if (token.text == "f" || token.text == "g") {
        if (const std::size_t size = inverse_ahead()) {
            next_ += size;
            name += "^{-1}";
        }
    }
    if (token.text == "C" && sees(Sign::open_paren) && sees(Sign::comma, 2)) {
        return call(Function::binomial, 0);
    }
    if (is_function_name(token) || (primed && sees(Sign::open_paren))) return apply(name);
    return arena_.symbol(name);
}

/// `\angle ABC`, `\triangle ABC`: words, because the order of the letters matters in most.
NodeId Parser::figure() {
    std::string name(take().text);
    if (name == "\\measuredangle") name = "\\angle";
    name += ' ';
    const bool angle = name == "\\angle ";
    const std::size_t start = name.size();
    const bool braced = accept(Sign::open_brace);
    std::vector<std::string> corners;
    while (sees(Sign::letter) || sees(Sign::number)) {
        corners.emplace_back(take().text);
        if (accept(Sign::subscript)) corners.back().append("_").append(script());
    }
    if (braced) expect(Sign::close_brace);
    if (corners.empty()) fail();
    // The angle CBA is the angle ABC.
    if (angle && corners.size() == 3 && corners[2] < corners[0]) std::swap(corners[0], corners[2]);
    for (const std::string& corner : corners) name += corner;
    const std::size_t size = name.size() - start;
    if (angle && size == 3 && name[start + 2] < name[start]) {  // a word in capitals
        std::swap(name[start], name[start + 2]);
    }
    return arena_.word(name);
}

/// `_5C_2`, `{}_5P_2`.
NodeId Parser::chosen() {
    expect(Sign::subscript);
    const NodeId all = argument();
    const Token letter = take();
    if (letter.text != "C" && letter.text != "P") fail();
    expect(Sign::subscript);
    const NodeId taken = argument();
    const Function which = letter.text == "C" ? Function::binomial : Function::permutations;
    return arena_.call(which, std::array{all, taken});
}

/// `\vec{v}`, `\overline{AB}`: a name with its mark; a line over a formula is its conjugate.
NodeId Parser::accented() {
    const Token mark = take();
    std::string name(mark.text);
    name += ' ';
    const std::size_t start = name.size();
    const bool braced = sees(Sign::open_brace);
    std::size_t letters = next_ + (braced ? 1 : 0);
    while (tokens_[letters].sign == Sign::letter) ++letters;
    if (braced && mark.sign == Sign::overline && tokens_[letters].sign != Sign::close_brace &&
        tokens_[letters].sign != Sign::subscript) {
        return arena_.call(Function::conj, std::array{group()});
    }
    accept(Sign::open_brace);
    do {
        if (!sees(Sign::letter)) fail();
        name += take().text;
        if (accept(Sign::subscript)) name.append("_").append(script());
    } while (braced && sees(Sign::letter));
    if (braced) expect(Sign::close_brace);
    const bool unit_vector = (mark.text == "\\hat" || mark.text == "\\vec") &&
                             name.size() == start + 1 && is_one_of(name.back(), "ijk");
    if (unit_vector) return arena_.symbol(std::string("\\mathbf ") + name.back());
    return arena_.symbol(name);
}

}  // namespace cohort

// The arena of an answer's tree, and the tree in one line.
#include "cohort/expression.h"

#include <algorithm>
#include <array>
#include <functional>

namespace cohort {

namespace {

// clang-format off
constexpr std::array kKindNames = {
    "number", "symbol", "constant", "word", "dots", "sum", "product", "power", "call", "apply",
    "big", "plus_minus", "percent", "degree", "quantity", "based", "tuple", "list", "set",
    "builder", "interval", "unite", "intersect", "difference", "matrix", "cases", "number_set",
    "relation", "all", "ratio", "residue", "not",
};
// clang-format on
static_assert(kKindNames.size() == static_cast<std::size_t>(Kind::negation) + 1);

constexpr std::array kConstantNames = {"pi", "e", "i", "infinity", "undefined"};

// clang-format off
constexpr std::array kFunctionNames = {
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "arccot", "arcsec",
    "arccsc", "sinh", "cosh", "tanh", "coth", "sech", "csch", "arsinh", "arcosh", "artanh", "exp",
    "ln", "log", "abs", "floor", "ceil", "sign", "factorial", "double_factorial", "binomial",
    "permutations", "gcd", "lcm", "max", "min", "modulo", "re", "im", "conj", "arg", "cis",
};
// clang-format on
static_assert(kFunctionNames.size() == static_cast<std::size_t>(Function::cis) + 1);

constexpr std::array kBigNames = {"big_sum", "big_product", "integral", "limit"};

// clang-format off
constexpr std::array kRelationNames = {
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "approx", "in",
    "not_in", "subset", "equivalent", "not_equivalent", "divides", "not_divides", "maps_to",
    "implies", "parallel", "perpendicular", "similar",
};
// clang-format on
static_assert(kRelationNames.size() == static_cast<std::size_t>(Relation::similar) + 1);

bool has_name(Kind kind) {
    return kind == Kind::symbol || kind == Kind::word || kind == Kind::quantity ||
           kind == Kind::based || kind == Kind::number_set;
}

std::string head(const Arena& arena, NodeId id) {
    const Node& node = arena.at(id);
    switch (node.kind) {
        case Kind::call: return kFunctionNames[node.code];
        case Kind::big: return kBigNames[node.code];
        case Kind::relation: return kRelationNames[node.code];
        case Kind::plus_minus: return node.flag ? "minus_plus" : "plus_minus";
        case Kind::list: return node.flag ? "either" : "list";
        case Kind::matrix: return "matrix" + std::to_string(node.index);
        case Kind::based: return "based" + std::to_string(node.index);
        default: return kKindNames[static_cast<std::size_t>(node.kind)];
    }
}

std::string leaf(const Arena& arena, NodeId id) {
    const Node& node = arena.at(id);
    switch (node.kind) {
        case Kind::number: return arena.value(id).to_string();
        case Kind::symbol:
        case Kind::number_set: return std::string(arena.name(id));
        case Kind::constant: return kConstantNames[node.code];
        case Kind::word: return '"' + std::string(arena.name(id)) + '"';
        case Kind::dots: return "...";
        default: return head(arena, id) + "()";
    }
}

}  // namespace

void Arena::clear() {
    nodes_.clear();
    children_.clear();
    values_.clear();
    names_.clear();
}

NodeId Arena::make(Kind kind, std::span<const NodeId> children) {
    const std::size_t first = children_.size();
    if (nodes_.size() >= kMaxArenaNodes || first + children.size() > kMaxArenaNodes) {
        throw LimitReached{};
    }
    Node node{.kind = kind};
    node.first = static_cast<std::uint32_t>(first);
    node.count = static_cast<std::uint32_t>(children.size());
    for (const NodeId child : children) {
        node.depth = std::max(node.depth, static_cast<std::uint16_t>(nodes_[child].depth + 1));
    }
    if (node.depth > kMaxTreeDepth) throw LimitReached{};
    // The children may be a part of children_ itself, which moves when it grows.
    const std::less<> before;
    const bool own = !before(children.data(), children_.data()) &&
                     before(children.data(), children_.data() + first);
    const auto from = own ? static_cast<std::size_t>(children.data() - children_.data()) : 0;
    for (std::size_t i = 0; i < children.size(); ++i) {
        const NodeId child = own ? children_[from + i] : children[i];
        children_.push_back(child);
    }
    nodes_.push_back(node);
    return static_cast<NodeId>(nodes_.size() - 1);
}

NodeId Arena::number(Rational value, int shown) {
    const NodeId id = make(Kind::number);
    nodes_[id].shown = static_cast<std::int16_t>(shown);
    nodes_[id].payload = static_cast<std::uint32_t>(values_.size());
    values_.push_back(std::move(value));
    return id;
}

NodeId Arena::symbol(std::string_view name) {
    const NodeId id = make(Kind::symbol);
    set_name(id, name);
    return id;
}

NodeId Arena::word(std::string_view name) {
    const NodeId id = make(Kind::word);
    set_name(id, name);
    return id;
}

NodeId Arena::constant(Constant which) {
    const NodeId id = make(Kind::constant);
    nodes_[id].code = static_cast<std::uint8_t>(which);
    return id;
}

NodeId Arena::call(Function function, std::span<const NodeId> arguments) {
    const NodeId id = make(Kind::call, arguments);
    nodes_[id].code = static_cast<std::uint8_t>(function);
    return id;
}

NodeId Arena::relation(Relation which, NodeId left, NodeId right) {
    const NodeId id = make(Kind::relation, std::array{left, right});
    nodes_[id].code = static_cast<std::uint8_t>(which);
    return id;
}

NodeId Arena::big(Big which, std::span<const NodeId> children) {
    const NodeId id = make(Kind::big, children);
    nodes_[id].code = static_cast<std::uint8_t>(which);
    return id;
}

NodeId Arena::negative(NodeId node) {
    if (is(node, Kind::number)) return number(-value(node), nodes_[node].shown);
    return make(Kind::product, std::array{number(-1), node});
}

NodeId Arena::quotient(NodeId numerator, NodeId denominator) {
    const NodeId inverse = make(Kind::power, std::array{denominator, number(-1)});
    return make(Kind::product, std::array{numerator, inverse});
}

NodeId Arena::difference_of(NodeId left, NodeId right) {
    return make(Kind::sum, std::array{left, negative(right)});
}

std::span<const NodeId> Arena::children(NodeId id) const {
    const Node& node = nodes_[id];
    return std::span(children_).subspan(node.first, node.count);
}

void Arena::set_name(NodeId id, std::string_view name) {
    nodes_[id].payload = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
}

bool Arena::is(NodeId id, Constant which) const {
    return is(id, Kind::constant) && nodes_[id].code == static_cast<std::uint8_t>(which);
}

bool Arena::is(NodeId id, Function which) const {
    return is(id, Kind::call) && nodes_[id].code == static_cast<std::uint8_t>(which);
}

bool Arena::is(NodeId id, Relation which) const {
    return is(id, Kind::relation) && nodes_[id].code == static_cast<std::uint8_t>(which);
}

std::string to_string(const Arena& arena, NodeId id) {
    const Node& node = arena.at(id);
    if (node.count == 0) return leaf(arena, id);
    std::string text = head(arena, id);
    const bool interval = node.kind == Kind::interval;
    text += interval && node.flag ? '[' : '(';
    for (std::size_t i = 0; i < node.count; ++i) {
        if (i > 0) text += ", ";
        text += to_string(arena, arena.child(id, i));
    }
    if (has_name(node.kind)) text += ", " + std::string(arena.name(id));
    text += interval && node.flag2 ? ']' : ')';
    return text;
}

}  // namespace cohort

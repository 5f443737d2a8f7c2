// What an answer says, as a tree in one capped arena.
//
// The parser builds it, `canonical` orders it, `evaluate` and `compare` read it. Differences and
// quotients do not exist here: `a - b` is sum(a, product(-1, b)), `a / b` and `\frac{a}{b}` are
// product(a, power(b, -1)), `\sqrt{x}` is power(x, 1/2), `\sqrt[3]{x}` is power(x, 1/3): a power
// whose exponent is a rational with an odd denominator means the real root.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/budget.h"
#include "cohort/rational.h"

namespace cohort {

enum class Kind : std::uint8_t {
    // Atoms
    number,    // `value`; `shown` is the number of decimals when it was written with a point
    symbol,    // a variable: `name` is `x`, `x_1`, `f'`, `\alpha`
    constant,  // `constant`
    word,      // prose or a name that is no formula: `name`, in lower case unless it is a name in
               // capitals (`AB`); `\angle ABC` and `3:45 pm` are words too
    dots,      // an ellipsis
    // Arithmetic
    sum,      // any number of terms
    product,  // any number of factors
    power,    // base, exponent
    call,     // `function` of its arguments
    apply,    // an unknown function: its name (a symbol), then the arguments, as in `f(x)`
    big,      // `big`: body, index (a symbol), lower, upper; a limit has its point as lower and no
              // upper; an integral without bounds has body and index only
    plus_minus,  // a \pm b, 0 \pm b for \pm b; `flag` for \mp
    percent,     // of its child: 25 for `25\%`
    degree,      // of its child: 45 for `45^\circ`
    quantity,    // child with the unit `name` in the spelling of units.h: `cm^2`, `km/hour`, `$`;
                 // `flag` when it is no unit but what is counted, in the words of labels.h
    based,       // digits with a base: child is the value, `index` the base, `name` the digits
    // Several things
    tuple,       // (a, b): ordered
    list,        // a, b or `a and b` or `a or b`: what stands side by side; `flag` for `or`,
                 // `flag2` for `and`
    set,         // \{a, b\}; no children: the empty set
    builder,     // \{x \mid condition\}: element, condition
    interval,    // lower, upper; `flag` when the left end belongs to it, `flag2` the right end
    unite,       // \cup
    intersect,   // \cap
    difference,  // A \setminus B
    matrix,      // `index` columns; children row by row
    cases,       // value, condition, value, condition, ...; a lone last value is `otherwise`
    number_set,  // `name`: R, Z, N, Q, C
    // Statements
    relation,  // left, right; `relation`; left is the word `` in `\ge 3`; `x = 1, 2` has a list
    all,       // statements that hold together: 1 < x < 3 is all(1 < x, x < 3)
    ratio,     // 7 : 32 (: ...)
    residue,   // a \pmod m: value, modulus
    negation,  // not its child
};

enum class Constant : std::uint8_t { pi, e, i, infinity, undefined };

// clang-format off
enum class Function : std::uint8_t {
    sin, cos, tan, cot, sec, csc, arcsin, arccos, arctan, arccot, arcsec, arccsc,
    sinh, cosh, tanh, coth, sech, csch, arsinh, arcosh, artanh,
    exp, ln, log,  // log: argument, base (the parser fills in the base of a bare \log)
    abs, floor, ceil, sign, factorial, double_factorial, binomial, permutations,
    gcd, lcm, max, min, modulo, re, im, conj, arg, cis,
};
// clang-format on

enum class Big : std::uint8_t { sum, product, integral, limit };

// clang-format off
enum class Relation : std::uint8_t {
    equal, not_equal, less, less_equal, greater, greater_equal, approx, in, not_in, subset,
    equivalent, not_equivalent,  // congruent: the right side is a residue when a modulus is given
    divides, not_divides, maps_to, implies, parallel, perpendicular, similar,
};
// clang-format on

using NodeId = std::uint32_t;

struct Node {
    Kind kind;
    bool flag = false;
    bool flag2 = false;
    std::uint8_t code = 0;    // Constant, Function, Big or Relation
    std::int16_t shown = -1;  // decimals of a number that was written with a point
    std::uint16_t depth = 1;  // 1 for a leaf
    std::uint32_t index = 0;  // columns, base
    std::uint32_t first = 0;  // children stand side by side in the arena
    std::uint32_t count = 0;
    std::uint32_t payload = 0;  // of a number: which value; of a name: which name
};

/// Caps of one answer; going over one is `LimitReached`.
inline constexpr std::size_t kMaxNodes = 4096;
inline constexpr std::size_t kMaxDepth = 128;  // of brackets in the text
inline constexpr std::size_t kMaxCells = 256;  // of a matrix
/// Caps of an arena, which holds both answers and what is derived from them. The arena refuses a
/// deeper tree, so a function that walks a tree may recurse.
inline constexpr std::size_t kMaxArenaNodes = 8 * kMaxNodes;
inline constexpr std::size_t kMaxTreeDepth = 384;

/// Holds the trees of both answers; cleared and used again for the next pair.
class Arena {
public:
    void clear();

    NodeId number(Rational value, int shown = -1);
    NodeId symbol(std::string_view name);
    NodeId word(std::string_view name);
    NodeId constant(Constant which);
    NodeId call(Function function, std::span<const NodeId> arguments);
    NodeId relation(Relation which, NodeId left, NodeId right);
    NodeId big(Big which, std::span<const NodeId> children);
    NodeId make(Kind kind, std::span<const NodeId> children = {});
    NodeId negative(NodeId node);
    NodeId quotient(NodeId numerator, NodeId denominator);
    NodeId difference_of(NodeId left, NodeId right);  // left - right

    const Node& at(NodeId id) const { return nodes_[id]; }
    Node& at(NodeId id) { return nodes_[id]; }
    /// Ends to be valid when a node is made; `value` and `name` stay valid until `clear`.
    std::span<const NodeId> children(NodeId id) const;
    NodeId child(NodeId id, std::size_t which) const { return children(id)[which]; }
    const Rational& value(NodeId id) const { return values_[nodes_[id].payload]; }
    std::string_view name(NodeId id) const { return names_[nodes_[id].payload]; }
    void set_name(NodeId id, std::string_view name);

    bool is(NodeId id, Kind kind) const { return nodes_[id].kind == kind; }
    bool is(NodeId id, Constant which) const;
    bool is(NodeId id, Function which) const;
    bool is(NodeId id, Relation which) const;

    std::size_t size() const { return nodes_.size(); }

private:
    std::vector<Node> nodes_;
    std::vector<NodeId> children_;
    std::deque<Rational> values_;
    std::deque<std::string> names_;
};

/// The tree in one line for tests and messages: `sum(x, power(y, 2))`.
std::string to_string(const Arena& arena, NodeId id);

}  // namespace cohort

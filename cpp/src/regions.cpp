#include "regions.h"

#include <algorithm>
#include <array>

#include "cohort/canonical.h"
#include "cohort/evaluate.h"
#include "tree.h"

namespace cohort {
namespace {

constexpr std::size_t kMaxPieces = 64;

/// The variable of both; nothing when they speak of different ones.
std::optional<std::string> joint_variable(const Region& a, const Region& b) {
    if (a.variable.empty() || b.variable.empty() || a.variable == b.variable) {
        return a.variable.empty() ? b.variable : a.variable;
    }
    return std::nullopt;
}

bool is_infinity(const Arena& arena, NodeId node) {
    if (arena.is(node, Constant::infinity)) return true;
    return arena.is(node, Kind::product) && arena.at(node).count == 2 &&
           arena.is(arena.child(node, 1), Constant::infinity) &&
           arena.is(arena.child(node, 0), Kind::number);
}

}  // namespace

// ends and pieces

End Regions::end(NodeId written, bool closed) {
    return {written, canonical(arena_, written, budget_), closed};
}

End Regions::infinity(int sign) {
    const NodeId node = arena_.constant(Constant::infinity);
    return end(sign < 0 ? arena_.negative(node) : node, false);
}

bool Regions::is_infinite(const End& end) const { return is_infinity(arena_, end.value); }

std::optional<int> Regions::compare(const End& a, const End& b) {
    if (identical(arena_, a.value, b.value)) return 0;
    return order(arena_, a.value, b.value, budget_);
}

Region Regions::line() { return {{{infinity(-1), infinity(1)}}, ""}; }

/// Appends a piece that is not empty; nothing when the ends cannot be put in order.
std::optional<bool> Regions::add(Region& region, Piece piece) {
    const auto sign = compare(piece.low, piece.high);
    if (!sign || region.pieces.size() >= kMaxPieces) return std::nullopt;
    const bool point = piece.low.closed && piece.high.closed;
    if (*sign > 0 || (*sign == 0 && !point)) return false;
    region.pieces.push_back(piece);
    return true;
}

// sets of pieces

Regions::Maybe Regions::unite(const Region& a, const Region& b) {
    const auto variable = joint_variable(a, b);
    if (!variable) return std::nullopt;
    std::vector<Piece> sorted;
    for (const auto* pieces : {&a.pieces, &b.pieces}) {
        for (const Piece& piece : *pieces) {
            std::size_t place = sorted.size();
            for (; place > 0; --place) {
                const auto sign = compare(sorted[place - 1].low, piece.low);
                if (!sign) return std::nullopt;
                if (*sign < 0 || (*sign == 0 && !piece.low.closed)) break;
            }
            sorted.insert(sorted.begin() + static_cast<std::ptrdiff_t>(place), piece);
        }
    }
    Region result{{}, *variable};
    for (const Piece& piece : sorted) {
        if (result.pieces.empty()) {
            result.pieces.push_back(piece);
            continue;
        }
        Piece& last = result.pieces.back();
        const auto gap = compare(last.high, piece.low);
        const auto beyond = compare(last.high, piece.high);
        if (!gap || !beyond) return std::nullopt;
        if (*gap < 0 || (*gap == 0 && !last.high.closed && !piece.low.closed)) {
            result.pieces.push_back(piece);
        } else if (*beyond < 0 || (*beyond == 0 && piece.high.closed)) {
            last.high = piece.high;
        }
    }
    if (result.pieces.size() > kMaxPieces) return std::nullopt;
    return result;
}

Regions::Maybe Regions::intersect(const Region& a, const Region& b) {
    const auto variable = joint_variable(a, b);
    if (!variable) return std::nullopt;
    Region result{{}, *variable};
    for (const Piece& left : a.pieces) {
        for (const Piece& right : b.pieces) {
            const auto low = compare(left.low, right.low);
            const auto high = compare(left.high, right.high);
            if (!low || !high) return std::nullopt;
            Piece piece{*low > 0 ? left.low : right.low, *high < 0 ? left.high : right.high};
            if (*low == 0) piece.low.closed = left.low.closed && right.low.closed;
            if (*high == 0) piece.high.closed = left.high.closed && right.high.closed;
            if (!add(result, piece)) return std::nullopt;
        }
    }
    return result;
}

Regions::Maybe Regions::complement(const Region& region) {
    Region result{{}, region.variable};
    End low = infinity(-1);
    for (const Piece& piece : region.pieces) {
        End high = piece.low;
        high.closed = !high.closed && !is_infinite(high);
        if (!add(result, {low, high})) return std::nullopt;
        low = piece.high;
        low.closed = !low.closed && !is_infinite(low);
    }
    if (!add(result, {low, infinity(1)})) return std::nullopt;
    return result;
}

// reading

std::optional<Region> Regions::read(NodeId node) {
    budget_.spend(4);
    const Node& shape = arena_.at(node);
    switch (shape.kind) {
        case Kind::interval:
            return read_interval(arena_.child(node, 0), arena_.child(node, 1), shape.flag,
                                 shape.flag2);
        case Kind::tuple:
            if (shape.count != 2) return std::nullopt;
            return read_interval(arena_.child(node, 0), arena_.child(node, 1), false, false);
        case Kind::set: return read_points(node);
        case Kind::unite: return fold(node, true);
        case Kind::intersect:
        case Kind::all: return fold(node, false);
        case Kind::difference: {
            const auto whole = read(arena_.child(node, 0));
            const auto taken = read(arena_.child(node, 1));
            const auto left = taken ? complement(*taken) : std::nullopt;
            return whole && left ? intersect(*whole, *left) : std::nullopt;
        }
        case Kind::number_set: return read_number_set(arena_.name(node));
        case Kind::relation: return read_relation(node);
        case Kind::list: return read_list(node);
        case Kind::builder: return read_builder(node);
        default: return std::nullopt;
    }
}

Regions::Maybe Regions::read_number_set(std::string_view name) {
    if (name == "R") return line();
    const End zero = end(arena_.number(0), false);
    if (name == "R+") return Region{{{zero, infinity(1)}}, ""};
    if (name == "R-") return Region{{{infinity(-1), zero}}, ""};
    return std::nullopt;
}

Regions::Maybe Regions::read_interval(NodeId low, NodeId high, bool low_closed, bool high_closed) {
    Region result;
    const auto added = add(result, {end(low, low_closed), end(high, high_closed)});
    if (!added || !*added) return std::nullopt;
    return result;
}

Regions::Maybe Regions::read_points(NodeId node) {
    Maybe result = Region{};
    for (const NodeId child : children_of(arena_, node)) {
        const auto point = read_interval(child, child, true, true);
        if (!point) return std::nullopt;
        result = unite(*result, *point);
        if (!result) return std::nullopt;
    }
    return result;
}

Regions::Maybe Regions::fold(NodeId node, bool united) {
    Maybe result;
    for (const NodeId child : children_of(arena_, node)) {
        const auto part = read(child);
        if (!part) return std::nullopt;
        if (!result) {
            result = part;
        } else {
            result = united ? unite(*result, *part) : intersect(*result, *part);
        }
        if (!result) return std::nullopt;
    }
    return result;
}

/// `x < 1, x > 3` with a mere comma means either when no number is both.
Regions::Maybe Regions::read_list(NodeId node) {
    for (const NodeId child : children_of(arena_, node)) {
        if (!arena_.is(child, Kind::relation) && !arena_.is(child, Kind::all)) return std::nullopt;
    }
    if (arena_.at(node).flag) return fold(node, true);
    const auto both = fold(node, false);
    const bool contradicts = both && both->pieces.empty();
    const bool said = arena_.at(node).flag2 && !truth_;
    return contradicts && !said ? fold(node, true) : both;
}

Regions::Maybe Regions::read_builder(NodeId node) {
    const NodeId element = arena_.child(node, 0);
    auto condition = read(arena_.child(node, 1));
    if (!condition) return std::nullopt;
    if (arena_.is(element, Kind::symbol)) {
        if (arena_.name(element) != condition->variable) return std::nullopt;
    } else {
        const auto domain = arena_.is(element, Relation::in) ? read(element) : std::nullopt;
        condition = domain ? intersect(*condition, *domain) : std::nullopt;
    }
    if (condition) condition->variable.clear();
    return condition;
}

Regions::Maybe Regions::read_relation(NodeId node) {
    const auto relation = static_cast<Relation>(arena_.at(node).code);
    const NodeId left = arena_.child(node, 0);
    const NodeId right = arena_.child(node, 1);
    switch (relation) {
        case Relation::in:
        case Relation::not_in: {
            if (!arena_.is(left, Kind::symbol)) return std::nullopt;
            auto region = read(right);
            if (region && relation == Relation::not_in) region = complement(*region);
            if (region) region->variable = arena_.name(left);
            return region;
        }
        case Relation::equal: {
            // D = (0, 1) names a region, x = 3 is a point of one.
            const Kind kind = arena_.at(right).kind;
            const bool names = kind == Kind::interval || kind == Kind::tuple ||
                               kind == Kind::unite || kind == Kind::set ||
                               kind == Kind::number_set || kind == Kind::difference;
            return names ? read(right) : solve(relation, left, right);
        }
        case Relation::not_equal:
        case Relation::less:
        case Relation::less_equal:
        case Relation::greater:
        case Relation::greater_equal: return solve(relation, left, right);
        default: return std::nullopt;
    }
}

}  // namespace cohort

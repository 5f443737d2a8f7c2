#include "cohort/canonical.h"

#include <algorithm>

#include "canonical_form.h"

namespace cohort {
namespace {

bool is_named(Kind kind) {
    return kind == Kind::symbol || kind == Kind::word || kind == Kind::quantity ||
           kind == Kind::based || kind == Kind::number_set;
}

int sign_of(std::strong_ordering order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

template <typename T>
int order_of(const T& a, const T& b) {
    return sign_of(a <=> b);
}

}  // namespace

int structural_order(const Arena& arena, NodeId a, NodeId b) {
    if (a == b) return 0;
    const Node& left = arena.at(a);
    const Node& right = arena.at(b);
    if (const int order = order_of(left.kind, right.kind)) return order;
    if (left.kind == Kind::number) return order_of(arena.value(a), arena.value(b));
    if (is_named(left.kind)) {
        if (const int order = order_of(arena.name(a), arena.name(b))) return order;
    }
    if (const int order = order_of(left.code, right.code)) return order;
    if (const int order = order_of(left.index, right.index)) return order;
    if (const int order = order_of(left.flag, right.flag)) return order;
    if (const int order = order_of(left.flag2, right.flag2)) return order;
    if (const int order = order_of(left.count, right.count)) return order;
    for (std::size_t i = 0; i < left.count; ++i) {
        if (const int order = structural_order(arena, arena.child(a, i), arena.child(b, i))) {
            return order;
        }
    }
    return 0;
}

bool identical(const Arena& arena, NodeId a, NodeId b) {
    return structural_order(arena, a, b) == 0;
}

NodeId canonical(Arena& arena, NodeId id, Budget& budget) {
    return CanonicalForm(arena, budget).of(id);
}

NodeId CanonicalForm::of(NodeId id) {
    budget_.spend(8);
    const std::size_t count = arena_.at(id).count;
    if (count == 0) return id;
    std::vector<NodeId> children;
    children.reserve(count);
    for (std::size_t i = 0; i < count; ++i) children.push_back(of(arena_.child(id, i)));
    switch (arena_.at(id).kind) {
        case Kind::sum: return sum(children);
        case Kind::product: return product(children);
        case Kind::power: return power(children[0], children[1]);
        case Kind::call: return call(with_children(id, children));
        case Kind::set: return sorted(with_children(id, children), false);
        case Kind::unite:
        case Kind::intersect: return sorted(with_children(id, children), true);
        default: return with_children(id, children);
    }
}

NodeId CanonicalForm::with_children(NodeId id, std::span<const NodeId> children) {
    if (std::ranges::equal(arena_.children(id), children)) return id;
    const NodeId copy = arena_.make(arena_.at(id).kind, children);
    const Node& from = arena_.at(id);
    Node& to = arena_.at(copy);
    to.flag = from.flag;
    to.flag2 = from.flag2;
    to.code = from.code;
    to.index = from.index;
    to.payload = from.payload;
    return copy;
}

/// A set or a union: each member once, in order; a union in a union is one.
NodeId CanonicalForm::sorted(NodeId id, bool flat) {
    std::vector<NodeId> members;
    for (const NodeId child : arena_.children(id)) {
        if (flat && arena_.at(child).kind == arena_.at(id).kind) {
            const auto inner = arena_.children(child);
            members.insert(members.end(), inner.begin(), inner.end());
        } else {
            members.push_back(child);
        }
    }
    budget_.spend(static_cast<std::int64_t>(members.size()) * 16);
    const auto before = [&](NodeId a, NodeId b) { return structural_order(arena_, a, b) < 0; };
    const auto same = [&](NodeId a, NodeId b) { return identical(arena_, a, b); };
    std::ranges::sort(members, before);
    members.erase(std::unique(members.begin(), members.end(), same), members.end());
    if (flat && members.size() == 1) return members[0];
    return with_children(id, members);
}

NodeId CanonicalForm::call(NodeId id) {
    const auto children = arena_.children(id);
    const NodeId argument = children[0];
    switch (static_cast<Function>(arena_.at(id).code)) {
        case Function::exp: return power(arena_.constant(Constant::e), argument);
        case Function::log:
            if (!arena_.is(children[1], Constant::e)) return id;
            return arena_.call(Function::ln, std::array{argument});
        case Function::abs:
            if (const Rational* value = number(argument)) {
                return value->sign() < 0 ? arena_.number(-*value) : argument;
            }
            return id;
        case Function::max:
        case Function::min:
        case Function::gcd:
        case Function::lcm: {
            std::vector<NodeId> arguments(children.begin(), children.end());
            std::ranges::sort(
                arguments, [&](NodeId a, NodeId b) { return structural_order(arena_, a, b) < 0; });
            return with_children(id, arguments);
        }
        default: return id;
    }
}

}  // namespace cohort

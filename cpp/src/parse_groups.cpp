// What stands in brackets: groups, points, intervals, sets, absolute values, matrices, cases.
#include "cohort/ascii.h"
#include "parser.h"

namespace cohort {
namespace {

constexpr std::uint32_t kMaxDeterminant = 4;

}  // namespace

// Points and intervals

NodeId Parser::interval(std::size_t mark, bool left_closed, bool right_closed) {
    if (scratch_.size() - mark != 2) fail();
    const NodeId node = joined(Kind::interval, mark);
    arena_.at(node).flag = left_closed;
    arena_.at(node).flag2 = right_closed;
    return node;
}

bool Parser::unbounded(NodeId node) const {
    if (arena_.is(node, Kind::product)) node = arena_.children(node).back();
    return arena_.is(node, Constant::infinity);
}

NodeId Parser::paren() {
    expect(Sign::open_paren);
    const Scoped<std::size_t> bars(bars_, 0);
    const Scoped<bool> outside(in_set_, false);
    const Scoped<bool> integral(in_integral_, false);
    const std::size_t mark = scratch_.size();
    const Joints joints = items();
    if (accept(Sign::close_bracket)) return interval(mark, false, true);
    expect(Sign::close_paren);
    const std::size_t count = scratch_.size() - mark;
    if (count == 1) return joined(Kind::list, mark);
    if (joints.either) return shared_left(mark, joints);
    const bool open_end = unbounded(scratch_[mark]) || unbounded(scratch_.back());
    if (count == 2 && (interval_ || reading_.intervals || open_end)) {
        return interval(mark, false, false);
    }
    return joined(Kind::tuple, mark);
}

/// `[a, b)`, `[a, b]`, a row of more, rows of rows, or a bracket around a formula.
NodeId Parser::bracket() {
    expect(Sign::open_bracket);
    const Scoped<std::size_t> bars(bars_, 0);
    const Scoped<bool> outside(in_set_, false);
    const Scoped<bool> integral(in_integral_, false);
    const bool rows = sees(Sign::open_bracket);
    const std::size_t mark = scratch_.size();
    items();
    if (accept(Sign::close_paren)) return interval(mark, true, false);
    expect(Sign::close_bracket);
    const std::size_t count = scratch_.size() - mark;
    if (rows) return matrix_of_rows(mark);
    if (count == 2) return interval(mark, true, true);
    if (count > 2) return joined(Kind::tuple, mark);
    const NodeId node = scratch_.back();
    const Kind kind = arena_.at(node).kind;
    // `[5]` is a list of one in some language of programs.
    if (kind == Kind::number || kind == Kind::symbol || kind == Kind::word) fail();
    return joined(Kind::list, mark);
}

/// `[[1, 2], [3, 4]]`.
NodeId Parser::matrix_of_rows(std::size_t mark) {
    const std::uint32_t columns = arena_.at(scratch_[mark]).count;
    const std::size_t rows = scratch_.size() - mark;
    for (std::size_t i = mark; i < mark + rows; ++i) {
        const Node& row = arena_.at(scratch_[i]);
        const bool list =
            row.kind == Kind::tuple || (row.kind == Kind::interval && row.flag && row.flag2);
        if (!list || row.count != columns) fail();
    }
    if (rows * columns > kMaxCells) throw LimitReached{};
    const std::size_t cells = scratch_.size();
    for (std::size_t i = mark; i < mark + rows; ++i) {
        const auto row = arena_.children(scratch_[i]);
        scratch_.insert(scratch_.end(), row.begin(), row.end());
    }
    const NodeId node = arena_.make(Kind::matrix, std::span(scratch_).subspan(cells));
    arena_.at(node).index = columns;
    scratch_.resize(mark);
    return node;
}

NodeId Parser::angle() {
    expect(Sign::open_angle);
    const Scoped<std::size_t> bars(bars_, 0);
    const std::size_t mark = scratch_.size();
    items();
    expect(Sign::close_angle);
    return joined(Kind::tuple, mark);
}

// Sets

/// The items of a set, or of a builder: `x \mid x > 0`.
NodeId Parser::set_items(Sign close) {
    const Scoped<std::size_t> bars(bars_, 0);
    const Scoped<bool> outside_integral(in_integral_, false);
    if (accept(close)) return arena_.make(Kind::set);
    const std::size_t mark = scratch_.size();
    {
        const bool divided = sees(Sign::bar, 1) || sees(Sign::mid, 1) || sees(Sign::colon, 1) ||
                             sees(Sign::relation, 1);
        const Scoped<bool> inside(in_set_, close == Sign::close_set || divided);
        items();
    }
    if (accept(close)) return joined(Kind::set, mark);
    const bool divided = accept(Sign::bar) || accept(Sign::mid) || accept(Sign::colon);
    if (!divided || scratch_.size() - mark != 1) fail();
    const Scoped<bool> outside(in_set_, false);
    const NodeId condition = list();
    expect(close);
    scratch_.push_back(condition);
    return joined(Kind::builder, mark);
}

NodeId Parser::set() {
    expect(Sign::open_set);
    if (!sees(Sign::begin)) return set_items(Sign::close_set);
    const NodeId node = environment();
    if (!accept(Sign::no_bracket)) expect(Sign::close_set);
    return node;
}

/// A group of TeX, or a set when there are several values in it: `{1, 2}`.
NodeId Parser::brace() {
    expect(Sign::open_brace);
    if (sees(Sign::close_brace)) {
        take();
        if (sees(Sign::subscript)) return value();  // {}_5C_2
        if (!sees(Sign::end)) fail();
        return arena_.make(Kind::set);
    }
    const std::size_t start = scratch_.size();
    const NodeId node = set_items(Sign::close_brace);
    scratch_.resize(start);
    const bool alone = arena_.is(node, Kind::set) && arena_.at(node).count == 1;
    return alone ? arena_.child(node, 0) : node;
}

// Bars

NodeId Parser::bars(Sign close) {
    take();
    ++bars_;
    const NodeId node = expression(Level::over);
    --bars_;
    expect(close);
    return arena_.call(Function::abs, std::array{node});
}

NodeId Parser::between(Sign close, Function function) {
    take();
    const Scoped<std::size_t> bars(bars_, 0);
    const NodeId node = expression(Level::over);
    expect(close);
    return arena_.call(function, std::array{node});
}

// Environments

NodeId Parser::environment() {
    const Scoped<std::size_t> bars(bars_, 0);
    const Scoped<bool> outside(in_set_, false);
    const Scoped<bool> integral(in_integral_, false);
    std::string_view name = take().text;
    const bool rows = tokens_[next_].sign != Sign::end;
    if (!rows) fail();
    if (name.ends_with('*')) name.remove_suffix(1);
    if (name == "cases" || name == "aligned" || name == "align" || name == "gathered" ||
        name == "dcases") {
        return cases(name);
    }
    if (name == "array" || name == "tabular") {
        expect(Sign::open_brace);  // the columns: `{c|c}`
        while (!sees(Sign::close_brace) && !sees(Sign::end)) take();
        expect(Sign::close_brace);
        const bool system = next_ >= 1 && opened_by_set();
        return system ? cases(name) : matrix(name);
    }
    if (name == "pmatrix" || name == "bmatrix" || name == "Bmatrix" || name == "matrix" ||
        name == "smallmatrix") {
        return matrix(name);
    }
    if (name == "vmatrix") return determinant(matrix(name));
    fail();
}

/// Whether `\{` stands right before the environment whose columns were just read.
bool Parser::opened_by_set() const {
    std::size_t i = next_;
    while (i > 0 && tokens_[i].sign != Sign::begin) --i;
    return i > 0 && tokens_[i - 1].sign == Sign::open_set;
}

/// Along the first row, for few rows.
NodeId Parser::determinant(NodeId matrix) {
    const std::uint32_t size = arena_.at(matrix).index;
    const auto cells = [&](std::size_t i) { return arena_.child(matrix, i); };
    if (arena_.at(matrix).count != size * size || size > kMaxDeterminant) fail();
    if (size == 1) return cells(0);
    const std::size_t mark = scratch_.size();
    for (std::uint32_t column = 0; column < size; ++column) {
        std::vector<NodeId> rest;
        for (std::uint32_t i = size; i < size * size; ++i) {
            if (i % size != column) rest.push_back(cells(i));
        }
        const NodeId minor = arena_.make(Kind::matrix, rest);
        arena_.at(minor).index = size - 1;
        const NodeId term =
            arena_.make(Kind::product, std::array{cells(column), determinant(minor)});
        scratch_.push_back(column % 2 == 1 ? negative(term) : term);
    }
    return joined(Kind::sum, mark);
}

void Parser::end_environment(std::string_view name) {
    std::string_view end = peek().text;
    if (end.ends_with('*')) end.remove_suffix(1);
    if (end != name) fail();
    expect(Sign::finish);
}

NodeId Parser::matrix(std::string_view name) {
    const std::size_t mark = scratch_.size();
    std::size_t columns = 0;
    std::size_t in_row = 0;
    while (!sees(Sign::finish)) {
        const NodeId cell = expression(Level::over);
        scratch_.push_back(cell);
        ++in_row;
        if (scratch_.size() - mark > kMaxCells) throw LimitReached{};
        if (accept(Sign::cell)) continue;
        if (!accept(Sign::row) && !sees(Sign::finish)) fail();
        if (columns == 0) columns = in_row;
        if (columns != in_row) fail();
        in_row = 0;
    }
    end_environment(name);
    if (columns == 0 || in_row != 0) fail();
    const NodeId node = arena_.make(Kind::matrix, std::span(scratch_).subspan(mark));
    arena_.at(node).index = static_cast<std::uint32_t>(columns);
    scratch_.resize(mark);
    return node;
}

namespace {

bool opens_condition(std::string_view word) {
    return word == "if" || word == "for" || word == "when" || word == "If";
}

}  // namespace

/// `value & condition` by row, or a system of equations without cells.
NodeId Parser::cases(std::string_view name) {
    const std::size_t mark = scratch_.size();
    bool conditions = false;
    while (!sees(Sign::finish)) {
        accept(Sign::cell);  // `& x = 1`
        const NodeId left = expression(Level::implies);
        scratch_.push_back(left);
        accept(Sign::comma);
        const bool cell = accept(Sign::cell);
        if (!cell && !accept(Sign::row) && !sees(Sign::finish)) fail();
        if (!cell) continue;
        conditions = true;
        if (sees(Sign::name) && opens_condition(peek().text)) take();
        const NodeId condition = list();
        const bool otherwise = arena_.is(condition, Kind::word);
        if (!otherwise) scratch_.push_back(condition);
        if (!accept(Sign::row) && !sees(Sign::finish)) fail();
        if (otherwise && !sees(Sign::finish)) fail();
    }
    end_environment(name);
    if (scratch_.size() == mark) fail();
    return joined(conditions ? Kind::cases : Kind::list, mark);
}

}  // namespace cohort

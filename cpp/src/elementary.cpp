#include "elementary.h"

#include <algorithm>
#include <cmath>

namespace cohort {
namespace {

/// The first 1088 bits of pi / 4, cut off.
constexpr std::array<std::uint64_t, kMaxLimbs> kPi = {
    0xc90fdaa22168c234, 0xc4c6628b80dc1cd1, 0x29024e088a67cc74, 0x020bbea63b139b22,
    0x514a08798e3404dd, 0xef9519b3cd3a431b, 0x302b0a6df25f1437, 0x4fe1356d6d51c245,
    0xe485b576625e7ec6, 0xf44c42e9a637ed6b, 0x0bff5cb6f406b7ed, 0xee386bfb5a899fa5,
    0xae9f24117c4b1fe6, 0x49286651ece45b3d, 0xc2007cb8a163bf05, 0x98da48361c55d39a,
    0x69163fa8fd24cf5f,
};

/// The first 1088 bits of ln 2, cut off.
constexpr std::array<std::uint64_t, kMaxLimbs> kLn2 = {
    0xb17217f7d1cf79ab, 0xc9e3b39803f2f6af, 0x40f343267298b62d, 0x8a0d175b8baafa2b,
    0xe7b876206debac98, 0x559552fb4afa1b10, 0xed2eae35c1382144, 0x27573b291169b825,
    0x3e96ca16224ae8c5, 0x1acbda11317c387e, 0xb9ea9bc3b136603b, 0x256fa0ec7657f74b,
    0x72ce87b19d6548ca, 0xf5dfa6bd38303248, 0x655fa1872f20e3a2, 0xda2d97c50f3fd5c6,
    0x07f4ca11fb5bfb90,
};

constexpr double kMaxArgument = 1e9;  // of exp and of the circle's functions, about 2^30

/// The limbs a function works with: one that is not shown takes up the roundings.
std::size_t working(const Work& work) { return work.limbs + 1; }

std::int64_t bits(std::size_t limbs) { return static_cast<std::int64_t>(64 * limbs); }

Float constant(const std::array<std::uint64_t, kMaxLimbs>& limbs, std::int64_t exponent) {
    Float result;
    result.limbs = limbs;
    result.exponent = exponent;
    result.zero = false;
    return result;
}

Float pi_float() { return constant(kPi, 2); }
Float ln_2_float() { return constant(kLn2, 0); }

/// How often an argument is halved before a series: as many squarings as terms are saved.
std::int64_t halvings(std::size_t n) {
    return static_cast<std::int64_t>(std::sqrt(static_cast<double>(bits(n))) * 0.6);
}

bool negligible(const Float& term, std::size_t n) { return term.zero || term.exponent < -bits(n); }

/// e^x for |x| below 2^30. The reduced argument is off by 2^30 units of the last bit, a series of
/// below 128 terms by 2^9, each of below 20 squarings doubles what is relative to 1: together below
/// 2^32 units, half a limb.
Float exp_float(const Float& x, std::size_t n) {
    const double turns = std::nearbyint(to_double(x) / std::log(2.0));
    Float rest;
    multiply(rest, ln_2_float(), float_of(static_cast<std::int64_t>(turns), n), n);
    subtract(rest, x, rest, n);
    const std::int64_t shift = halvings(n);
    rest.exponent -= shift;
    Float sum = float_of(1, n);
    Float term = rest;
    for (std::uint64_t k = 2; !negligible(term, n); ++k) {
        add(sum, sum, term, n);
        multiply(term, term, rest, n);
        divide(term, term, k, n);
    }
    for (std::int64_t i = 0; i < shift; ++i) multiply(sum, sum, sum, n);
    sum.exponent += static_cast<std::int64_t>(turns);
    return sum;
}

/// The square root by Newton's iteration for its inverse, which doubles the right digits.
Float sqrt_float(const Float& x, std::size_t n) {
    Float value = x;  // in [1/4, 1)
    const std::int64_t exponent = x.exponent + (x.exponent % 2 != 0 ? 1 : 0);
    value.exponent -= exponent;
    std::int64_t right = 50;
    std::size_t limbs = 1;
    Float inverse = float_of_double(1 / std::sqrt(to_double(value)), n);
    Float step;
    for (; 2 * right < bits(n) + 4; right = 2 * right - 3) {
        limbs = std::min(n, static_cast<std::size_t>(2 * right / 64 + 1));
        multiply(step, inverse, inverse, limbs);
        multiply(step, step, value, limbs);
        subtract(step, float_of(1, limbs), step, limbs);
        multiply(step, step, inverse, limbs);
        add(inverse, inverse, scaled(step, -1), limbs);
        widen(inverse, limbs, n);
    }
    Float root;
    multiply(root, value, inverse, n);
    multiply(step, root, root, n);
    subtract(step, value, step, n);
    multiply(step, step, inverse, n);
    add(root, root, scaled(step, -1), n);
    root.exponent += exponent / 2;
    return root;
}

struct Pair {
    Float sin, cos;
};

/// The circle at x for |x| below 2^30: 1 - cos of a small part by its series, doubled again and
/// again by 1 - cos 2t = 2 u (2 - u) with u = 1 - cos t, which keeps it right relative to itself.
/// Off by the reduction's 2^30 units of the last bit of 1, and relatively by below 2^10.
Pair sin_cos_float(const Float& x, std::size_t n) {
    const double turns = std::nearbyint(to_double(x) / std::acos(0.0));
    const auto quarter = static_cast<std::int64_t>(turns);
    Float rest;
    multiply(rest, scaled(pi_float(), -1), float_of(quarter, n), n);
    subtract(rest, x, rest, n);
    const std::int64_t shift = halvings(n);
    Float square;
    multiply(square, rest, rest, n);
    square.exponent -= 2 * shift;
    Float term = scaled(square, -1);
    Float versed = term;
    const std::int64_t last = term.exponent - bits(n);
    for (std::uint64_t k = 3; !term.zero && term.exponent >= last; k += 2) {
        multiply(term, term, square, n);
        divide(term, term, k * (k + 1), n);
        term.negative = !term.negative;
        add(versed, versed, term, n);
    }
    const Float two = float_of(2, n);
    Float step;
    for (std::int64_t i = 0; i < shift; ++i) {
        subtract(step, two, versed, n);
        multiply(versed, versed, step, n);
        versed.exponent += 1;
    }
    Pair result;
    subtract(step, two, versed, n);
    multiply(step, versed, step, n);
    result.sin = step.zero ? step : sqrt_float(step, n);
    result.sin.negative = rest.negative;
    subtract(result.cos, float_of(1, n), versed, n);
    if (quarter % 2 != 0) std::swap(result.sin, result.cos);
    const std::int64_t side = ((quarter % 4) + 4) % 4;
    if (side == 2 || side == 3) result.sin.negative = !result.sin.negative;
    if (side == 1 || side == 2) result.cos.negative = !result.cos.negative;
    return result;
}

/// d - d^2/2 + d^3/3 - d^4/4, or d - d^3/3 + d^5/5: what is missing is beyond the fourth power.
Float short_series(const Float& d, bool odd, std::size_t n) {
    Float sum = d;
    Float power = d;
    Float term;
    Float step = d;
    if (odd) multiply(step, d, d, n);
    const std::uint64_t gap = odd ? 2 : 1;
    const std::uint64_t last = odd ? 5 : 4;
    for (std::uint64_t k = 1 + gap; k <= last; k += gap) {
        multiply(power, power, step, n);
        divide(term, power, k, n);
        term.negative = term.negative != ((k - 1) / gap % 2 == 1);
        add(sum, sum, term, n);
    }
    return sum;
}

/// ln x: of the fraction by ln x = y + ln(x e^-y), each step with five times the right digits;
/// below 2^33 units of the last bit of 1, or of the exponent's part.
Float ln_float(const Float& x, std::size_t n) {
    Float value = x;
    std::int64_t exponent = x.exponent;
    value.exponent = 0;
    if (to_double(value) < 0.7) {
        value.exponent = 1;
        --exponent;
    }
    Float y = float_of_double(std::log(to_double(value)), n);
    for (std::int64_t right = 48; right < bits(n); right *= 5) {
        const std::size_t limbs = std::min(n, static_cast<std::size_t>(right * 5 / 64 + 1));
        Float d = exp_float(negated(y), limbs);
        multiply(d, d, value, limbs);
        subtract(d, d, float_of(1, limbs), limbs);
        add(y, y, short_series(d, false, limbs), limbs);
        widen(y, limbs, n);
    }
    Float whole;
    multiply(whole, ln_2_float(), float_of(exponent, n), n);
    add(y, y, whole, n);
    return y;
}

/// arctan x for |x| < 2 by arctan x = t + arctan((x cos t - sin t) / (cos t + x sin t)), each step
/// with five times the right digits; below 2^33 units of the last bit of 1.
Float arctan_float(const Float& x, std::size_t n) {
    Float t = float_of_double(std::atan(to_double(x)), n);
    for (std::int64_t right = 48; right < bits(n); right *= 5) {
        const std::size_t limbs = std::min(n, static_cast<std::size_t>(right * 5 / 64 + 1));
        const Pair circle = sin_cos_float(t, limbs);
        Float top;
        Float bottom;
        multiply(top, x, circle.cos, limbs);
        subtract(top, top, circle.sin, limbs);
        multiply(bottom, x, circle.sin, limbs);
        add(bottom, bottom, circle.cos, limbs);
        divide(top, top, bottom, limbs);
        add(t, t, short_series(top, true, limbs), limbs);
        widen(t, limbs, n);
    }
    return t;
}

Float working_copy(const Float& x, const Work& work) {
    Float copy = x;
    widen(copy, work.limbs, working(work));
    return copy;
}

/// The result with the asked limbs: cutting it off and its own error are below one unit of its last
/// bit each.
Ball enclosed(const Float& value, const Bound& spread, const Work& work) {
    Ball result{value, spread};
    if (!value.zero) {
        result.radius = result.radius + Bound{0.5, value.exponent - bits(work.limbs) + 2};
    }
    return result;
}

/// Errors relative to 1 of what may be far smaller than 1.
Bound unit_of_one(const Work& work) { return {0.5, 1 - bits(work.limbs)}; }

/// Functions are flat somewhere, at 0 or far out: an argument so small or large vanishes in 1.
void watch(const Ball& x, Work& work) {
    const std::int64_t edge = bits(work.limbs) / 4;
    if (!x.mid.zero && (x.mid.exponent < -edge || x.mid.exponent > edge) && !x.contains_zero()) {
        work.coarse = true;
    }
}

bool too_large(const Ball& x) {
    const Bound size = x.upper_size();
    return !(size < bound_of(kMaxArgument, 0));
}

void pay(std::int64_t products, Work& work) {
    const auto n = static_cast<std::int64_t>(working(work));
    work.budget.spend(products * (n * n / 2 + 3 * n + 12));
}

std::int64_t series_cost(const Work& work) { return 3 * halvings(working(work)); }

}  // namespace

Ball pi(Work& work) { return enclosed(pi_float(), {}, work); }

Ball ln_2(Work& work) { return enclosed(ln_2_float(), {}, work); }

std::optional<Ball> exp(const Ball& x, Work& work) {
    if (x.is_zero()) return ball_of(1, work);
    const Bound one = bound_of(1, 0);
    if (too_large(x) || !(x.radius < one)) return std::nullopt;
    watch(x, work);
    pay(series_cost(work), work);
    const Float value = exp_float(working_copy(x.mid, work), working(work));
    // e^(m + r) - e^m <= e^m 2 r for r <= 1
    return enclosed(value, above(value) * x.radius * bound_of(2, 0), work);
}

std::optional<SinCos> sin_cos(const Ball& x, Work& work) {
    if (x.is_zero()) return SinCos{ball_of(0, work), ball_of(1, work)};
    if (too_large(x)) return std::nullopt;
    watch(x, work);
    pay(series_cost(work), work);
    const Pair value = sin_cos_float(working_copy(x.mid, work), working(work));
    const Bound spread = x.radius + unit_of_one(work);
    return SinCos{enclosed(value.sin, spread, work), enclosed(value.cos, spread, work)};
}

std::optional<Ball> arctan(const Ball& x, Work& work) {
    if (x.is_zero()) return x;
    watch(x, work);
    if (!x.mid.zero && x.mid.exponent > 1) {  // 2 or more
        if (x.contains_zero()) return std::nullopt;
        const auto rest = arctan(divide(ball_of(1, work), x, work), work);
        if (!rest) return std::nullopt;
        Ball right = halved(pi(work));
        if (x.mid.negative) right = negated(right);
        return subtract(right, *rest, work);
    }
    pay(2 * series_cost(work), work);
    const Float value = arctan_float(working_copy(x.mid, work), working(work));
    return enclosed(value, x.radius + unit_of_one(work), work);
}

Ball sqrt(const Ball& x, Work& work) {
    if (x.is_zero()) return x;
    pay(6, work);
    const Float value = sqrt_float(working_copy(x.mid, work), working(work));
    // |sqrt a - sqrt b| = |a - b| / (sqrt a + sqrt b) <= r / sqrt m
    return enclosed(value, x.is_exact() ? Bound{} : over(x.radius, below(value)), work);
}

Ball ln(const Ball& x, Work& work) {
    pay(2 * series_cost(work), work);
    const Float value = ln_float(working_copy(x.mid, work), working(work));
    const Bound spread = x.is_exact() ? Bound{} : over(x.radius, x.lower_size());
    return enclosed(value, spread + unit_of_one(work), work);
}

}  // namespace cohort

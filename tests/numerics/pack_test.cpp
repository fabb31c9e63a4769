#include "popflow/pack.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "popflow/random.hpp"
#include "support/catch.hpp"

// Lanes of a Pack compared with doubles: every operation, function, comparison and selection, on
// numbers of every size and on special values, for all widths and available instruction sets.

using namespace popflow;

namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// Returns numbers of every size with both signs, moderate ones, and all pairs of special values.
struct Arguments {
  std::vector<double> first, second;
};
Arguments arguments() {
  const std::vector<double> special = {0.0,   -0.0,     1,         -1,        0x1p-1074,
                                       1e300, kEndless, -kEndless, kNoNumber, -kNoNumber};
  Arguments all;
  for (const double a : special)
    for (const double b : special) {
      all.first.push_back(a);
      all.second.push_back(b);
    }
  RandomStream random(21, Purpose::test);
  const auto draw = [&](double octaves) {
    const double size = std::exp2(octaves * (random.uniform() - 0.5));
    return random.uniform() < 0.5 ? -size : size;
  };
  while (all.first.size() < 4000 || all.first.size() % kLanes != 0) {
    const double octaves = all.first.size() % 3 == 0 ? 2000 : 20;
    all.first.push_back(draw(octaves));
    all.second.push_back(random.uniform() < 0.1 ? all.first.back() : draw(octaves));
  }
  return all;
}

struct Operations {
  static constexpr std::array kNames = {
      "+",      "-",   "*",   "/",      "minus", "+=",       "-=",    "*=",  "/=",
      "<",      "<=",  ">",   ">=",     "==",    "!=",       "and",   "or",  "not",
      "select", "min", "max", "abs",    "sqrt",  "exp",      "expm1", "log", "log1p",
      "tanh",   "erf", "pow", "double", "value", "less one", "any"};
  static constexpr std::size_t kCount = kNames.size();

  template <class Number>
  void operator()(const Number& a, const Number& b, Number* out) const {
    const Number one = 1, none = 0;
    *out++ = a + b;
    *out++ = a - b;
    *out++ = a * b;
    *out++ = a / b;
    *out++ = -a;
    *out = a, *out++ += b;
    *out = a, *out++ -= b;
    *out = a, *out++ *= b;
    *out = a, *out++ /= b;
    *out++ = math::select(a < b, one, none);
    *out++ = math::select(a <= b, one, none);
    *out++ = math::select(a > b, one, none);
    *out++ = math::select(a >= b, one, none);
    *out++ = math::select(a == b, one, none);
    *out++ = math::select(a != b, one, none);
    *out++ = math::select(a < b && b < 2, one, none);
    *out++ = math::select(a < b || 2 < b, one, none);
    *out++ = math::select(!(a < b), 1, 0);
    *out++ = math::select(a < b, a, b);
    *out++ = math::min(a, b);
    *out++ = math::max(a, 0.5);
    *out++ = math::abs(a);
    *out++ = math::sqrt(a);
    *out++ = math::exp(a);
    *out++ = math::expm1(a);
    *out++ = math::log(a);
    *out++ = math::log1p(a);
    *out++ = math::tanh(a);
    *out++ = math::erf(a);
    *out++ = math::pow(a, 1.5);
    *out++ = 2 * a + 1;
    const auto [value, less_one] = math::exponentials(-math::abs(a));
    *out++ = value;
    *out++ = less_one;
    *out++ = math::any(a != a) ? kNoNumber : 1;
  }
};

template <std::size_t width>
struct Rows {
  std::array<BasicPack<width>, 2> in;
  std::array<BasicPack<width>, Operations::kCount> out;
};
template <std::size_t width>
void compute(Rows<width>& rows) {
  Operations{}(rows.in[0], rows.in[1], rows.out.data());
}
template <std::size_t width>
[[gnu::flatten]] POPFLOW_AVX2 void compute_avx2(Rows<width>& rows) {
  Operations{}(rows.in[0], rows.in[1], rows.out.data());
}
template <std::size_t width>
[[gnu::flatten]] POPFLOW_AVX512 void compute_avx512(Rows<width>& rows) {
  Operations{}(rows.in[0], rows.in[1], rows.out.data());
}

/// Returns whether both have equal bits or both are NaN.
bool same_in_lane(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::memcmp(&a, &b, sizeof a) == 0;
}

template <std::size_t width>
void check_lanes(const std::string& name, void (*compute_rows)(Rows<width>&)) {
  const Arguments all = arguments();
  std::array<std::size_t, Operations::kCount> differ = {};
  for (std::size_t first = 0; first < all.first.size(); first += kLanes) {
    Rows<width> rows;
    std::memcpy(static_cast<void*>(&rows.in[0]), &all.first[first], sizeof rows.in[0]);
    std::memcpy(static_cast<void*>(&rows.in[1]), &all.second[first], sizeof rows.in[1]);
    compute_rows(rows);
    bool has_none = false;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      has_none = has_none || std::isnan(all.first[first + lane]);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      std::array<double, Operations::kCount> expected;
      Operations{}(all.first[first + lane], all.second[first + lane], expected.data());
      expected.back() = has_none ? kNoNumber : 1;
      for (std::size_t i = 0; i < Operations::kCount; ++i) {
        double lanes[kLanes];
        std::memcpy(lanes, &rows.out[i], sizeof lanes);
        differ[i] += same_in_lane(lanes[lane], expected[i]) ? 0 : 1;
      }
    }
  }
  for (std::size_t i = 0; i < Operations::kCount; ++i) {
    INFO(Operations::kNames[i] << " of Packs of " << width << ", " << name);
    CHECK(differ[i] == 0);
  }
}

template <std::size_t width>
void check_machine() {
  check_lanes<width>("any machine", compute<width>);
  if (has_avx2()) check_lanes<width>("AVX2", compute_avx2<width>);
  if (has_avx512()) check_lanes<width>("AVX-512", compute_avx512<width>);
}

/// A formula with a comparison, a logical and, and a selection.
constexpr auto kRelu = [](auto of, auto x, auto out) {
  const auto positive = x[0] > 0 && x[0] < of[0];
  out[0] = math::select(positive, math::sqrt(math::max(x[0], 0)), of[0] * math::abs(x[0]));
};

}  // namespace

TEST_CASE("Packs of any width have the same bits as doubles", "[fast][numerics]") {
  check_machine<2>();
  check_machine<4>();
  check_machine<8>();
}

TEST_CASE("A formula has the same bits in lanes and for one number", "[fast][numerics][lanes]") {
  const Arguments all = arguments();
  const LaneFormula formula = in_lanes(kRelu);
  for (std::size_t first = 0; first < all.first.size(); first += kLanes) {
    alignas(64) double of[kLanes], x[kLanes], out[kLanes];
    std::memcpy(of, &all.second[first], sizeof of);
    std::memcpy(x, &all.first[first], sizeof x);
    formula({1, 1}, of, x, out);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      double alone = 0;
      kRelu(of + lane, x + lane, &alone);
      INFO("of " << of[lane] << " at " << x[lane]);
      CHECK(same_in_lane(out[lane], alone));
    }
  }
}

#include "dynamics/markov/lanes.hpp"

#include <cstddef>
#include <cstring>
#include <limits>

#include "dynamics/markov/formulas.hpp"
#include "popflow/pack.hpp"

namespace popflow::markov {

namespace {

/// Parameters with the optimal bias, and with a free one: a row for each number.
template <class Number>
struct Optimal {
  PairNumbers<Number> pairs;
  Number settled_low, settled_high;
  NoiseNumbers<Number> noise;
};
template <class Number>
struct Free {
  CoinNumbers<Number> coins;
  NoiseNumbers<Number> noise;
};

template <template <class> class Numbers>
constexpr std::size_t kRows = sizeof(Numbers<double>) / sizeof(double);

template <template <class> class Numbers, class Number>
POPFLOW_MATH_INLINE const Numbers<Number>& read(const Number* rows) {
  static_assert(sizeof(Numbers<Number>) == kRows<Numbers> * sizeof(Number));
  return *reinterpret_cast<const Numbers<Number>*>(rows);
}

template <class Number>
POPFLOW_MATH_INLINE ByLogits<Number> by_logits(const Optimal<Number>& of, const Number* x) {
  return by_logits(of.pairs, slope(x[0], acting(x[1])));
}
template <class Number>
POPFLOW_MATH_INLINE ByLogits<Number> by_logits(const Free<Number>& of, const Number* x) {
  const Number f0 = x[2] - x[0] * x[0] / 2;
  return by_logits(of.coins, f0, Number(f0 + slope(x[0], x[1])));
}

template <std::size_t entries, class Number>
POPFLOW_MATH_INLINE void descend(const ByState<Number>& by, Number* dxdt) {
  dxdt[0] = -by.e;
  dxdt[1] = -by.w;
  if constexpr (entries == 3) dxdt[2] = -by.b;
}

template <template <class> class Numbers, std::size_t entries>
constexpr auto kFlow = [](auto of, auto x, auto dxdt) POPFLOW_INLINED {
  const auto g = by_logits(read<Numbers>(of.data()), x.data());
  descend<entries>(gradient(g, x[0], acting(x[1])), dxdt);
};

template <template <class> class Numbers, std::size_t entries>
constexpr auto kFlowAndCovariance =
    [](auto of, auto x, auto dxdt, auto covariance) POPFLOW_INLINED {
      const auto& numbers = read<Numbers>(of);
      const auto g = by_logits(numbers, x);
      const auto f = logit_derivatives(x[0], acting(x[1]));
      descend<entries>(gradient(g, f), dxdt);
      const GradientCovariance c(numbers.noise, g, f);
      covariance[0] = c.template entry<0, 0>();
      covariance[1] = c.template entry<1, 0>();
      covariance[2] = c.template entry<1, 1>();
      if constexpr (entries == 3) {
        covariance[3] = c.template entry<2, 0>();
        covariance[4] = c.template entry<2, 1>();
        covariance[5] = c.template entry<2, 2>();
      }
    };

constexpr auto kOptimalEvents = [](auto of, auto x, auto values) POPFLOW_INLINED {
  const auto& numbers = read<Optimal>(of.data());
  values[0] = depth(slope(x[0], x[1]), numbers.settled_low, numbers.settled_high);
};

template <template <class> class Numbers, std::size_t entries>
LaneFormulas formulas(LaneFormula events) {
  return {{kRows<Numbers>, entries},
          in_lanes(kFlow<Numbers, entries>),
          in_lanes_with_covariance(kFlowAndCovariance<Numbers, entries>),
          events};
}

// ---- Observables of states of one chain: formulas may branch on the chain's numbers. The
// operations are those for a double, in the same order, and so are the bits.

/// a^2, exactly, as math::exact_product().
template <class Number>
POPFLOW_MATH_INLINE math::TwoTerms<Number> exact_square(const Number& a) {
  constexpr double kHalves = 0x1p27 + 1;
  const Number large = a * kHalves - (a * kHalves - a);
  const Number small = a - large;
  const Number square = a * a;
  return {square, small * small - (((square - large * large) - small * large) - large * small)};
}

/// math::hypot() of finite numbers.
template <class Number>
POPFLOW_MATH_INLINE Number hypot_of_finite(const Number& x, const Number& y) {
  const Number a = math::abs(x), b = math::abs(y);
  const auto swapped = a < b;
  const Number larger = math::select(swapped, b, a);
  const auto large = larger > 0x1p500, small = larger < 0x1p-400;
  const Number scale = math::select(large, 0x1p-600, math::select(small, Number(0x1p600), 1));
  const Number back = math::select(large, 0x1p600, math::select(small, Number(0x1p-600), 1));
  const Number c = larger * scale, d = math::select(swapped, a, b) * scale;
  const auto c2 = exact_square(c), d2 = exact_square(d);
  const Number high = c2.high + d2.high;
  const Number low = (c2.high - high) + d2.high;
  const Number root = math::sqrt(high);
  const auto square = exact_square(root);
  const Number left = ((high - square.high) - square.low) + (low + (c2.low + d2.low));
  return math::select(root > 0, (root + left / (2 * root)) * back, root);
}

struct OptimalObservables {
  template <std::size_t width>
  static constexpr bool takes = true;
  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const Chain& chain, const double* x, double* values) {
    using Number = BasicPack<width>;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const Number& e = reinterpret_cast<const Number*>(x)[0];
    const Number& w = reinterpret_cast<const Number*>(x)[1];
    auto* const out = reinterpret_cast<Number*>(values);

    const PairNumbers<double> of = pair_numbers(chain);
    const Number s = slope(e, w);
    const PairsAt at(of, s);
    const Number change = at.change(), stay0 = at.stay0(), stay1 = at.stay1(), g1 = at.g1();
    const Number excess = excess_of_pairs(chain, change, stay0, stay1, g1);
    out[0] = chain.entropy_rate + excess;
    out[1] = excess;

    const Number log_w = math::log(math::abs(w));
    out[2] = math::select(w == 0, std::numeric_limits<double>::quiet_NaN(),
                          e * e - w * w - math::select(w > 0, log_w, -log_w));
    out[3] = s;
    const LogitsAtSlope<Number> logits = logits_at(chain, s);
    out[4] = sigmoid(logits.f0);
    out[5] = sigmoid(Number(-logits.f1));
    const ByState<Number> by = gradient(ByLogits<Number>{-g1, g1}, e, acting(w));
    out[6] = hypot_of_finite(by.e, by.w);  // hypot(x, 0) is x

    const auto pairs = change > kVanishingPair && stay0 > kVanishingPair && stay1 > kVanishingPair;
    const auto finite = math::abs(by.e) < kInfinity && math::abs(by.w) < kInfinity;
    out[kOptimalObservables] = math::select(at.regular() && pairs && finite, Number(1), 0);
  }
};

NoiseNumbers<double> noise_of_lanes(const Chain& chain, const PathSums& sums) {
  NoiseNumbers<double> noise = noise_numbers(chain, sums);
  for (double* variance : {&noise.of0, &noise.of1, &noise.both}) *variance /= noise.square;
  return noise;
}

template <class Numbers>
void write(const Numbers& numbers, std::span<double> rows) {
  std::memcpy(rows.data(), &numbers, sizeof numbers);
}

}  // namespace

const LaneFormulas& optimal_lanes() {
  static const LaneFormulas all = formulas<Optimal, 2>(in_lanes(kOptimalEvents));
  return all;
}

const LaneFormulas& free_lanes() {
  static const LaneFormulas all = formulas<Free, 3>(nullptr);
  return all;
}

void observe_optimal_lanes(const Chain& chain, const double* x, double* values) {
  static const auto widest =
      lanes::widest<OptimalObservables, const Chain&, const double*, double*>();
  widest(chain, x, values);
}

void optimal_parameters(const Chain& chain, const PathSums& sums, const SlopeRange& settled,
                        std::span<double> of) {
  write(
      Optimal<double>{pair_numbers(chain), settled.low, settled.high, noise_of_lanes(chain, sums)},
      of);
}

void free_parameters(const Chain& chain, const PathSums& sums, std::span<double> of) {
  write(Free<double>{coin_numbers(chain), noise_of_lanes(chain, sums)}, of);
}

}  // namespace popflow::markov

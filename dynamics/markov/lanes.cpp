#include "dynamics/markov/lanes.hpp"

#include <cstddef>
#include <cstring>

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

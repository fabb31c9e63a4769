#include "dynamics/scb/lanes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "popflow/pack.hpp"

namespace popflow::scb {

namespace {

constexpr std::size_t kParameters = 6, kEntries = 3;

template <class Number>
POPFLOW_MATH_INLINE SignalProblem<Number> problem_of(std::span<const Number> of) {
  return {{of[0], of[1], of[2]}, {of[3], of[4]}, of[5]};
}

constexpr auto flow = [](auto of, auto x, auto dxdt) {
  const auto problem = problem_of(of);
  const ValueScalars V{x[0], x[1]};
  const auto alpha = x[2];
  const auto rates = rates_of(V, problem.attention.q(alpha), problem.attention.two(alpha));
  dxdt[0] = rates.alpha;
  dxdt[1] = rates.rho;
  dxdt[2] = rate_of(alpha, problem.value.PV(V), problem.value.VV(V));
};

constexpr auto events = [](auto of, auto x, auto values) {
  const auto problem = problem_of(of);
  const auto signals = signal_state(problem.value.PV({x[0], x[1]}), problem.attention.signal(x[2]),
                                    problem.value.K_P, problem.attention.kappa, problem.T);
  values[0] = boosted(signals);
  values[1] = aligned(signals);
  values[2] = fast_phase_end(signals);
};

}  // namespace

const LaneFormulas& signal_lanes() {
  static const LaneFormulas formulas{
      {kParameters, kEntries}, in_lanes(flow), nullptr, in_lanes(events)};
  return formulas;
}

void signal_parameters(const SignalProblem<double>& problem, std::span<double> of) {
  const auto& [value, attention, T] = problem;
  const std::array<double, kParameters> all = {value.x,           value.y,         value.K_P,
                                               attention.uniform, attention.kappa, T};
  std::ranges::copy(all, of.begin());
}

}  // namespace popflow::scb

#pragma once

#include <Eigen/Core>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "dynamics/markov/system.hpp"
#include "popflow/flow_driver.hpp"

/// Chains, states and runs of the markov system.
namespace popflow::markov::test {

struct PQ {
  double p = 0, q = 0;
};

/// Chains with correlation of either sign, lopsided either way, nearly independent, and nearly
/// frozen.
inline const std::vector<PQ> kChains = {{0.2, 0.3},   {0.7, 0.8},  {0.663, 0.872}, {0.9, 0.05},
                                        {0.02, 0.6},  {0.4, 0.4},  {0.5, 0.499},   {0.999, 0.998},
                                        {1e-6, 1e-4}, {0.35, 0.75}};

inline Workers& pool() {
  static Workers workers(1);
  return workers;
}

inline Markov optimal(const PQ& of, double e0, double w0, const Sampling& sampling = {}) {
  return {Chain(of.p, of.q), false, {e0, w0, 0}, {}, sampling, pool()};
}
inline Markov free_bias(const PQ& of, double e0, double w0, double b0,
                        const Sampling& sampling = {}) {
  return {Chain(of.p, of.q), true, {e0, w0, b0}, {}, sampling, pool()};
}

template <class Vector>
std::span<const double> numbers_of(const Eigen::PlainObjectBase<Vector>& x) {
  return {x.data(), static_cast<std::size_t>(x.size())};
}

inline Eigen::VectorXd rhs(const System& system, const Eigen::VectorXd& x) {
  Eigen::VectorXd dxdt(x.size());
  system.rhs(numbers_of(x), 0, {dxdt.data(), static_cast<std::size_t>(x.size())});
  return dxdt;
}

inline std::map<std::string, double> observe(const System& system, const Eigen::VectorXd& x) {
  std::vector<double> values(system.info().observables.size());
  system.observe(numbers_of(x), 0, values);
  std::map<std::string, double> named;
  for (std::size_t i = 0; i < values.size(); ++i)
    named[system.info().observables[i].name] = values[i];
  return named;
}

/// Returns the recorded b.
inline double recorded_bias(const System& system, const Eigen::VectorXd& x) {
  double bias = 0;
  system.field("b", numbers_of(x), 0,
               [&](std::size_t, std::span<const double> values) { bias = values[0]; });
  return bias;
}

/// A run from the system's start to a time.
struct Run {
  Run(const Markov& system, double end, FlowDriver::Options options = {})
      : workers(1), driver(system, workers, std::move(options)) {
    how = driver.advance(end).kind;
    x = Eigen::Map<const Eigen::VectorXd>(driver.state().data(),
                                          static_cast<Eigen::Index>(driver.state().size()));
    outcome = system.outcome(numbers_of(x), end);
  }
  Workers workers;
  FlowDriver driver;
  popflow::Outcome::Kind how;
  Eigen::VectorXd x;
  std::string outcome;
};

}  // namespace popflow::markov::test

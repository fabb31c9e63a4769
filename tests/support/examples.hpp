#pragma once

#include <memory>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/system.hpp"
#include "popflow/workers.hpp"
#include "support/make_system.hpp"

namespace popflow::test {

/// Variant of a system: one line of tests/dynamics/NAME/examples.txt.
struct Example {
  std::string system;
  std::vector<std::string> words;  ///< words after `popflow run NAME`
  [[nodiscard]] std::string text() const;
};

/// Returns the examples of all systems that ship with popflow. Fails the test if a system has none.
std::vector<Example> examples();
/// Returns examples with a noisy mode, for systems with a tests/dynamics/NAME/noisy.txt.
std::vector<Example> noisy_examples();

/// Returns whether slow tests take all of their cases: $POPFLOW_ALL_CASES, which scripts/nightly
/// sets.
bool all_cases();
/// Returns a third of the cases of a slow test, or all of them if all_cases().
std::vector<Example> some(const std::vector<Example>& cases);

/// An example's system with the options for its driver.
struct Built {
  explicit Built(const Example& example, unsigned threads = 1);
  /// View of x with the regime of the start.
  [[nodiscard]] StateView view(std::span<const double> x) const { return {x, regime}; }
  RunConfig config;
  Workers workers;
  std::unique_ptr<System> system;
  double end = 0;                 ///< --t-end, or the system's default
  FlowDriver::Options options{};  ///< method, tolerances, dt

  Regime regime;  ///< regime of the start

  [[nodiscard]] std::vector<double> start() const;
  [[nodiscard]] std::vector<double> rhs(StateView x, double t) const;
  [[nodiscard]] std::vector<double> observe(StateView x, double t) const;
};

}  // namespace popflow::test

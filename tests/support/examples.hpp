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

/// A variant of a system: a line of tests/dynamics/NAME/examples.txt.
struct Example {
  std::string system;
  std::vector<std::string> words;  ///< after `popflow run NAME`
  [[nodiscard]] std::string text() const;
};

/// Examples of all systems that ship with popflow; a system without any fails the test.
std::vector<Example> examples();
/// Examples with a noisy mode, from the systems that have a tests/dynamics/NAME/noisy.txt.
std::vector<Example> noisy_examples();

/// System of an example, with its options for the driver.
struct Built {
  explicit Built(const Example& example, unsigned threads = 1);
  /// View of x in the regime of the start.
  [[nodiscard]] StateView view(std::span<const double> x) const { return {x, regime}; }
  RunConfig config;
  Workers workers;
  std::unique_ptr<System> system;
  double end = 0;                 ///< --t-end, or the system's own
  FlowDriver::Options options{};  ///< method, tolerances, dt

  Regime regime;  ///< of the start

  [[nodiscard]] std::vector<double> start() const;
  [[nodiscard]] std::vector<double> rhs(StateView x, double t) const;
  [[nodiscard]] std::vector<double> observe(StateView x, double t) const;
};

}  // namespace popflow::test

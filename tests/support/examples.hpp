#pragma once

#include <memory>
#include <string>
#include <vector>

#include "popflow/flow_driver.hpp"
#include "popflow/run_config.hpp"
#include "popflow/system.hpp"
#include "popflow/workers.hpp"

namespace popflow::test {

/// A variant of a system: a line of tests/dynamics/NAME/examples.txt.
struct Example {
  std::string system;
  std::vector<std::string> words;  ///< after `popflow run NAME`
  [[nodiscard]] std::string text() const;
};

/// Those of all registered systems; a system without any fails the test.
std::vector<Example> examples();
/// Those with a noisy mode, of the systems that have a tests/dynamics/NAME/noisy.txt.
std::vector<Example> noisy_examples();

/// An example's system, with what its options ask of the driver.
struct Made {
  explicit Made(const Example& example, unsigned threads = 1);
  RunConfig config;
  Workers workers;
  std::unique_ptr<System> system;
  double end = 0;                 ///< --t-end, or the system's own
  FlowDriver::Options options{};  ///< method, tolerances, dt

  [[nodiscard]] std::vector<double> start() const;
  [[nodiscard]] std::vector<double> rhs(const std::vector<double>& x, double t) const;
  [[nodiscard]] std::vector<double> observe(std::span<const double> x, double t) const;
};

}  // namespace popflow::test

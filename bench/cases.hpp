#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/state.hpp"
#include "popflow/systems.hpp"
#include "run/last_state.hpp"

namespace popflow::bench {

/// An scb problem with a state in the middle of its flow, so that nothing is zero.
struct Case {
  Workers workers;
  RunConfig config;
  std::unique_ptr<System> system;
  State x, dxdt;

  explicit Case(const std::vector<std::string>& words)
      : config(parse_run(systems().info("scb"), words)) {
    system = make_system(config, systems(), workers).system;
    x.resize(system->shape().state_size());
    dxdt.resize(x.size());
    system->start(x);
    std::fill(dxdt.begin(), dxdt.end(), 0.0);
    const auto T = static_cast<std::size_t>(config.own.integer("context-length"));
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] += 0.1 / static_cast<double>(T) * static_cast<double>(i % 17);
    if (config.own.word("coordinates") != "full") return;
    // The second pass corrects the rounding errors of the first.
    for (int pass = 0; pass < 2; ++pass) conserve_sums(T);
  }

  /// Shifts every attention column so that its weights sum to 1, as on the flow.
  void conserve_sums(std::size_t T) {
    const std::ptrdiff_t attention = config.own.integer("vocab-size") * static_cast<long>(T);
    for (double* column = x.end() - attention; column != x.end(); column += T) {
      const double mean = std::accumulate(column, column + T, 0.0) / static_cast<double>(T);
      for (std::size_t i = 0; i < T; ++i) column[i] -= mean;
    }
  }
};

/// The paper's largest simulated size, 5e7 attention weights.
inline Case& paper_size() {
  static Case instance({"--vocab-size", "500", "--context-length", "100000", "--sparsity", "3"});
  return instance;
}

}  // namespace popflow::bench

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "popflow/registry.hpp"
#include "popflow/run_config.hpp"
#include "popflow/state.hpp"

namespace popflow::bench {

/// An scb problem with a state in the middle of its flow, so that nothing is zero.
struct Case {
  Workers workers;
  RunConfig config;
  std::unique_ptr<System> system;
  State x, dxdt;

  explicit Case(const std::vector<std::string>& words) : config(parse_run("scb", words)) {
    system = find_system("scb").make({config.own, config.options, workers});
    x.resize(system->shape().state_size());
    dxdt.resize(x.size());
    system->start(x);
    const double scale = 0.1 / static_cast<double>(config.own.integer("context-length"));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += scale * static_cast<double>(i % 17);
    std::fill(dxdt.begin(), dxdt.end(), 0.0);
  }
};

/// The paper's largest simulated size, 5e7 attention weights.
inline Case& paper_size() {
  static Case instance({"--vocab-size", "500", "--context-length", "100000", "--sparsity", "3"});
  return instance;
}

}  // namespace popflow::bench

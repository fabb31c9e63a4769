#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "dynamics/joma_joint/spectrum.hpp"
#include "popflow/state_view.hpp"
#include "popflow/workers.hpp"

namespace popflow::joma_joint {

/// Cache for the most recent state: how far a Flow has been evaluated there, and quantities derived
/// from it.
class StateCache {
 public:
  /// Whether the cached state is x. Compares bits, so that a cached value equals a recomputed one.
  [[nodiscard]] bool at(StateView x, Workers& workers) const {
    return valid_ && x_.size() == x.size() && std::ranges::equal(regime_, x.regime) &&
           same(x, workers);
  }
  /// Makes x the cached state, with nothing else known.
  void move_to(StateView x, Workers& workers) {
    x_.resize(x.size());
    in_stretches(workers, x.size(), [&](std::size_t first, std::size_t number) {
      std::copy_n(x.data() + first, number, x_.data() + first);
      return true;
    });
    regime_.assign(x.regime.begin(), x.regime.end());
    attended = evaluated = false;
    dz.reset();
    entropy.reset();
    leading.reset();
    rank.reset();
    valid_ = true;
  }

  bool attended = false;              ///< whether the Flow's attention belongs to x
  bool evaluated = false;             ///< whether the Flow's other quantities belong to x, too
  std::optional<Eigen::VectorXd> dz;  ///< velocity of the logits
  std::optional<double> entropy;
  std::optional<LeadingTriplet> leading;
  std::optional<double> rank;  ///< height of an event

 private:
  /// Whether part(first, number) returns true for all sections of the state.
  template <class Part>
  static bool in_stretches(Workers& workers, std::size_t size, const Part& part) {
    constexpr std::size_t kStretch = std::size_t{1} << 13;
    std::atomic<bool> all{true};
    workers.run((size + kStretch - 1) / kStretch, size, [&](std::size_t task) {
      const std::size_t first = task * kStretch;
      if (all.load(std::memory_order_relaxed) && !part(first, std::min(kStretch, size - first)))
        all.store(false, std::memory_order_relaxed);
    });
    return all.load();
  }
  [[nodiscard]] bool same(StateView x, Workers& workers) const {
    return in_stretches(workers, x.size(), [&](std::size_t first, std::size_t number) {
      return std::memcmp(x_.data() + first, x.data() + first, number * sizeof(double)) == 0;
    });
  }

  bool valid_ = false;
  std::vector<double> x_, regime_;
};

}  // namespace popflow::joma_joint

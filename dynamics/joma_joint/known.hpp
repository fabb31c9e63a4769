#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "dynamics/joma_joint/spectrum.hpp"
#include "popflow/state_view.hpp"
#include "popflow/workers.hpp"

namespace popflow::joma_joint {

/// The state that was asked about last, how far a Flow has been evaluated there, and what has been
/// found besides.
class Known {
 public:
  /// Is it x? By its bits: what is found again is what would be computed again.
  [[nodiscard]] bool at(StateView x) const {
    return valid_ && same(x_, {x.data(), x.size()}) && same(regime_, x.regime);
  }
  /// Now it is x, of which nothing else is known yet.
  void move_to(StateView x, Workers& workers) {
    x_.resize(x.size());
    constexpr std::size_t kStretch = std::size_t{1} << 15;
    workers.run((x.size() + kStretch - 1) / kStretch, x.size(), [&](std::size_t task) {
      const std::size_t first = task * kStretch;
      std::copy_n(x.data() + first, std::min(kStretch, x.size() - first), x_.data() + first);
    });
    regime_.assign(x.regime.begin(), x.regime.end());
    attended = evaluated = false;
    dz.reset();
    entropy.reset();
    leading.reset();
    rank.reset();
    valid_ = true;
  }

  bool attended = false;              ///< the Flow's attention is that of x
  bool evaluated = false;             ///< and so is the rest
  std::optional<Eigen::VectorXd> dz;  ///< the velocity of the logits
  std::optional<double> entropy;
  std::optional<Leading> leading;
  std::optional<double> rank;  ///< as the height of an event

 private:
  static bool same(const std::vector<double>& a, std::span<const double> b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
  }

  bool valid_ = false;
  std::vector<double> x_, regime_;
};

}  // namespace popflow::joma_joint

#pragma once

#include <array>
#include <vector>

#include "popflow/system.hpp"
#include "steppers/dopri5_tableau.hpp"
#include "steppers/extension.hpp"

namespace popflow {

/// One step of a flow, to be looked into.
class StepWithin {
 public:
  explicit StepWithin(std::size_t entries)
      : x(entries),
        x_new(entries),
        slopes(entries),
        inner_{State(entries), State(entries)},
        between_(entries) {}

  // What the step is, to be filled by the caller.
  State x, x_new;
  std::vector<std::array<double, dopri5::kStages>> slopes;

  /// Of length h from t, when the above have been filled.
  void extend(const System& system, double t, double h) {
    h_ = h;
    for (std::size_t place = 0; place < kQuinticPlaces.size(); ++place) {
      for (std::size_t i = 0; i < x.size(); ++i)
        between_[i] = dopri5::between(x[i], x_new[i], h, slopes[i], kQuinticPlaces[place]);
      system.rhs({between_, {}}, t + kQuinticPlaces[place] * h, inner_[place]);
    }
  }
  /// The state after a fraction of the step.
  StateView at(double part) {
    const ExtensionWeights<4> w = kQuintic.at(part);
    for (std::size_t i = 0; i < x.size(); ++i)
      between_[i] =
          w.state(x[i], x_new[i], h_, {slopes[i][0], inner_[0][i], inner_[1][i], slopes[i][6]});
    return {between_, {}};
  }

 private:
  std::array<State, 2> inner_;
  State between_;
  double h_ = 0;
};

}  // namespace popflow

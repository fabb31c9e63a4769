#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "popflow/lane_formula.hpp"

namespace popflow {

struct LaneFormulas;

/// A training rule in lanes. The rows of its parameters follow those of the System's parameters,
/// and the rows of its moments those of the System's entries.
class LaneTraining {
 public:
  virtual ~LaneTraining() = default;
  /// Number of rows that the rule adds.
  [[nodiscard]] virtual LaneSizes sizes() const = 0;
  /// Whether flows under this rule and under `other` can share a batch.
  [[nodiscard]] virtual bool same(const LaneTraining& other) const = 0;
  /// Writes dx/dt of all rows at the times `t` of the lanes.
  virtual void flow(const LaneFormulas& formulas, const double* of, const double* t,
                    const double* x, double* dxdt) const = 0;
  /// Takes a step of length h from time t in all lanes: of the rule's SDE or, if `descends`, of the
  /// discrete rule with Gaussian gradients. `f` and `covariance` are those of the System at x.
  /// `noise` holds sqrt(eta/B) C^(1/2) dW, and `squares` holds standard normals for the noise of
  /// squared gradients. `steps` is the number of steps taken before.
  virtual void noisy_step(const LaneFormulas& formulas, const double* of, double t, double h,
                          std::int64_t steps, bool descends, const double* f,
                          const double* covariance, const double* noise, const double* squares,
                          double* x) const = 0;
};

/// Formulas of a System for kLanes independent trajectories at once. Arrays consist of rows of
/// kLanes numbers, one row for each entry of the state, parameter, event or passage; number l of
/// every row belongs to trajectory l. The result in a lane depends neither on the other lanes nor
/// on the processor's instruction set. No formula depends on time, but a training rule may.
///
/// The formulas agree with the System's functions to rounding for states with finite entries; for
/// other states they may return anything, but must not trap.
struct LaneFormulas {
  LaneSizes sizes;
  LaneFormula flow = nullptr;  ///< writes dx/dt
  /// Null if the System has no covariance, or has events that are extrema.
  LaneCovarianceFormula flow_and_covariance = nullptr;
  /// Writes Events::event_functions(), followed, if any event is an extremum, by
  /// Events::event_height() of each. Null if there are no events.
  LaneFormula events = nullptr;
  LaneFormula passages = nullptr;  ///< Events::passage_functions(); null where there are none

  /// The rule that trains the System; null: plain SGD at a constant rate.
  std::shared_ptr<const LaneTraining> training = {};

  /// Number of rows of the state, and of the parameters, including those of the rule.
  [[nodiscard]] std::size_t entries() const {
    return sizes.entries + (training ? training->sizes().entries : 0);
  }
  [[nodiscard]] std::size_t parameters() const {
    return sizes.parameters + (training ? training->sizes().parameters : 0);
  }
  bool operator==(const LaneFormulas& other) const {
    return sizes == other.sizes && flow == other.flow &&
           flow_and_covariance == other.flow_and_covariance && events == other.events &&
           passages == other.passages &&
           (training && other.training ? training->same(*other.training)
                                       : training == other.training);
  }
};

/// A small System whose formulas exist for several trajectories at once. It must have no regimes
/// and no proximal term. The function of an event that waits for another event is evaluated from
/// the start, but only watched once the other has happened.
class InLanes {
 public:
  virtual ~InLanes() = default;
  /// Systems with the same formulas can share a batch: they differ only in their parameters.
  [[nodiscard]] virtual const LaneFormulas& lane_formulas() const = 0;
  /// Writes this System's parameters.
  virtual void lane_parameters(std::span<double> of) const = 0;
};

}  // namespace popflow

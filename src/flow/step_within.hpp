#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "flow/partial_steps.hpp"
#include "popflow/system.hpp"
#include "steppers/dense_output.hpp"
#include "steppers/flow_methods.hpp"

namespace popflow {

/// States within a step of a flow in a lane. As in FlowDriver, they come from the method's dense
/// output, or from shorter steps if the step is too long for dense output.
class StepWithin {
 public:
  /// `stages`: number of slopes of a step; `ends_with_stage`: whether the last stage is the slope
  /// at the end of the step.
  StepWithin(const FlowMethod& method, std::size_t entries, std::size_t stages,
             bool ends_with_stage);

  // Both ends of the step, filled by the caller.
  State x, x_new;
  std::vector<State> slopes;  ///< slopes of the stages

  /// Begins with the step of length h from t, once the fields above are filled. The System and the
  /// tolerance must outlive the use of this object.
  void begin(const System& system, const Tolerance& tolerance, bool jumps, double t, double h);
  /// State after a fraction of the step.
  StateView at(double part);
  /// State to be recorded after a fraction of the step.
  const State& record(double part);
  /// Degree of the dense output.
  [[nodiscard]] int degree() const { return dense_->degree(); }

 private:
  [[nodiscard]] DenseOutput::Step step() const;
  using Prepare = bool (DenseOutput::*)(const DenseOutput::Step&, const DenseOutput::Slope&,
                                        const Tolerance&, State&);
  bool prepare(Prepare by);
  /// Stepper of the method for a single trajectory.
  Stepper& stepper();

  const FlowMethod& method_;
  bool ends_with_stage_;
  Workers alone_{1};
  std::unique_ptr<DenseOutput> dense_;
  std::vector<State*> stages_;  ///< pointers to `slopes`
  State last_;                  ///< slope at x_new, if no stage provides it
  State between_;
  // Whether the step has dense output, and dense output for records; empty until asked.
  std::optional<bool> dense_output_, record_;

  const System* system_ = nullptr;
  const Tolerance* tolerance_ = nullptr;
  bool jumps_ = false;
  double t_ = 0;
  double h_ = 0;

  // For methods without dense output.
  Regime no_regime_;
  std::optional<Rhs> rhs_;
  std::unique_ptr<Stepper> stepper_;
  PartialSteps partial_;
};

}  // namespace popflow

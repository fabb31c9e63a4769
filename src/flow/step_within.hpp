#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "flow/partial_steps.hpp"
#include "popflow/system.hpp"
#include "steppers/dense_output.hpp"
#include "steppers/flow_methods.hpp"

namespace popflow {

/// States within a step that a flow took in a lane: by the dense output of the method, or by
/// shorter steps of it where the step is too long for that, as FlowDriver has them.
class StepWithin {
 public:
  /// `stages`: the slopes of a step; `ends_with_stage`: is the last of them that at its end?
  StepWithin(const FlowMethod& method, std::size_t entries, std::size_t stages,
             bool ends_with_stage);

  // The step, to be filled by the caller.
  State x, x_new;
  std::vector<State> slopes;  ///< of the stages

  /// Begins with the step of length h from t, when the above have been filled. The System and the
  /// tolerance must outlive its use.
  void begin(const System& system, const Tolerance& tolerance, bool jumps, double t, double h);
  /// The state after a fraction of the step.
  StateView at(double part);
  /// Degree of the dense output.
  [[nodiscard]] int degree() const { return dense_->degree(); }

 private:
  [[nodiscard]] DenseOutput::Step step() const;
  /// The method for a trajectory alone.
  Stepper& stepper();

  const FlowMethod& method_;
  bool ends_with_stage_;
  Workers alone_{1};
  std::unique_ptr<DenseOutput> dense_;
  std::vector<State*> stages_;  ///< the states in `slopes`
  State last_;                  ///< slope at x_new, unless a stage has it
  State between_;
  bool has_dense_output_ = false;

  const System* system_ = nullptr;
  const Tolerance* tolerance_ = nullptr;
  bool jumps_ = false;
  double t_ = 0;
  double h_ = 0;

  // For steps without dense output.
  Regime no_regime_;
  std::optional<Rhs> rhs_;
  std::unique_ptr<Stepper> stepper_;
  PartialSteps partial_;
};

}  // namespace popflow

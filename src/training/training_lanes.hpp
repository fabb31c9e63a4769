#pragma once

#include "popflow/lanes.hpp"
#include "training/training_plan.hpp"
#include "training/weight_average.hpp"

namespace popflow {

/// Training rule in lanes, with its own parameters in each lane: RuleNumbers, then the batch size
/// if the variance of the gradient comes from the System's covariance, then the share of the
/// weights' average.
class TrainingLanes final : public LaneTraining {
 public:
  /// For a System with `entries` numbers. `rates` are the factors of the entries, or empty.
  TrainingLanes(const TrainingPlan& plan, std::size_t entries, std::vector<double> rates);

  [[nodiscard]] LaneSizes sizes() const override;
  [[nodiscard]] bool same(const LaneTraining& other) const override;
  void flow(const LaneFormulas& formulas, const double* of, const double* t, const double* x,
            double* dxdt) const override;
  void noisy_step(const LaneFormulas& formulas, const double* of, double t, double h,
                  std::int64_t steps, bool descends, const double* f, const double* covariance,
                  const double* noise, const double* squares, double* x) const override;
  /// Writes the parameters of the plan for a flow.
  static void write_numbers(const TrainingPlan& plan, std::span<double> of);

 private:
  [[nodiscard]] RuleRows rows(const double* of) const;
  /// Writes the factors on the learning rates at the times of the lanes.
  void write_schedule(const double* t, double* s) const;
  /// Average of the weights in a lane.
  static WeightAverage average(const double* numbers, std::size_t lane);
  /// Places of the average's rows in a state.
  [[nodiscard]] std::size_t average_at() const {
    return (entries_ + rule_->memory() * entries_) * kLanes;
  }
  /// Moves the average, in the state x, at the end of a step of length h.
  void follow(const double* numbers, double h, double* x) const;
  /// Writes the variances of the mean over a minibatch.
  void write_variances(const double* of, const double* covariance, double* d) const;

  const UpdateRule* rule_;
  RateSchedule schedule_;
  std::size_t entries_;
  std::vector<double> rates_;
  bool has_variance_;
  bool averages_;
};

}  // namespace popflow

#include <algorithm>
#include <cmath>

#include "popflow/math.hpp"
#include "steppers/algebra.hpp"
#include "steppers/dense_output.hpp"
#include "steppers/within_step.hpp"

namespace popflow {

namespace {

using Operations = boost::numeric::odeint::default_operations;

constexpr std::size_t kPlaces = kSepticPlaces.size();
/// More sweeps would cost as much as locating by steps.
constexpr int kMostSweeps = 6;
// Allowed change by the next sweep, and allowed truncation error of the polynomial, in units of the
// tolerance. Neither error accumulates from step to step.
constexpr double kEnough = 0.25;
constexpr double kMostTruncation = 2;

/// Largest weight of an inner slope anywhere in the step.
constexpr double largest_weight(std::size_t inner) {
  double largest = 0;
  for (int i = 1; i < 64; ++i) {
    const double weight = kSeptic.at(i / 64.0).slopes[inner + 1];
    largest = std::max(largest, weight < 0 ? -weight : weight);
  }
  return largest;
}
constexpr std::array<double, kPlaces> kLargestWeights = {largest_weight(0), largest_weight(1),
                                                         largest_weight(2), largest_weight(3)};

/// Place of the check of the truncation error. The first term that the polynomial is missing is
/// zero at both ends; its slope is zero at all places and, by symmetry, in the middle. Between two
/// places, the difference between the polynomial's slope and the right-hand side at its state
/// therefore estimates that term.
constexpr double kCheck = 1.0 / 12;
constexpr double slope_of_missing_term(double part) {
  double slope = (part - 0.5) * part * (part - 1);
  for (const double place : kSepticPlaces) slope *= part - place;
  return slope;
}
/// Largest value of the missing term if its slope at kCheck is 1.
constexpr double largest_missing_term() {
  constexpr int kPieces = 600;
  double value = 0;
  double largest = 0;
  for (int i = 0; i < kPieces; ++i) {
    value += slope_of_missing_term((i + 0.5) / kPieces) / kPieces;
    largest = std::max(largest, value < 0 ? -value : value);
  }
  const double at_check = slope_of_missing_term(kCheck);
  return largest / (at_check < 0 ? -at_check : at_check);
}
constexpr double kTruncation = largest_missing_term();

class SepticOutput : public DenseOutput {
 public:
  SepticOutput(Workers& workers, std::optional<SepticStages> stages)
      : workers_(workers), stages_(stages) {}

  bool prepare(const Step& step, const Slope& slope, const Tolerance& tolerance,
               State& scratch) override {
    if (stages_)
      take_slopes_of_stages(step);
    else
      take_slopes_on_cubic(step, slope, scratch);
    return refine(step, slope, tolerance, scratch);
  }

  void at(const Step& step, double part, State& out) const override {
    within_step::septic(workers_, step.x, step.h, step.x_new, step.first, inner_, step.last, part,
                        out);
  }

  [[nodiscard]] int degree() const override { return 7; }

 private:
  void take_slopes_of_stages(const Step& step) {
    for (std::size_t i = 0; i < kPlaces; ++i) {
      State& of_stage = *step.stages[(*stages_)[i]];
      inner_[i].resize(of_stage.size());
      inner_[i].swap(of_stage);
    }
  }
  void take_slopes_on_cubic(const Step& step, const Slope& slope, State& scratch) {
    for (std::size_t i = 0; i < kPlaces; ++i) {
      const double part = kSepticPlaces[i];
      within_step::cubic(workers_, step.x, step.h, step.x_new, step.first, step.last, part,
                         scratch);
      inner_[i].resize(step.x.size());
      slope(scratch, inner_[i], step.t + part * step.h);
    }
  }
  /// Returns false if the sweeps do not converge to the tolerance, or if the error of the
  /// polynomial exceeds it.
  bool refine(const Step& step, const Slope& slope, const Tolerance& tolerance, State& scratch);
  /// Largest change of the polynomial anywhere if a slope changes from a to b, times `weight`, in
  /// units of the tolerance.
  [[nodiscard]] double change(const Step& step, const Tolerance& tolerance, double weight,
                              const State& a, const State& b) const;
  [[nodiscard]] double truncation(const Step& step, const Slope& slope, const Tolerance& tolerance,
                                  State& scratch);

  Workers& workers_;
  std::optional<SepticStages> stages_;
  std::array<State, kPlaces> inner_;  ///< slopes at kSepticPlaces
  State slope_;
};

bool SepticOutput::refine(const Step& step, const Slope& slope, const Tolerance& tolerance,
                          State& scratch) {
  slope_.resize(step.x.size());
  double before = 0;
  for (int sweep = 1; sweep <= kMostSweeps; ++sweep) {
    double changed = 0;
    for (std::size_t i = 0; i < kPlaces; ++i) {
      const double part = kSepticPlaces[i];
      at(step, part, scratch);
      slope(scratch, slope_, step.t + part * step.h);
      changed += change(step, tolerance, kLargestWeights[i] * step.h, inner_[i], slope_);
      inner_[i].swap(slope_);
    }
    if (!std::isfinite(changed)) return false;
    // If the sweeps converge at the last rate, the next one changes the states by changed * ratio.
    const double ratio = sweep > 1 && changed < before ? changed / before : 1;
    if (changed * ratio <= kEnough)
      return truncation(step, slope, tolerance, scratch) <= kMostTruncation;
    if (sweep > 1 && changed * math::pow(ratio, kMostSweeps - sweep + 1) > kEnough) return false;
    before = changed;
  }
  return false;
}

double SepticOutput::change(const Step& step, const Tolerance& tolerance, double weight,
                            const State& a, const State& b) const {
  StepError norm{tolerance, step.x, step.x_new};
  ThreadedAlgebra(workers_).for_each3(norm, a, b, Operations::scale_sum2<double>(weight, -weight));
  return norm.value;
}

double SepticOutput::truncation(const Step& step, const Slope& slope, const Tolerance& tolerance,
                                State& scratch) {
  at(step, kCheck, scratch);
  slope(scratch, slope_, step.t + kCheck * step.h);
  const ExtensionWeights<kPlaces + 2> w = kSeptic.slope_at(kCheck);
  const double whole = kTruncation * step.h;
  const double by_end = kTruncation * w.end;
  StepError norm{tolerance, step.x, step.x_new};
  ThreadedAlgebra(workers_).for_each10(
      norm, slope_, step.x, step.x_new, step.first, inner_[0], inner_[1], inner_[2], inner_[3],
      step.last,
      Operations::scale_sum9<double>(
          whole, by_end, -by_end, -whole * w.slopes[0], -whole * w.slopes[1], -whole * w.slopes[2],
          -whole * w.slopes[3], -whole * w.slopes[4], -whole * w.slopes[5]));
  return norm.value;
}

}  // namespace

std::unique_ptr<DenseOutput> make_septic_output(Workers& workers,
                                                std::optional<SepticStages> stages) {
  return std::make_unique<SepticOutput>(workers, stages);
}

}  // namespace popflow

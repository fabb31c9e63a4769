#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "steppers/algebra.hpp"
#include "steppers/dense_output.hpp"

namespace popflow {

/// Dense output that is given by coefficients: extra stages, and the weights of all slopes as
/// polynomials of the place in the step. `Method` has these members:
///
/// - kDenseStages: stages of the step whose slopes are used; kStages is the slope at its end
/// - kExtraPlaces, kExtraWeights: places of the extra stages in the step, and the weights of the
///   slopes before each of them (those of kDenseStages, then those of earlier extra stages)
/// - kDenseWeights: for each slope, coefficients of the powers of 2 part - 1; the weight is their
///   sum times part
/// - kLargestDefect, if the step's error estimate does not bound the error within the step: largest
///   defect in the middle of the step, times its length, in units of the tolerance. The defect is
///   the difference between the polynomial's slope and the right-hand side at its state
template <class Method>
class StagesOutput : public DenseOutput {
 public:
  explicit StagesOutput(Workers& workers) : workers_(workers) {}

  bool prepare(const Step& step, const Slope& slope, const Tolerance& tolerance,
               State& scratch) override {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (add_stage<I>(step, slope, scratch), ...); }
    (std::make_index_sequence<kExtra>{});
    if constexpr (requires { Method::kLargestDefect; })
      return defect(step, slope, tolerance, scratch) <= Method::kLargestDefect;
    return true;
  }

  void at(const Step& step, double part, State& out) const override {
    std::array<double, kAll> weights = {};
    for (std::size_t i = 0; i < kAll; ++i) {
      double sum = 0;
      for (std::size_t n = Method::kDenseWeights[i].size(); n-- > 0;)
        sum = Method::kDenseWeights[i][n] + (2 * part - 1) * sum;
      weights[i] = part * sum;
    }
    combine(step, weights, out, std::make_index_sequence<kAll>{});
  }

  [[nodiscard]] int degree() const override {
    return static_cast<int>(Method::kDenseWeights[0].size());
  }

 private:
  static constexpr std::size_t kOfMethod = Method::kDenseStages.size();
  static constexpr std::size_t kExtra = Method::kExtraPlaces.size();
  static constexpr std::size_t kAll = kOfMethod + kExtra;

  template <std::size_t stage>
  void add_stage(const Step& step, const Slope& slope, State& scratch) {
    combine(step, Method::kExtraWeights[stage], scratch,
            std::make_index_sequence<kOfMethod + stage>{});
    extra_[stage].resize(step.x.size());
    slope(scratch, extra_[stage], step.t + Method::kExtraPlaces[stage] * step.h);
  }

  /// Defect in the middle of the step; NaN if it is not finite.
  double defect(const Step& step, const Slope& slope, const Tolerance& tolerance, State& scratch) {
    constexpr double kMiddle = 0.5;
    at(step, kMiddle, scratch);
    check_.resize(step.x.size());
    slope(scratch, check_, step.t + kMiddle * step.h);
    std::array<double, kAll> by = {};
    // In the middle, 2 part - 1 is 0: the weights' derivatives have two terms.
    for (std::size_t i = 0; i < kAll; ++i)
      by[i] = step.h * (Method::kDenseWeights[i][0] + Method::kDenseWeights[i][1]);
    StepError norm{tolerance, step.x, step.x_new};
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto op = [by, h = step.h](double& error, double right, auto... slopes) {
        error = (... + (by[I] * slopes)) - h * right;
      };
      ThreadedAlgebra(workers_).each(std::tie(norm, check_, slope_of<I>(step)..., op));
    }
    (std::make_index_sequence<kAll>{});
    return norm.value;
  }

  template <std::size_t i>
  [[nodiscard]] const State& slope_of(const Step& step) const {
    if constexpr (i >= kOfMethod)
      return extra_[i - kOfMethod];
    else if constexpr (Method::kDenseStages[i] == Method::kStages)
      return step.last;
    else
      return *step.stages[Method::kDenseStages[i]];
  }

  /// Writes x plus the weighted sum of the first slopes.
  template <std::size_t... I>
  void combine(const Step& step, const std::array<double, kAll>& weights, State& out,
               std::index_sequence<I...>) const {
    const std::array<double, sizeof...(I)> by = {step.h * weights[I]...};
    const auto op = [by](double& sum, double x, auto... slopes) {
      sum = x + (... + (by[I] * slopes));
    };
    out.resize(step.x.size());
    ThreadedAlgebra(workers_).each(std::tie(out, step.x, slope_of<I>(step)..., op));
  }

  Workers& workers_;
  std::array<State, kExtra> extra_;  ///< slopes of the extra stages
  State check_;                      ///< right-hand side at the polynomial's state
};

}  // namespace popflow

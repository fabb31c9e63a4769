#include "noise/trained_noise.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "noise/normals.hpp"
#include "noise/sde_methods.hpp"
#include "popflow/error.hpp"
#include "popflow/training.hpp"

namespace popflow {

namespace {

class TrainedNoise final : public NoiseModel {
 public:
  TrainedNoise(const System& system, Workers& workers, const SdeDriver::Options& options)
      : training_(system.capabilities().training),
        of_gradients_(make_noise(training_->trained(), workers, options)),
        descends_(options.method->steps == StepRule::learning_rate),
        options_(options),
        noise_(training_->trained().shape().state_size()),
        f_(noise_.size()) {
    if (options.method->needs_additive_noise())
      throw UsageError(
          "--method " + std::string(options.method->name) +
          " is valid only for plain SGD at a constant learning rate; use euler_maruyama");
    if (options.modified_equation == 2)
      throw UsageError(
          "--modified-equation 2 is valid only for plain SGD at a constant learning rate; use 1");
  }

  void add(StateView /*x*/, const PathStep& /*step*/, State& /*out*/) override {
    throw std::logic_error("a training rule takes its own steps: call step_in_place()");
  }

  bool step_in_place(const PathStep& step, State& x, const Regime& regime) override {
    const StateView own{std::span<const double>(x).first(f_.size()), regime};
    std::fill(noise_.begin(), noise_.end(), 0.0);
    of_gradients_->add(own, step, noise_);
    training_->trained().rhs(own, step.t, f_);
    if (descends_) {
      // Takes a step of the discrete rule with the gradient f + noise/h, whose covariance is C/B.
      for (std::size_t i = 0; i < f_.size(); ++i) f_[i] += noise_[i] / step.h;
      training_->step(x, step.t, step.h, static_cast<std::int64_t>(step.first) + 1, f_);
      return true;
    }
    if (training_->uses_squared_gradients()) draw_squares(step);
    training_->noisy_step(x, regime, step.t, step.h, f_, noise_, squares_);
    return true;
  }

  [[nodiscard]] std::int64_t samples() const override { return of_gradients_->samples(); }
  void set_samples(std::int64_t samples) override { of_gradients_->set_samples(samples); }

 private:
  void draw_squares(const PathStep& step) {
    squares_.assign(f_.size(), 0.0);
    drawn_.resize(f_.size());
    const double part = 1 / std::sqrt(static_cast<double>(step.parts));
    for (std::int64_t p = 0; p < step.parts; ++p) {
      NormalPart(options_.seed, options_.run, step.first + static_cast<std::uint64_t>(p),
                 Purpose::squares)
          .write(0, drawn_);
      for (std::size_t i = 0; i < drawn_.size(); ++i) squares_[i] += part * drawn_[i];
    }
  }

  Capability<Training> training_;
  std::unique_ptr<NoiseModel> of_gradients_;
  bool descends_;
  SdeDriver::Options options_;
  State noise_, f_;
  std::vector<double> squares_, drawn_;
};

}  // namespace

std::unique_ptr<NoiseModel> make_trained_noise(const System& system, Workers& workers,
                                               const SdeDriver::Options& options) {
  return std::make_unique<TrainedNoise>(system, workers, options);
}

}  // namespace popflow

#pragma once

#include <cstdint>
#include <memory>

#include "popflow/driver.hpp"
#include "popflow/system.hpp"
#include "popflow/workers.hpp"

namespace popflow {

/// Sampled stochastic gradient descent: x <- x + eta times the mean of `batch_size` sampled v_i
/// (minus gradients), then the proximal term, if any, with step eta. Flow time is t = eta step;
/// targets are rounded to the nearest whole step.
///
/// svag = l > 1 gives the interpolation between SGD and its SDE of Li, Malladi, Arora (2021), arXiv
/// 2102.12470: steps of eta/l along r+ g1 + r- g2, r+- = (1 +- sqrt(2l - 1))/2, with two
/// independent batches; t = (eta/l) step.
class SgdDriver : public Driver {
 public:
  struct Options {
    double learning_rate = 0.01;
    std::int64_t batch_size = 128;
    std::int64_t svag = 1;
    std::uint64_t seed = 1;
    std::uint32_t run = 0;
    std::int64_t max_steps = 0;  ///< after this many steps the run ends unfinished; 0: no limit
    DriverHooks hooks = {};
  };
  /// Throws UsageError if the System has no sampled model.
  SgdDriver(const System& system, Workers& workers, Options options);
  ~SgdDriver() override;

  /// Flow time of one step.
  static double step_length(const Options& options);

  [[nodiscard]] const State& state() const override;
  [[nodiscard]] const Regime& regime() const override;
  [[nodiscard]] double time() const override;
  [[nodiscard]] StepStatistics statistics() const override;
  [[nodiscard]] const IntervalSteps& interval() const override;
  [[nodiscard]] const std::vector<FoundEvent>& events() const override;
  [[nodiscard]] const std::vector<double>& passages() const override;
  [[nodiscard]] ResumePoint resume_point() const override;
  void restore(State x, Regime regime, double t, const DriverData& data) override;

 private:
  struct Internals;
  struct Pace;
  Outcome advance_to(double target) override;
  void step();
  [[nodiscard]] DriverData data() const;

  Options options_;
  std::unique_ptr<Internals> in_;
  std::int64_t steps_ = 0;   ///< steps taken
  std::int64_t rested_ = 0;  ///< steps skipped since the system came to rest
  bool arrived_ = true;      ///< whether the driver is at the last target
};

}  // namespace popflow

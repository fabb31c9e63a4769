#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "popflow/parameter.hpp"
#include "training/gradient_variance.hpp"
#include "training/rate_schedule.hpp"
#include "training/update_rules.hpp"

namespace popflow {

/// How the parameters are updated: a rule, its numbers and its schedule.
struct TrainingPlan {
  const UpdateRule* rule = nullptr;
  RuleNumbers<double> numbers = {.learning_rate = 0.01,
                                 .beta1 = 0.9,
                                 .beta2 = 0.999,
                                 .epsilon = 1e-8,
                                 .coupled = 0,
                                 .decoupled = 0,
                                 .taken = 0};
  RateSchedule schedule = {};
  /// How the rule knows of the gradient's noise; none: it does not, as at full batch.
  std::optional<GradientVariance::Options> variance = {};
  /// Factor on the length of steps, besides the schedule's: that of SVAG.
  double stretch = 1;
  std::vector<double> moments = {};  ///< at the start, m, then u; empty: 0
  bool records_moments = false;      ///< as fields m_FIELD and u_FIELD
  /// Factors on the learning rates of fields of the state, by name.
  std::vector<std::pair<std::string, double>> rates = {};

  [[nodiscard]] bool decays() const { return numbers.coupled > 0 || numbers.decoupled > 0; }
};

/// Makes the rule that of SVAG, of l steps in place of one, each with a gradient whose covariance
/// is l times as large (Li, Malladi, Arora 2021, arXiv 2102.12470). Momentum keeps its time scale
/// and the whole step of a gradient: beta' = beta^(1/l), eta' = (eta/l) (1 - beta')/(1 - beta).
/// Throws UsageError for rules other than SGD and momentum: Nesterov's step along the last
/// gradient, and its noise, vanish as l grows, and the squares of adaptive rules grow.
void interpolate_by_svag(TrainingPlan& plan, std::int64_t l);

/// Whether options of `run` ask for plain SGD at a constant rate, or have no such options.
bool is_plain(const Parameters& options);

/// The rule that options of `run` ask for; none where it is plain SGD at a constant rate, or where
/// there are no such options. Throws UsageError for what contradicts itself.
std::optional<TrainingPlan> training_plan(const Parameters& options);

}  // namespace popflow

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
                                 .decoupled = 0};
  RateSchedule schedule = {};
  /// How the rule knows of the gradient's noise; none: it does not, as at full batch.
  std::optional<GradientVariance::Options> variance = {};
  /// Factors on the learning rates of fields of the state, by name.
  std::vector<std::pair<std::string, double>> rates = {};

  [[nodiscard]] bool decays() const { return numbers.coupled > 0 || numbers.decoupled > 0; }
};

/// Whether options of `run` ask for plain SGD at a constant rate, or have no such options.
bool is_plain(const Parameters& options);

/// The rule that options of `run` ask for; none where it is plain SGD at a constant rate, or where
/// there are no such options. Throws UsageError for what contradicts itself.
std::optional<TrainingPlan> training_plan(const Parameters& options);

}  // namespace popflow

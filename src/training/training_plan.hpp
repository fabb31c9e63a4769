#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "training/gradient_variance.hpp"
#include "training/rate_schedule.hpp"
#include "training/update_rules.hpp"

namespace popflow {

/// Plan for the update of the parameters: a rule, its parameters and its schedule.
struct TrainingPlan {
  const UpdateRule* rule = nullptr;
  RuleNumbers<double> numbers = {.learning_rate = 0.01,
                                 .beta1 = 0.9,
                                 .beta2 = 0.999,
                                 .epsilon = 1e-8,
                                 .coupled = 0,
                                 .decoupled = 0,
                                 .steps_before = 0};
  RateSchedule schedule = {};
  /// Variance of the gradient that the rule takes into account. Empty: none, as at full batch.
  std::optional<GradientVariance::Options> variance = {};
  /// Factor of SVAG on the length of steps, in addition to the schedule.
  double step_factor = 1;
  std::vector<double> moments = {};  ///< moments at the start: m, then u; empty: 0
  bool moments_of_file = false;      ///< whether the moments continue those of --init-from
  /// Whether the file of --init-from also gives numbers.steps_before.
  bool steps_of_file = false;
  bool records_moments = false;   ///< whether moments are recorded as fields m_FIELD and u_FIELD
  bool takes_steps = false;       ///< whether the run takes steps of the discrete rule
  double clip_norm = 0;           ///< largest norm of the gradient; 0: any
  double average = 0;             ///< share A of the weights' average; 0: there is no average
  double momentum = 0.9;          ///< decay rate of the momentum that `muon` orthogonalises
  bool by_newton_schulz = false;  ///< whether `muon` orthogonalises approximately
  /// Factors on the learning rates of fields of the state, by field name.
  std::vector<std::pair<std::string, double>> rates = {};

  bool operator==(const TrainingPlan&) const = default;
  /// Whether steps depend on the norm or the shape of the whole gradient (training/whole_rule.hpp).
  [[nodiscard]] bool is_whole() const {
    return rule->whole != UpdateRule::Whole::none || clip_norm > 0;
  }
  /// Whether directions are those of the gradient, without memory.
  [[nodiscard]] bool descends_plainly() const {
    return !rule->has_memory() && !rule->is_adaptive() && !is_whole();
  }
  [[nodiscard]] bool averages() const { return average > 0; }
  [[nodiscard]] bool decays() const { return numbers.coupled > 0 || numbers.decoupled > 0; }
};

/// Changes the rule to that of SVAG: l steps in place of one, each with a gradient whose covariance
/// is l times as large (Li, Malladi, Arora 2021, arXiv 2102.12470). Momentum keeps its time scale
/// and the total step of a gradient: beta' = beta^(1/l), eta' = (eta/l) (1 - beta')/(1 - beta).
/// Throws UsageError for rules other than SGD and momentum. As l grows, Nesterov's step along the
/// last gradient and its noise vanish, and the squares of adaptive rules grow.
void interpolate_by_svag(TrainingPlan& plan, std::int64_t l);

}  // namespace popflow

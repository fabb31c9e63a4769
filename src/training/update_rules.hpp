#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "training/rule_formulas.hpp"

namespace popflow {

/// Arrays of a rule in lanes: rows of kLanes numbers, one row for each entry of the System.
struct RuleRows {
  RuleEntries entries;
  const double* numbers;  ///< RuleNumbers, one row each
  /// One row of times of the flow, or of the end of the SDE's step.
  const double* t;
  const double* s;                  ///< one row of factors on the learning rate
  double h = 0;                     ///< length of the step
  double k = 0;                     ///< number of the step
  const double* f;                  ///< mean of the gradients
  const double* d = nullptr;        ///< variances of the gradients; null: 0
  const double* noise = nullptr;    ///< noise of NoisyGradients
  const double* squares = nullptr;  ///< squares of NoisyGradients
  const double* x = nullptr;        ///< flow: the state and its moments
  double* to = nullptr;             ///< flow: derivatives; steps: the state and its moments
};

/// Description of a training rule. A new rule needs a struct of its formulas (rule_formulas.hpp)
/// and a row in update_rules.cpp.
struct UpdateRule {
  std::string_view name;     ///< value of --optimizer
  std::string_view meaning;  ///< for the help
  std::string_view source;
  bool has_m = false;        ///< whether the rule has a first moment
  bool has_u = false;        ///< whether the rule has a second moment (of squares)
  bool takes_signs = false;  ///< whether entries move by the signs of their gradients
  bool corrects_bias = false;
  bool decouples_decay = false;  ///< whether weight decay is decoupled by default (--decay)
  double default_beta2 = 0.999;
  /// Takes a discrete step along g: updates x, m and u.
  void (*step)(const RuleInstant<double>& now, const RuleEntries& of, const double* g,
               RuleArrays<double> to) = nullptr;
  /// Flow of the rule for gradients of mean f and variance d (null: 0): writes dx/dt, dm/dt and
  /// du/dt.
  void (*flow)(const RuleInstant<double>& now, const RuleEntries& of, const double* f,
               const double* d, RuleArrays<const double> at,
               RuleArrays<double> derivative) = nullptr;
  /// Takes a step of the rule's SDE: updates m and u, then x.
  void (*noisy_step)(const RuleInstant<double>& now, const RuleEntries& of,
                     const NoisyGradients<double>& g, RuleArrays<double> to) = nullptr;
  /// The three functions above in lanes, with the same bits as for a single trajectory.
  void (*step_rows)(const UpdateRule& rule, const RuleRows& rows) = nullptr;
  void (*flow_rows)(const UpdateRule& rule, const RuleRows& rows) = nullptr;
  void (*noisy_step_rows)(const UpdateRule& rule, const RuleRows& rows) = nullptr;

  /// Stability limit on a quadratic loss: largest value of the learning rate times the largest
  /// eigenvalue of the rule's Hessian; null: no limit is known. For an adaptive rule the Hessian is
  /// divided by sqrt(u) + epsilon, which must change slowly.
  double (*stability)(const RuleNumbers<double>& of) = nullptr;

  /// Number of moments for each entry of the System's state.
  [[nodiscard]] std::size_t memory() const {
    return static_cast<std::size_t>(has_m) + static_cast<std::size_t>(has_u);
  }
  /// Whether each entry moves at its own rate. If so, the variances of gradients matter, and the
  /// coordinates must be the parameters themselves.
  [[nodiscard]] bool is_adaptive() const { return has_u || takes_signs; }
  /// Parts of an array that holds a System's numbers, then m, then u.
  template <class Number>
  [[nodiscard]] RuleArrays<Number> parts(Number* x, std::size_t entries) const {
    Number* const m = x + entries;
    return {x, m, has_m ? m + entries : m};
  }
};

/// All training rules. The first one is plain SGD.
std::span<const UpdateRule> update_rules();

/// Returns the rule of this name. Throws UsageError with the allowed names if there is none.
const UpdateRule& update_rule(std::string_view name);

/// Names of the rules for which `holds` is true.
template <class Condition>
std::vector<std::string> names_of_rules(Condition holds) {
  std::vector<std::string> names;
  for (const UpdateRule& rule : update_rules())
    if (holds(rule)) names.emplace_back(rule.name);
  return names;
}

}  // namespace popflow

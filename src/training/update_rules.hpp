#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "training/rule_formulas.hpp"

namespace popflow {

/// Kind of an instant of a rule: a time of its flow, a step of the discrete rule, or a step
/// of the SDE.
enum class InstantKind { flow, step, noisy_step };

/// Arrays of a rule in lanes: rows of kLanes numbers, one row for each entry of the System.
struct RuleRows {
  RuleEntries entries;
  const double* numbers;  ///< RuleNumbers, one row each
  /// One row of times of the flow, or of the end of the SDE's step.
  const double* t;
  const double* s;                  ///< one row of factors on the learning rate
  double h = 0;                     ///< length of the step
  double k = 0;                     ///< number of the step
  const double* now = nullptr;      ///< RuleInstant, one row each (write_instant())
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
  // Options that the rule has.
  bool takes_momentum = false, takes_beta1 = false, takes_beta2 = false;
  /// The part of the rule that takes the whole gradient (training/whole_rule.hpp).
  enum class Whole { none, unit_length, sum_of_norms, orthogonal };
  Whole whole = Whole::none;
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

  /// Whether the rule needs RuleInstant::mixed.
  [[nodiscard]] bool mixes() const { return takes_signs && has_m; }
  /// Whether one second moment, of the whole gradient, follows the moments of the entries.
  [[nodiscard]] bool has_norm() const { return whole == Whole::sum_of_norms; }
  /// Whether steps are divided by a second moment. (An orthogonal rule has other steps, too.)
  [[nodiscard]] bool divides() const { return (has_u && whole == Whole::none) || has_norm(); }
  /// Stability limit on a quadratic loss: largest value of the learning rate times the largest
  /// eigenvalue of the rule's Hessian; null: no limit is known. For an adaptive rule the Hessian is
  /// divided by sqrt(u) + epsilon, which must change slowly.
  double (*stability)(const RuleNumbers<double>& of) = nullptr;

  /// Number of moments for each entry of the System's state.
  [[nodiscard]] std::size_t memory() const {
    return static_cast<std::size_t>(has_m) + static_cast<std::size_t>(has_u);
  }
  /// Number of all moments of a System with this many entries.
  [[nodiscard]] std::size_t moments(std::size_t entries) const {
    return memory() * entries + static_cast<std::size_t>(has_norm());
  }
  [[nodiscard]] bool has_memory() const { return moments(1) > 0; }
  /// Whether steps depend on the squares or signs of gradients. If so, the variances of gradients
  /// matter, and the coordinates must be the parameters themselves.
  [[nodiscard]] bool is_adaptive() const { return has_u || has_norm() || takes_signs; }
  /// Whether moments of `other` can continue as moments of this rule.
  [[nodiscard]] bool has_moments_of(const UpdateRule& other) const {
    return has_m == other.has_m && has_u == other.has_u && takes_momentum == other.takes_momentum &&
           takes_beta1 == other.takes_beta1 && takes_beta2 == other.takes_beta2 &&
           has_norm() == other.has_norm();
  }
  /// Parts of an array that holds a System's numbers, then m, then u.
  template <class Number>
  [[nodiscard]] RuleArrays<Number> parts(Number* x, std::size_t entries) const {
    Number* const m = x + entries;
    return {x, m, has_m ? m + entries : m};
  }
};

/// Number of rows of a RuleInstant.
inline constexpr std::size_t kInstantRows = sizeof(RuleInstant<double>) / sizeof(double);
/// Writes the instant of all lanes, kInstantRows rows. Apart from the formulas, because it is the
/// same for all rules.
void write_instant(const UpdateRule& rule, InstantKind moment, const RuleRows& rows, double* now);

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

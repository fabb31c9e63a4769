#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "training/rule_formulas.hpp"

namespace popflow {

/// A rule's arrays in lanes: rows of kLanes numbers, one for each entry of the System.
struct RuleRows {
  RuleEntries entries;
  const double* numbers;      ///< RuleNumbers, one row each
  const double* t;            ///< one row of times: of the flow, or of the end of the SDE's step
  const double* s;            ///< one row of factors on the learning rate
  double h = 0;               ///< length of the step
  double k = 0;               ///< number of the step
  const double* f;            ///< mean of the gradients
  const double* d = nullptr;  ///< their variances; null: 0
  const double* noise = nullptr;    ///< as NoisyGradients has it
  const double* squares = nullptr;  ///< as NoisyGradients has it
  const double* x = nullptr;        ///< of the flow: the state and its moments
  double* to = nullptr;  ///< of the flow: derivatives; of steps: the state and its moments
};

/// A training rule: all that the program knows of it. A new one is a struct of its formulas
/// (rule_formulas.hpp) and a row in update_rules.cpp.
struct UpdateRule {
  std::string_view name;     ///< as --optimizer takes it
  std::string_view meaning;  ///< of help
  std::string_view source;
  bool has_m = false;        ///< carries a first moment
  bool has_u = false;        ///< carries a second moment, of squares
  bool takes_signs = false;  ///< moves entries by the signs of their gradients
  bool corrects_bias = false;
  bool decays_beside = false;  ///< weight decay is decoupled unless --decay says otherwise
  double default_beta2 = 0.999;
  /// A discrete step along g: moves x, m and u.
  void (*step)(const RuleInstant<double>& now, const RuleEntries& of, const double* g,
               RuleArrays<double> to) = nullptr;
  /// The rule's flow where the gradient's mean is f and its variance d (null: 0): writes dx/dt,
  /// dm/dt and du/dt.
  void (*flow)(const RuleInstant<double>& now, const RuleEntries& of, const double* f,
               const double* d, RuleArrays<const double> at,
               RuleArrays<double> derivative) = nullptr;
  /// A step of the rule's SDE: moves m and u, then x by them.
  void (*noisy_step)(const RuleInstant<double>& now, const RuleEntries& of,
                     const NoisyGradients<double>& g, RuleArrays<double> to) = nullptr;
  /// These three in lanes, with the bits of a single trajectory.
  void (*step_rows)(const UpdateRule& rule, const RuleRows& rows) = nullptr;
  void (*flow_rows)(const UpdateRule& rule, const RuleRows& rows) = nullptr;
  void (*noisy_step_rows)(const UpdateRule& rule, const RuleRows& rows) = nullptr;

  /// Largest eigenvalue of the rule's own Hessian, times the learning rate, up to which its steps
  /// on a quadratic loss are stable; null: no such limit is known. That of an adaptive rule is
  /// divided by sqrt(u) + epsilon, which must change slowly.
  double (*stability)(const RuleNumbers<double>& of) = nullptr;

  /// Numbers that it carries for each of the System's.
  [[nodiscard]] std::size_t memory() const {
    return static_cast<std::size_t>(has_m) + static_cast<std::size_t>(has_u);
  }
  /// Whether each entry moves at a rate of its own, so that the variances of gradients matter and
  /// coordinates must be the parameters themselves.
  [[nodiscard]] bool is_adaptive() const { return has_u || takes_signs; }
  /// The parts of an array that holds a System's numbers, then m, then u.
  template <class Number>
  [[nodiscard]] RuleArrays<Number> parts(Number* x, std::size_t entries) const {
    Number* const m = x + entries;
    return {x, m, has_m ? m + entries : m};
  }
};

/// All of them. The first one is plain SGD.
std::span<const UpdateRule> update_rules();

/// The one of this name. Throws UsageError with the names of all if there is none.
const UpdateRule& update_rule(std::string_view name);

/// Names of the rules for which a condition holds.
template <class Condition>
std::vector<std::string> names_of_rules(Condition holds) {
  std::vector<std::string> names;
  for (const UpdateRule& rule : update_rules())
    if (holds(rule)) names.emplace_back(rule.name);
  return names;
}

}  // namespace popflow

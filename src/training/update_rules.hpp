#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace popflow {

/// The numbers of a rule.
struct RuleNumbers {
  double learning_rate = 0.01;  ///< eta, at s = 1
  double beta1 = 0.9;           ///< of the first moment m
  double beta2 = 0.999;         ///< of the second moment u
  double epsilon = 1e-8;
};

/// One instant of a rule, with all that does not differ from entry to entry.
struct RuleInstant {
  RuleInstant(const RuleNumbers& numbers, double schedule) : of(numbers), s(schedule) {}

  const RuleNumbers& of;
  double s;               ///< factor on the learning rate
  double length = 0;      ///< flow time of the step, times s
  double kappa1 = 0;      ///< ln(1/beta1)/eta: the rate at which m follows in flow time
  double kappa2 = 0;      ///< the same of u
  double relaxed1 = 0;    ///< 1 - beta1^(h/eta): share by which m relaxes over a step of an SDE
  double relaxed2 = 0;    ///< the same of u
  double bound = 1;       ///< largest m^2/u that any gradients give, by Cauchy and Schwarz
  double corrected1 = 1;  ///< 1 - beta1^k, by which m is divided; 0 before the first step
  double corrected2 = 1;  ///< the same of u
};

/// Gradients over a step of an SDE, an entry for each of the System's.
struct NoisyGradients {
  double h = 0;                     ///< flow time of the step
  std::span<const double> f;        ///< mean
  std::span<const double> d;        ///< variance of a minibatch's mean; empty: 0
  std::span<const double> noise;    ///< sqrt(eta/B) C^(1/2) dW
  std::span<const double> squares;  ///< standard normals, for squares; empty where none are taken
};

/// Arrays of a rule, one entry for each of the System's; m and u are empty where the rule has none.
/// `rates` holds the factor on each entry's rate; empty: all are 1.
template <class Number>
struct RuleArrays {
  std::span<Number> x, m, u;
  std::span<const double> rates = {};
};

/// A training rule: all that the program knows of it. A new one is a struct of its formulas and a
/// row in update_rules.cpp.
struct UpdateRule {
  std::string_view name;     ///< as --optimizer takes it
  std::string_view meaning;  ///< of help
  std::string_view source;
  bool has_m = false;  ///< carries a first moment
  bool has_u = false;  ///< carries a second moment, of squares: moves entries by themselves
  bool corrects_bias = false;
  double default_beta2 = 0.999;
  /// A discrete step along g: moves x, m and u.
  void (*step)(const RuleInstant& now, std::span<const double> g, RuleArrays<double> to) = nullptr;
  /// The rule's flow where the gradient's mean is f and its variance d (empty: 0): writes dx/dt,
  /// dm/dt and du/dt.
  void (*flow)(const RuleInstant& now, std::span<const double> f, std::span<const double> d,
               RuleArrays<const double> at, RuleArrays<double> derivative) = nullptr;
  /// A step of length h of the rule's SDE, on gradients whose mean f, variance d (empty: 0) and
  /// noise are given: moves m and u, then x by them.
  void (*noisy_step)(const RuleInstant& now, const NoisyGradients& g,
                     RuleArrays<double> to) = nullptr;

  /// Largest eigenvalue of the rule's own Hessian, times the learning rate, up to which its steps
  /// on a quadratic loss are stable; null: no such limit is known. That of an adaptive rule is
  /// divided by sqrt(u) + epsilon, which must change slowly.
  double (*stability)(const RuleNumbers& of) = nullptr;

  /// Numbers that it carries for each of the System's.
  [[nodiscard]] std::size_t memory() const {
    return static_cast<std::size_t>(has_m) + static_cast<std::size_t>(has_u);
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

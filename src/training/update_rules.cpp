#include "training/update_rules.hpp"

#include <algorithm>
#include <array>

#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Rows of a rule as arrays of Packs.
template <std::size_t width>
struct PacksOf {
  using Number = BasicPack<width>;
  static const Number* packs(const double* rows) { return reinterpret_cast<const Number*>(rows); }
  static Number* packs(double* rows) { return reinterpret_cast<Number*>(rows); }

  static RuleClock<Number> clock(const UpdateRule& rule, const RuleRows& rows) {
    const Number* const n = packs(rows.numbers);
    return {{n[0], n[1], n[2], n[3], n[4], n[5], n[6]}, rule.corrects_bias};
  }
};

/// Base of functions that accept Packs of every width.
struct AnyWidth {
  template <std::size_t>
  static constexpr bool takes = true;
};

/// Step of one trajectory, sixteen entries at a time: in a large state the roots and divisions of
/// Adam take as long as its gradients. The result has the same bits as entry by entry.
template <class Rule>
struct StepEntries : AnyWidth {
  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const RuleInstant<double>& now, const RuleEntries& of,
                                          const double* g, RuleArrays<double> to) {
    using Number = BasicPack<width>;
    const bool alike = of.rates.empty() && of.zero.empty();
    const std::size_t packed = alike ? of.number / kLanes * kLanes : 0;
    const RuleInstant<Number> wide = widened<Number>(now);
    for (std::size_t i = 0; i < packed; i += kLanes) {
      // Rows of x, m, u and g, copied because the arrays need not be aligned.
      alignas(64) double rows[4][kLanes];
      double* const arrays[] = {to.x, to.m, to.u};
      constexpr bool has[] = {true, Rule::kHasM, Rule::kHasU};
      std::copy_n(g + i, kLanes, rows[3]);
      for (std::size_t k = 0; k < 3; ++k)
        if (has[k]) std::copy_n(arrays[k] + i, kLanes, rows[k]);
      const auto row = [&](std::size_t k) { return reinterpret_cast<Number*>(rows[k]); };
      rules::step_all<Rule>(wide, RuleEntries{1, {}, {}}, static_cast<const Number*>(row(3)),
                            RuleArrays<Number>{row(0), row(1), row(2)});
      for (std::size_t k = 0; k < 3; ++k)
        if (has[k]) std::copy_n(rows[k], kLanes, arrays[k] + i);
    }
    const auto rest = [&](bool has, double* array) { return has ? array + packed : array; };
    rules::step_all<Rule>(
        now, RuleEntries{of.number - packed, of.rates, of.zero}, g + packed,
        RuleArrays<double>{to.x + packed, rest(Rule::kHasM, to.m), rest(Rule::kHasU, to.u)});
  }
};

template <class Rule>
struct StepRows : AnyWidth {
  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const UpdateRule& rule, const RuleRows& rows) {
    using P = PacksOf<width>;
    rules::step_all<Rule>(P::clock(rule, rows).of_step(rows.k, rows.h, *P::packs(rows.s)),
                          rows.entries, P::packs(rows.f),
                          rule.parts(P::packs(rows.to), rows.entries.number));
  }
};
template <class Rule>
struct FlowRows : AnyWidth {
  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const UpdateRule& rule, const RuleRows& rows) {
    using P = PacksOf<width>;
    const std::size_t n = rows.entries.number;
    rules::flow_of_all<Rule>(P::clock(rule, rows).at(*P::packs(rows.t), *P::packs(rows.s)),
                             rows.entries, P::packs(rows.f), P::packs(rows.d),
                             rule.parts(P::packs(rows.x), n), rule.parts(P::packs(rows.to), n));
  }
};
template <class Rule>
struct NoisyStepRows : AnyWidth {
  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const UpdateRule& rule, const RuleRows& rows) {
    using P = PacksOf<width>;
    using Number = typename P::Number;
    rules::noisy_step_of_all<Rule>(
        P::clock(rule, rows).of_noisy_step(*P::packs(rows.t), rows.h, *P::packs(rows.s)),
        rows.entries,
        NoisyGradients<Number>{rows.h, P::packs(rows.f), P::packs(rows.d), P::packs(rows.noise),
                               P::packs(rows.squares)},
        rule.parts(P::packs(rows.to), rows.entries.number));
  }
};

// Limits of stability, from the characteristic polynomials of the steps along an eigenvector;
// docs/training.md derives them.

double limit_of_sgd(const RuleNumbers<double>& /*of*/) { return 2; }
double limit_of_momentum(const RuleNumbers<double>& of) { return 2 * (1 + of.beta1); }
double limit_of_nesterov(const RuleNumbers<double>& of) {
  return 2 * (1 + of.beta1) / (1 + 2 * of.beta1);
}
double limit_of_adam(const RuleNumbers<double>& of) { return 2 * (1 + of.beta1) / (1 - of.beta1); }

/// Row of the table with the formulas of a rule.
template <class Rule>
UpdateRule of(UpdateRule row) {
  row.has_m = Rule::kHasM;
  row.has_u = Rule::kHasU;
  if constexpr (Rule::kHasU)  // faster roots and quotients
    row.step = lanes::widest<StepEntries<Rule>, const RuleInstant<double>&, const RuleEntries&,
                             const double*, RuleArrays<double>>();
  else
    row.step = rules::step_all<Rule, double>;
  row.flow = rules::flow_of_all<Rule, double>;
  row.noisy_step = rules::noisy_step_of_all<Rule, double>;
  row.step_rows = lanes::widest<StepRows<Rule>, const UpdateRule&, const RuleRows&>();
  row.flow_rows = lanes::widest<FlowRows<Rule>, const UpdateRule&, const RuleRows&>();
  row.noisy_step_rows = lanes::widest<NoisyStepRows<Rule>, const UpdateRule&, const RuleRows&>();
  return row;
}

}  // namespace

std::span<const UpdateRule> update_rules() {
  static const std::array all = {
      of<rules::Sgd>({.name = "sgd",
                      .meaning = "plain steps along the gradient of the minibatch",
                      .source = "Li, Tai, E 2017, arXiv 1511.06251",
                      .stability = limit_of_sgd}),
      of<rules::Momentum>({.name = "momentum",
                           .meaning = "momentum (heavy ball), set by --momentum",
                           .source = "Polyak 1964; Li, Tai, E 2017, arXiv 1511.06251",
                           .stability = limit_of_momentum}),
      of<rules::Nesterov>({.name = "nesterov",
                           .meaning = "Nesterov's momentum, in the form of PyTorch",
                           .source = "Nesterov 1983; Sutskever et al. 2013",
                           .stability = limit_of_nesterov}),
      of<rules::RmsProp>(
          {.name = "rmsprop",
           .meaning = "gradients divided by the root of their mean square, set by --beta2",
           .source = "Tieleman, Hinton 2012",
           .default_beta2 = 0.99,
           .stability = limit_of_sgd}),
      of<rules::Adam>({.name = "adam",
                       .meaning = "both moments, with bias correction",
                       .source = "Kingma, Ba 2015, arXiv 1412.6980",
                       .corrects_bias = true,
                       .stability = limit_of_adam}),
      of<rules::Adam>({.name = "adamw",
                       .meaning = "adam with decoupled weight decay",
                       .source = "Loshchilov, Hutter 2019, arXiv 1711.05101",
                       .corrects_bias = true,
                       .decouples_decay = true,
                       .stability = limit_of_adam}),
      of<rules::SignSgd>({.name = "signsgd",
                          .meaning = "steps along the signs of gradients",
                          .source = "Bernstein et al. 2018, arXiv 1802.04434",
                          .takes_signs = true}),
  };
  return all;
}

const UpdateRule& update_rule(std::string_view name) {
  for (const UpdateRule& rule : update_rules())
    if (rule.name == name) return rule;
  throw UsageError("--optimizer is " + std::string(name) + "; it must be " +
                   text::one_of(names_of_rules([](const UpdateRule&) { return true; })));
}

}  // namespace popflow

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

  using Instant = RuleInstant<Number>;
  static_assert(sizeof(Instant) == kInstantRows * sizeof(Number));
  static const Instant& now(const RuleRows& rows) {
    return *reinterpret_cast<const Instant*>(rows.now);
  }
};

/// Base of functions that accept Packs of every width.
struct AnyWidth {
  template <std::size_t>
  static constexpr bool takes = true;
};

struct InstantRows : AnyWidth {
  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const UpdateRule& rule, InstantKind moment,
                                          const RuleRows& rows, double* now) {
    using P = PacksOf<width>;
    using Number = typename P::Number;
    const Number* const n = P::packs(rows.numbers);
    const RuleClock<Number> clock{
        {n[0], n[1], n[2], n[3], n[4], n[5], n[6]}, rule.corrects_bias, rule.mixes()};
    auto& to = *reinterpret_cast<typename P::Instant*>(now);
    const Number& s = *P::packs(rows.s);
    if (moment == InstantKind::flow)
      to = clock.at(*P::packs(rows.t), s);
    else if (moment == InstantKind::step)
      to = clock.of_step(rows.k, rows.h, s);
    else
      to = clock.of_noisy_step(*P::packs(rows.t), rows.h, s);
  }
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
    rules::step_all<Rule>(P::now(rows), rows.entries, P::packs(rows.f),
                          rule.parts(P::packs(rows.to), rows.entries.number));
  }
};
template <class Rule>
struct FlowRows : AnyWidth {
  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const UpdateRule& rule, const RuleRows& rows) {
    using P = PacksOf<width>;
    const std::size_t n = rows.entries.number;
    rules::flow_of_all<Rule>(P::now(rows), rows.entries, P::packs(rows.f), P::packs(rows.d),
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
        P::now(rows), rows.entries,
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

void write_instant(const UpdateRule& rule, InstantKind moment, const RuleRows& rows, double* now) {
  static const auto write =
      lanes::widest<InstantRows, const UpdateRule&, InstantKind, const RuleRows&, double*>();
  write(rule, moment, rows, now);
}

std::span<const UpdateRule> update_rules() {
  using Whole = UpdateRule::Whole;
  static const std::array all = {
      of<rules::Sgd>({.name = "sgd",
                      .meaning = "plain steps along the gradient of the minibatch",
                      .source = "Li, Tai, E 2017, arXiv 1511.06251",
                      .stability = limit_of_sgd}),
      of<rules::Momentum>({.name = "momentum",
                           .meaning = "momentum (heavy ball), set by --momentum",
                           .source = "Polyak 1964; Li, Tai, E 2017, arXiv 1511.06251",
                           .takes_momentum = true,
                           .stability = limit_of_momentum}),
      of<rules::Nesterov>({.name = "nesterov",
                           .meaning = "Nesterov's momentum, in the form of PyTorch",
                           .source = "Nesterov 1983; Sutskever et al. 2013",
                           .takes_momentum = true,
                           .stability = limit_of_nesterov}),
      of<rules::RmsProp>(
          {.name = "rmsprop",
           .meaning = "gradients divided by the root of their mean square, set by --beta2",
           .source = "Tieleman, Hinton 2012",
           .takes_beta2 = true,
           .default_beta2 = 0.99,
           .stability = limit_of_sgd}),
      of<rules::Adam>({.name = "adam",
                       .meaning = "both moments, with bias correction",
                       .source = "Kingma, Ba 2015, arXiv 1412.6980",
                       .corrects_bias = true,
                       .takes_beta1 = true,
                       .takes_beta2 = true,
                       .stability = limit_of_adam}),
      of<rules::Adam>({.name = "adamw",
                       .meaning = "adam with decoupled weight decay",
                       .source = "Loshchilov, Hutter 2019, arXiv 1711.05101",
                       .corrects_bias = true,
                       .takes_beta1 = true,
                       .takes_beta2 = true,
                       .decouples_decay = true,
                       .stability = limit_of_adam}),
      of<rules::SignSgd>({.name = "signsgd",
                          .meaning = "steps along the signs of gradients",
                          .source = "Bernstein et al. 2018, arXiv 1802.04434",
                          .takes_signs = true}),
      of<rules::AdaGrad>({.name = "adagrad",
                          .meaning = "gradients divided by the root of the sum of their squares",
                          .source = "Duchi, Hazan, Singer 2011",
                          .stability = limit_of_sgd}),
      of<rules::Sgd>({.name = "adagrad-norm",
                      .meaning = "adagrad with one sum, of the squared norms of gradients",
                      .source = "Ward, Wu, Bottou 2019, arXiv 1806.01811",
                      .whole = Whole::sum_of_norms,
                      .stability = limit_of_sgd}),
      of<rules::Adam>({.name = "muon",
                       .meaning = "matrices: momentum, orthogonalised (--orthogonalise); other "
                                  "fields: adamw",
                       .source = "Jordan et al. 2024; Liu et al. 2025, arXiv 2502.16982",
                       .corrects_bias = true,
                       .takes_momentum = true,
                       .takes_beta1 = true,
                       .takes_beta2 = true,
                       .whole = Whole::orthogonal,
                       .decouples_decay = true}),
      of<rules::Lion>({.name = "lion",
                       .meaning = "sign of a mean of gradients, set by --beta1 and --beta2",
                       .source = "Chen et al. 2023, arXiv 2302.06675",
                       .takes_signs = true,
                       .takes_beta1 = true,
                       .takes_beta2 = true,
                       .decouples_decay = true,
                       .default_beta2 = 0.99}),
      of<rules::Sgd>({.name = "normalised",
                      .meaning = "steps of fixed length along the gradient",
                      .source = "Nesterov 1984; Hazan, Levy, Shalev-Shwartz 2015, arXiv 1507.02030",
                      .whole = Whole::unit_length}),
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

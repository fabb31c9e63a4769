#include "dynamics/scb/training.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "dynamics/scb/attention.hpp"
#include "dynamics/scb/growth.hpp"
#include "dynamics/scb/value.hpp"
#include "popflow/error.hpp"

namespace popflow::scb {

namespace {

/// Largest number of positions of any query.
double sparsity(const Columns& columns) {
  Eigen::Index most = 1;
  for (Eigen::Index k = 0; k < columns.size(); ++k) most = std::max(most, columns.query(k).support);
  return static_cast<double>(most);
}

/// Smallest weight in Q.
double smallest_weight(const Positions& Q) {
  double least = 1;
  for (const double weight : Q.weight.reshaped())
    if (weight > 0) least = std::min(least, weight);
  return least;
}

/// The attention's signal when signal_V signal_A = s, from a start with signal_V = v.
double attention_signal_at(double s, double v, double kappa, double K_P) {
  const double v2 = v > 0 ? v * v : 0;
  return s / std::sqrt(0.5 * (v2 + std::sqrt(v2 * v2 + 4 * kappa * s * s / K_P)));
}

void refuse(const Parameters& own, const Columns& columns, const Transition& transition) {
  if (own.given("stage1-signal") && own.given("stage1-time"))
    throw UsageError("--stage1-signal " + own.text("stage1-signal") + " and --stage1-time " +
                     own.text("stage1-time") +
                     " both determine the end of stage 1; give one of them");
  const double kappa_0 = columns.kappa() + columns.uniform();
  const bool no_V = transition.K_P <= kZeroTolerance * transition.norm2;
  if (no_V || columns.kappa() <= kZeroTolerance * kappa_0)
    throw UsageError(std::string("--schedule two-stage: there is no signal to boost, because ") +
                     (no_V ? "every column of P is mu (K_P = 0)" : "Q is uniform (kappa = 0)"));
}

}  // namespace

double correlation(const Eigen::MatrixXd& V, const Problem& problem) {
  const Transition transition(problem.P, problem.mu);
  if (transition.K_P <= kZeroTolerance * transition.norm2)
    return std::numeric_limits<double>::quiet_NaN();
  return V.cwiseProduct(transition.centred).colwise().sum().dot(problem.mu) / transition.K_P;
}

Training resolve_training(Parameters& own, const Problem& problem, Variant variant,
                          const Eigen::MatrixXd& V0) {
  Training training;
  const Columns columns(problem.Q, problem.mu, variant);
  const Transition transition(problem.P, problem.mu);
  const double accuracy = own.real("accuracy");
  training.loss_error =
      accuracy * accuracy * 0.5 * (columns.kappa() + columns.uniform()) * transition.K_P;
  if (own.word("schedule") != "two-stage") {
    if (!own.has("l1")) own.resolve("l1", 0.0);
    training.l1 = own.real("l1");
    if (own.has("rounding")) training.rounding = own.real("rounding");
    return training;
  }
  refuse(own, columns, transition);

  const auto default_to = [&](const char* name, double value) {
    if (!own.given(name)) own.resolve(name, value);
    return own.real(name);
  };
  const double S = sparsity(columns);
  const double least = smallest_weight(problem.Q);
  const double N = static_cast<double>(problem.vocabulary());
  TwoStage two;
  if (own.given("stage1-time")) {
    two.time = own.real("stage1-time");
    two.signal.reset();
  } else {
    two.signal = default_to("stage1-signal", 0.5);
  }
  const double alpha = attention_signal_at(two.signal.value_or(0.5), correlation(V0, problem),
                                           columns.kappa(), transition.K_P);
  two.threshold = default_to("threshold", 0.5 * std::min(alpha, 1.0) * least);
  two.plateau_time = default_to("plateau-time", 5 / Growth(problem, variant).rate());
  two.plateau_fall = training.loss_error;
  training.default_l1 = !own.given("l1");
  training.l1 = default_to("l1", accuracy * transition.K_P / (S * S * N * N * N));
  training.rounding = default_to("rounding", 0.25 * least);
  training.two_stage = two;
  return training;
}

std::string settings(const Training& training) {
  std::ostringstream text;
  text.precision(3);
  const TwoStage& two = *training.two_stage;
  text << "two stages: no l1 until ";
  if (two.time)
    text << "t = " << *two.time;
  else
    text << "signal_V signal_A = " << *two.signal;
  text << "; then attention below a share of " << two.threshold
       << " of its column's sum is set to zero, each column is divided by its sum, and l1 is "
       << training.l1;
  if (two.plateau_time > 0)
    text << " until the loss falls by less than " << two.plateau_fall << " in a time of "
         << two.plateau_time;
  text << "; in the final values shares below " << *training.rounding
       << " are zero, and columns are "
          "divided by their sums";
  return text.str();
}

}  // namespace popflow::scb

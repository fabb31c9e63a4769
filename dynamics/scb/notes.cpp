// Notes on a problem, shown at the start of a run.

#include <algorithm>
#include <cmath>
#include <sstream>

#include "dynamics/scb/growth.hpp"
#include "dynamics/scb/system.hpp"
#include "popflow/math.hpp"
#include "popflow/parameter.hpp"

namespace popflow::scb {

namespace {

/// Formats a number with four digits.
std::string brief(double value) {
  std::ostringstream text;
  text.precision(4);
  text << value;
  return text.str();
}

}  // namespace

std::vector<Note> Scb::notes() const {
  std::vector<Note> notes = problem_.notes;
  for (std::string& remark : remarks()) notes.push_back({std::move(remark)});
  for (std::string& warning : warnings()) notes.push_back({std::move(warning), true});
  return notes;
}

std::vector<std::string> Scb::remarks() const {
  std::vector<std::string> remarks;
  std::ostringstream text;
  if (no_signal_V_) remarks.emplace_back("K_P = 0: every column of P is mu, so there is no signal");
  if (no_signal_A_) remarks.emplace_back("kappa = 0: Q is uniform, so there is no signal");
  if (!no_signal_V_ && !no_signal_A_ && !variant_.softmax) {
    const double T = static_cast<double>(problem_.Q.context_length);
    text.precision(3);
    const Growth growth(problem_, variant_);
    text << "the signals, which show how much of P and Q is learned, grow at rate " << growth.rate()
         << "; from uniform attention they are boosted (their product reaches 1/2) at about t = "
         << growth.boost_time();
    if (!training_.two_stage && variant_.project && variant_.inverse_frequency)
      text << ", and then approach 1 at rate "
           << transition_.K_P / (T * (transition_.K_P + kappa_));
    remarks.push_back(text.str());
  }
  if (start_.correlation) {
    std::ostringstream transfer;
    transfer.precision(4);
    transfer << "transfer: the pretrained V has tr(V'P Sigma)/K_P = " << *start_.correlation
             << "; signal_V starts at " << correlation(start_.V0, problem_);
    remarks.push_back(transfer.str());
  }
  if (training_.two_stage) {
    remarks.push_back(settings(training_));
    if (first_stage() == 2)
      remarks.emplace_back("the run starts in stage 2, because the run of --init-from ended there");
    std::ostringstream sums;
    sums.precision(3);
    sums << "in stage 2, without the projection, the attention's column sums relax at "
         << (variant_.inverse_frequency ? "rate " : "rates up to ") << relaxation_formula() << " = "
         << relaxation_rate()
         << ": explicit steps, and learning rates, must be below 2 over this rate";
    remarks.push_back(sums.str());
  }
  if (training_.l1 > 0 && variant_.project && !training_.two_stage)
    remarks.emplace_back(
        "--l1 has no effect while no weight is negative, because the projection conserves the "
        "attention's column sums; use --project none");
  if (training_.solver_unused)
    remarks.emplace_back(
        "--l1-solver has no effect: sde and sgd always take a proximal step after each step");
  if (training_.single_weights > 0 && training_.solver != L1Solver::splitting)
    remarks.push_back(
        std::to_string(training_.single_weights) +
        " weights differ at the start and may come to rest one by one, which can take hours: " +
        (active_set_ ? "each takes about 70 evaluations; --l1-solver adaptive-splitting with a "
                       "larger --rtol may be faster"
                     : "while weights pass zero, the number of steps of --l1-solver "
                       "adaptive-splitting grows as 1/tolerance; a larger --rtol is faster"));
  const bool uniform_start = start_.attention.empty();
  const std::size_t large = std::size_t{1} << 20;
  const Eigen::Index of_V = variant_.inverse_frequency ? 4 : start_.V0.size();
  if (coordinates_ == Coordinates::full && uniform_start && shape_.state_size() > large)
    remarks.emplace_back("--coordinates support gives exactly the same flow, with a state of " +
                         std::to_string(problem_.vocabulary() * (problem_.Q.slots() + 1) + of_V) +
                         " numbers instead of " + std::to_string(shape_.state_size()));
  return remarks;
}

double Scb::relaxation_rate() const {
  const double weight = variant_.inverse_frequency ? 1.0 : problem_.mu.maxCoeff();
  return weight * problem_.mu.squaredNorm() / natural_;
}

std::string Scb::relaxation_formula() const {
  return variant_.inverse_frequency ? "T |mu|^2" : "T |mu|^2 max(mu)";
}

std::vector<std::string> Scb::warnings() const {
  std::vector<std::string> warnings;
  if (first_stage() == 3)
    warnings.emplace_back(
        "the run of --init-from ended on its plateau, so this run rests there from the start; "
        "--init-mix takes only its V and starts again with stage 1");
  if (start_.correlation && *start_.correlation < 0)
    warnings.emplace_back("the pretrained V has a negative correlation with this problem's P (" +
                          brief(*start_.correlation) +
                          "): both signals will grow negative, towards V = -P and A = -Q");
  warn_of_steps(warnings);
  return warnings;
}

double Scb::splitting_error(double dt) const {
  // In the slow state the penalty displaces each column's sum from its quasi-steady value by T
  // lambda / rate. Between proximal steps the sum relaxes, which increases the displacement to T
  // lambda dt / (1 - e^(-rate dt)).
  const double mean2 = problem_.mu.squaredNorm();
  const auto added = [&](double mu, double weight) {
    const double z = mu * mean2 / natural_ * dt;
    const double ratio = z > 0 ? -z / math::expm1(-z) : 1;
    return weight * training_.l1 * training_.l1 / (2 * mean2) * (ratio * ratio - 1);
  };
  if (variant_.inverse_frequency) return added(1, 1);
  double sum = 0;
  for (const double mu : problem_.mu) sum += added(mu, 1 / mu);
  return sum;
}

void Scb::warn_of_steps(std::vector<std::string>& warnings) const {
  if (!training_.two_stage && (variant_.project || variant_.softmax)) return;
  const double stable = 2 / relaxation_rate();
  if (training_.step && *training_.step > stable)
    warnings.emplace_back((training_.two_stage ? "stage 2" : "the run") +
                          std::string(" is likely to diverge: its steps of ") +
                          brief(*training_.step) + " are above 2/(" + relaxation_formula() +
                          ") = " + brief(stable));
  if (!training_.splitting_step) return;
  const double dt = *training_.splitting_step;
  const double error = splitting_error(dt);
  if (error <= training_.loss_error) return;
  double low = 0;
  double high = dt;
  for (int i = 0; i < 60; ++i) {
    const double middle = low + (high - low) / 2;
    (splitting_error(middle) <= training_.loss_error ? low : high) = middle;
  }
  const double enough = training_.step ? std::min(low, stable) : low;
  warnings.emplace_back(
      "--dt " + shortest(dt) + " is too large for l1 = " + shortest(training_.l1) +
      ": while the attention's column sums relax at " +
      (variant_.inverse_frequency ? "rate " : "rates up to ") + relaxation_formula() + " = " +
      brief(relaxation_rate()) + ", the splitting may add " + brief(error) +
      " to the loss; with --dt below " + brief(enough) + " it adds less than " +
      brief(training_.loss_error) + " (--l1-solver active-set adds nothing)");
}

}  // namespace popflow::scb

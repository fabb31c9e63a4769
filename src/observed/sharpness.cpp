#include "observed/sharpness.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "flow/start_state.hpp"
#include "numerics/directional_step.hpp"
#include "numerics/largest_eigenvalue.hpp"
#include "numerics/linear_algebra.hpp"
#include "popflow/error.hpp"
#include "popflow/random.hpp"
#include "text/text.hpp"
#include "training/trained.hpp"

namespace popflow {

namespace {

constexpr std::size_t kMostProducts = 2000;
// Largest state whose Jacobian is stored as a dense matrix.
constexpr std::size_t kLargestDense = 400;
// Asymmetry above which the Jacobian is not symmetric to within rounding.
constexpr double kAsymmetry = 1e-5;

std::vector<double> general_vector(std::size_t size, std::uint64_t number) {
  std::vector<double> v(size);
  RandomStream random(1, Purpose::check, 1, number);
  for (double& entry : v) entry = random.normal();
  return v;
}

/// Reason why the flow has no Hessian; empty if it may have one.
std::string why_no_hessian(const Capabilities& can, bool reduced) {
  if (can.gradient_flow) return "";
  if (!can.no_other_rule.empty()) return can.no_other_rule;
  if (can.proximal) return can.proximal->proximal_term() + " has no second derivative";
  if (can.stages) return "a training in stages has no single loss";
  if (can.switching) return "its right-hand side has regimes (an l1 term, a sharp relu)";
  if (!can.gradient_flow.why_not().empty()) return can.gradient_flow.why_not();
  return reduced ? "" : "its flow is not the gradient of a loss";
}

}  // namespace

Sharpness::Sharpness(const System& system, const Parameters& own)
    : system_(source_of_gradients(system)),
      trained_(dynamic_cast<const Trained*>(&system)),
      size_(system_.shape().state_size()),
      can_(system_.capabilities()) {
  const bool reduced = is_reduced(system_.info(), own);
  if (const std::string why = why_no_hessian(can_, reduced); !why.empty())
    throw UsageError("--sharpness: " + system_.info().name + " has no Hessian here: " + why);
  reduced_ = reduced && (!can_.gradient_flow || size_ <= kLargestDense);
  if (reduced_ && size_ > kLargestDense)
    throw UsageError("--sharpness: these coordinates of " + system_.info().name + " have " +
                     std::to_string(size_) + " numbers; at most " + std::to_string(kLargestDense) +
                     " are allowed if they are not the parameters themselves");
  if (!reduced_) find_preconditioner();
}

void Sharpness::find_preconditioner() {
  const StartState start(system_);
  // With M = D P and D P = P D, any w = M r satisfies M w = D w.
  const auto applied = [&](StateView x, std::vector<double> v) {
    can_.gradient_flow->precondition(x, v);
    return v;
  };
  const std::vector<double> w = applied(start.view(), general_vector(size_, 0));
  const std::vector<double> twice = applied(start.view(), w);
  diagonal_.resize(size_);
  start_.resize(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    diagonal_[i] = w[i] != 0 ? twice[i] / w[i] : 0;
    start_[i] = diagonal_[i] > 0 ? w[i] / std::sqrt(diagonal_[i]) : 0;
  }
  // Check with another random vector, at another state.
  std::vector<double> elsewhere(start.view().begin(), start.view().end());
  const std::vector<double> away = general_vector(size_, 1);
  std::size_t begin = 0;
  for (const StateBlock& block : system_.shape().blocks) {
    for (std::size_t i = begin; i < begin + block.size; ++i)
      elsewhere[i] += 0.1 * block.scale * away[i];
    begin += block.size;
  }
  const StateView there{elsewhere, start.view().regime};
  const std::vector<double> other = applied(there, general_vector(size_, 2));
  const std::vector<double> other_twice = applied(there, other);
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    largest = std::max(largest, std::abs(other_twice[i]));
    error = std::max(error, std::abs(other_twice[i] - diagonal_[i] * other[i]));
  }
  const bool positive = std::ranges::all_of(diagonal_, [](double d) { return d >= 0; });
  if (positive && error <= 1e-9 * largest) return;
  throw UsageError("--sharpness: the preconditioner of " + system_.info().name +
                   " must be a constant diagonal matrix, with a projection that "
                   "commutes with it");
}

double Sharpness::at(StateView x, double t) const {
  return reduced_ ? of_dense_jacobian({x.first(size_), x.regime}, t) : by_products(x, t);
}

void Sharpness::write_jacobian(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> j) const {
  std::vector<double> by_time(size_);
  if (can_.jacobian) return can_.jacobian->jacobian(x, t, j, by_time);
  std::vector<double> v(size_), column(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    v[i] = 1;
    multiply(x, t, v, column);
    v[i] = 0;
    j.col(static_cast<Eigen::Index>(i)) =
        Eigen::Map<const Eigen::VectorXd>(column.data(), static_cast<Eigen::Index>(size_));
  }
}

void Sharpness::multiply(StateView x, double t, std::span<const double> v,
                         std::span<double> out) const {
  thread_local std::vector<double> moved, other;
  moved.resize(size_);
  other.resize(size_);
  const double length = directional_step(system_.shape().blocks, x, v);
  if (!(length > 0)) {
    std::fill(out.begin(), out.end(), 0.0);
    return;
  }
  for (std::size_t i = 0; i < size_; ++i) moved[i] = x[i] - length * v[i];
  system_.rhs({moved, x.regime}, t, other);
  for (std::size_t i = 0; i < size_; ++i) moved[i] = x[i] + length * v[i];
  system_.rhs({moved, x.regime}, t, out);
  for (std::size_t i = 0; i < size_; ++i) out[i] = (out[i] - other[i]) / (2 * length);
}

double Sharpness::of_dense_jacobian(StateView x, double t) const {
  const auto size = static_cast<Eigen::Index>(size_);
  Eigen::MatrixXd j(size, size);
  write_jacobian(x, t, j);
  if (!j.allFinite()) return std::nan("");
  // The reduced flow is the full flow on an invariant subspace. Its eigenvalues are therefore among
  // the eigenvalues of the Hessian, and real.
  double largest = -std::numeric_limits<double>::infinity(), imaginary = 0, most = 0;
  for (const std::complex<double> value : eigenvalues(j)) {
    largest = std::max(largest, -value.real());
    imaginary = std::max(imaginary, std::abs(value.imag()));
    most = std::max(most, std::abs(value));
  }
  return imaginary <= kAsymmetry * most ? largest : std::nan("");
}

double Sharpness::by_products(StateView x, double t) const {
  const StateView own{x.first(size_), x.regime};
  // With -J_f = D H and the step scales p of the rule, the symmetric form is p^(1/2) D^(-1/2)
  // (-J_f) D^(1/2) p^(1/2).
  std::vector<double> scales(size_, 1.0), left(size_), right(size_);
  if (trained_ != nullptr && trained_->scales_steps() && !trained_->step_scales(x, t, scales))
    return std::nan("");
  std::vector<double> first = start_;
  for (std::size_t i = 0; i < size_; ++i) {
    right[i] = std::sqrt(scales[i] * diagonal_[i]);
    left[i] = diagonal_[i] > 0 ? std::sqrt(scales[i] / diagonal_[i]) : 0;
    if (!(right[i] > 0)) first[i] = 0;
  }
  Eigen::MatrixXd j;
  if (can_.jacobian && size_ <= kLargestDense) {
    j.resize(static_cast<Eigen::Index>(size_), static_cast<Eigen::Index>(size_));
    write_jacobian(own, t, j);
    if (!j.allFinite()) return std::nan("");
  }
  std::vector<double> scaled(size_);
  const auto apply = [&](std::span<const double> v, std::span<double> out) {
    for (std::size_t i = 0; i < size_; ++i) scaled[i] = right[i] * v[i];
    if (j.size() > 0)
      Eigen::Map<Eigen::VectorXd>(out.data(), j.rows()) =
          j * Eigen::Map<const Eigen::VectorXd>(scaled.data(), j.rows());
    else
      multiply(own, t, scaled, out);
    for (std::size_t i = 0; i < size_; ++i) out[i] *= -left[i];
  };
  const LargestEigenvalue found =
      largest_eigenvalue(apply, std::move(first), kTolerance, kMostProducts);
  return found.converged ? found.value : std::nan("");
}

}  // namespace popflow

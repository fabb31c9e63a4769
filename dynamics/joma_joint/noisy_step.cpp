#include "dynamics/joma_joint/noisy_step.hpp"

#include <algorithm>

#include "dynamics/common/products.hpp"
#include "dynamics/joma_joint/kernels.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

std::size_t in_eights(std::size_t number) { return (number + 7) / 8 * 8; }

}  // namespace

NoisyStep::NoisyStep(const ContextLaw& law, const Eigen::MatrixXd& X, const Eigen::VectorXd& p,
                     double temperature, Workers& workers)
    : contexts_(law, workers),
      X_(X),
      p_(p),
      temperature_(temperature),
      K_(to_size(X.cols())),
      M_(to_size(X.rows())),
      C_(K_),
      rounded_(in_eights(K_)),
      gains_(X.rows()),
      drift_(X.size()),
      drift_along_(X.rows()),
      moved_(X.size()),
      along_(X.rows()),
      pulled_(X.rows()) {
  work_.resize(8 * rounded_);
  to_r_.resize(rounded_);
}

bool NoisyStep::serves(Index nodes, Index tokens, Index classes) {
  return nodes * tokens * classes <= kMultiplicationsOfTask && blocks_of_tokens(tokens) == 1;
}

bool NoisyStep::pays() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

void NoisyStep::resize(std::size_t samples) {
  samples_ = samples;
  first_class_ = in_eights(samples);
  places_ = first_class_ + in_eights(C_);
  for (Numbers* numbers : {&shares_, &b_}) numbers->resize(places_ * M_);
  for (Numbers* numbers : {&sums_, &scales_, &weights_, &pulls_}) numbers->resize(places_);
  products_.resize(places_ * K_);
  scaled_.resize(places_ * rounded_);
  classes_.assign(places_, 0);
  for (std::size_t c = 0; c < C_; ++c) {
    classes_[first_class_ + c] = static_cast<std::int64_t>(c);
    weights_.data()[first_class_ + c] = p_[static_cast<Index>(c)];
    for (std::size_t l = 0; l < M_; ++l)
      shares_.data()[l * places_ + first_class_ + c] =
          X_(static_cast<Index>(l), static_cast<Index>(c));
  }
}

void NoisyStep::take(std::size_t samples) {
  if (samples != samples_) resize(samples);
  for (std::size_t l = 0; l < M_; ++l) std::fill_n(shares_.data() + l * places_, samples, 0.0);
  for (std::size_t i = 0; i < samples; ++i) {
    const Contexts::Sample sample = contexts_.sample(i);
    classes_[i] = sample.of_class;
    for (std::size_t j = 0; j < sample.tokens.size(); ++j)
      shares_.data()[sample.tokens[j] * places_ + i] = sample.shares[j];
  }
}

bool NoisyStep::attend(const Attention::Vector& z) {
  kernels::exponentials(M_, z.maxCoeff(), temperature_, z.data(), gains_.data());
  kernels::attend_and_sum(places_, M_, gains_.data(), shares_.data(), b_.data(), sums_.data());
  bool enough = true;
  const auto scale = [&](std::size_t first, std::size_t number) {
    for (std::size_t i = first; i < first + number; ++i) {
      enough = enough && sums_.data()[i] >= kSmallestSum;
      scales_.data()[i] = 1 / sums_.data()[i];
    }
  };
  scale(0, samples_);
  scale(first_class_, C_);
  return enough;
}

void NoisyStep::add_to_nodes(const Attention::Vector& r, std::size_t first, std::size_t number,
                             double* sum) {
  kernels::weigh_side_by_side({.nodes = K_,
                               .contexts = number,
                               .sums = products_.data() + first,
                               .stride = places_,
                               .scales = scales_.data() + first,
                               .r = r.data(),
                               .classes = classes_.data() + first,
                               .weights = weights_.data() + first,
                               .work = work_.data(),
                               .sum = sum,
                               .scaled = scaled_.data() + first * rounded_,
                               .pulls = pulls_.data() + first});
}

void NoisyStep::to_tokens(const Attention::Matrix& V, std::size_t first, std::size_t number,
                          Eigen::VectorXd& moved, Eigen::VectorXd& along) {
  const Columns b{b_.data() + first, places_};
  product(K_, M_, number, {scaled_.data() + first * rounded_, rounded_}, b, moved.data(), K_);
  kernels::dots(K_, M_, V.data(), K_, moved.data(), false, along.data());
  kernels::dots(number, M_, b.data, b.stride, pulls_.data() + first, true, pulled_.data());
  along -= pulled_;
  along /= temperature_;
}

bool NoisyStep::operator()(const Point& at, double h, const SampleKey& key,
                           std::span<const double> weights, const Velocity& x) {
  if (contexts_.move_to(key, weights.size())) take(weights.size());
  if (!attend(at.z)) return false;
  std::copy(weights.begin(), weights.end(), weights_.data());
  product_with_transpose(places_, K_, M_, {b_.data(), places_}, {at.V.data(), K_}, products_.data(),
                         places_);

  double* const to_r = to_r_.data();
  std::fill_n(to_r, rounded_, 0.0);
  add_to_nodes(at.r, first_class_, C_, to_r);
  for (std::size_t k = 0; k < K_; ++k) to_r[k] *= h;
  add_to_nodes(at.r, 0, samples_, to_r);
  to_tokens(at.V, first_class_, C_, drift_, drift_along_);
  to_tokens(at.V, 0, samples_, moved_, along_);

  kernels::step(K_ * M_, h, drift_.data(), moved_.data(), x.V);
  kernels::step(M_, h, drift_along_.data(), along_.data(), x.z);
  for (std::size_t k = 0; k < K_; ++k) x.r[k] += to_r[k];
  return true;
}

}  // namespace popflow::joma_joint

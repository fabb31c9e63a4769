#include "support/bigram_sampler.hpp"

namespace popflow::scb::test {

namespace {

/// Draws an index with the given probabilities, whose sum is 1 up to rounding.
template <class Probabilities>
Eigen::Index draw_index(const Probabilities& probability, RandomStream& random) {
  double left = random.uniform();
  Eigen::Index last = 0;
  for (Eigen::Index i = 0; i < probability.size(); ++i) {
    if (probability[i] <= 0) continue;
    last = i;
    left -= probability[i];
    if (left < 0) break;
  }
  return last;
}

}  // namespace

BigramSampler::BigramSampler(const Problem& problem) : problem_(problem) {}

Sample BigramSampler::draw(RandomStream& random) const {
  const Positions& Q = problem_.Q;
  Sample sample;
  sample.context.resize(static_cast<std::size_t>(Q.context_length));
  for (Eigen::Index& token : sample.context) token = draw_index(problem_.mu, random);
  sample.query = draw_index(problem_.mu, random);
  const Eigen::Index slot = draw_index(Q.weight.col(sample.query), random);
  const auto s = static_cast<std::size_t>(Q.position(slot, sample.query));
  sample.target = draw_index(problem_.P.col(sample.context[s]), random);
  return sample;
}

void BigramSampler::enumerate(const std::function<void(const Sample&, double)>& visit) const {
  const Eigen::Index N = problem_.vocabulary();
  const Positions& Q = problem_.Q;
  Sample sample;
  sample.context.assign(static_cast<std::size_t>(Q.context_length), 0);
  for (bool more = true; more;) {
    double of_context = 1;
    for (const Eigen::Index token : sample.context) of_context *= problem_.mu[token];
    for (sample.query = 0; sample.query < N; ++sample.query) {
      for (sample.target = 0; sample.target < N; ++sample.target) {
        double of_target = 0;
        for (Eigen::Index slot = 0; slot < Q.slots(); ++slot) {
          if (Q.position(slot, sample.query) < 0) continue;
          const auto s = static_cast<std::size_t>(Q.position(slot, sample.query));
          of_target += Q.weight(slot, sample.query) * problem_.P(sample.target, sample.context[s]);
        }
        visit(sample, of_context * problem_.mu[sample.query] * of_target);
      }
    }
    // Next context, counting in base N.
    more = false;
    for (Eigen::Index& token : sample.context) {
      if (++token < N) {
        more = true;
        break;
      }
      token = 0;
    }
  }
}

SampleLoss sample_loss(const Sample& sample, const Eigen::MatrixXd& V, const Eigen::MatrixXd& A) {
  const auto T = static_cast<Eigen::Index>(sample.context.size());
  Eigen::VectorXd Xa = Eigen::VectorXd::Zero(V.cols());
  for (Eigen::Index i = 0; i < T; ++i)
    Xa[sample.context[static_cast<std::size_t>(i)]] += A(i, sample.query);
  Eigen::VectorXd residual = V * Xa;
  residual[sample.target] -= 1;
  const Eigen::VectorXd back = V.transpose() * residual;
  SampleLoss result{0.5 * residual.squaredNorm(), residual * Xa.transpose(), Eigen::VectorXd(T)};
  for (Eigen::Index i = 0; i < T; ++i)
    result.by_a[i] = back[sample.context[static_cast<std::size_t>(i)]];
  return result;
}

}  // namespace popflow::scb::test

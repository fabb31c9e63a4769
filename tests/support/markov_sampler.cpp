#include "support/markov_sampler.hpp"

#include <cmath>

namespace popflow::markov::test {

PairLoss pair_loss(int now, int next, const Eigen::Vector3d& at) {
  const double e = at[0], w = at[1], b = at[2];
  const double f = e * e * (1 + 2 * w * std::abs(w)) * now + b - e * e / 2;
  const double one = 1 / (1 + std::exp(-f));
  const Eigen::Vector3d f_by(2 * e * (1 + 2 * w * std::abs(w)) * now - e,
                             4 * e * e * std::abs(w) * now, 1);
  return {-std::log(next == 1 ? one : 1 - one), (one - next) * f_by};
}

std::vector<int> ChainSampler::draw(std::size_t length, RandomStream& random) const {
  std::vector<int> sequence(length);
  double one = p_ / (p_ + q_);
  for (int& symbol : sequence) {
    symbol = random.uniform() < one ? 1 : 0;
    one = probability_of_one(symbol);
  }
  return sequence;
}

void ChainSampler::enumerate(const std::function<void(int, int, double)>& visit) const {
  for (const int now : {0, 1}) {
    const double stationary = (now == 0 ? q_ : p_) / (p_ + q_);
    visit(now, 0, stationary * (1 - probability_of_one(now)));
    visit(now, 1, stationary * probability_of_one(now));
  }
}

PairLoss sequence_loss(const std::vector<int>& sequence, const Eigen::Vector3d& at) {
  PairLoss mean;
  const auto transitions = static_cast<double>(sequence.size() - 1);
  for (std::size_t n = 0; n + 1 < sequence.size(); ++n) {
    const PairLoss one = pair_loss(sequence[n], sequence[n + 1], at);
    mean.loss += one.loss / transitions;
    mean.by += one.by / transitions;
  }
  return mean;
}

}  // namespace popflow::markov::test

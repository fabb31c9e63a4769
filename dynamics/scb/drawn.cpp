#include "dynamics/scb/drawn.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <vector>

#include "popflow/error.hpp"
#include "popflow/math.hpp"
#include "popflow/parameter.hpp"
#include "popflow/random.hpp"

namespace popflow::scb {
namespace {

// Each part of the problem has its own streams, one per column. P then does not depend on the
// context, and positions do not depend on a concentration.
enum class Part : std::uint32_t { transitions, positions, weights };

RandomStream stream(std::uint64_t seed, Part part, Eigen::Index column) {
  return {seed, Purpose::problem, static_cast<std::uint32_t>(part),
          static_cast<std::uint64_t>(column)};
}

/// A Dirichlet vector as the softmax of log-gamma variates. At small concentrations the gamma
/// variates themselves would all underflow, which leaves 0/0.
Eigen::VectorXd dirichlet(RandomStream& random, Eigen::Index size, double concentration) {
  Eigen::VectorXd logarithm(size);
  for (double& x : logarithm) x = random.log_gamma_variate(concentration);
  Eigen::Index largest = 0;
  const double top = logarithm.maxCoeff(&largest);
  // Below a concentration of about 1e-306 even the logarithms overflow; in this limit the
  // distribution has a single entry of 1.
  if (std::isinf(top)) return Eigen::VectorXd::Unit(size, largest);
  Eigen::VectorXd weight(size);
  double sum = 0;
  for (Eigen::Index i = 0; i < size; ++i) {
    weight[i] = math::exp(logarithm[i] - top);
    sum += weight[i];
  }
  return weight / sum;
}

/// `count` distinct numbers below `n`, ascending; all subsets are equally likely (Floyd's method).
std::vector<std::int64_t> distinct_below(RandomStream& random, std::int64_t n, std::int64_t count) {
  std::unordered_set<std::int64_t> chosen;
  for (std::int64_t top = n - count; top < n; ++top) {
    const auto pick = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(top) + 1));
    if (!chosen.insert(pick).second) chosen.insert(top);
  }
  std::vector<std::int64_t> sorted(chosen.begin(), chosen.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

Eigen::MatrixXd draw_transitions(std::int64_t vocabulary, double concentration,
                                 std::uint64_t seed) {
  Eigen::MatrixXd P(vocabulary, vocabulary);
  for (Eigen::Index m = 0; m < P.cols(); ++m) {
    RandomStream random = stream(seed, Part::transitions, m);
    P.col(m) = dirichlet(random, P.rows(), concentration);
  }
  return P;
}

Positions draw_positions(std::int64_t vocabulary, std::int64_t context_length,
                         std::int64_t sparsity, double concentration, std::uint64_t seed) {
  if (sparsity > context_length) {
    throw UsageError("--sparsity " + std::to_string(sparsity) + " exceeds --context-length " +
                     std::to_string(context_length) + "; the positions must be distinct");
  }
  Positions Q;
  Q.context_length = context_length;
  Q.weight.resize(sparsity, vocabulary);
  Q.position.resize(sparsity, vocabulary);
  for (Eigen::Index k = 0; k < vocabulary; ++k) {
    RandomStream place = stream(seed, Part::positions, k);
    const std::vector<std::int64_t> positions = distinct_below(place, context_length, sparsity);
    Eigen::VectorXd weight = Eigen::VectorXd::Constant(sparsity, 1 / static_cast<double>(sparsity));
    if (concentration > 0) {
      RandomStream random = stream(seed, Part::weights, k);
      weight = dirichlet(random, sparsity, concentration);
    }
    std::vector<WeightedPosition> column;
    column.reserve(positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i) column.push_back({positions[i], weight[i]});
    set_column(Q, k, std::move(column));
  }
  return Q;
}

}  // namespace popflow::scb

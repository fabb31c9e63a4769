#include "dynamics/joma_joint/entropy.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "dynamics/joma_joint/attention.hpp"
#include "numerics/exponential.hpp"
#include "popflow/widest.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// ---- A token's entries are contiguous, so each loop adds one token's terms to the sums of all
// classes. Every sum is over tokens in order, for every vector width.

POPFLOW_WIDEST void add_sizes(std::size_t classes, const double* __restrict__ b,
                              double* __restrict__ sums) {
  for (std::size_t c = 0; c < classes; ++c) sums[c] += std::abs(b[c]);
}

POPFLOW_WIDEST void add_means(std::size_t classes, const double* __restrict__ b,
                              const double* __restrict__ sums, double log_rate,
                              double* __restrict__ means) {
  for (std::size_t c = 0; c < classes; ++c) means[c] += std::abs(b[c]) / sums[c] * log_rate;
}

// share log(share); zero if the share is subnormal.
inline __attribute__((always_inline)) double share_log(double size, double sum) {
  constexpr double kSmallest = std::numeric_limits<double>::min();
  const double share = size / sum;
  const bool counts = share >= kSmallest;
  const double product = share * logarithm(counts ? share : 1.0);
  return counts ? product : 0.0;
}

POPFLOW_WIDEST void add_entropies(std::size_t classes, const double* __restrict__ b,
                                  const double* __restrict__ sums, double* __restrict__ entropies) {
  for (std::size_t c = 0; c < classes; ++c) entropies[c] -= share_log(std::abs(b[c]), sums[c]);
}

POPFLOW_WIDEST void add_rates(std::size_t classes, const double* __restrict__ b,
                              const double* __restrict__ sums, const double* __restrict__ means,
                              double log_rate, double* __restrict__ entropies,
                              double* __restrict__ rates, double* __restrict__ sizes) {
  for (std::size_t c = 0; c < classes; ++c) {
    const double part = share_log(std::abs(b[c]), sums[c]);
    const double term = part * (log_rate - means[c]);
    entropies[c] -= part;
    rates[c] -= term;
    sizes[c] += std::abs(term);
  }
}

// Number of tokens per task, for a given number of classes.
constexpr Index kStretch = 512;
constexpr Index kClasses = 64;

Index pieces(Index size, Index piece) { return (size + piece - 1) / piece; }

/// Entries of a token for some classes.
struct Entries {
  Index token;
  std::size_t first, classes;
  const double* b;
};

/// A sum over tokens for each class: body(entries, sums) adds the terms to the sums of these
/// classes. The `numbers` sums of each class are consecutive.
template <class Body>
Eigen::MatrixXd over_tokens(const Eigen::MatrixXd& B, Index numbers, Workers& workers,
                            const Body& body) {
  const Index stretches = std::max<Index>(1, pieces(B.cols(), kStretch));
  const Index groups = pieces(B.rows(), kClasses);
  Eigen::MatrixXd parts = Eigen::MatrixXd::Zero(B.rows() * numbers, stretches);
  workers.run(to_size(stretches * groups), 4 * to_size(B.size()), [&](std::size_t task) {
    const Index stretch = static_cast<Index>(task) / groups;
    const Index first = static_cast<Index>(task) % groups * kClasses;
    const std::size_t classes = to_size(std::min(kClasses, B.rows() - first));
    double* const sums = parts.col(stretch).data() + first;
    for (Index l = stretch * kStretch; l < std::min((stretch + 1) * kStretch, B.cols()); ++l)
      body(Entries{l, to_size(first), classes, B.col(l).data() + first}, sums);
  });
  Eigen::VectorXd all = parts.col(0);
  for (Index stretch = 1; stretch < stretches; ++stretch) all += parts.col(stretch);
  return Eigen::Map<Eigen::MatrixXd>(all.data(), B.rows(), numbers);
}

Eigen::VectorXd sizes_of_rows(const Eigen::MatrixXd& B, Workers& workers) {
  return over_tokens(B, 1, workers,
                     [](const Entries& e, double* sums) { add_sizes(e.classes, e.b, sums); });
}

double mean_entropy(const Eigen::Ref<const Eigen::VectorXd>& entropies, const Eigen::VectorXd& sums,
                    const Eigen::VectorXd& p) {
  double mean = 0;
  for (Index c = 0; c < p.size(); ++c) {
    if (p[c] == 0) continue;
    mean += p[c] * (sums[c] > 0 ? entropies[c] : std::numeric_limits<double>::quiet_NaN());
  }
  return mean;
}

}  // namespace

double attention_entropy(const Eigen::MatrixXd& B, const Eigen::VectorXd& p, Workers& workers) {
  const Eigen::VectorXd sums = sizes_of_rows(B, workers);
  const Eigen::VectorXd entropies = over_tokens(B, 1, workers, [&](const Entries& e, double* into) {
    add_entropies(e.classes, e.b, sums.data() + e.first, into);
  });
  return mean_entropy(entropies, sums, p);
}

Entropy attention_entropy_and_rate(const Eigen::MatrixXd& B, const Eigen::VectorXd& p,
                                   const Eigen::VectorXd& log_rates, Workers& workers) {
  const std::size_t all = to_size(B.rows());
  const Eigen::VectorXd sums = sizes_of_rows(B, workers);
  const Eigen::VectorXd means = over_tokens(B, 1, workers, [&](const Entries& e, double* into) {
    add_means(e.classes, e.b, sums.data() + e.first, log_rates[e.token], into);
  });
  const Eigen::MatrixXd found = over_tokens(B, 3, workers, [&](const Entries& e, double* into) {
    add_rates(e.classes, e.b, sums.data() + e.first, means.data() + e.first, log_rates[e.token],
              into, into + all, into + 2 * all);
  });
  const auto entropies = found.col(0);
  const auto rates = found.col(1);
  const auto sizes = found.col(2);
  Entropy mean{.value = mean_entropy(entropies, sums, p)};
  for (Index c = 0; c < p.size(); ++c) {
    if (!(sums[c] > 0) || p[c] == 0) continue;
    mean.rate += p[c] * rates[c];
    mean.rate_size += p[c] * sizes[c];
  }
  return mean;
}

}  // namespace popflow::joma_joint

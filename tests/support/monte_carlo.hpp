#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "popflow/random.hpp"
#include "popflow/system.hpp"

namespace popflow::test {

// gcc defines macros for sanitizers, clang has a feature test.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define POPFLOW_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define POPFLOW_SANITIZED
#endif
#endif

/// Fraction, in tenths, of the repetitions that a Monte-Carlo test makes. Sanitizers check each
/// repetition and slow the test down; the release build checks the statistics.
#ifdef POPFLOW_SANITIZED
inline constexpr int kOfTen = 1;
#else
inline constexpr int kOfTen = 10;
#endif

/// Returns the number of repetitions to make, out of `full`.
template <class Count>
constexpr Count repetitions(Count full) {
  return full / 10 * kOfTen;
}

/// Factor by which standard errors are larger than with all repetitions.
inline const double kWiderErrors = std::sqrt(10.0 / kOfTen);

/// Mean of independent draws of a vector, with the standard error of each component (Welford).
class SampleMean {
 public:
  explicit SampleMean(Eigen::Index size)
      : mean_(Eigen::VectorXd::Zero(size)), squares_(Eigen::VectorXd::Zero(size)) {}

  void add(const Eigen::VectorXd& draw) {
    count_ += 1;
    const Eigen::VectorXd before = draw - mean_;
    mean_ += before / count_;
    squares_ += before.cwiseProduct(draw - mean_);
  }

  [[nodiscard]] const Eigen::VectorXd& mean() const { return mean_; }
  [[nodiscard]] Eigen::VectorXd standard_error() const {
    return (squares_ / ((count_ - 1) * count_)).cwiseSqrt();
  }
  /// Returns the largest distance of a component from its expected value, in standard errors.
  [[nodiscard]] double worst_z(const Eigen::VectorXd& expected) const {
    return (mean_ - expected).cwiseAbs().cwiseQuotient(standard_error()).maxCoeff();
  }

 private:
  double count_ = 0;
  Eigen::VectorXd mean_, squares_;
};

/// Returns the weighted sum at x of the sampled gradients first, first + 1, ... of a stream for
/// tests.
inline Eigen::VectorXd sampled(const System& system, const Eigen::VectorXd& x, std::uint64_t first,
                               const std::vector<double>& weights) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(x.size());
  const auto size = static_cast<std::size_t>(x.size());
  system.capabilities().sampled->add_sampled(
      std::span(x.data(), size), 0, {7, Purpose::test, 0, first}, weights, {out.data(), size});
  return out;
}

}  // namespace popflow::test

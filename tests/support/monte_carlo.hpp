#pragma once

#include <Eigen/Core>
#include <cmath>

namespace popflow::test {

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
  /// The largest distance of a component from what is expected, in standard errors.
  [[nodiscard]] double worst_z(const Eigen::VectorXd& expected) const {
    return (mean_ - expected).cwiseAbs().cwiseQuotient(standard_error()).maxCoeff();
  }

 private:
  double count_ = 0;
  Eigen::VectorXd mean_, squares_;
};

}  // namespace popflow::test

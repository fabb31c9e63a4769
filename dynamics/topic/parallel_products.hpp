#pragma once

#include <functional>

#include "dynamics/topic/matrices.hpp"
#include "popflow/workers.hpp"

namespace popflow::topic {

/// Products of full matrices on all threads; each task computes some columns of the result.
class ParallelProducts {
 public:
  using Task = std::function<void(Eigen::Index first, Eigen::Index count)>;

  explicit ParallelProducts(Workers& workers) : workers_(workers) {}

  /// Calls task for all columns, in groups; `work_each` is the work of one column.
  void by_columns(Eigen::Index columns, Eigen::Index work_each, const Task& task) const;
  /// out = a'
  void transpose(const ConstMatrix& a, Eigen::MatrixXd& out) const;
  /// out = a b
  void product(const ConstMatrix& a, const ConstMatrix& b, MatrixOut out) const;
  /// out = a b'
  void product_with_transpose(const ConstMatrix& a, const ConstMatrix& b, MatrixOut out) const;

 private:
  Workers& workers_;
};

}  // namespace popflow::topic

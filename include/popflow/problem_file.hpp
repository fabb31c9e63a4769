#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "popflow/data_file.hpp"
#include "popflow/error.hpp"

namespace popflow {

/// Probabilities of a problem file must sum to 1 within this.
inline constexpr double problem_tolerance = 1e-9;

/// The datasets of one problem, at the root of a file or in its group `problem` (of a run's file:
/// only there), read and checked. What is wrong is an InputError that names the file, the dataset
/// and the first offending entry.
class ProblemFile {
 public:
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  /// Opens `path`; one of `any_of` must be there.
  ProblemFile(const std::string& path, const std::vector<std::string>& any_of);

  [[nodiscard]] const DataFile& file() const { return file_; }
  /// The group that holds the datasets: "" or "problem".
  [[nodiscard]] const std::string& group() const { return group_; }
  /// A dataset's path in the file.
  [[nodiscard]] std::string inside(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::vector<std::size_t> shape(const std::string& name) const;

  /// A dataset with two axes.
  [[nodiscard]] Matrix matrix(const std::string& name) const;
  /// The same, of a given shape; `because` says where the shape comes from ("P has 5 tokens").
  [[nodiscard]] Matrix matrix(const std::string& name, std::size_t rows, std::size_t columns,
                              const std::string& because) const;
  /// A dataset with one axis, or a matrix of one row or column: some programs know no vectors.
  [[nodiscard]] Eigen::VectorXd vector(const std::string& name) const;
  [[nodiscard]] Eigen::VectorXd vector(const std::string& name, std::size_t size,
                                       const std::string& because) const;

  /// Refuses a name that differs from one of `known`, which the file lacks, in its case or its
  /// underscores alone: what is optional would be passed over in silence.
  void refuse_misspelt(const std::vector<std::string>& known) const;
  void require_shape(const std::string& name, std::size_t rows, std::size_t columns,
                     const std::string& because) const;
  void require_finite(const std::string& name, const Eigen::Ref<const Matrix>& values) const;
  /// Finite and not negative.
  void require_probability(const std::string& name, Eigen::Index row, Eigen::Index column,
                           double value) const;
  void require_columns_sum_to_one(const std::string& name, const Eigen::RowVectorXd& sums) const;
  /// Both of the above, for all entries.
  void require_columns_of_probabilities(const std::string& name, const Matrix& values) const;
  /// A vector of probabilities.
  void require_distribution(const std::string& name, const Eigen::VectorXd& values) const;

  /// "FILE: what".
  [[nodiscard]] InputError bad(const std::string& what) const;
  /// "FILE what".
  [[nodiscard]] InputError wrong(const std::string& what) const;

 private:
  DataFile file_;
  std::string group_;
};

/// "P[3,4]".
std::string entry_name(const std::string& name, Eigen::Index row, Eigen::Index column);
std::string entry_name(const std::string& name, Eigen::Index i);
/// Fault of an entry of a probability vector; nullptr if it is valid.
const char* probability_fault(double value);

}  // namespace popflow

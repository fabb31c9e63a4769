#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "popflow/data_file.hpp"
#include "popflow/error.hpp"

namespace popflow {

/// Tolerance for the sum of probabilities in a problem file.
inline constexpr double problem_tolerance = 1e-9;

/// Reads and checks the datasets of one problem, at the root of a file or in its group `problem`
/// (for a run's file only there). An error is an InputError that names the file, the dataset and
/// the first offending entry.
class ProblemFile {
 public:
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  /// Opens `path`, which must contain at least one of `any_of`.
  ProblemFile(const std::string& path, const std::vector<std::string>& any_of);

  [[nodiscard]] const DataFile& file() const { return file_; }
  /// Group that holds the datasets: "" or "problem".
  [[nodiscard]] const std::string& group() const { return group_; }
  /// Path of a dataset in the file.
  [[nodiscard]] std::string inside(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::vector<std::size_t> shape(const std::string& name) const;

  /// Reads a dataset with two axes.
  [[nodiscard]] Matrix matrix(const std::string& name) const;
  /// Reads a dataset of a given shape; `because` gives the reason for the shape ("P has 5 tokens").
  [[nodiscard]] Matrix matrix(const std::string& name, std::size_t rows, std::size_t columns,
                              const std::string& because) const;
  /// Reads a dataset with one axis, or a matrix with a single row or column, because some programs
  /// have no vectors.
  [[nodiscard]] Eigen::VectorXd vector(const std::string& name) const;
  [[nodiscard]] Eigen::VectorXd vector(const std::string& name, std::size_t size,
                                       const std::string& because) const;

  /// Refuses a name that differs from a missing one of `known` only in case or underscores: an
  /// optional dataset would otherwise be ignored silently.
  void refuse_misspelt(const std::vector<std::string>& known) const;
  void require_shape(const std::string& name, std::size_t rows, std::size_t columns,
                     const std::string& because) const;
  void require_finite(const std::string& name, const Eigen::Ref<const Matrix>& values) const;
  /// Requires a finite, non-negative entry.
  void require_probability(const std::string& name, Eigen::Index row, Eigen::Index column,
                           double value) const;
  void require_columns_sum_to_one(const std::string& name, const Eigen::RowVectorXd& sums) const;
  /// Applies both checks to all columns of a matrix.
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
/// Describes what is wrong with an entry of a probability vector; nullptr if nothing.
const char* probability_fault(double value);

}  // namespace popflow

#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>

namespace popflow {

// Decompositions of dense matrices of any size. Eigen compiles each of its decompositions anew in
// every source that uses it, which takes seconds; here each is compiled once.

/// Eigenvalues in ascending order, with an orthonormal eigenvector in the column of each.
struct SymmetricEigen {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};

/// Decomposes a symmetric matrix; only its lower triangle is read.
SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& matrix);

/// Eigenvalues of a symmetric matrix in ascending order.
Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& matrix);

/// Q times the vector that `find` returns from the diagonal and the subdiagonal of Q' A Q, the
/// tridiagonal form of a symmetric matrix A, of which only the lower triangle is read.
Eigen::VectorXd by_tridiagonal_form(
    const Eigen::MatrixXd& A,
    const std::function<Eigen::VectorXd(const Eigen::VectorXd& diagonal,
                                        const Eigen::VectorXd& subdiagonal)>& find);

/// Eigenvalues of a square matrix.
Eigen::VectorXcd eigenvalues(const Eigen::MatrixXd& matrix);

/// Orthonormal basis, as columns, of the space that the matrix's columns span. Requires at least as
/// many rows as columns.
Eigen::MatrixXd orthonormal_basis(const Eigen::MatrixXd& matrix);

/// Solves A x = b by Cholesky factors; none if A is not positive definite up to rounding.
std::optional<Eigen::VectorXd> solve_positive(const Eigen::MatrixXd& A, const Eigen::VectorXd& b);

/// Solves A x = b by elimination with partial pivots.
Eigen::VectorXd solve_linear(const Eigen::MatrixXd& A, const Eigen::VectorXd& b);

/// Thin singular value decomposition: matrix = left diag(values) right', values in descending
/// order.
struct Singular {
  Eigen::MatrixXd left;
  Eigen::VectorXd values;
  Eigen::MatrixXd right;
};
Singular singular(const Eigen::MatrixXd& matrix);

}  // namespace popflow

#include "dynamics/joma_joint/spectrum.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/common/products.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// Up to this size the Gram matrix of V's shorter side is made tridiagonal as a whole.
constexpr Index kSmall = 128;
// Up to this one it is formed at all: it costs as much as a few products of V and a vector, which
// wait for memory.
constexpr Index kFormed = 1024;
// Error of the vector that Lanczos' iteration stops at: far below what counts as a rate.
constexpr double kClose = 1e-12;
constexpr Index kMostIterations = 240;

/// A symmetric tridiagonal matrix whose other entries, beside the diagonal, are not negative.
struct Tridiagonal {
  Eigen::VectorXd diagonal;
  Eigen::VectorXd beside;

  /// Pivots of x - T up to the first that is not positive; all are positive where x lies above all
  /// eigenvalues. True if the number of those that are not is at most `most`.
  [[nodiscard]] bool above_all_but(Index most, double x) const {
    double pivot = 1;
    for (Index i = 0; i < diagonal.size(); ++i) {
      const double square = i == 0 ? 0 : beside[i - 1] * beside[i - 1];
      pivot = x - diagonal[i] - square / pivot;
      if (pivot == 0) pivot = -std::numeric_limits<double>::min();
      if (!(pivot > 0) && most-- == 0) return false;
    }
    return true;
  }

  /// The smallest number known to lie above all eigenvalues but the first `most`.
  [[nodiscard]] double bound(Index most) const {
    double low = diagonal.maxCoeff();  // for most = 0: not above the first
    double high = low;
    for (Index i = 0; i < diagonal.size(); ++i)
      high = std::max(high, diagonal[i] + (i > 0 ? beside[i - 1] : 0) +
                                (i + 1 < diagonal.size() ? beside[i] : 0));
    // Eigenvalues of Gram matrices are not negative.
    if (most > 0) low = 0;
    high += 1e-14 * high + std::numeric_limits<double>::min();
    for (int halving = 0; halving < 100; ++halving) {
      const double middle = low + (high - low) / 2;
      if (!(low < middle && middle < high)) break;
      (above_all_but(most, middle) ? high : low) = middle;
    }
    return high;
  }

  /// The eigenvector of the first eigenvalue, by inverse iteration from just above it. There x - T
  /// is positive definite, so that it is factored without pivoting, and its inverse has no negative
  /// entries: the vector has none either, and cannot be orthogonal to the start.
  [[nodiscard]] Eigen::VectorXd first_vector(double x) const {
    const Index n = diagonal.size();
    Eigen::VectorXd pivots(n);
    Eigen::VectorXd factors = Eigen::VectorXd::Zero(n);
    for (Index i = 0; i < n; ++i) {
      const double square = i == 0 ? 0 : beside[i - 1] * beside[i - 1];
      const double pivot = x - diagonal[i] - square / (i == 0 ? 1 : pivots[i - 1]);
      pivots[i] = std::max(pivot, 1e-3 * std::numeric_limits<double>::epsilon() * x);
      if (i > 0) factors[i] = beside[i - 1] / pivots[i - 1];
    }
    Eigen::VectorXd vector = Eigen::VectorXd::Ones(n);
    for (int round = 0; round < 4; ++round) {
      for (Index i = 1; i < n; ++i) vector[i] += factors[i] * vector[i - 1];
      vector.array() /= pivots.array();
      for (Index i = n - 1; i > 0; --i) vector[i - 1] += factors[i] * vector[i];
      vector /= vector.norm();
    }
    return vector;
  }
};

/// The Gram matrix of the rows, its lower triangle; in pieces of columns, so that little of the
/// upper one is computed too.
Eigen::MatrixXd gram_of_rows(const Eigen::MatrixXd& rows) {
  constexpr Index kPiece = 16;
  const Index n = rows.rows();
  const auto stride = static_cast<std::size_t>(n);
  Eigen::MatrixXd gram(n, n);
  for (Index first = 0; first < n; first += kPiece) {
    const Columns below{rows.data() + first, stride};
    product_with_transpose(static_cast<std::size_t>(n - first),
                           static_cast<std::size_t>(std::min(kPiece, n - first)),
                           static_cast<std::size_t>(rows.cols()), below, below,
                           gram.col(first).data() + first, stride);
  }
  return gram;
}

/// The leading eigenvector of a symmetric matrix, given by its lower triangle.
Eigen::VectorXd by_tridiagonal(const Eigen::MatrixXd& gram) {
  if (gram.rows() == 1) return Eigen::VectorXd::Ones(1);
  const Eigen::Tridiagonalization<Eigen::MatrixXd> reduced(gram);
  const Eigen::VectorXd beside = reduced.subDiagonal();
  const Tridiagonal T{reduced.diagonal(), beside.cwiseAbs()};
  Eigen::VectorXd vector = T.first_vector(T.bound(0));
  double sign = 1;
  for (Index i = 1; i < vector.size(); ++i) {
    if (beside[i - 1] < 0) sign = -sign;
    vector[i] *= sign;
  }
  return reduced.matrixQ() * vector;
}

/// The same by Lanczos' iteration, for a matrix given by what it makes of a vector. From a start
/// that depends on the size alone: what is found depends on the matrix, not on what came before.
/// False where the first eigenvalues lie too close for it.
template <typename Multiply>
bool by_iteration(Index n, const Multiply& multiply, Eigen::VectorXd& found) {
  const Index most = std::min<Index>(n / 2, kMostIterations);
  Eigen::MatrixXd basis(n, most + 1);
  Tridiagonal T{Eigen::VectorXd(most), Eigen::VectorXd(most)};
  Eigen::VectorXd next(n);
  // Neither even nor of zero sum, nor periodic: the fractions of multiples of the golden section.
  for (Index i = 0; i < n; ++i) {
    const double turn = 0.6180339887498949 * static_cast<double>(i + 1);
    basis(i, 0) = 0.5 + turn - std::floor(turn);
  }
  basis.col(0).normalize();
  for (Index m = 0; m < most; ++m) {
    multiply(basis.col(m), next);
    T.diagonal[m] = basis.col(m).dot(next);
    for (int twice = 0; twice < 2; ++twice) {
      const Eigen::VectorXd along = basis.leftCols(m + 1).transpose() * next;
      next.noalias() -= basis.leftCols(m + 1) * along;
    }
    T.beside[m] = next.norm();
    const bool ends = !(T.beside[m] > 1e-14 * T.diagonal.head(m + 1).maxCoeff());
    if (!ends) basis.col(m + 1) = next / T.beside[m];
    if (m == 0 || (!ends && m % 8 != 7)) continue;
    const Tridiagonal ritz{T.diagonal.head(m + 1), T.beside.head(m)};
    const double first = ritz.bound(0);
    const Eigen::VectorXd vector = ritz.first_vector(first);
    const double left = T.beside[m] * vector[m];
    if (ends || left <= kClose * (first - ritz.bound(1))) {
      found = (basis.leftCols(m + 1) * vector).normalized();
      return true;
    }
  }
  return false;
}

/// The leading eigenvector of the Gram matrix of a matrix's rows.
Eigen::VectorXd leading_of_rows(const Eigen::MatrixXd& rows) {
  const Index n = rows.rows();
  Eigen::VectorXd vector;
  if (n > kFormed) {
    Eigen::VectorXd other(rows.cols());
    const auto multiply = [&](const auto& from, Eigen::VectorXd& into) {
      other.noalias() = rows.transpose() * from;
      into.noalias() = rows * other;
    };
    if (by_iteration(n, multiply, vector)) return vector;
  }
  const Eigen::MatrixXd gram = gram_of_rows(rows);
  if (n > kSmall && n <= kFormed) {
    const auto multiply = [&](const auto& from, Eigen::VectorXd& into) {
      into.noalias() = gram.selfadjointView<Eigen::Lower>() * from;
    };
    if (by_iteration(n, multiply, vector)) return vector;
  }
  return by_tridiagonal(gram);
}

}  // namespace

Leading leading_direction(const Attention::Matrix& V) {
  // By the Gram matrix of the shorter side: squares cost digits of small singular values only.
  Leading found;
  const double scale = V.cwiseAbs().maxCoeff();
  if (!(scale > 0) || !std::isfinite(scale)) {
    found.stable_rank = found.value = std::numeric_limits<double>::quiet_NaN();
    found.left.setConstant(V.rows(), found.value);
    found.right.setConstant(V.cols(), found.value);
    return found;
  }
  const bool wide = V.cols() >= V.rows();
  Eigen::MatrixXd rows;
  if (wide)
    rows = V / scale;
  else
    rows = V.transpose() / scale;
  Eigen::VectorXd vector = leading_of_rows(rows);
  Eigen::VectorXd other = rows.transpose() * vector;
  const double length = other.norm();
  other /= length;
  found.value = scale * length;
  found.stable_rank = rows.squaredNorm() / (length * length);
  found.left = std::move(wide ? vector : other);
  found.right = std::move(wide ? other : vector);
  return found;
}

double stable_rank_log_rate(const Attention::Matrix& V, const Attention& attention,
                            const Eigen::MatrixXd& w, const Leading& leading, double* size) {
  // dV/dt = w B' with the attended contexts B: neither term needs dV itself.
  const double whole = w.cwiseProduct(attention.products()).sum() / V.squaredNorm();
  const Eigen::VectorXd along = attention.attended() * leading.right;
  const double first = leading.left.dot(w * along) / leading.value;
  *size = std::abs(whole) + std::abs(first);
  return whole - first;
}

}  // namespace popflow::joma_joint

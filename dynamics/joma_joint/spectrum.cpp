#include "dynamics/joma_joint/spectrum.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "dynamics/common/products.hpp"
#include "dynamics/joma_joint/kernels.hpp"
#include "numerics/linear_algebra.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// Up to this size the Gram matrix is formed, which costs as much as a few memory-bound products of
// V and a vector.
constexpr Index kFormed = 1024;
// Error of the eigenvector at which the Lanczos iteration stops, far below a significant rate.
constexpr double kVectorError = 1e-12;
constexpr Index kMostIterations = 240;
// Relative error of the first eigenvalue, if only the eigenvalue is needed.
constexpr double kValueError = 1e-13;
// Number of iterations between convergence checks.
constexpr Index kBetweenChecks = 8;
// Safety factor of the error estimate. In place of the second eigenvalue, the estimate uses the
// second Ritz value, which has converged less than the first.
constexpr double kErrors = 100;

// Number of columns per task of a sum or a product.
constexpr Index kColumnsOfPart = 256;
Index column_parts(const Attention::Matrix& V) {
  return (V.cols() + kColumnsOfPart - 1) / kColumnsOfPart;
}

/// A symmetric tridiagonal matrix with non-negative off-diagonal entries.
struct Tridiagonal {
  Eigen::VectorXd diagonal;
  Eigen::VectorXd beside;

  /// Computes pivots of x - T up to the first that is not positive; all are positive if x lies
  /// above all eigenvalues. Returns whether at most `most` pivots are not positive.
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

  /// A number above all eigenvalues (Gershgorin).
  [[nodiscard]] double upper_bound() const {
    double high = diagonal.maxCoeff();
    for (Index i = 0; i < diagonal.size(); ++i)
      high = std::max(high, diagonal[i] + (i > 0 ? beside[i - 1] : 0) +
                                (i + 1 < diagonal.size() ? beside[i] : 0));
    return high + 1e-14 * high + std::numeric_limits<double>::min();
  }

  /// First eigenvalue, by Newton's method for det(x - T) from above, which never overshoots.
  [[nodiscard]] double first_value() const {
    double x = upper_bound();
    for (int round = 0; round < 100; ++round) {
      double pivot = 1;
      double slope = 0;  // derivative of the pivot
      double sum = 0;    // sum of slope/pivot: det'/det
      for (Index i = 0; i < diagonal.size(); ++i) {
        const double part = i == 0 ? 0 : beside[i - 1] * beside[i - 1] / pivot;
        slope = 1 + (i == 0 ? 0 : part * slope / pivot);
        pivot = x - diagonal[i] - part;
        if (!(pivot > 0)) return x;  // by rounding
        sum += slope / pivot;
      }
      if (!(1 / sum > std::numeric_limits<double>::epsilon() * x)) return x;
      x -= 1 / sum;
    }
    return x;
  }

  /// Smallest number known to lie above all eigenvalues but the first `most`.
  [[nodiscard]] double bound(Index most, int halvings = 100) const {
    double low = diagonal.maxCoeff();  // for most = 0: not above the first
    double high = upper_bound();
    // Eigenvalues of Gram matrices are not negative.
    if (most > 0) low = 0;
    for (int halving = 0; halving < halvings; ++halving) {
      const double middle = low + (high - low) / 2;
      if (!(low < middle && middle < high)) break;
      (above_all_but(most, middle) ? high : low) = middle;
    }
    return high;
  }

  /// Eigenvector of the first eigenvalue, by inverse iteration from just above the eigenvalue.
  /// There x - T is positive definite, so no pivoting is needed, and its inverse has no negative
  /// entries. So the vector has none either, and cannot be orthogonal to the start.
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

/// Leading eigenvector of a symmetric matrix, given by its lower triangle.
Eigen::VectorXd by_tridiagonal(const Eigen::MatrixXd& gram) {
  if (gram.rows() == 1) return Eigen::VectorXd::Ones(1);
  return by_tridiagonal_form(gram,
                             [](const Eigen::VectorXd& diagonal, const Eigen::VectorXd& beside) {
                               const Tridiagonal T{diagonal, beside.cwiseAbs()};
                               Eigen::VectorXd vector = T.first_vector(T.bound(0));
                               double sign = 1;
                               for (Index i = 1; i < vector.size(); ++i) {
                                 if (beside[i - 1] < 0) sign = -sign;
                                 vector[i] *= sign;
                               }
                               return vector;
                             });
}

/// Start vector that is neither constant nor of zero sum, nor periodic: fractional parts of
/// multiples of the golden ratio.
void set_start(Eigen::Ref<Eigen::VectorXd> vector) {
  for (Index i = 0; i < vector.size(); ++i) {
    const double turn = 0.6180339887498949 * static_cast<double>(i + 1);
    vector[i] = 0.5 + turn - std::floor(turn);
  }
  vector.normalize();
}

/// Leading eigenvector by the Lanczos iteration, for a matrix given by its product with a vector.
/// The start depends on the size alone, so the result depends only on the matrix. Returns false if
/// the first eigenvalues are too close.
template <typename Multiply>
bool by_iteration(Index n, const Multiply& multiply, Eigen::VectorXd& found) {
  const Index most = std::min<Index>(n / 2, kMostIterations);
  Eigen::MatrixXd basis(n, most + 1);
  Tridiagonal T{Eigen::VectorXd(most), Eigen::VectorXd(most)};
  Eigen::VectorXd next(n);
  set_start(basis.col(0));
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
    if (ends || left <= kVectorError * (first - ritz.bound(1))) {
      found = (basis.leftCols(m + 1) * vector).normalized();
      return true;
    }
  }
  return false;
}

/// First eigenvalue alone by the same method: the first Ritz value, which increases towards the
/// eigenvalue. Stops when it is accurate enough or `enough(value, error)` returns true.
template <typename Multiply, typename Enough>
std::optional<double> value_by_iteration(Index n, Multiply&& multiply, const Enough& enough) {
  const Index most = std::min(n, kMostIterations);
  Eigen::MatrixXd basis(n, most);
  Tridiagonal T{Eigen::VectorXd(most), Eigen::VectorXd(most)};
  Eigen::VectorXd next(n);
  Eigen::VectorXd along(most);
  set_start(basis.col(0));
  for (Index m = 0; m < most; ++m) {
    multiply(basis.col(m).data(), next.data());
    T.diagonal[m] = kernels::dot(to_size(n), basis.col(m).data(), next.data());
    for (int twice = 0; twice < 2; ++twice) {
      kernels::dots(to_size(n), to_size(m + 1), basis.data(), to_size(n), next.data(), true,
                    along.data());
      along.head(m + 1) *= -1;
      kernels::add_columns(to_size(n), to_size(m + 1), along.data(), basis.data(), to_size(n),
                           next.data());
    }
    T.beside[m] = std::sqrt(kernels::dot(to_size(n), next.data(), next.data()));
    const bool ends = m + 1 == n || !(T.beside[m] > 1e-14 * T.diagonal.head(m + 1).maxCoeff());
    if (!ends && m + 1 < most) basis.col(m + 1) = next / T.beside[m];
    if (!ends && m % kBetweenChecks != kBetweenChecks - 1) continue;
    const Tridiagonal ritz{T.diagonal.head(m + 1), T.beside.head(m)};
    const double first = ritz.first_value();
    if (ends) return first;
    // The eigenvalue's error is of second order in the vector's, so half the iterations suffice.
    const double left = T.beside[m] * ritz.first_vector(first)[m];
    const double error = left * left / (first - ritz.bound(1, 20));
    if (error <= kValueError * first || enough(first, error)) return first;
  }
  return std::nullopt;
}

/// V V' x without forming the matrix, in one pass over V: a token's column is used twice while it
/// is in the cache.
class GramOfRows {
 public:
  GramOfRows(const Attention::Matrix& V, Workers& workers)
      : V_(V),
        workers_(workers),
        piece_(std::max<Index>(1, kPiece / V.rows())),
        part_((pieces(V.cols(), piece_) + kMostParts - 1) / kMostParts * piece_),
        sums_(V.rows(), pieces(V.cols(), part_)) {}

  void operator()(const double* from, double* into) {
    const std::size_t K = to_size(V_.rows());
    workers_.run(to_size(sums_.cols()), to_size(V_.size()), [&](std::size_t task) {
      const Index begin = static_cast<Index>(task) * part_;
      const Index end = std::min(begin + part_, V_.cols());
      double* const sum = sums_.col(static_cast<Index>(task)).data();
      std::fill_n(sum, K, 0.0);
      std::array<double, kPiece> along;
      for (Index first = begin; first < end; first += piece_) {
        const std::size_t columns = to_size(std::min(piece_, end - first));
        const double* const V = V_.col(first).data();
        kernels::dots(K, columns, V, K, from, true, along.data());
        kernels::add_columns(K, columns, along.data(), V, K, sum);
      }
    });
    std::fill_n(into, K, 0.0);
    for (Index part = 0; part < sums_.cols(); ++part) kernels::add(K, sums_.col(part).data(), into);
  }

 private:
  /// Amount of V, in numbers, that stays in the first-level cache, and the maximum number of tasks.
  static constexpr Index kPiece = 2048;
  static constexpr Index kMostParts = 8;
  static Index pieces(Index size, Index piece) { return (size + piece - 1) / piece; }

  Attention::Matrix V_;
  Workers& workers_;
  Index piece_;  ///< tokens treated together
  Index part_;   ///< tokens per task
  Eigen::MatrixXd sums_;
};

/// Whether squares lose no digits: not near the ends of the range of doubles.
bool squares_keep_digits(double squares) {
  constexpr double kFar = 1e200;
  return squares > 1 / kFar && squares < kFar;
}

/// Calls part(number, first, columns) for contiguous columns.
template <typename Part>
void in_parts(const Attention::Matrix& V, Workers& workers, const Part& part) {
  workers.run(to_size(column_parts(V)), to_size(V.size()), [&](std::size_t task) {
    const Index first = static_cast<Index>(task) * kColumnsOfPart;
    part(static_cast<Index>(task), first, std::min(kColumnsOfPart, V.cols() - first));
  });
}

double sum_of_squares(const Attention::Matrix& V, Workers& workers) {
  Eigen::VectorXd sums(column_parts(V));
  in_parts(V, workers, [&](Index part, Index first, Index columns) {
    const double* const v = V.col(first).data();
    sums[part] = kernels::dot(to_size(V.rows() * columns), v, v);
  });
  return sums.sum();
}

/// V' x.
Eigen::VectorXd along_columns(const Attention::Matrix& V, const Eigen::VectorXd& x,
                              Workers& workers) {
  Eigen::VectorXd along(V.cols());
  const std::size_t n = to_size(V.rows());
  in_parts(V, workers, [&](Index /*part*/, Index first, Index columns) {
    kernels::dots(n, to_size(columns), V.col(first).data(), n, x.data(), true,
                  along.data() + first);
  });
  return along;
}

/// Leading eigenvector of the Gram matrix of a matrix's rows.
Eigen::VectorXd leading_of_rows(const Eigen::Ref<const Eigen::MatrixXd>& rows, Workers& workers) {
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
  const Eigen::MatrixXd gram = gram_of_rows(rows, workers);
  if (n > kSmallSide && n <= kFormed) {
    const auto multiply = [&](const auto& from, Eigen::VectorXd& into) {
      into.noalias() = gram.selfadjointView<Eigen::Lower>() * from;
    };
    if (by_iteration(n, multiply, vector)) return vector;
  }
  return by_tridiagonal(gram);
}

}  // namespace

Eigen::MatrixXd gram_of_rows(const Eigen::Ref<const Eigen::MatrixXd>& rows, Workers& workers) {
  // Works in pieces of columns, so that little of the upper triangle is computed.
  constexpr Index kPiece = 16;
  const Index n = rows.rows();
  const auto stride = static_cast<std::size_t>(n);
  Eigen::MatrixXd gram(n, n);
  workers.run(to_size((n + kPiece - 1) / kPiece), to_size(n * rows.size()) / 16,
              [&](std::size_t piece) {
                const Index first = static_cast<Index>(piece) * kPiece;
                const Columns below{rows.data() + first, stride};
                product_with_transpose(to_size(n - first), to_size(std::min(kPiece, n - first)),
                                       to_size(rows.cols()), below, below,
                                       gram.col(first).data() + first, stride);
              });
  return gram;
}

LeadingTriplet leading_direction(const Attention::Matrix& V, Workers& workers) {
  // Uses the Gram matrix of the shorter side; squaring only costs digits of small singular values.
  LeadingTriplet found;
  double squares = sum_of_squares(V, workers);
  double scale = 1;
  Eigen::MatrixXd rows;
  if (!squares_keep_digits(squares)) {
    scale = V.cwiseAbs().maxCoeff();
    if (!(scale > 0) || !std::isfinite(scale)) {
      found.stable_rank = found.value = std::numeric_limits<double>::quiet_NaN();
      found.left.setConstant(V.rows(), found.value);
      found.right.setConstant(V.cols(), found.value);
      return found;
    }
    rows = V / scale;
    squares = rows.squaredNorm();
  }
  const bool wide = V.cols() >= V.rows();
  if (!wide) rows = Eigen::MatrixXd(V.transpose() / scale);
  const Attention::Matrix all(rows.size() > 0 ? rows.data() : V.data(),
                              std::min(V.rows(), V.cols()), std::max(V.rows(), V.cols()));
  Eigen::VectorXd vector = leading_of_rows(all, workers);
  Eigen::VectorXd other = along_columns(all, vector, workers);
  const double length = other.norm();
  other /= length;
  found.value = scale * length;
  found.stable_rank = squares / (length * length);
  found.left = std::move(wide ? vector : other);
  found.right = std::move(wide ? other : vector);
  return found;
}

double stable_rank(const Attention::Matrix& V, Workers& workers) {
  return rough_stable_rank(V, 0, 0, workers);
}

double rough_stable_rank(const Attention::Matrix& V, double low, double high, Workers& workers) {
  const Index K = V.rows();
  const Index M = V.cols();
  const double squares = kernels::dot(to_size(V.size()), V.data(), V.data());
  if (!squares_keep_digits(squares)) return leading_direction(V, workers).stable_rank;
  const auto enough = [&](double value, double error) {
    constexpr double kRounding = 1e-12;
    return squares / value < high * (1 - kRounding) &&
           squares / (value + kErrors * error) > low * (1 + kRounding);
  };
  std::optional<double> first;
  if (K <= M && K <= kSmallSide) {
    const Eigen::MatrixXd gram = gram_of_rows(V, workers).selfadjointView<Eigen::Lower>();
    const auto multiply = [&](const double* from, double* into) {
      kernels::dots(to_size(K), to_size(K), gram.data(), to_size(K), from, true, into);
    };
    first = value_by_iteration(K, multiply, enough);
  } else if (K <= M) {
    first = value_by_iteration(K, GramOfRows(V, workers), enough);
  } else {
    Eigen::VectorXd sums(K);
    const auto multiply = [&](const double* from, double* into) {
      sums.setZero();
      kernels::add_columns(to_size(K), to_size(M), from, V.data(), to_size(K), sums.data());
      kernels::dots(to_size(K), to_size(M), V.data(), to_size(K), sums.data(), true, into);
    };
    first = value_by_iteration(M, multiply, enough);
  }
  return first ? squares / *first : leading_direction(V, workers).stable_rank;
}

double stable_rank_log_rate(const Attention::Matrix& V, const Attention& attention,
                            const Eigen::MatrixXd& w, const LeadingTriplet& leading, double* size) {
  // dV/dt = w B' with the attended contexts B: neither term needs dV itself.
  const double whole = w.cwiseProduct(attention.products()).sum() / V.squaredNorm();
  const Eigen::VectorXd along =
      attention.scales().cwiseProduct(attention.unscaled() * leading.right);
  const double first = leading.left.dot(w * along) / leading.value;
  *size = std::abs(whole) + std::abs(first);
  return whole - first;
}

}  // namespace popflow::joma_joint

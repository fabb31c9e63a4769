#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <vector>

#include "popflow/workers.hpp"

namespace popflow::scb {

/// The flow with the l1 penalty lambda sum_k |a_k|_1 followed exactly. Between changes of the
/// active set, the weights that are not at rest, it is smooth. With g_i the drift without the
/// penalty of a weight a_i, an entry of column k:
///   sign_i = +1, -1   moves:  da_i/dt = g_i + nu_k - lambda sign_i
///   sign_i = 0        rests:  a_i = 0, as long as |g_i + nu_k| <= lambda
/// nu_k is 0 without the projection; with it, it keeps the sum of the column. This is a gradient
/// flow of a smooth and a convex function, whose solution from any state on is unique, so that
/// nothing is left to choose where several weights come to zero at once.
///
/// An entry of the state may stand for several equal weights; it holds their deviation from 1/T.
class ActiveSet {
 public:
  struct Weights {
    std::size_t size = 0;           ///< entries
    std::size_t column = 0;         ///< entries of a column
    double uniform = 0;             ///< 1/T
    std::vector<double> many = {};  ///< weights an entry stands for (0: it is not used); empty: 1
  };
  ActiveSet(Weights weights, double l1, bool project, Workers& workers);

  /// The drift without the penalty at some state, and a bound on its rounding errors.
  struct Drift {
    std::span<const double> g;
    double rounding = 0;
  };

  /// Makes the derivative of the drift g.
  void derive(std::span<const double> signs, std::span<double> g) const;
  /// Makes the Jacobian of that of the drift. The entries begin at row and column `first`.
  void linearise(std::span<const double> signs, Eigen::Index first,
                 Eigen::Ref<Eigen::MatrixXd> j) const;
  /// Distance to the first wrong sign, in units of 1/T or of lambda; NaN if
  /// anything is.
  [[nodiscard]] double left(std::span<const double> d, std::span<const double> signs,
                            const Drift& drift) const;

  /// Puts the weights at rest at exactly zero, where a method's rounding has moved them; the
  /// entries of `d` are copied to `space` for that if there are any. Returns the one or the other.
  [[nodiscard]] std::span<const double> at_rest(std::span<const double> d,
                                                std::span<const double> signs,
                                                std::vector<double>& space) const;

  // A change of the set: stop(), then release() with the drift at the state that stop() leaves.

  /// The signs of the weights d. What is within rounding of zero is put there and has none.
  void find_signs(std::span<double> d, std::span<double> signs) const;
  /// Puts the weights whose sign is no longer the right one at zero. Were there any?
  bool stop(std::span<double> d, std::span<double> signs, const Drift& drift) const;
  /// Gives those at zero that the drift moves the sign of their motion.
  void release(std::span<double> signs, const Drift& drift) const;

 private:
  [[nodiscard]] std::size_t columns() const { return weights_.size / weights_.column; }
  [[nodiscard]] double many(std::size_t i) const {
    return weights_.many.empty() ? 1 : weights_.many[i];
  }
  /// Calls body(first, end) for the entries of each column, on all threads.
  template <class Body>
  void each_column(const Body& body) const;
  /// nu of the column of entries [first, end), whose signs are right.
  [[nodiscard]] double shift(std::size_t first, std::size_t end, std::span<const double> signs,
                             std::span<const double> g) const;
  /// nu of a column whose entries at zero are free to move.
  [[nodiscard]] double freeing_shift(std::size_t first, std::size_t end,
                                     std::span<const double> signs,
                                     std::span<const double> g) const;
  [[nodiscard]] double slack(const Drift& drift) const;

  Weights weights_;
  double l1_;
  bool project_;
  Workers& workers_;
};

}  // namespace popflow::scb

#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <vector>

#include "popflow/workers.hpp"

namespace popflow::scb {

/// The flow with the l1 penalty lambda sum_k |a_k|_1, integrated exactly. The flow is smooth
/// between changes of the active set, which consists of the weights that are not at rest. If g_i is
/// the drift, without the penalty, of a weight a_i in column k,
///   sign_i = +1, -1   moves:  da_i/dt = g_i + nu_k - lambda sign_i
///   sign_i = 0        rests:  a_i = 0, as long as |g_i + nu_k| <= lambda
/// Without the projection nu_k is 0; with the projection, nu_k conserves the sum of the column. The
/// flow is the gradient flow of a smooth plus a convex function, whose solution from any state is
/// unique. The next signs are therefore determined even if several weights come to zero at once.
///
/// An entry of the state may represent several equal weights; it holds their deviation from 1/T.
class ActiveSet {
 public:
  struct Weights {
    std::size_t size = 0;                   ///< number of entries
    std::size_t column = 0;                 ///< entries per column
    double uniform = 0;                     ///< 1/T
    std::vector<double> multiplicity = {};  ///< number of weights per entry (0: unused); empty: 1
  };
  ActiveSet(Weights weights, double l1, bool project, Workers& workers);

  /// Drift of the weights without the penalty, and a bound on its rounding errors.
  struct Drift {
    std::span<const double> g;
    double rounding = 0;
  };

  /// Turns the drift g into the derivative.
  void derive(std::span<const double> signs, std::span<double> g) const;
  /// Turns the Jacobian of the drift into that of the derivative. The entries begin at row and
  /// column `first`.
  void linearise(std::span<const double> signs, Eigen::Index first,
                 Eigen::Ref<Eigen::MatrixXd> j) const;
  /// Distance to the nearest change of a sign, in units of 1/T or of lambda; NaN if any value is
  /// NaN.
  [[nodiscard]] double distance_to_change(std::span<const double> d, std::span<const double> signs,
                                          const Drift& drift) const;

  /// Resets the weights at rest to exactly zero, where a method's rounding has moved them. Returns
  /// `d`, or a corrected copy in `space` if a correction is needed.
  [[nodiscard]] std::span<const double> at_rest(std::span<const double> d,
                                                std::span<const double> signs,
                                                std::vector<double>& space) const;

  // ---- A change of the set: stop(), then release() with the drift at the state after stop().

  /// Determines the signs of the weights d. Weights within rounding of zero are set to zero and get
  /// sign 0.
  void find_signs(std::span<double> d, std::span<double> signs) const;
  /// Sets weights whose sign has become wrong to zero. Returns whether there were any such weights.
  bool stop(std::span<double> d, std::span<double> signs, const Drift& drift) const;
  /// Gives each weight at zero that the drift moves the sign of its motion.
  void release(std::span<double> signs, const Drift& drift) const;

 private:
  [[nodiscard]] std::size_t columns() const { return weights_.size / weights_.column; }
  [[nodiscard]] double multiplicity(std::size_t i) const {
    return weights_.multiplicity.empty() ? 1 : weights_.multiplicity[i];
  }
  /// Calls body(first, end) for the entries of each column, on all threads.
  template <class Body>
  void each_column(const Body& body) const;
  /// nu of the column with entries [first, end), given correct signs.
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

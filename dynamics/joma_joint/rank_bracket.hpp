#pragma once

#include <Eigen/Core>
#include <optional>

#include "dynamics/joma_joint/attention.hpp"
#include "popflow/workers.hpp"

namespace popflow::joma_joint {

/// Bounds of the stable rank of V (K x M) near a reference V_0 whose first singular directions are
/// known.
///
/// With q of these as orthonormal columns U, and for what is orthogonal to them, V V' falls into
///   T = U' V V' U,  R = (1 - U U') V V' U  and a rest of norm at most beta = (s + |V - V_0|_F)^2,
/// where s = |(1 - U U') V_0|_2. Its first eigenvalue is not below that of T, mu, and not above
/// that of the matrix of norms with mu and beta on the diagonal and |R|_F beside it (both by the
/// variational principle). So an answer takes products with q vectors, in one pass over V and V_0.
class RankBracket {
 public:
  /// Is it cheaper than the stable rank itself?
  static bool pays(const Attention::Matrix& V);

  struct Bounds {
    double low, high;
  };
  /// None without a reference, or far from it.
  [[nodiscard]] std::optional<Bounds> at(const Attention::Matrix& V, Workers& workers);
  /// By a sample of its entries: is V as near to the reference as bounds need?
  [[nodiscard]] bool seems_near(const Attention::Matrix& V) const;

  /// After a question that the bounds have not answered: V becomes the reference, unless the last
  /// ones have answered too few to be worth their cost.
  void renew(const Attention::Matrix& V, Workers& workers);
  /// The bounds have answered a question.
  void count_answer() { ++answers_; }

 private:
  void move_to(const Attention::Matrix& V, Workers& workers);

  Eigen::MatrixXd reference_;  ///< V_0
  Eigen::MatrixXd U_;          ///< K x q
  double first_ = 0;           ///< |V_0|_2
  double rest_ = 0;            ///< s
  int answers_ = 0;            ///< by this reference
  int pause_ = 0;              ///< questions to let pass before the next reference
  int wait_ = 0;               ///< those of them that are left
  // Sums over each part of the tokens, added in their order.
  Eigen::MatrixXd products_;  ///< K q x parts: of V V' U
  Eigen::MatrixXd squares_;   ///< 2 x parts: of V, and of V - V_0
};

}  // namespace popflow::joma_joint

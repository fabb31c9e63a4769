#pragma once

#include "dynamics/joma_joint/attention.hpp"

namespace popflow::joma_joint {

/// Leading singular value of V (K x M) with its vectors.
struct LeadingTriplet {
  double stable_rank = 0;  ///< |V|_F^2 / |V|_2^2; NaN for V = 0
  double value = 0;        ///< |V|_2
  Eigen::VectorXd left;    ///< K
  Eigen::VectorXd right;   ///< M
};

/// Up to this size the Gram matrix of V's shorter side is formed and tridiagonalised as a whole.
inline constexpr Eigen::Index kSmallSide = 128;

/// Lower triangle of V V'; the upper one is undefined.
Eigen::MatrixXd gram_of_rows(const Eigen::Ref<const Eigen::MatrixXd>& V, Workers& workers);

LeadingTriplet leading_direction(const Attention::Matrix& V, Workers& workers);

/// Stable rank alone, to 1e-12, at a fraction of the cost.
double stable_rank(const Attention::Matrix& V, Workers& workers);
/// Like stable_rank(), but may return any value in [low, high] if the stable rank lies in that
/// range.
double rough_stable_rank(const Attention::Matrix& V, double low, double high, Workers& workers);

/// Half of d/dt log stable rank along the flow, <V,dV>/|V|_F^2 - left'dV right/|V|_2, from the
/// weights w (K x C) of the nodes' gradients and the attention at V. `size` is the sum of the
/// magnitudes of the two terms.
double stable_rank_log_rate(const Attention::Matrix& V, const Attention& attention,
                            const Eigen::MatrixXd& w, const LeadingTriplet& leading, double* size);

}  // namespace popflow::joma_joint

#pragma once

#include <optional>
#include <string>

#include "dynamics/scb/parts.hpp"
#include "dynamics/scb/problem.hpp"
#include "popflow/parameter.hpp"

namespace popflow::scb {

/// The paper's algorithm. Stage 1: the projected flow without l1, until the signals are boosted.
/// Then small attention weights become zero. Stage 2: without the projection, with l1, until the
/// loss is on a plateau. Then the state rests.
struct TwoStage {
  std::optional<double> signal = 0.5;  ///< stage 1 ends when signal_V signal_A reaches this
  std::optional<double> time = {};     ///< or at this time; one of the two
  double threshold = 0;                ///< weights below this share of a column's sum become 0
  double plateau_time = 0;             ///< stage 2 ends when over this time (0: never)
  double plateau_fall = 0;             ///< the loss has not fallen by this
};

/// How the l1 term is followed.
enum class L1Solver {
  active_set,          ///< exactly (ActiveSet)
  splitting,           ///< by proximal steps of a length that is given
  adaptive_splitting,  ///< by proximal steps of a length that an error estimate chooses
};

/// Terms that a training adds to the plain flow.
struct Training {
  double l1 = 0;  ///< lambda of the penalty
  L1Solver solver = L1Solver::splitting;
  bool solver_unused = false;  ///< another solver was asked for than what noisy modes take
  std::optional<TwoStage> two_stage = {};
  /// At a run's end: weights below this share of their column's sum become 0, and each column of A
  /// and of V is divided by its sum. Nothing: the end is left alone.
  std::optional<double> rounding = {};
  bool default_l1 = false;          ///< l1 is the default of two stages, and was not asked for
  std::optional<double> step = {};  ///< length of explicit steps that no error estimate controls
  std::optional<double> splitting_step = {};  ///< of a flow's proximal steps
  /// Weights that may come to rest one by one, where they are too many for that to be cheap.
  std::size_t single_weights = 0;
  /// The error of the loss that counts, eps^2 kappa_0 K_P / 2 with eps = --accuracy.
  double loss_error = 0;
};

/// tr(V' P Sigma) / K_P: the part of P that V has. What V has of mu 1' adds nothing to it. NaN
/// where P has no signal.
double correlation(const Eigen::MatrixXd& V, const Problem& problem);

/// Reads the training's parameters and resolves the defaults of those that two stages have, from
/// the constants of the problem. Throws UsageError for what contradicts itself or means nothing.
///
/// Defaults, with S the most positions of a query, q the smallest weight that Q has (1/S if all are
/// equal), eps = `accuracy`:
/// - l1 = eps K_P / (S^2 N^3), the paper's scale.
/// - threshold = alpha q/2, half of the weight that alpha_A = alpha gives to the least of Q's
///   positions at the end of stage 1. On the signal equations K_P alpha_V^2 - kappa alpha_A^2 stays
///   (over times much shorter than T) what it was at the start, K_P v^2 with v = signal_V; where
///   alpha_V alpha_A = s that makes alpha_V^2 = (v^2 + sqrt(v^4 + 4 kappa s^2 / K_P)) / 2. Where a
///   time ends stage 1, s = 1/2.
/// - rounding = q/4: shares do not change along the valley (cP, Q/c).
/// - plateau-time = 5 / growth rate. In the valley's normal directions the loss falls at about
///   twice that rate, by e^-10.
/// - The fall that counts is eps^2 kappa_0 K_P / 2, of the size of the loss that errors of relative
///   size eps make in V and A; kappa_0 K_P / 2 is the loss of V = mu 1' above the minimum.
Training settle_training(Parameters& own, const Problem& problem, Variant variant,
                         const Eigen::MatrixXd& V0);

/// The settings in a sentence.
std::string settings(const Training& training);

}  // namespace popflow::scb

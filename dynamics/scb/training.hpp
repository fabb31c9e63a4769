#pragma once

#include <optional>
#include <string>

#include "dynamics/scb/parts.hpp"
#include "dynamics/scb/problem.hpp"
#include "popflow/parameter.hpp"

namespace popflow::scb {

/// The paper's algorithm. Stage 1: the projected flow without l1, until the signals have grown.
/// Then small attention weights are set to zero. Stage 2: the flow without the projection and with
/// l1, until the loss is on a plateau. Then the state rests.
struct TwoStage {
  // End of stage 1: signal_V signal_A reaches `signal`, or `time`. Exactly one of the two is set.
  std::optional<double> signal = 0.5;
  std::optional<double> time = {};
  double threshold = 0;  ///< weights below this fraction of a column's sum become 0
  // End of stage 2: the loss falls by at most plateau_fall within plateau_time (0: never).
  double plateau_time = 0;
  double plateau_fall = 0;
};

/// Method for the l1 term.
enum class L1Solver {
  active_set,          ///< exact (ActiveSet)
  splitting,           ///< proximal steps of a given length
  adaptive_splitting,  ///< proximal steps whose length an error estimate chooses
};

/// Additions to the plain flow.
struct Training {
  double l1 = 0;  ///< lambda of the penalty
  L1Solver solver = L1Solver::splitting;
  bool solver_unused = false;  ///< whether a solver was requested that noisy modes do not use
  std::optional<TwoStage> two_stage = {};
  /// At a run's end, weights below this fraction of their column's sum become 0, and each column of
  /// A and of V is divided by its sum. Unset: the end is not changed.
  std::optional<double> rounding = {};
  bool default_l1 = false;                    ///< l1 is the default of two stages, not requested
  std::optional<double> step = {};            ///< step size of explicit steps without error control
  std::optional<double> splitting_step = {};  ///< length of a flow's proximal steps
  /// Number of weights that may come to rest one by one, if this makes the active set expensive.
  std::size_t single_weights = 0;
  /// Significant error of the loss: eps^2 kappa_0 K_P / 2 with eps = --accuracy.
  double loss_error = 0;
};

/// tr(V' P Sigma) / K_P: the component of V along P. A component of V along mu 1' does not
/// contribute. NaN if P has no signal.
double correlation(const Eigen::MatrixXd& V, const Problem& problem);

/// Reads the training's parameters, and resolves the defaults of two-stage training from the
/// constants of the problem. Throws UsageError for parameters that contradict each other or have no
/// effect.
///
/// Defaults, with S the largest number of positions of a query, q the smallest weight in Q (1/S if
/// all are equal), eps = `accuracy`:
/// - l1 = eps K_P / (S^2 N^3), the paper's scale.
/// - threshold = alpha q/2, half of the smallest weight of Q's positions at the end of stage 1,
///   where alpha_A = alpha. Over times much shorter than T, the signal equations nearly conserve
///   K_P alpha_V^2 - kappa alpha_A^2, which is K_P v^2 at the start, with v = signal_V. If
///   alpha_V alpha_A = s, it follows that alpha_V^2 = (v^2 + sqrt(v^4 + 4 kappa s^2 / K_P)) / 2.
///   If a time ends stage 1, s = 1/2.
/// - rounding = q/4: shares do not change along the valley (cP, Q/c).
/// - plateau-time = 5 / growth rate. In the valley's normal directions the loss falls at about
///   twice that rate, by e^-10.
/// - A fall of at most eps^2 kappa_0 K_P / 2 counts as a plateau. Errors of relative size eps in V
///   and A cause about this loss; kappa_0 K_P / 2 is the loss of V = mu 1' above the minimum.
Training resolve_training(Parameters& own, const Problem& problem, Variant variant,
                          const Eigen::MatrixXd& V0);

/// Describes the settings in a sentence.
std::string settings(const Training& training);

}  // namespace popflow::scb

#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "popflow/setting.hpp"
#include "popflow/system.hpp"

namespace popflow::scb {

/// Relevant positions for query k: the non-zeros of column k of Q, sorted by position. Unused slots
/// have weight 0 and position -1 and come last.
struct Positions {
  std::int64_t context_length = 0;  ///< T
  /// (slot, query): the weight q_k(position), and the position.
  Eigen::MatrixXd weight;
  Eigen::Matrix<std::int64_t, Eigen::Dynamic, Eigen::Dynamic> position;
  [[nodiscard]] Eigen::Index slots() const { return weight.rows(); }
};

/// An SCB problem: transition matrix P (column-stochastic, N x N, P(next, previous)), its
/// stationary distribution mu, and the positions Q.
struct Problem {
  Eigen::MatrixXd P;
  Eigen::VectorXd mu;
  Positions Q;
  std::optional<Eigen::MatrixXd> V0;  ///< a start from the problem file
  /// tr(V' P Sigma)/K_P of the pretrained V from which this V0 was made.
  std::optional<double> transfer_correlation = {};
  std::vector<std::string> labels = {};  ///< labels of the tokens, if they come from text
  std::vector<Note> notes = {};          ///< notes on the counts
  [[nodiscard]] Eigen::Index vocabulary() const { return P.rows(); }
};

/// Draws, reads or counts the problem according to the parameters, and resolves sizes found in a
/// file into `ingredients.own`. Throws UsageError for contradictions, InputError for a wrong file.
///
/// Uses vocab-size, context-length, sparsity, transition-concentration, position-concentration,
/// text, text-unit and counts of `own`, and the problem file and the seed of the setting.
Problem make_problem(const Ingredients& ingredients);

/// Stationary distribution of a column-stochastic matrix by the Grassmann-Taksar-Heyman
/// elimination, which subtracts nothing and is therefore accurate in every component. Throws
/// InputError (with `name`) if the chain is reducible: there is no positive stationary vector, or
/// more than one.
Eigen::VectorXd stationary_distribution(const Eigen::MatrixXd& P, const std::string& name);

/// A non-zero of a column of Q.
struct WeightedPosition {
  std::int64_t position = 0;
  double weight = 0;
};

/// Writes one column's non-zeros into column `query` of `positions`, whose matrices have their
/// final size: sorted by position, zero weights left out, unused slots last.
void set_column(Positions& positions, Eigen::Index query, std::vector<WeightedPosition> column);

/// Joins the labels with blanks (no label contains a blank), and splits them again.
std::string joined_labels(const std::vector<std::string>& labels);
std::vector<std::string> split_labels(const std::string& text);

}  // namespace popflow::scb

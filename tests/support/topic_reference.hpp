#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "dynamics/topic/data.hpp"
#include "popflow/random.hpp"

/// The model of full matrices, written down from its definition and as slow as that is.
namespace popflow::topic::test {

/// (n+1) x (n+1) matrices; index 0 is [MASK], words of topic t are 1 + t v .. (t+1) v.
struct Matrices {
  Eigen::MatrixXd value;  ///< W_V, or E where the attention is uniform
  Eigen::MatrixXd logit;  ///< (key, query)
};

/// A loss with its gradient by both matrices.
struct LossGradient {
  double loss = 0;
  Matrices by;
};

enum class Scored { all, words };  ///< words: row 0 of the output is not scored

/// The loss of one selected position: `input` are the frequencies of what the document shows,
/// `query` what the position shows, `word` its true word.
LossGradient position_loss(const Matrices& at, const Eigen::VectorXd& input, Eigen::Index query,
                           Eigen::Index word, Scored scored);

/// Mean over all documents there are, infinitely long, and all that their selected positions show.
/// Without the l2 term.
LossGradient enumerated(const Data& data, const Matrices& at, Scored scored = Scored::all);

/// Mean over the selected positions of a document; a loss of NaN if none is selected.
struct Document {
  LossGradient sampled;
  /// The same positions, had the document been infinitely long: what differs is the bias of its
  /// length, and little else.
  LossGradient infinite;
};
Document sampled(const Data& data, const Matrices& at, std::int64_t length, RandomStream& random);

}  // namespace popflow::topic::test

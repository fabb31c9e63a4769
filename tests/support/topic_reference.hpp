#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "dynamics/topic/data.hpp"
#include "popflow/random.hpp"

/// Model of full matrices, derived directly from its definition, and slow.
namespace popflow::topic::test {

/// (n+1) x (n+1) matrices; index 0 is [MASK], and the words of topic t are 1 + t v .. (t+1) v.
struct Matrices {
  Eigen::MatrixXd value;  ///< W_V, or E for uniform attention
  Eigen::MatrixXd logit;  ///< (key, query)
};

/// A loss and its gradient with respect to both matrices.
struct LossGradient {
  double loss = 0;
  Matrices by;
};

enum class Scored { all, words };  ///< words: row 0 of the output is not scored

/// Loss of one selected position. `input` has the frequencies of the document's symbols, `query` is
/// the symbol shown at the position, and `word` is its true word.
LossGradient position_loss(const Matrices& at, const Eigen::VectorXd& input, Eigen::Index query,
                           Eigen::Index word, Scored scored);

/// Mean over all possible documents of infinite length, and over all symbols that their selected
/// positions show, without the l2 term.
LossGradient enumerated(const Data& data, const Matrices& at, Scored scored = Scored::all);

/// Mean over the selected positions of a document; the loss is NaN if none is selected.
struct Document {
  LossGradient sampled;
  /// Mean over the same positions in infinitely long documents. The difference is essentially the
  /// bias of the finite length.
  LossGradient infinite;
};
Document sampled(const Data& data, const Matrices& at, std::int64_t length, RandomStream& random);

}  // namespace popflow::topic::test

#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

#include "dynamics/topic/loss.hpp"
#include "dynamics/topic/subspaces.hpp"

namespace popflow::topic {

// ---- Full matrices. Symbol 0 is [MASK]; the words of topic t are 1 + t v .. (t+1) v. W_V is
// stored without its row 0, which is always 0: n x (n+1), row x - 1 for word x. The others are
// (n+1) x (n+1); rows of Lambda are keys.

using ConstMatrix = Eigen::Ref<const Eigen::MatrixXd>;
using MatrixOut = Eigen::Ref<Eigen::MatrixXd>;

/// Sizes as Eigen's index type.
struct Sizes {
  explicit Sizes(const Data& data)
      : topics(data.topics),
        words_per_topic(data.words_per_topic),
        words(topics * words_per_topic),
        symbols(words + 1) {}
  Eigen::Index topics;           ///< T
  Eigen::Index words_per_topic;  ///< v
  Eigen::Index words;            ///< n
  Eigen::Index symbols;          ///< n + 1

  /// Topic of word 0 .. n-1.
  [[nodiscard]] Eigen::Index topic_of(Eigen::Index word) const { return word / words_per_topic; }
};

// Matrices whose entries are equal on each kind.
Eigen::MatrixXd expand(const Data& data, const Values<double>& W);      ///< W_V, n x (n+1)
Eigen::MatrixXd expand(const Data& data, const Logits<double>& logit);  ///< (n+1) x (n+1)

// Means over the entries of each kind; 0 for a kind without entries.
Values<double> class_means(const Data& data, const ConstMatrix& W);
Logits<double> class_means_of_square(const Data& data, const ConstMatrix& logit);
/// Class means of K'Q without forming the product: n^2 operations.
Logits<double> class_means_of_product(const Data& data, const ConstMatrix& K, const ConstMatrix& Q);

}  // namespace popflow::topic

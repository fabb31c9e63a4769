#include "dynamics/topic/matrices.hpp"

namespace popflow::topic {

namespace {

/// Means over the entries of each kind, from the sums over the diagonal, the topics' blocks and the
/// whole words' block.
Logits<double> means_of_sums(const Data& data, double diagonal, double topics, double words,
                             const Logits<double>& rest) {
  Logits<double> sums = rest;
  sums[logit_same_word] = diagonal;
  sums[logit_same_topic] = topics - diagonal;
  sums[logit_other_topic] = words - topics;
  const auto multiplicity = logit_multiplicities(data);
  for (std::size_t i = 0; i < logit_entries; ++i)
    sums[i] = multiplicity[i] > 0 ? sums[i] / multiplicity[i] : 0;
  return sums;
}

/// The words' block of a matrix.
Logits<double> means_of_words(const Data& data, const ConstMatrix& words,
                              const Logits<double>& rest) {
  const Sizes size(data);
  const Eigen::Index v = size.words_per_topic;
  double topics = 0, other = 0;
  // Sums blocks of two topics directly, because subtracting from the whole would lose digits.
  for (Eigen::Index t = 0; t < size.topics; ++t) {
    const auto columns = words.middleCols(t * v, v);
    topics += columns.middleRows(t * v, v).sum();
    other += columns.topRows(t * v).sum() + columns.bottomRows(size.words - (t + 1) * v).sum();
  }
  Logits<double> means = means_of_sums(data, words.diagonal().sum(), topics, topics, rest);
  const double count = logit_multiplicities(data)[logit_other_topic];
  means[logit_other_topic] = count > 0 ? other / count : 0;
  return means;
}

}  // namespace

Eigen::MatrixXd expand(const Data& data, const Logits<double>& logit) {
  const Sizes size(data);
  const Eigen::Index n = size.words, v = size.words_per_topic;
  Eigen::MatrixXd m(size.symbols, size.symbols);
  auto words = m.bottomRightCorner(n, n);
  words.setConstant(logit[logit_other_topic]);
  for (Eigen::Index t = 0; t < size.topics; ++t)
    words.block(t * v, t * v, v, v).setConstant(logit[logit_same_topic]);
  words.diagonal().setConstant(logit[logit_same_word]);
  m.row(0).tail(n).setConstant(logit[logit_mask_key]);
  m.col(0).tail(n).setConstant(logit[logit_word_key]);
  m(0, 0) = logit[logit_mask_mask];
  return m;
}

Eigen::MatrixXd expand(const Data& data, const Values<double>& W) {
  return expand(data,
                Logits<double>{W[same_word], W[same_topic], W[other_topic], 0, W[mask_column], 0})
      .bottomRows(Sizes(data).words);
}

Values<double> class_means(const Data& data, const ConstMatrix& W) {
  const Eigen::Index n = Sizes(data).words;
  const Logits<double> means =
      means_of_words(data, W.rightCols(n), {0, 0, 0, 0, W.col(0).sum(), 0});
  return {means[logit_same_word], means[logit_same_topic], means[logit_other_topic],
          means[logit_word_key]};
}

Logits<double> class_means_of_square(const Data& data, const ConstMatrix& logit) {
  const Eigen::Index n = Sizes(data).words;
  return means_of_words(
      data, logit.bottomRightCorner(n, n),
      {0, 0, 0, logit.row(0).tail(n).sum(), logit.col(0).tail(n).sum(), logit(0, 0)});
}

Logits<double> class_means_of_product(const Data& data, const ConstMatrix& K,
                                      const ConstMatrix& Q) {
  const Sizes size(data);
  const Eigen::Index v = size.words_per_topic;
  // The sum over a block of K'Q is the product of the sums of its columns.
  Eigen::MatrixXd of_K(K.rows(), size.topics), of_Q(Q.rows(), size.topics);
  for (Eigen::Index t = 0; t < size.topics; ++t) {
    of_K.col(t) = K.middleCols(1 + t * v, v).rowwise().sum();
    of_Q.col(t) = Q.middleCols(1 + t * v, v).rowwise().sum();
  }
  const Eigen::VectorXd all_K = of_K.rowwise().sum(), all_Q = of_Q.rowwise().sum();
  const double diagonal = K.rightCols(size.words).cwiseProduct(Q.rightCols(size.words)).sum();
  return means_of_sums(data, diagonal, of_K.cwiseProduct(of_Q).sum(), all_K.dot(all_Q),
                       {0, 0, 0, K.col(0).dot(all_Q), all_K.dot(Q.col(0)), K.col(0).dot(Q.col(0))});
}

}  // namespace popflow::topic

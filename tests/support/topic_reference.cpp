#include "support/topic_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace popflow::topic::test {

namespace {

void add(LossGradient& sum, double weight, const LossGradient& term) {
  sum.loss += weight * term.loss;
  sum.by.value += weight * term.by.value;
  sum.by.logit += weight * term.by.logit;
}

LossGradient nothing(const Matrices& at) {
  const Eigen::Index size = at.value.rows();
  return {0, {Eigen::MatrixXd::Zero(size, size), Eigen::MatrixXd::Zero(size, size)}};
}

/// Returns all subsets of `count` out of `n`.
std::vector<std::vector<Eigen::Index>> choices(Eigen::Index n, Eigen::Index count) {
  std::vector<std::vector<Eigen::Index>> all;
  std::vector<bool> chosen(static_cast<std::size_t>(n), false);
  std::fill_n(chosen.begin(), count, true);
  do {
    std::vector<Eigen::Index> one;
    for (Eigen::Index i = 0; i < n; ++i)
      if (chosen[static_cast<std::size_t>(i)]) one.push_back(i);
    all.push_back(one);
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return all;
}

std::vector<Eigen::Index> words_of(const std::vector<Eigen::Index>& topics, Eigen::Index v) {
  std::vector<Eigen::Index> words;
  for (const Eigen::Index topic : topics)
    for (Eigen::Index i = 0; i < v; ++i) words.push_back(1 + topic * v + i);
  return words;
}

/// Frequencies in an infinitely long document: unselected and kept words, random words, masks.
Eigen::VectorXd frequencies(const Data& data, const std::vector<Eigen::Index>& topics) {
  const Eigen::Index n = data.topics * data.words_per_topic;
  const std::vector<Eigen::Index> words = words_of(topics, data.words_per_topic);
  Eigen::VectorXd input = Eigen::VectorXd::Zero(n + 1);
  input[0] = data.mask_prob * (1 - data.keep_prob - data.random_prob);
  for (Eigen::Index word = 1; word <= n; ++word)
    input[word] += data.mask_prob * data.random_prob / static_cast<double>(n);
  for (const Eigen::Index word : words)
    input[word] +=
        (1 - data.mask_prob + data.mask_prob * data.keep_prob) / static_cast<double>(words.size());
  return input;
}

}  // namespace

LossGradient position_loss(const Matrices& at, const Eigen::VectorXd& input, Eigen::Index query,
                           Eigen::Index word, Scored scored) {
  const Eigen::VectorXd logit = at.logit.col(query);
  Eigen::VectorXd attention = input.array() * (logit.array() - logit.maxCoeff()).exp();
  attention /= attention.sum();
  Eigen::VectorXd residual = at.value * attention;
  residual[word] -= 1;
  if (scored == Scored::words) residual[0] = 0;
  LossGradient result = nothing(at);
  result.loss = residual.squaredNorm();
  result.by.value = 2 * residual * attention.transpose();
  const Eigen::VectorXd by_attention = 2 * at.value.transpose() * residual;
  const Eigen::MatrixXd softmax =
      Eigen::MatrixXd(attention.asDiagonal()) - attention * attention.transpose();
  result.by.logit.col(query) = softmax * by_attention;
  return result;
}

LossGradient enumerated(const Data& data, const Matrices& at, Scored scored) {
  const Eigen::Index v = data.words_per_topic;
  const Eigen::Index n = data.topics * v;
  const double masked = 1 - data.keep_prob - data.random_prob;
  const auto documents = choices(data.topics, data.topics_per_document);
  LossGradient sum = nothing(at);
  for (const std::vector<Eigen::Index>& topics : documents) {
    const std::vector<Eigen::Index> words = words_of(topics, v);
    const double each = 1 / static_cast<double>(words.size());

    const Eigen::VectorXd input = frequencies(data, topics);
    for (const Eigen::Index word : words) {
      const double share = each / static_cast<double>(documents.size());
      add(sum, share * masked, position_loss(at, input, 0, word, scored));
      add(sum, share * data.keep_prob, position_loss(at, input, word, word, scored));
      for (Eigen::Index shown = 1; shown <= n; ++shown)
        add(sum, share * data.random_prob / static_cast<double>(n),
            position_loss(at, input, shown, word, scored));
    }
  }
  return sum;
}

Document sampled(const Data& data, const Matrices& at, std::int64_t length, RandomStream& random) {
  const Eigen::Index v = data.words_per_topic;
  const auto n = static_cast<std::uint64_t>(data.topics * v);
  std::vector<Eigen::Index> order(static_cast<std::size_t>(data.topics));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(data.topics_per_document); ++i)
    std::swap(order[i], order[i + random.below(order.size() - i)]);
  order.resize(static_cast<std::size_t>(data.topics_per_document));

  struct Position {
    Eigen::Index shown, word;
  };
  std::vector<Position> selected;
  Eigen::VectorXd input = Eigen::VectorXd::Zero(at.value.rows());
  for (std::int64_t i = 0; i < length; ++i) {
    const Eigen::Index topic = order[random.below(order.size())];
    const Eigen::Index word =
        1 + topic * v + static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(v)));
    Eigen::Index shown = word;
    if (random.uniform() < data.mask_prob) {
      const double what = random.uniform();
      if (what >= data.keep_prob + data.random_prob)
        shown = 0;
      else if (what >= data.keep_prob)
        shown = 1 + static_cast<Eigen::Index>(random.below(n));
      selected.push_back({shown, word});
    }
    input[shown] += 1 / static_cast<double>(length);
  }
  Document mean{nothing(at), nothing(at)};
  if (selected.empty()) mean.sampled.loss = std::numeric_limits<double>::quiet_NaN();
  const Eigen::VectorXd limit = frequencies(data, order);
  const double share = 1 / static_cast<double>(selected.size());
  for (const Position& position : selected) {
    add(mean.sampled, share, position_loss(at, input, position.shown, position.word, Scored::all));
    add(mean.infinite, share, position_loss(at, limit, position.shown, position.word, Scored::all));
  }
  return mean;
}

}  // namespace popflow::topic::test

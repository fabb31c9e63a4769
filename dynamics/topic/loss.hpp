#pragma once

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <limits>
#include <unsupported/Eigen/AutoDiff>
#include <vector>

#include "dynamics/topic/data.hpp"

namespace popflow::topic {

template <class S>
using Values = std::array<S, value_entries>;
template <class S>
using Logits = std::array<S, logit_entries>;

/// A number with its derivatives by the state, of which no variant has more than 16 numbers.
inline constexpr int largest_state = 16;
using Dual = Eigen::AutoDiffScalar<Eigen::Matrix<double, largest_state, 1>>;

inline double plain(double x) { return x; }
inline double plain(const Dual& x) { return x.value(); }

/// The population loss without the l2 term, and its derivatives by one entry of the full matrices:
/// those by the coordinates, divided by their multiplicities.
template <class S>
struct Gradient {
  S loss = S(0.0);
  Values<S> value{};
  Logits<S> logit{};
};

/// The attention of a query, and what follows from it.
template <class S>
struct Attention {
  std::array<S, 4> weight;  ///< of one word of each class
  S mask_weight;            ///< of all [MASK] together
  std::array<S, 4> topic;   ///< of the whole topic of a word of each class
  S words;                  ///< of all words together
};

template <class S>
Attention<S> attend(const Query& query, const Logits<S>& logit, const Data& data) {
  using std::exp;
  const std::size_t classes = query.classes.size();
  // The largest logit of a key that occurs is taken out of the exponentials.
  double shift =
      data.z_mask() > 0 ? plain(logit[query.mask_logit]) : -std::numeric_limits<double>::infinity();
  for (const WordClass& c : query.classes)
    if (c.frequency > 0) shift = std::max(shift, plain(logit[c.logit]));
  const auto key_weight = [&](double frequency, LogitEntry entry) {
    if (frequency <= 0) return S(0.0);
    const S exponent = logit[entry] - shift;
    return S(frequency * exp(exponent));
  };

  Attention<S> a;
  a.mask_weight = key_weight(data.z_mask(), query.mask_logit);
  S sum = a.mask_weight;
  for (std::size_t i = 0; i < classes; ++i) {
    a.weight[i] = key_weight(query.classes[i].frequency, query.classes[i].logit);
    sum += query.classes[i].count * a.weight[i];
  }
  a.mask_weight /= sum;
  a.words = S(0.0);
  S own = S(0.0);
  for (std::size_t i = 0; i < classes; ++i) {
    a.weight[i] /= sum;
    const S all = query.classes[i].count * a.weight[i];
    a.words += all;
    if (query.classes[i].own_topic) own += all;
  }
  for (std::size_t i = 0; i < classes; ++i)
    a.topic[i] = query.classes[i].own_topic ? own : S(data.v() * a.weight[i]);
  return a;
}

template <class S>
void add_query(const Data& data, const Query& query, const Values<S>& W, const Logits<S>& logit,
               Gradient<S>& sum) {
  const Attention<S> a = attend(query, logit, data);
  const std::size_t classes = query.classes.size();
  const double p = query.probability;
  const S word_over_topic = W[same_word] - W[same_topic];
  const S topic_over_other = W[same_topic] - W[other_topic];

  // Outputs, and the derivatives of the loss by them, of all words of a class together.
  std::array<S, 4> by_output;
  S by_any = S(0.0), by_own = S(0.0);
  S loss = S(query.floor);
  for (std::size_t i = 0; i < classes; ++i) {
    const WordClass& c = query.classes[i];
    const S output = word_over_topic * a.weight[i] + topic_over_other * a.topic[i] +
                     W[other_topic] * a.words + W[mask_column] * a.mask_weight;
    const S residual = output - c.target / c.count;
    loss += c.count * residual * residual;
    by_output[i] = 2 * c.count * residual;
    by_any += by_output[i];
    if (c.own_topic) by_own += by_output[i];
  }
  sum.loss += p * loss;

  for (std::size_t i = 0; i < classes; ++i) {
    sum.value[same_word] += p * by_output[i] * a.weight[i];
    sum.value[same_topic] += p * by_output[i] * (a.topic[i] - a.weight[i]);
    sum.value[other_topic] += p * by_output[i] * (a.words - a.topic[i]);
  }
  sum.value[mask_column] += p * by_any * a.mask_weight;

  // By the weight of one key of each class; then through the softmax.
  std::array<S, 4> by_weight;
  const S by_mask = W[mask_column] * by_any;
  S mean = by_mask * a.mask_weight;
  for (std::size_t i = 0; i < classes; ++i) {
    const WordClass& c = query.classes[i];
    const S of_word = by_output[i] / c.count;
    const S of_topic = c.own_topic ? by_own : S(of_word * data.v());
    by_weight[i] =
        word_over_topic * of_word + topic_over_other * of_topic + W[other_topic] * by_any;
    mean += c.count * a.weight[i] * by_weight[i];
  }
  for (std::size_t i = 0; i < classes; ++i) {
    const WordClass& c = query.classes[i];
    sum.logit[c.logit] += p * c.count * a.weight[i] * (by_weight[i] - mean);
  }
  sum.logit[query.mask_logit] += p * a.mask_weight * (by_mask - mean);
}

/// The loss of masked-language modelling: squared error (no 1/2) on the selected positions.
template <class S>
Gradient<S> loss_gradient(const Data& data, const std::vector<Query>& queries, const Values<S>& W,
                          const Logits<S>& logit) {
  Gradient<S> sum;
  sum.value.fill(S(0.0));
  sum.logit.fill(S(0.0));
  for (const Query& query : queries) add_query(data, query, W, logit, sum);
  const auto value_of = value_multiplicities(data);
  const auto logit_of = logit_multiplicities(data);
  for (std::size_t i = 0; i < value_entries; ++i) {
    if (value_of[i] > 0)
      sum.value[i] /= value_of[i];
    else
      sum.value[i] = S(0.0);
  }
  for (std::size_t i = 0; i < logit_entries; ++i) {
    if (logit_of[i] > 0)
      sum.logit[i] /= logit_of[i];
    else
      sum.logit[i] = S(0.0);
  }
  return sum;
}

}  // namespace popflow::topic

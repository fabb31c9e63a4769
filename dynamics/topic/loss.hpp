#pragma once

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <limits>
#include <unsupported/Eigen/AutoDiff>
#include <vector>

#include "dynamics/topic/data.hpp"
#include "popflow/math.hpp"

namespace popflow::topic {

template <class S>
using Values = std::array<S, value_entries>;
template <class S>
using Logits = std::array<S, logit_entries>;

/// Bound on the size of the state of any variant.
inline constexpr int largest_state = 16;
/// A number with its derivatives with respect to the state.
using Dual = Eigen::AutoDiffScalar<Eigen::Matrix<double, largest_state, 1>>;

inline double plain(double x) { return x; }
inline double plain(const Dual& x) { return x.value(); }
inline double exponential(double x) { return math::exp(x); }
inline Dual exponential(const Dual& x) {
  const double value = math::exp(x.value());
  return {value, x.derivatives() * value};
}

/// Population loss without the l2 term, and its derivatives with respect to single entries of the
/// full matrices: those with respect to the coordinates, divided by their multiplicities.
template <class S>
struct Gradient {
  S loss = S(0.0);
  Values<S> value{};
  Logits<S> logit{};
};

/// exp(Lambda) up to a factor, for the keys of a query: words by class, and [MASK].
template <class S>
struct Keys {
  std::array<S, 3> word;
  S mask;
};

/// Terms of the query [MASK] or, if not `masked`, of queries that are words: all their kinds have
/// the same keys.
template <bool masked, class S>
Keys<S> keys(const Queries& queries, const Logits<S>& logit) {
  constexpr LogitEntry of_mask = masked ? logit_mask_mask : logit_mask_key;
  constexpr std::array<LogitEntry, 3> of_word = {masked ? logit_word_key : logit_same_word,
                                                 masked ? logit_word_key : logit_same_topic,
                                                 masked ? logit_word_key : logit_other_topic};
  constexpr std::size_t first = masked ? 2 : 0;  // earlier classes are empty
  // Subtracts the largest logit of a key that occurs from the exponents.
  double shift = -std::numeric_limits<double>::infinity();
  if (queries.occurs[of_mask]) shift = plain(logit[of_mask]);
  for (std::size_t i = first; i < of_word.size(); ++i)
    if (queries.occurs[of_word[i]]) shift = std::max(shift, plain(logit[of_word[i]]));
  const auto weight = [&](LogitEntry entry) {
    if (!queries.occurs[entry]) return S(0.0);
    const S exponent = logit[entry] - shift;
    return exponential(exponent);
  };
  Keys<S> all{{S(0.0), S(0.0), S(0.0)}, weight(of_mask)};
  for (std::size_t i = first; i < of_word.size(); ++i) all.word[i] = weight(of_word[i]);
  return all;
}

template <bool masked, class S>
void add_query(const Data& data, const Query& query, const Values<S>& W, const Keys<S>& keys,
               Gradient<S>& sum) {
  constexpr std::size_t first = masked ? 2 : 0, own = 2, all_classes = 4;
  const double v = data.v(), p = query.probability;
  const auto& classes = query.classes;

  // Attention on one word of each class, on the class, on the whole topic of one of its words, on
  // all words, and on all [MASK].
  std::array<S, all_classes> weight, of_class, topic;
  S mask = data.z_mask() * keys.mask;
  S whole = mask;
  for (std::size_t i = first; i < all_classes; ++i) {
    weight[i] = classes[i].frequency * keys.word[std::min<std::size_t>(i, 2)];
    of_class[i] = classes[i].count * weight[i];
    whole += of_class[i];
  }
  const S inverse = 1 / whole;
  mask *= inverse;
  S words = S(0.0);
  for (std::size_t i = first; i < all_classes; ++i) {
    weight[i] *= inverse;
    of_class[i] *= inverse;
    words += of_class[i];
    topic[i] = v * weight[i];
  }
  if constexpr (!masked) topic[0] = topic[1] = of_class[0] + of_class[1];

  // Outputs, and derivatives of the loss with respect to them, for all words of a class together.
  const S word_over_topic = W[same_word] - W[same_topic];
  const S topic_over_other = W[same_topic] - W[other_topic];
  const S to_all = W[other_topic] * words + W[mask_column] * mask;
  std::array<S, all_classes> twice, by_output;  // twice the residual
  S by_any = S(0.0), by_own = S(0.0), loss = S(query.floor);
  for (std::size_t i = first; i < all_classes; ++i) {
    const S residual =
        word_over_topic * weight[i] + topic_over_other * topic[i] + to_all - classes[i].each;
    twice[i] = 2 * residual;
    by_output[i] = classes[i].count * twice[i];
    loss += 0.5 * by_output[i] * residual;
    by_any += by_output[i];
    if (i < own) by_own += by_output[i];
  }
  sum.loss += p * loss;

  S by_word = S(0.0), by_topic = S(0.0), by_other = S(0.0);
  for (std::size_t i = first; i < all_classes; ++i) {
    by_word += by_output[i] * weight[i];
    by_topic += by_output[i] * (topic[i] - weight[i]);
    by_other += by_output[i] * (words - topic[i]);
  }
  sum.value[same_word] += p * by_word;
  sum.value[same_topic] += p * by_topic;
  sum.value[other_topic] += p * by_other;
  sum.value[mask_column] += p * by_any * mask;

  // With respect to the weight of one key of each class, then through the softmax.
  std::array<S, all_classes> by_weight;
  const S by_mask = W[mask_column] * by_any, by_all = W[other_topic] * by_any;
  S mean = by_mask * mask;
  for (std::size_t i = first; i < all_classes; ++i) {
    const S of_topic = i < own ? by_own : S(v * twice[i]);
    by_weight[i] = word_over_topic * twice[i] + topic_over_other * of_topic + by_all;
    mean += of_class[i] * by_weight[i];
  }
  const auto by_logit = [&](std::size_t i) { return S(p * of_class[i] * (by_weight[i] - mean)); };
  if constexpr (!masked) {
    sum.logit[logit_same_word] += by_logit(0);
    sum.logit[logit_same_topic] += by_logit(1);
  }
  sum.logit[masked ? logit_word_key : logit_other_topic] += by_logit(2) + by_logit(3);
  sum.logit[masked ? logit_mask_mask : logit_mask_key] += p * mask * (by_mask - mean);
}

/// The loss of masked-language modelling: squared error (no 1/2) on the selected positions.
template <class S>
Gradient<S> loss_gradient(const Data& data, const Queries& queries, const Values<S>& W,
                          const Logits<S>& logit) {
  Gradient<S> sum;
  sum.value.fill(S(0.0));
  sum.logit.fill(S(0.0));
  const Keys<S> of_mask = keys<true>(queries, logit), of_word = keys<false>(queries, logit);
  for (const Query& query : queries.all) {
    if (query.masked)
      add_query<true>(data, query, W, of_mask, sum);
    else
      add_query<false>(data, query, W, of_word, sum);
  }
  for (std::size_t i = 0; i < value_entries; ++i) sum.value[i] *= queries.per_value[i];
  for (std::size_t i = 0; i < logit_entries; ++i) sum.logit[i] *= queries.per_logit[i];
  return sum;
}

}  // namespace popflow::topic

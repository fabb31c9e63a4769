#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dynamics/topic/data.hpp"

namespace popflow::topic {

/// Number of queries that the population loss treats together, one per lane: every number of a
/// query is stored as this many consecutive numbers.
inline constexpr std::size_t query_lanes = 8;

/// Data of the queries for the loss, and scratch memory.
struct QueryLanes {
  /// Allocates the arrays.
  explicit QueryLanes(const Data& data);
  /// Loads query `first` and the following queries; lanes without a query hold one that never
  /// occurs. Query 0 is [MASK].
  void choose(const Data& data, std::size_t first, double sets);

  std::size_t topics, words_per_topic, words;

  // Properties of the queries.
  std::vector<double> own_topic;  ///< T: 1 for the query's topic
  std::vector<double> inside;     ///< 1 for [MASK]: no word, but in every document
  /// Frequency with which a selected position shows the query, if the query's topic is in the
  /// document and if not. Divided by the number of sets of topics.
  std::vector<double> frequency_inside, frequency_outside;
  /// Excess probability that a query whose topic is in the document is the true word.
  std::vector<double> itself;
  std::size_t first = 0;

  std::vector<double> E;       ///< n + 1: weights of the keys
  std::vector<double> s;       ///< T
  std::vector<double> g;       ///< (T + 1) n: g_t one after the other; the last is b
  std::vector<double> own_g;   ///< T + 1: g and b at the query itself
  std::vector<double> inner;   ///< (T + 1)^2: inner products of the g_t and b
  std::vector<double> blocks;  ///< T (T + 1): sums of each g_t and b over the words of each topic
  std::vector<double> loss;

  // Derivatives with respect to s, g, own_g, inner and blocks.
  std::vector<double> by_s, by_g, by_own_g, by_inner, by_blocks;
  std::vector<double> by_mask;  ///< with respect to the mask's part of the sum of all weights
  std::vector<double> by_key;   ///< n + 1: with respect to the logits
};

/// Computes s, and b = mask W_mask + z_out sum_t g_t in the last place of g; `mask` has one value
/// per lane.
void add_topics(double z_out, const double* mask, const double* W_mask, QueryLanes& at);
/// Computes inner products, and sums over topics.
void multiply_topics(QueryLanes& at);
/// Computes losses and, if `derive`, the derivatives with respect to s, inner, blocks and own_g,
/// over all sets of topics: `tau` topics of each in `members`. `step` is z_in - z_out, and `mask`
/// as above.
void sum_over_sets(std::span<const std::int32_t> members, std::size_t tau, double step,
                   double z_out, const double* mask, bool derive, QueryLanes& at);
/// Computes the derivatives with respect to g and b.
void derive_topics(double step, double z_out, QueryLanes& at);
/// Computes the derivatives with respect to the logits from by_key = W' by_g; the derivative for
/// the mask uses b.
void finish_keys(double z_mask, QueryLanes& at);

/// to[i] = exp(from[i] - shift).
void shifted_weights(std::size_t count, const double* from, double shift, double* to);
/// by_logit = attention (by_attention - its mean under the attention): the derivative of a softmax.
/// For `rows` queries, a multiple of the lanes; all arrays are rows x keys.
void differentiate_softmax(std::size_t rows, std::size_t keys, const double* attention,
                           const double* by_attention, double* by_logit);

}  // namespace popflow::topic

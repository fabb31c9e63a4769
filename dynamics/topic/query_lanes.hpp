#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dynamics/topic/data.hpp"

namespace popflow::topic {

/// Queries that the population loss goes through together, one in each lane: so many numbers lie
/// behind one another wherever one query has one.
inline constexpr std::size_t query_lanes = 8;

/// Queries as the loss sees them, and workspace.
struct QueryLanes {
  /// Makes room.
  explicit QueryLanes(const Data& data);
  /// From now on these are queries `first` and the following, as far as there are any; the lanes
  /// left over are of queries that never occur. 0 is [MASK].
  void choose(const Data& data, std::size_t first, double sets);

  std::size_t topics, words_per_topic, words;

  // Kinds of the queries.
  std::vector<double> own_topic;  ///< T: 1 for the query's topic
  std::vector<double> inside;     ///< 1 for [MASK], which is no word and in every document
  /// How often a selected position shows the query, by whether its topic is the document's, divided
  /// by the number of sets of topics; and how often it is then the true word, beyond chance.
  std::vector<double> often_inside, often_outside, itself;
  std::size_t first = 0;

  std::vector<double> E;       ///< n + 1: weights of the keys
  std::vector<double> s;       ///< T
  std::vector<double> g;       ///< (T + 1) n: g_t one after the other; the last is b
  std::vector<double> own_g;   ///< T + 1: those of the query itself
  std::vector<double> inner;   ///< (T + 1)^2: inner products of the g_t and b
  std::vector<double> blocks;  ///< T (T + 1): sums of each g_t and b over the words of each topic
  std::vector<double> loss;

  // Derivatives by these.
  std::vector<double> by_s, by_g, by_own_g, by_inner, by_blocks;
  std::vector<double> by_mask;  ///< by the mask's part of the sum of all weights
  std::vector<double> by_key;   ///< n + 1: by the logits
};

/// s, and b = mask W_mask + z_out sum_t g_t in the last place of g; `mask` is that of each lane.
void add_topics(double z_out, const double* mask, const double* W_mask, QueryLanes& at);
/// Inner products, and sums over topics.
void multiply_topics(QueryLanes& at);
/// Losses, and if `derive` the derivatives by s, inner, blocks and own_g, over all sets of topics:
/// `tau` topics of each in `members`. `step` is z_in - z_out, and `mask` as above.
void go_through_sets(std::span<const std::int32_t> members, std::size_t tau, double step,
                     double z_out, const double* mask, bool derive, QueryLanes& at);
/// The derivatives by g and b.
void derive_topics(double step, double z_out, QueryLanes& at);
/// From by_key = W' by_g the derivatives by the logits; that of the mask is by b.
void finish_keys(double z_mask, QueryLanes& at);

/// to[i] = exp(from[i] - shift).
void shifted_weights(std::size_t count, const double* from, double shift, double* to);
/// by_logit = attention (by_attention - its mean under the attention), for `rows` queries, a
/// multiple of the lanes; all rows x keys.
void through_softmax(std::size_t rows, std::size_t keys, const double* attention,
                     const double* by_attention, double* by_logit);

}  // namespace popflow::topic

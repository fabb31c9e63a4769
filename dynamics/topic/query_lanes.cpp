#include "dynamics/topic/query_lanes.hpp"

#include <algorithm>

#include "numerics/exponential.hpp"
#include "popflow/widest.hpp"

namespace popflow::topic {

namespace {

/// One number for each query. The compiler splits vectors that are wider than the machine's.
typedef double Lanes __attribute__((vector_size(8 * query_lanes), aligned(8), may_alias));

Lanes* lanes(std::vector<double>& numbers) { return reinterpret_cast<Lanes*>(numbers.data()); }
Lanes* lanes(double* numbers) { return reinterpret_cast<Lanes*>(numbers); }
const Lanes* lanes(const double* numbers) { return reinterpret_cast<const Lanes*>(numbers); }

constexpr std::size_t kTile = 4;  // side length of the tile of results kept in registers

}  // namespace

QueryLanes::QueryLanes(const Data& data)
    : topics(static_cast<std::size_t>(data.topics)),
      words_per_topic(static_cast<std::size_t>(data.words_per_topic)),
      words(topics * words_per_topic) {
  const std::size_t with_b = topics + 1;
  const auto make = [](std::size_t count, auto&... all) {
    (all.assign(count * query_lanes, 0.0), ...);
  };
  make(1, inside, frequency_inside, frequency_outside, itself, loss, by_mask);
  make(topics, own_topic, s, by_s);
  make(words + 1, E, by_key);
  make(with_b * words, g, by_g);
  make(with_b, own_g, by_own_g);
  make(with_b * with_b, inner, by_inner);
  make(topics * with_b, blocks, by_blocks);
}

void QueryLanes::choose(const Data& data, std::size_t from, double sets) {
  first = from;
  std::fill(own_topic.begin(), own_topic.end(), 0.0);
  const double random = data.random_prob / data.n(), kept = data.keep_prob / data.inside();
  for (std::size_t lane = 0; lane < query_lanes; ++lane) {
    const std::size_t query = first + lane;
    const bool mask = query == 0, is_there = query <= words;
    inside[lane] = mask ? 1 : 0;
    frequency_inside[lane] = is_there ? (mask ? data.hide_prob() : kept + random) / sets : 0;
    frequency_outside[lane] = is_there && !mask ? random / sets : 0;
    itself[lane] = is_there && !mask && kept + random > 0 ? kept / (kept + random) : 0;
    if (is_there && !mask) own_topic[(query - 1) / words_per_topic * query_lanes + lane] = 1;
  }
}

POPFLOW_WIDEST void shifted_weights(std::size_t count, const double* from, double shift,
                                    double* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = exponential(from[i] - shift);
}

POPFLOW_WIDEST void differentiate_softmax(std::size_t rows, std::size_t keys,
                                          const double* attention, const double* by_attention,
                                          double* by_logit) {
  for (std::size_t row = 0; row < rows; row += query_lanes) {
    Lanes mean = {};
    for (std::size_t k = 0; k < keys; ++k)
      mean += *lanes(attention + k * rows + row) * *lanes(by_attention + k * rows + row);
    for (std::size_t k = 0; k < keys; ++k)
      *lanes(by_logit + k * rows + row) =
          *lanes(attention + k * rows + row) * (*lanes(by_attention + k * rows + row) - mean);
  }
}

POPFLOW_WIDEST void add_topics(double z_out, const double* mask, const double* W_mask,
                               QueryLanes& at) {
  const Lanes of_mask = *lanes(mask);
  const Lanes* E = lanes(at.E) + 1;
  for (std::size_t t = 0; t < at.topics; ++t) {
    Lanes sum = {};
    for (std::size_t k = 0; k < at.words_per_topic; ++k) sum += E[t * at.words_per_topic + k];
    lanes(at.s)[t] = sum;
  }
  Lanes* g = lanes(at.g);
  for (std::size_t i = 0; i < at.words; ++i) {
    Lanes sum = {};
    for (std::size_t t = 0; t < at.topics; ++t) sum += g[t * at.words + i];
    g[at.topics * at.words + i] = of_mask * W_mask[i] + z_out * sum;
  }
}

POPFLOW_WIDEST void multiply_topics(QueryLanes& at) {
  const std::size_t all = at.topics + 1, n = at.words;
  const Lanes* g = lanes(at.g);
  Lanes* inner = lanes(at.inner);
  // Past the end, repeats the last vector.
  const auto vector = [&](std::size_t t) { return g + std::min(t, at.topics) * n; };
  for (std::size_t r = 0; r < all; r += kTile) {
    for (std::size_t t = r; t < all; t += kTile) {
      const Lanes *a[kTile], *b[kTile];
      for (std::size_t i = 0; i < kTile; ++i) a[i] = vector(r + i), b[i] = vector(t + i);
      Lanes sums[kTile][kTile] = {};
      for (std::size_t word = 0; word < n; ++word)
        for (std::size_t i = 0; i < kTile; ++i)
          for (std::size_t j = 0; j < kTile; ++j) sums[i][j] += a[i][word] * b[j][word];
      for (std::size_t i = 0; i < kTile && r + i < all; ++i)
        for (std::size_t j = 0; j < kTile && t + j < all; ++j)
          inner[(r + i) * all + t + j] = inner[(t + j) * all + r + i] = sums[i][j];
    }
  }
  Lanes* blocks = lanes(at.blocks);
  for (std::size_t t = 0; t < all; ++t) {
    for (std::size_t r = 0; r < at.topics; ++r) {
      const Lanes* words = g + t * n + r * at.words_per_topic;
      Lanes sum = {};
      for (std::size_t k = 0; k < at.words_per_topic; ++k) sum += words[k];
      blocks[r * all + t] = sum;
    }
  }
}

POPFLOW_WIDEST void sum_over_sets(std::span<const std::int32_t> members, std::size_t tau,
                                  double step, double z_out, const double* mask, bool derive,
                                  QueryLanes& at) {
  const std::size_t T = at.topics, all = T + 1;
  const Lanes *s = lanes(at.s), *inner = lanes(at.inner), *blocks = lanes(at.blocks);
  const Lanes *own_g = lanes(at.own_g), *own_topic = lanes(at.own_topic);
  const Lanes frequency_inside = *lanes(at.frequency_inside),
              frequency_outside = *lanes(at.frequency_outside);
  const Lanes itself = *lanes(at.itself);
  const double per_word = 1 / static_cast<double>(tau * at.words_per_topic);
  Lanes sum_0 = {};
  for (std::size_t t = 0; t < T; ++t) sum_0 += s[t];
  sum_0 = *lanes(mask) + z_out * sum_0;
  const Lanes b_norm = inner[T * all + T];

  Lanes loss = {}, by_b_norm = {}, by_sum_0 = {}, by_b_own = {};
  Lanes *by_s = lanes(at.by_s), *by_inner = lanes(at.by_inner), *by_blocks = lanes(at.by_blocks);
  Lanes* by_own_g = lanes(at.by_own_g);
  for (std::vector<double>* sums : {&at.by_s, &at.by_inner, &at.by_blocks, &at.by_own_g})
    std::fill(sums->begin(), sums->end(), 0.0);

  const std::size_t count = members.size() / tau;
  for (std::size_t set = 0; set < count; ++set) {
    const std::int32_t* topics = members.data() + set * tau;
    Lanes inside = *lanes(at.inside);
    Lanes sum_s = {}, b_inner = {}, b_sum = {}, norms = {}, pairs = {}, block = {}, own = {};
    for (std::size_t i = 0; i < tau; ++i) {
      const auto t = static_cast<std::size_t>(topics[i]);
      inside += own_topic[t];
      sum_s += s[t];
      b_inner += inner[T * all + t];
      b_sum += blocks[t * all + T];
      own += own_g[t];
      norms += inner[t * all + t];
      block += blocks[t * all + t];
      for (std::size_t j = 0; j < i; ++j) {
        const auto r = static_cast<std::size_t>(topics[j]);
        pairs += inner[r * all + t];
        block += blocks[r * all + t] + blocks[t * all + r];
      }
    }
    // Inside or outside is 1 or 0, so products with these are exact.
    const Lanes outside = 1 - inside;
    const Lanes often = inside * frequency_inside + outside * frequency_outside;
    const Lanes of_own = inside * itself, of_any = (1 - of_own) * per_word;
    // The output is F/N; computes its product with the mean target. N may be 0 for a query that
    // never occurs.
    const Lanes N = often > 0 ? sum_0 + step * sum_s : Lanes{} + 1;
    const Lanes F2 = b_norm + 2 * step * b_inner + step * step * (norms + 2 * pairs);
    const Lanes target = of_any * (b_sum + step * block) + of_own * (own_g[T] + step * own);
    const Lanes inverse = 1 / N, ratio = F2 * inverse;
    loss += often * ((ratio - 2 * target) * inverse + 1);
    if (!derive) continue;

    const Lanes by_F2 = often * inverse * inverse, by_target = -2 * often * inverse;
    const Lanes by_N = -2 * by_F2 * (ratio - target);
    const Lanes by_own = by_target * of_own, by_block = by_target * of_any;
    by_b_norm += by_F2;
    by_sum_0 += by_N;
    by_b_own += by_own;
    for (std::size_t i = 0; i < tau; ++i) {
      const auto t = static_cast<std::size_t>(topics[i]);
      by_s[t] += by_N;
      by_own_g[t] += by_own;
      for (std::size_t j = 0; j <= i; ++j) {
        const auto r = static_cast<std::size_t>(topics[j]);
        by_inner[r * all + t] += by_F2;
        by_blocks[r * all + t] += by_block;
      }
    }
  }
  *lanes(at.loss) = loss;
  if (!derive) return;
  for (std::size_t t = 0; t < T; ++t) {
    for (std::size_t r = 0; r < t; ++r) {
      by_inner[t * all + r] = by_inner[r * all + t];
      by_blocks[t * all + r] = by_blocks[r * all + t];
    }
    by_inner[T * all + t] = by_inner[t * all + t];
    by_blocks[t * all + T] = by_blocks[t * all + t];
    by_s[t] = step * by_s[t] + z_out * by_sum_0;
    by_own_g[t] = step * by_own_g[t];
  }
  by_inner[T * all + T] = by_b_norm;
  by_own_g[T] = by_b_own;
  *lanes(at.by_mask) = by_sum_0;
}

POPFLOW_WIDEST void derive_topics(double step, double z_out, QueryLanes& at) {
  const std::size_t T = at.topics, all = T + 1, n = at.words;
  const Lanes *g = lanes(at.g), *by_inner = lanes(at.by_inner), *by_blocks = lanes(at.by_blocks);
  Lanes* by_g = lanes(at.by_g);
  const Lanes* own = lanes(at.by_own_g);
  const Lanes *b = g + T * n, of_b = 2 * by_inner[T * all + T];
  Lanes* by_b = by_g + T * n;
  for (std::size_t i = 0; i < n; ++i) {
    Lanes sum = {};
    for (std::size_t t = 0; t < T; ++t) sum += g[t * n + i] * by_inner[T * all + t];
    const std::size_t topic = i / at.words_per_topic;
    by_b[i] = of_b * b[i] + 2 * step * sum + by_blocks[topic * all + T];
  }
  // In each lane whose query is a word, adds the contribution of the word's own entry.
  const auto add_own = [&](std::size_t t) {
    for (std::size_t lane = 0; lane < query_lanes; ++lane) {
      const std::size_t query = at.first + lane;
      if (query == 0 || query > n) continue;
      at.by_g[(t * n + query - 1) * query_lanes + lane] += own[t][lane];
    }
  };
  add_own(T);
  // Past the end, repeats the last vector.
  const double square = 2 * step * step;
  for (std::size_t i = 0; i < n; i += kTile) {
    for (std::size_t t = 0; t < T; t += kTile) {
      const Lanes *word[kTile], *topic[kTile];
      for (std::size_t k = 0; k < kTile; ++k) {
        word[k] = g + std::min(i + k, n - 1);
        topic[k] = by_inner + std::min(t + k, T - 1);
      }
      Lanes sums[kTile][kTile] = {};
      for (std::size_t r = 0; r < T; ++r)
        for (std::size_t k = 0; k < kTile; ++k)
          for (std::size_t j = 0; j < kTile; ++j) sums[k][j] += word[k][r * n] * topic[j][r * all];
      for (std::size_t k = 0; k < kTile && i + k < n; ++k) {
        const std::size_t of = (i + k) / at.words_per_topic;
        for (std::size_t j = 0; j < kTile && t + j < T; ++j)
          by_g[(t + j) * n + i + k] = square * sums[k][j] +
                                      2 * step * by_inner[T * all + t + j] * b[i + k] +
                                      z_out * by_b[i + k] + step * by_blocks[of * all + t + j];
      }
    }
  }
  for (std::size_t t = 0; t < T; ++t) add_own(t);
}

POPFLOW_WIDEST void finish_keys(double z_mask, QueryLanes& at) {
  const Lanes *E = lanes(at.E), *by_s = lanes(at.by_s);
  Lanes* by_key = lanes(at.by_key);
  by_key[0] = z_mask * (by_key[0] + *lanes(at.by_mask)) * E[0];
  for (std::size_t k = 0; k < at.words; ++k)
    by_key[1 + k] = (by_key[1 + k] + by_s[k / at.words_per_topic]) * E[1 + k];
}

}  // namespace popflow::topic

#include "dynamics/topic/data.hpp"

#include <algorithm>

namespace popflow::topic {

double Data::hide_prob() const { return std::max(0.0, 1 - keep_prob - random_prob); }

double Data::z_inside() const {
  // 1 - p_m (1 - p_c) as a sum of what stays: nothing cancels near p_m = 1.
  return ((1 - mask_prob) + mask_prob * keep_prob) / inside() + z_outside();
}

std::array<double, value_entries> value_multiplicities(const Data& data) {
  const double n = data.n(), v = data.v();
  return {n, n * (v - 1), n * v * (data.T() - 1), n};
}

std::array<double, logit_entries> logit_multiplicities(const Data& data) {
  const double n = data.n(), v = data.v();
  return {n, n * (v - 1), n * v * (data.T() - 1), n, n, 1};
}

namespace {

void add(std::vector<Query>& all, Query query) {
  if (query.probability <= 0) return;
  std::erase_if(query.classes, [](const WordClass& c) { return c.count <= 0; });
  query.floor = 1;
  for (const WordClass& c : query.classes) query.floor -= c.target * c.target / c.count;
  all.push_back(std::move(query));
}

}  // namespace

std::vector<Query> queries(const Data& data) {
  const double v = data.v(), T = data.T(), tau = data.tau();
  const double in = data.z_inside(), out = data.z_outside();
  std::vector<Query> all;

  Query masked;
  masked.probability = data.hide_prob();
  masked.mask_logit = logit_mask_mask;
  masked.classes = {{data.inside(), in, logit_word_key, false, 1},
                    {data.outside(), out, logit_word_key, false, 0}};
  add(all, masked);

  // The true word, or a random word that is one of the document's: their inputs look alike, and
  // the true word is then the query itself, or any of the document's.
  const double random = data.random_prob * tau / T;
  Query known;
  known.probability = data.keep_prob + random;
  const double itself = known.probability > 0 ? data.keep_prob / known.probability : 0;
  const double any = known.probability > 0 ? random / known.probability : 0;
  known.classes = {
      {1, in, logit_same_word, true, itself + any / data.inside()},
      {v - 1, in, logit_same_topic, true, any * (v - 1) / data.inside()},
      {(tau - 1) * v, in, logit_other_topic, false, any * (tau - 1) / tau},
      {data.outside(), out, logit_other_topic, false, 0},
  };
  add(all, known);

  Query foreign;
  foreign.probability = data.random_prob * (T - tau) / T;
  foreign.classes = {
      {1, out, logit_same_word, true, 0},
      {v - 1, out, logit_same_topic, true, 0},
      {(T - tau - 1) * v, out, logit_other_topic, false, 0},
      {data.inside(), in, logit_other_topic, false, 1},
  };
  add(all, foreign);
  return all;
}

}  // namespace popflow::topic

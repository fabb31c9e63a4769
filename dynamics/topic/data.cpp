#include "dynamics/topic/data.hpp"

#include <algorithm>

namespace popflow::topic {

double Data::hide_prob() const { return std::max(0.0, 1 - keep_prob - random_prob); }

double Data::z_inside() const {
  // 1 - p_m (1 - p_c) as a sum of non-negative terms, so that nothing cancels near p_m = 1.
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

Queries::Queries(const Data& data) {
  const double v = data.v(), T = data.T(), tau = data.tau();
  const double in = data.z_inside(), out = data.z_outside();
  constexpr std::array<LogitEntry, 4> of_words = {logit_same_word, logit_same_topic,
                                                  logit_other_topic, logit_other_topic};
  const auto add = [&](Query query) {
    if (query.probability <= 0) return;
    query.floor = 1;
    for (std::size_t i = 0; i < query.classes.size(); ++i) {
      WordClass& c = query.classes[i];
      if (c.count <= 0) c = {};
      if (c.count > 0) c.each = c.target / c.count;
      query.floor -= c.target * c.each;
      if (c.frequency > 0) occurs[query.masked ? logit_word_key : of_words[i]] = true;
    }
    if (data.z_mask() > 0) occurs[query.masked ? logit_mask_mask : logit_mask_key] = true;
    all.push_back(query);
  };

  Query masked;
  masked.probability = data.hide_prob();
  masked.masked = true;
  masked.classes = {{{}, {}, {data.inside(), in, 1}, {data.outside(), out, 0}}};
  add(masked);

  // A known query is the true word, or a random word that belongs to the document. Their inputs are
  // identical; the true word is the query itself, or any word of the document.
  const double random = data.random_prob * tau / T;
  Query known;
  known.probability = data.keep_prob + random;
  const double itself = known.probability > 0 ? data.keep_prob / known.probability : 0;
  const double any = known.probability > 0 ? random / known.probability : 0;
  known.classes = {{{1, in, itself + any / data.inside()},
                    {v - 1, in, any * (v - 1) / data.inside()},
                    {(tau - 1) * v, in, any * (tau - 1) / tau},
                    {data.outside(), out, 0}}};
  add(known);

  Query foreign;
  foreign.probability = data.random_prob * (T - tau) / T;
  foreign.classes = {
      {{1, out, 0}, {v - 1, out, 0}, {(T - tau - 1) * v, out, 0}, {data.inside(), in, 1}}};
  add(foreign);

  const auto inverse = [](const auto& of, auto& per) {
    for (std::size_t i = 0; i < of.size(); ++i) per[i] = of[i] > 0 ? 1 / of[i] : 0;
  };
  inverse(value_multiplicities(data), per_value);
  inverse(logit_multiplicities(data), per_logit);
}

}  // namespace popflow::topic

#include "training/finite_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "popflow/error.hpp"
#include "popflow/passes.hpp"
#include "popflow/training.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Finite set of samples with normalised probabilities.
struct FiniteSet {
  Functions::FiniteData data;
  std::vector<std::size_t> all;    ///< the samples 0, 1, ...
  std::vector<double> cumulative;  ///< sums of the probabilities

  /// Writes independent draws.
  void draw(const SampleKey& key, std::span<std::size_t> which) const {
    for (std::size_t i = 0; i < which.size(); ++i) {
      RandomStream random = key.stream(i);
      const auto found =
          std::upper_bound(cumulative.begin(), cumulative.end() - 1, random.uniform());
      which[i] = static_cast<std::size_t>(found - cumulative.begin());
    }
  }
};

/// Number of samples that each pass over the set leaves out.
std::size_t dropped(const SampleKey& key, const Functions::FiniteData& data) {
  if (!data.drop_last) return 0;
  const auto batch = static_cast<std::size_t>(key.training.batch_size);
  if (batch > data.samples)
    throw UsageError("--batch-size is " + std::to_string(batch) + ", but there are " +
                     std::to_string(data.samples) +
                     " samples, and batches that are not full are dropped: give a smaller batch "
                     "size, or drop_last=False");
  return data.samples % batch;
}

FiniteSet finite_set(const std::string& name, Functions::FiniteData data, bool has_sample) {
  const auto refuse = [&](const std::string& sentence) {
    throw SystemError("the system " + name + ": its finite data " + sentence);
  };
  if (data.samples == 0) refuse("have no samples");
  if (!data.add) refuse("have no function `add`");
  if (data.epochs && has_sample)
    refuse("take epochs, but its `sample` draws for itself; leave `sample` out");
  if (data.epochs && !data.probability.empty())
    refuse("have probabilities, but training in epochs visits all samples equally often");
  if (data.probability.empty())
    data.probability.assign(data.samples, 1 / static_cast<double>(data.samples));
  if (data.probability.size() != data.samples)
    refuse("have " + std::to_string(data.samples) + " samples and " +
           std::to_string(data.probability.size()) + " probabilities");
  double sum = 0;
  for (std::size_t i = 0; i < data.samples; ++i) {
    const double q = data.probability[i];
    if (!(q >= 0) || !std::isfinite(q))
      refuse("have the probability " + shortest(q) + " of sample " + std::to_string(i) +
             "; it must be finite and not negative");
    sum += q;
  }
  if (!(sum > 0) || !std::isfinite(sum))
    refuse("have probabilities with the sum " + shortest(sum) + "; it must be positive");
  FiniteSet set{std::move(data), {}, {}};
  double total = 0;
  for (double& q : set.data.probability) {
    q /= sum;
    total += q;
    set.cumulative.push_back(total);
    set.all.push_back(set.all.size());
  }
  return set;
}

}  // namespace

void add_finite(const std::string& name, Functions& f) {
  if (!f.finite) return;
  const auto set = std::make_shared<const FiniteSet>(finite_set(name, *f.finite, bool(f.sample)));
  std::size_t n = 0;
  for (const Functions::Field& field : f.state) n += field.start.size();
  if (!f.rhs)
    f.rhs = [=](std::span<const double> x, double t, std::span<double> out) {
      std::fill(out.begin(), out.end(), 0.0);
      set->data.add(x, t, {}, set->all, set->data.probability, out);
    };
  if (!f.loss && set->data.loss)
    f.loss = [=](std::span<const double> x, double t) {
      double loss = 0;
      for (const std::size_t i : set->all)
        loss += set->data.probability[i] * set->data.loss(x, t, i);
      return loss;
    };
  if (!f.covariance && n <= Functions::kLargestOfCovariance)
    f.covariance = [=](std::span<const double> x, double t, std::span<double> c) {
      std::vector<double> mean(n), value(n);
      set->data.add(x, t, {}, set->all, set->data.probability, mean);
      std::fill(c.begin(), c.end(), 0.0);
      const double once = 1;
      for (const std::size_t& sample : set->all) {
        std::fill(value.begin(), value.end(), 0.0);
        set->data.add(x, t, {}, {&sample, 1}, {&once, 1}, value);
        for (std::size_t i = 0; i < n; ++i) value[i] -= mean[i];
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j < n; ++j)
            c[i * n + j] += set->data.probability[sample] * value[i] * value[j];
      }
    };
  if (f.sample || (f.samples && !set->data.epochs)) return;
  // Only training visits the samples in passes; the noise of the SDE is that of independent draws.
  f.samples = [=, independent = std::move(f.samples)](
                  std::span<const double> x, double t, const SampleKey& key,
                  std::span<const double> weights, std::span<double> out) {
    const bool in_passes = set->data.epochs && key.purpose == Purpose::samples;
    if (!in_passes && independent) {
      independent(x, t, key, weights, out);
      return;
    }
    std::vector<std::size_t> which(weights.size());
    if (in_passes)
      visit_in_passes(key, set->data.samples, which, dropped(key, set->data));
    else
      set->draw(key, which);
    set->data.add(x, t, key, which, weights, out);
  };
}

}  // namespace popflow

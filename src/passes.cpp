#include "popflow/passes.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace popflow {

namespace {

/// Order of one pass.
struct Pass {
  std::uint64_t seed = 0, number = 0;
  std::uint32_t run = 0;
  std::vector<std::size_t> order = {};

  /// Draws the order (Fisher and Yates).
  void draw(const SampleKey& key, std::uint64_t pass, std::size_t samples) {
    seed = key.seed;
    run = key.run;
    number = pass;
    order.resize(samples);
    std::iota(order.begin(), order.end(), std::size_t{0});
    RandomStream random(seed, Purpose::passes, run, pass);
    for (std::size_t left = samples; left > 1; --left)
      std::swap(order[left - 1], order[random.below(left)]);
  }
  [[nodiscard]] bool is(const SampleKey& key, std::uint64_t pass, std::size_t samples) const {
    return order.size() == samples && seed == key.seed && run == key.run && number == pass;
  }
};

/// Order of a pass. A thread keeps the last ones, because many batches belong to one pass and the
/// trajectories of an ensemble take turns.
const std::vector<std::size_t>& order_of(const SampleKey& key, std::uint64_t pass,
                                         std::size_t samples) {
  constexpr std::size_t kKept = 4;
  thread_local std::array<Pass, kKept> kept;
  thread_local std::size_t oldest = 0;
  for (const Pass& one : kept)
    if (one.is(key, pass, samples)) return one.order;
  Pass& made = kept[oldest];
  oldest = (oldest + 1) % kKept;
  made.draw(key, pass, samples);
  return made.order;
}

}  // namespace

void visit_in_passes(const SampleKey& key, std::size_t samples, std::span<std::size_t> which,
                     std::size_t dropped) {
  const std::size_t visited = samples - std::min(samples, dropped);
  if (visited == 0) throw std::invalid_argument("a pass over no samples");
  for (std::size_t i = 0; i < which.size();) {
    const std::uint64_t number = key.first + i;
    const std::vector<std::size_t>& order = order_of(key, number / visited, samples);
    for (std::size_t place = number % visited; place < visited && i < which.size(); ++place, ++i)
      which[i] = order[place];
  }
}

}  // namespace popflow

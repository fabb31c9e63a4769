#include "statistics/energy_distance.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "popflow/random.hpp"
#include "statistics/numbers.hpp"
#include "statistics/resampling.hpp"

namespace popflow {

EnergyDistance energy_distance(std::span<const double> first, std::span<const double> second,
                               std::uint64_t seed) {
  const std::size_t n1 = first.size(), n2 = second.size(), n = n1 + n2;
  if (n1 == 0 || n2 == 0) return {kNoNumber, kNoNumber};
  std::vector<double> all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return all[i] < all[j]; });
  std::vector<std::size_t> rank(n);
  std::vector<double> gap(n, 0);  // distance from the k-th smallest to the next
  for (std::size_t k = 0; k < n; ++k) {
    rank[order[k]] = k;
    if (k + 1 < n) gap[k] = all[order[k + 1]] - all[order[k]];
  }
  const auto integral = [&](const std::vector<bool>& is_first) {
    double f = 0, g = 0, sum = 0;
    for (std::size_t k = 0; k < n; ++k) {
      (is_first[k] ? f : g) += 1;
      const double apart = f / static_cast<double>(n1) - g / static_cast<double>(n2);
      sum += apart * apart * gap[k];
    }
    return 2 * sum;
  };
  std::vector<bool> is_first(n, false);
  for (std::size_t i = 0; i < n1; ++i) is_first[rank[i]] = true;
  EnergyDistance result{integral(is_first), 1};
  std::vector<double> permuted;
  std::vector<std::size_t> places(n);
  std::iota(places.begin(), places.end(), std::size_t{0});
  for (std::size_t i = 0; i < kPermutations; ++i) {
    RandomStream random(seed, Purpose::statistics, 2, i);
    std::fill(is_first.begin(), is_first.end(), false);
    for (std::size_t k = 0; k < n1; ++k) {
      std::swap(places[k], places[k + random.below(n - k)]);
      is_first[places[k]] = true;
    }
    permuted.push_back(integral(is_first));
  }
  result.p_value = p_value_of(result.distance, permuted);
  return result;
}

}  // namespace popflow

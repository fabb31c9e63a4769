#include "dynamics/common/discrete.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace popflow {

std::vector<AliasColumn> alias_columns(std::span<const double> weights) {
  // Column i starts with n p_i; those below 1 are filled up from those above.
  std::vector<double> share(weights.begin(), weights.end());
  const double total = std::accumulate(share.begin(), share.end(), 0.0);
  const auto n = static_cast<double>(share.size());
  std::vector<AliasColumn> columns(share.size());
  std::vector<std::uint32_t> small;
  std::vector<std::uint32_t> large;
  for (std::uint32_t i = 0; i < share.size(); ++i) {
    share[i] *= n / total;
    columns[i].alias = i;
    (share[i] < 1 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t low = small.back();
    const std::uint32_t high = large.back();
    small.pop_back();
    columns[low] = {share[low], high};
    share[high] -= 1 - share[low];
    if (share[high] >= 1) continue;
    large.pop_back();
    small.push_back(high);
  }
  // Left over by rounding: full columns, unless their weight is 0.
  const auto likeliest = static_cast<std::uint32_t>(
      std::max_element(weights.begin(), weights.end()) - weights.begin());
  for (const std::uint32_t i : small)
    if (weights[i] == 0) columns[i] = {0, likeliest};
  return columns;
}

DiscreteDistribution::DiscreteDistribution(std::span<const double> weights) {
  for (const AliasColumn& column : alias_columns(weights)) {
    const bool full = column.share >= 1;
    columns_.push_back({full ? std::numeric_limits<std::uint64_t>::max()
                             : static_cast<std::uint64_t>(column.share * 0x1p64),
                        column.alias});
  }
}

}  // namespace popflow

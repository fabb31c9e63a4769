#include "sweep/ledger.hpp"

#include <algorithm>

namespace popflow {

void Ledger::add(Stretch stretch) {
  if (stretch.count == 0) return;
  const std::lock_guard lock(mutex_);
  left_ += stretch.count;
  const auto next = stretches_.find(stretch.end());
  if (next != stretches_.end()) {
    stretch.count += next->second;
    stretches_.erase(next);
  }
  const auto after = stretches_.upper_bound(stretch.first);
  if (after != stretches_.begin()) {
    auto& [first, count] = *std::prev(after);
    if (first + count == stretch.first) {
      count += stretch.count;
      return;
    }
  }
  stretches_.emplace(stretch.first, stretch.count);
}

std::optional<Stretch> Ledger::claim(std::uint64_t most) {
  const std::lock_guard lock(mutex_);
  if (stretches_.empty()) return std::nullopt;
  const auto [first, count] = *stretches_.begin();
  const Stretch claimed{first, std::min(std::max<std::uint64_t>(most, 1), count)};
  stretches_.erase(stretches_.begin());
  if (claimed.count < count) stretches_.emplace(claimed.end(), count - claimed.count);
  left_ -= claimed.count;
  return claimed;
}

std::uint64_t Ledger::left() const {
  const std::lock_guard lock(mutex_);
  return left_;
}

}  // namespace popflow

#include "engine/ledger.hpp"

#include <algorithm>

namespace popflow {

void Ledger::add(RunRange range) {
  if (range.count == 0) return;
  const std::lock_guard lock(mutex_);
  left_ += range.count;
  const auto next = ranges_.find(range.end());
  if (next != ranges_.end()) {
    range.count += next->second;
    ranges_.erase(next);
  }
  const auto after = ranges_.upper_bound(range.first);
  if (after != ranges_.begin()) {
    auto& [first, count] = *std::prev(after);
    if (first + count == range.first) {
      count += range.count;
      return;
    }
  }
  ranges_.emplace(range.first, range.count);
}

std::optional<RunRange> Ledger::claim(std::uint64_t most) {
  const std::lock_guard lock(mutex_);
  if (ranges_.empty()) return std::nullopt;
  const auto [first, count] = *ranges_.begin();
  const RunRange claimed{first, std::min(std::max<std::uint64_t>(most, 1), count)};
  ranges_.erase(ranges_.begin());
  if (claimed.count < count) ranges_.emplace(claimed.end(), count - claimed.count);
  left_ -= claimed.count;
  return claimed;
}

std::uint64_t Ledger::left() const {
  const std::lock_guard lock(mutex_);
  return left_;
}

}  // namespace popflow

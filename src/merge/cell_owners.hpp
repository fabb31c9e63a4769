#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "merge/sweep_parts.hpp"

namespace popflow {

/// From a part's cells to those of the whole, place by place along the axes.
class CellMap {
 public:
  CellMap(const Cells& from, const Cells& whole);
  /// The whole's number of the part's cell `i`.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t i) const;

 private:
  const Cells& from_;
  const Cells& whole_;
  std::vector<std::vector<std::size_t>> places_;  ///< of each axis, those of the whole
};

/// Where a cell of the whole has its numbers from.
struct Owner {
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t part = kNobody;
  std::uint64_t cell = 0;  ///< in that part

  [[nodiscard]] bool nobody() const { return part == kNobody; }
};

/// Of each cell of the whole; of one that several parts have, the first that has most of its runs.
std::vector<Owner> find_owners(const std::vector<SweepPart>& parts, const Cells& whole);

/// InputError, with what is missing and how to go on, unless all cells have an owner.
void require_all(const std::vector<Owner>& owners, const std::vector<SweepPart>& parts,
                 const Cells& whole);

}  // namespace popflow

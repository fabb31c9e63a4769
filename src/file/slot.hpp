#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "file/reader.hpp"
#include "popflow/file_layout.hpp"

namespace popflow::hdf5 {

/// Place of a variable's numbers in the file.
struct Slot {
  /// Offset of a variable whose numbers are not raw bytes in one place.
  static constexpr std::uint64_t kScattered = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t offset = kScattered;  ///< of the first byte
  std::size_t count = 0;
  NumberType type = NumberType::float64;
};

/// Returns the slot of a dataset, in a file of `size` bytes; nothing if popflow writes no numbers
/// of its type. Throws InputError that names `path` if the slot would lie beyond the file's end.
/// Requires lock().
std::optional<Slot> slot_of(const Dataset& dataset, const std::string& name, std::uint64_t size,
                            const std::string& path);

}  // namespace popflow::hdf5

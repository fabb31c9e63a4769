#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "file/stored_file.hpp"
#include "file/trajectory_file.hpp"
#include "text/screen.hpp"

namespace popflow {

/// File with some units of a whole: runs of an ensemble, or cells of a sweep with their runs.
struct FilePart {
  explicit FilePart(const std::string& path) : file(path) {}

  StoredFile file;
  std::vector<std::uint64_t> places;  ///< number of each unit in the whole
  /// status of each run of each unit; for a reduced cell, of the cell
  std::vector<std::int64_t> status;

  [[nodiscard]] const std::string& path() const { return file.path(); }
  /// Returns the number of statuses per unit.
  [[nodiscard]] std::size_t runs() const { return status.size() / places.size(); }
  [[nodiscard]] bool has_ended(std::uint64_t unit, std::size_t run) const;
  [[nodiscard]] std::size_t ended(std::uint64_t unit) const;
};

template <class Part>
std::vector<const FilePart*> pointers_to_parts(const std::vector<Part>& parts) {
  std::vector<const FilePart*> pointers;
  pointers.reserve(parts.size());
  for (const Part& part : parts) pointers.push_back(&part);
  return pointers;
}

using FileParts = std::vector<const FilePart*>;

/// Place from which a unit of the whole gets its numbers.
struct Owner {
  static constexpr std::uint32_t kNoPart = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t part = kNoPart;
  std::uint64_t unit = 0;  ///< number in that part

  [[nodiscard]] bool is_missing() const { return part == kNoPart; }
};

/// Returns the owner of each unit of the whole: the first part in which most of its runs have
/// ended. If none has ended in any part, a unit has no owner or, with `begun`, the first part that
/// has it.
std::vector<Owner> find_owners(const FileParts& parts, std::uint64_t units, bool begun);

/// Variable with numbers for each unit; with `of_runs`, for each run of the unit.
struct UnitVariable {
  PlacedVariable variable;
  bool of_runs = false;
};

/// Throws InputError unless units that several parts have are the same in all, in the variables
/// that `compared` returns for a part. `unit_name` names a unit of the whole.
void require_same_overlaps(const FileParts& parts, const std::vector<Owner>& owners,
                           const std::function<std::vector<UnitVariable>(std::size_t)>& compared,
                           const std::function<std::string(std::uint64_t)>& unit_name);

/// Copies variables of the first part into the file of the whole, and reports the progress. A
/// variable with numbers for each unit gets them from the units' owners: read in the parts' order,
/// written in that of the whole. Variables that the file of the whole lacks are left out.
void copy_all(const FileParts& parts, const std::vector<Owner>& owners,
              const std::vector<PlacedVariable>& variables,
              const std::function<bool(const PlacedVariable&)>& is_of_units, TrajectoryFile& to,
              Screen& screen);

}  // namespace popflow

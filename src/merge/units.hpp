#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "file/stored_file.hpp"
#include "file/trajectory_file.hpp"

namespace popflow {

/// A file with some units of a whole: runs of an ensemble, or cells of a sweep with their runs.
struct FilePart {
  explicit FilePart(const std::string& path) : file(path) {}

  StoredFile file;
  std::vector<std::uint64_t> places;  ///< of each unit: its number in the whole
  std::vector<std::int64_t> status;   ///< of each run of each unit; one of a cell that is reduced

  [[nodiscard]] const std::string& path() const { return file.path(); }
  /// Statuses of a unit.
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

/// Where a unit of the whole has its numbers from.
struct Owner {
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t part = kNobody;
  std::uint64_t unit = 0;  ///< in that part

  [[nodiscard]] bool nobody() const { return part == kNobody; }
};

/// The owner of each of the whole's units: the first part in which most of its runs have ended.
/// Where none has in any part, a unit has no owner, or with `begun` the first part that has it.
std::vector<Owner> find_owners(const FileParts& parts, std::uint64_t units, bool begun);

/// A variable with numbers for each unit; `of_runs`: with numbers for each run of it.
struct UnitVariable {
  PlacedVariable variable;
  bool of_runs = false;
};

/// InputError unless units that several parts have are the same in all, in the variables that
/// `compared` names for a part. `unit_name` names a unit of the whole.
void require_same_overlaps(const FileParts& parts, const std::vector<Owner>& owners,
                           const std::function<std::vector<UnitVariable>(std::size_t)>& compared,
                           const std::function<std::string(std::uint64_t)>& unit_name);

/// Copies one variable of all units, with `width` numbers a unit: read from the parts in their
/// order, written in the whole's.
void copy_units(const FileParts& parts, const std::vector<Owner>& owners, const std::string& name,
                NumberType type, std::size_t width, TrajectoryFile& to);

/// Copies what a file has once, for all units.
void copy_whole(const StoredFile& from, const PlacedVariable& variable, TrajectoryFile& to);

}  // namespace popflow

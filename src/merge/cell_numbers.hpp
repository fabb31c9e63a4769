#pragma once

#include <set>
#include <string>
#include <vector>

#include "file/stored_file.hpp"
#include "file/trajectory_file.hpp"
#include "merge/cell_owners.hpp"

namespace popflow {

/// InputError unless runs that several files have are the same in all.
void require_same_overlaps(const std::vector<SweepPart>& parts,
                           const std::vector<StoredFile>& files, const std::vector<Owner>& owners,
                           const Cells& whole, const std::set<std::string>& shared);

/// Copies one variable of all cells, with `width` numbers a cell: read from the parts in their
/// order, written in the whole's.
void copy_cells(const std::vector<StoredFile>& files, const std::vector<Owner>& owners,
                const std::string& name, NumberType type, std::size_t width, TrajectoryFile& to);

}  // namespace popflow

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "merge/units.hpp"
#include "popflow/catalogue.hpp"
#include "sweep/cells.hpp"

namespace popflow {

/// File with some of the cells of a sweep.
struct SweepPart : FilePart {
  using FilePart::FilePart;
  std::unique_ptr<Cells> cells;
};

/// Reads the files. Throws InputError for a file that is no sweep. The places of their cells in the
/// whole are not known yet.
std::vector<SweepPart> read_sweep_parts(const std::vector<std::string>& files,
                                        const Catalogue& catalogue);

/// Returns the sweep of which all files are parts. Throws InputError if there is none.
RunConfig whole_sweep(const std::vector<SweepPart>& parts);

/// Returns the places of a part's cells in the whole, place by place along the axes.
std::vector<std::uint64_t> places_of_cells(const Cells& part, const Cells& whole);

/// Throws InputError, with the missing cells and a remedy, unless all cells have an owner.
void require_all(const std::vector<Owner>& owners, const std::vector<SweepPart>& parts,
                 const Cells& whole);

}  // namespace popflow

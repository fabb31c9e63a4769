#pragma once

#include <memory>
#include <string>
#include <vector>

#include "merge/units.hpp"
#include "popflow/catalogue.hpp"
#include "sweep/cells.hpp"

namespace popflow {

/// A file with some of the cells of a sweep.
struct SweepPart : FilePart {
  using FilePart::FilePart;
  std::unique_ptr<Cells> cells;
};

/// Reads the files, and refuses what is no sweep: InputError. Which places their cells have in the
/// whole is not known yet.
std::vector<SweepPart> read_sweep_parts(const std::vector<std::string>& files,
                                        const Catalogue& catalogue);

/// The sweep that all are parts of; InputError if there is none.
RunConfig whole_sweep(const std::vector<SweepPart>& parts);

/// The places of a part's cells in the whole, place by place along the axes.
std::vector<std::uint64_t> places_of_cells(const Cells& part, const Cells& whole);

/// InputError, with what is missing and how to go on, unless all cells have an owner.
void require_all(const std::vector<Owner>& owners, const std::vector<SweepPart>& parts,
                 const Cells& whole);

}  // namespace popflow

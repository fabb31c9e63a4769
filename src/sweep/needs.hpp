#pragma once

#include <string>

#include "popflow/catalogue.hpp"
#include "sweep/whole_sweep.hpp"

namespace popflow {

/// Page of --dry-run: time, memory and file size, from some of the cells, which it computes.
/// `path` is that of its file.
std::string describe_needs(const Sweep& sweep, const Catalogue& catalogue, unsigned threads,
                           const std::string& program, const std::string& path);

/// Refuses files along its axes that do not exist: all of them, before hours are spent on the cells
/// that come first. InputError; `way_out` says what helps.
void require_files(const Cells& cells, const std::string& way_out);

/// Refusals by a system lie mostly beyond some value, at a corner of the grid, and so do sizes
/// that memory has no room for, as far as that is certain: found before hours are spent on the
/// cells that come first. Tries as many corners as a second is enough for, the first cell among
/// them.
void require_corners(const Sweep& sweep, const Catalogue& catalogue, Workers& workers);

/// Options that make its file smaller, as a sentence.
std::string how_to_shrink(const Sweep& sweep);

}  // namespace popflow

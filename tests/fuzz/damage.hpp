#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/target.hpp"

/// Changes to an HDF5 file, each described by a line, so that a few lines of input describe a whole
/// damaged file:
///
///     delete PLACE                 rename PLACE NAME       copy PLACE NAME
///     link PLACE NAME              soft PLACE NAME         group PLACE
///     shape PLACE N,N,...          type PLACE TYPE         fill PLACE NUMBER
///     set PLACE INDEX NUMBER       text PLACE WORDS        edit PLACE FROM TO
///     pack PLACE                   outside PLACE           fixed PLACE BYTES WORDS
///     byte OFFSET VALUE            find WORDS BYTE VALUE   cut BYTES
///
/// A PLACE is the path of a group or dataset, or PATH@NAME for an attribute. `shape` also takes
/// "scalar" and "null". In WORDS, FROM and TO "\n", "\s" and "\xNN" stand for a newline, a blank
/// and a byte. Changes that HDF5 refuses are skipped; changes of bytes come last.
namespace popflow::fuzz {

/// Returns the file after the changes, which are made in the working folder.
std::string damaged(const std::string& file, const Lines& changes);

/// Returns the paths of all groups, datasets and attributes of a file.
Lines places(const std::string& file);

/// Names of the types that `type` takes.
const Lines& types();

}  // namespace popflow::fuzz

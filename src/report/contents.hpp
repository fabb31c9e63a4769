#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "popflow/data_file.hpp"

/// Contents of files as text for tables and messages.
namespace popflow::contents {

/// Rows of a table.
using Rows = std::vector<std::vector<std::string>>;

/// Cuts a text to some thousand bytes, because files may hold megabytes where a sentence is
/// expected.
std::string shown(const std::string& text);
/// Value of a text attribute, cut by shown(), except for the configuration; empty if there is none.
std::string attribute(const DataFile& file, const std::string& object, const std::string& name);
/// Throws InputError unless the file is that of a run or an ensemble.
void require_run(const DataFile& file);
/// Value of an attribute that must be a whole number from 1 to `most`; empty if there is none.
/// Throws InputError for any other value.
std::optional<std::int64_t> count_attribute(const DataFile& file, const std::string& object,
                                            const std::string& name,
                                            std::int64_t most = std::int64_t{1} << 53);
/// Value of a variable that counts, summed over all runs.
std::optional<std::int64_t> whole_number(const DataFile& file, const std::string& name);
/// Number of saves that hold data, for each run (one entry for a single run); at most `saves`.
std::vector<std::size_t> saves_of_runs(const DataFile& file, std::size_t saves);
/// Number of saves that hold data in every run.
std::size_t saves_done(const DataFile& file, std::size_t saves);
/// Number of runs of an ensemble, or 0 for a single run.
std::size_t ensemble(const DataFile& file);
/// Heading of the first save in a table: "first", or its time if it is not the start; drifts then
/// count from that time.
std::string first_save(const DataFile& file);
/// Names of the observables.
std::vector<std::string> observables(const DataFile& file);

}  // namespace popflow::contents

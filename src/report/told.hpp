#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "popflow/data_file.hpp"

/// Contents of files in the form that tables for people need.
namespace popflow::told {

/// The rows of a table.
using Rows = std::vector<std::vector<std::string>>;

/// At most some thousand bytes of a text: files may hold megabytes where a sentence is expected.
std::string shown(const std::string& text);
/// A text attribute as it is shown, the configuration whole; empty if there is none.
std::string attribute(const DataFile& file, const std::string& object, const std::string& name);
/// Throws InputError unless it is the file of a run, or of an ensemble.
void require_run(const DataFile& file);
/// Attribute that counts, from 1 to `most`; nothing if there is none. Throws InputError for any
/// other number.
std::optional<std::int64_t> count_attribute(const DataFile& file, const std::string& object,
                                            const std::string& name,
                                            std::int64_t most = std::int64_t{1} << 53);
/// A count, of all runs together.
std::optional<std::int64_t> whole_number(const DataFile& file, const std::string& name);
/// How many saves hold data in each run, one of a file of one flow; never more than there are.
std::vector<std::size_t> saves_of_runs(const DataFile& file, std::size_t saves);
/// And in every run.
std::size_t saves_done(const DataFile& file, std::size_t saves);
/// Number of runs, or 0 for a file of one flow.
std::size_t ensemble(const DataFile& file);
/// Heading of the first save in a table: "first", or its time if that is not the
/// start, from which drifts then do not count.
std::string first_save(const DataFile& file);
/// The names of the observables.
std::vector<std::string> observables(const DataFile& file);

}  // namespace popflow::told

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "popflow/data_file.hpp"

/// What a file tells, in the form in which tables for people need it.
namespace popflow::told {

/// The rows of a table.
using Rows = std::vector<std::vector<std::string>>;

/// At most some thousand bytes of a text: files may hold megabytes where a sentence is expected.
std::string shown(const std::string& text);
/// A text attribute as it is shown, the configuration whole; empty if there is none.
std::string attribute(const DataFile& file, const std::string& object, const std::string& name);
/// Throws InputError unless it is the file of a run, or of an ensemble.
void require_run(const DataFile& file);
/// A count, of all runs together.
std::optional<std::int64_t> whole_number(const DataFile& file, const std::string& name);
/// How many saves hold data in each run, one of a file of one flow; never more than there are.
std::vector<std::size_t> saves_of_runs(const DataFile& file, std::size_t saves);
/// And in every run.
std::size_t saves_done(const DataFile& file, std::size_t saves);
/// Number of runs, or 0 for a file of one flow.
std::size_t ensemble(const DataFile& file);
/// What the first save is called in a table: "first", or at which time it is if that is not the
/// start, from which drifts then do not count.
std::string first_save(const DataFile& file);
/// The names of the observables.
std::vector<std::string> observables(const DataFile& file);

}  // namespace popflow::told

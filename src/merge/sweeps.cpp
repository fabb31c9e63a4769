#include "merge/sweeps.hpp"

#include <set>

#include "engine/made_of_files.hpp"
#include "engine/status.hpp"
#include "file/output.hpp"
#include "merge/origins.hpp"
#include "merge/sweep_parts.hpp"
#include "merge/whole_layout.hpp"
#include "popflow/data_file.hpp"
#include "sweep/report.hpp"

namespace popflow {

namespace {

StatusCounts count_statuses(const std::vector<SweepPart>& parts, const std::vector<Owner>& owners) {
  const std::size_t runs = parts.front().runs();
  StatusCounts counts;
  for (const Owner& owner : owners)
    for (std::size_t run = 0; run < runs; ++run)
      counts.add(owner.is_missing() ? static_cast<std::int64_t>(Status::missing)
                                    : parts[owner.part].status[owner.unit * runs + run]);
  return counts;
}

/// Sets the status of the whole in its layout.
void describe_status(GroupSpec& layout, const StatusCounts& counts, bool of_runs) {
  if (Attribute* status = find_attribute(layout, "status"))
    status->value = std::string(counts[Status::missing] == 0 ? "complete" : "interrupted");
  if (Attribute* said = find_attribute(layout, "status_message"))
    said->value = std::to_string(counts.all()) + (of_runs ? " runs: " : " cells: ") + counts.text();
}

/// Returns the variables that must be the same in cells that several files have.
std::vector<UnitVariable> compared(const SweepPart& part, const std::set<std::string>& shared) {
  std::vector<UnitVariable> found;
  for (PlacedVariable& variable : variables_of(part.file.layout()))
    if (shared.contains(variable.path)) {
      const bool of_runs = is_of_runs(variable, *part.cells);
      found.push_back({std::move(variable), of_runs});
    }
  return found;
}

TrajectoryFile write_whole(const MergeOptions& options, const Catalogue& catalogue,
                           Screen& screen) {
  std::vector<SweepPart> parts = read_sweep_parts(options.files, catalogue);
  const Cells whole(whole_sweep(parts), parts.front().cells.get());
  Origins origins;
  FileContents contents;
  for (SweepPart& part : parts) {
    part.places = places_of_cells(*part.cells, whole);
    const Shard& shard = part.cells->shard();
    origins.add(
        (shard.whole() ? std::to_string(part.cells->size()) + " cells"
                       : "shard " + std::to_string(shard.number) + "/" + std::to_string(shard.of)) +
            ": ",
        part.file);
    contents.add(
        {*part.cells, text_of(part.file.layout(), "sweep", "files"), "for '" + part.path() + "'"});
  }
  const FileParts files = pointers_to_parts(parts);
  const std::vector<Owner> owners = find_owners(files, whole.whole(), false);
  if (!options.allow_missing) require_all(owners, parts, whole);
  screen.warning(origins.warning());
  const std::set<std::string> shared = shared_variables(parts, whole);
  require_same_overlaps(
      files, owners, [&](std::size_t part) { return compared(parts[part], shared); },
      [&](std::uint64_t cell) { return "the cell " + whole.describe(cell); });
  const SweepPart& first = parts.front();
  GroupSpec layout = whole_layout(parts, whole, contents, shared);
  origins.describe(layout, options.command_line);
  describe_status(layout, count_statuses(parts, owners), first.runs() > 1);
  require_disk(options.output, file_bytes(layout), "");
  TrajectoryFile file = TrajectoryFile::create_unpublished(options.output, layout);
  std::vector<PlacedVariable> variables = variables_of(first.file.layout());
  // The whole has coordinates of its own.
  std::erase_if(variables,
                [&](const PlacedVariable& variable) { return whole.is_coordinate(variable.path); });
  copy_all(
      files, owners, variables,
      [&](const PlacedVariable& variable) { return is_of_cells(variable, *first.cells); }, file,
      screen);
  return file;
}

}  // namespace

ExitCode merge_sweeps(const MergeOptions& options, const Catalogue& catalogue, Screen& screen) {
  return make_of_files([&] { return write_whole(options, catalogue, screen); },
                       [&](const DataFile& whole) { return describe_sweep(whole, catalogue, ""); },
                       options.force, screen);
}

}  // namespace popflow

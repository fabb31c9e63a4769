#include "merge/sweeps.hpp"

#include <set>

#include "engine/interrupt.hpp"
#include "engine/status.hpp"
#include "file/copy_numbers.hpp"
#include "file/output.hpp"
#include "file/structure.hpp"
#include "merge/cell_numbers.hpp"
#include "merge/origins.hpp"
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
      counts.add(owner.nobody() ? static_cast<std::int64_t>(Status::missing)
                                : parts[owner.part].status[owner.cell * runs + run]);
  return counts;
}

/// Says in the layout how far the whole has come.
void describe_status(GroupSpec& layout, const StatusCounts& counts, bool of_runs) {
  if (Attribute* status = find_attribute(layout, "status"))
    status->value = std::string(counts[Status::missing] == 0 ? "complete" : "interrupted");
  if (Attribute* said = find_attribute(layout, "status_message"))
    said->value = std::to_string(counts.all()) + (of_runs ? " runs: " : " cells: ") + counts.text();
}

void merge_into(const MergeOptions& options, const Catalogue& catalogue, Screen& screen) {
  const std::vector<SweepPart> parts = read_sweep_parts(options.files, catalogue);
  const Cells whole(whole_sweep(parts));
  const std::vector<Owner> owners = find_owners(parts, whole);
  if (!options.allow_missing) require_all(owners, parts, whole);
  std::vector<StoredFile> files;
  Origins origins;
  for (const SweepPart& part : parts) {
    files.emplace_back(part.path);
    const Shard& shard = part.cells->shard();
    origins.add(
        (shard.whole() ? std::to_string(part.cells->size()) + " cells"
                       : "shard " + std::to_string(shard.number) + "/" + std::to_string(shard.of)) +
            ": ",
        files.back());
  }
  if (const std::string warning = origins.warning(); !warning.empty()) screen.warning(warning);
  const std::set<std::string> shared = shared_variables(parts, files, whole);
  require_same_overlaps(parts, files, owners, whole, shared);
  FileContents contents;
  for (std::size_t i = 0; i < files.size(); ++i)
    contents.add({*parts[i].cells, text_of(files[i].layout(), "sweep", "files"),
                  "for '" + files[i].path() + "'"});
  GroupSpec layout = whole_layout(files, parts.front(), whole, contents, shared);
  origins.describe(layout, options.command_line);
  describe_status(layout, count_statuses(parts, owners), parts.front().runs() > 1);
  require_disk(options.output, file_bytes(layout), "");
  TrajectoryFile file = TrajectoryFile::create_unpublished(options.output, layout);
  const std::vector<PlacedVariable> variables = variables_of(files.front().layout());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const PlacedVariable& variable = variables[i];
    // A shard's coordinates are not, nor states that are not alike.
    const bool kept = file.has(variable.path);
    const bool coordinate = whole.is_coordinate(variable.path);
    const std::size_t width = numbers_of_a_cell(variable, *parts.front().cells);
    if (kept && !coordinate && width > 0)
      copy_cells(files, owners, variable.path, variable.variable->type, width, file);
    else if (kept && !coordinate)
      copy_numbers(files.front(), {variable.path}, file, {variable.path}, variable.count(),
                   variable.variable->type, look_for_signals);
    screen.progress(static_cast<double>(i + 1) / static_cast<double>(variables.size()),
                    variable.path);
  }
  file.sync();
  look_for_signals();
  file.publish(options.force);
}

}  // namespace

ExitCode merge_sweeps(const MergeOptions& options, const Catalogue& catalogue, Screen& screen) {
  const auto interrupted =
      unless_interrupted(screen, [&] { merge_into(options, catalogue, screen); });
  if (interrupted) return *interrupted;
  screen.result(describe_sweep(DataFile(options.output), catalogue, ""));
  return ExitCode::success;
}

}  // namespace popflow

#include "merge/sweeps.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include "file/copy_numbers.hpp"
#include "file/output.hpp"
#include "file/structure.hpp"
#include "file/trajectory_file.hpp"
#include "merge/origins.hpp"
#include "merge/same_options.hpp"
#include "popflow/data_file.hpp"
#include "run/experiment.hpp"
#include "run/interrupt.hpp"
#include "run/specs.hpp"
#include "sweep/cell_status.hpp"
#include "sweep/cells.hpp"
#include "sweep/layout.hpp"
#include "sweep/read_files.hpp"
#include "sweep/report.hpp"
#include "sweep/sweep.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

constexpr std::uint32_t kNobody = 0xffffffff;

/// Bytes of a variable that are put together in memory at a time.
constexpr std::size_t kPieceBytes = std::size_t{64} << 20;

/// A file with some of the cells.
struct Source {
  std::string path;
  std::unique_ptr<Cells> cells;
  std::vector<std::int64_t> status;  ///< of each run, or of each cell of a reduced sweep

  /// Runs of a cell that have a status.
  [[nodiscard]] std::size_t finished(std::uint64_t cell) const {
    const std::size_t each = status.size() / static_cast<std::size_t>(cells->size());
    const auto first = status.begin() + static_cast<std::ptrdiff_t>(cell * each);
    return each -
           static_cast<std::size_t>(std::count(first, first + static_cast<std::ptrdiff_t>(each),
                                               static_cast<std::int64_t>(CellStatus::missing)));
  }
};

void require_same_sweep(const Source& first, const Source& other) {
  if (first.cells->sweep().system != other.cells->sweep().system)
    throw InputError("'" + other.path + "' is a sweep of " + other.cells->sweep().system + ", '" +
                     first.path + "' of " + first.cells->sweep().system);
  require_same_options(
      recorded_options(first.path, config_text(first.cells->sweep())),
      recorded_options(other.path, config_text(other.cells->sweep())),
      [](const std::string& option) { return option == "over" || !decides_numbers(option); },
      "files of one sweep agree in all options");
}

/// The values of an axis in all sources: numbers in their order, words as they came.
std::string all_values(const std::vector<Source>& sources, std::size_t axis) {
  const SweptParameter& first = sources.front().cells->axes()[axis].parameters.front();
  std::vector<std::string> words;
  std::set<double> numbers;
  for (const Source& source : sources) {
    const SweptParameter& swept = source.cells->axes()[axis].parameters.front();
    numbers.insert(swept.numbers.begin(), swept.numbers.end());
    for (const std::string& word : swept.words)
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  for (const double number : numbers) words.push_back(shortest(number));
  std::string list;
  for (const std::string& word : words) {
    list += (list.empty() ? "" : ",") + text::escaped(word, ',');
  }
  return first.name() + "=" + list;
}

/// The sweep that all sources are parts of.
RunConfig whole_sweep(const std::vector<Source>& sources) {
  const Source& first = sources.front();
  RunConfig config = first.cells->sweep();
  config.options.unset("shard");
  std::optional<std::size_t> grows;
  for (const Source& other : sources) {
    require_same_sweep(first, other);
    // Whoever resumes the whole may come to cells that one part could do without.
    if (other.cells->sweep().options.flag("keep-going")) config.options.resolve("keep-going", true);
    const std::vector<Axis>&ours = first.cells->axes(), &its = other.cells->axes();
    if (ours.size() != its.size() ||
        !std::equal(ours.begin(), ours.end(), its.begin(), same_parameters))
      throw InputError("'" + other.path + "' sweeps over other parameters than '" + first.path +
                       "', or in another order");
    for (std::size_t axis = 0; axis < ours.size(); ++axis) {
      if (same_values(ours[axis], its[axis])) continue;
      if (grows && *grows != axis)
        throw InputError("'" + other.path + "' and '" + first.path + "' differ in the values of " +
                         ours[*grows].dimension + " and of " + ours[axis].dimension +
                         "; sweeps can be merged that differ in one axis alone");
      if (ours[axis].indexed)
        throw InputError("'" + other.path + "' and '" + first.path +
                         "' differ in the values along '" + ours[axis].dimension +
                         "', where parameters change together; only axes of one parameter grow");
      grows = axis;
    }
  }
  if (!grows) return config;
  std::string over;
  const std::string name = first.cells->axes()[*grows].parameters.front().name();
  for (const std::string& line : text::lines(config.options.text("over"))) {
    std::string parameter = line.substr(0, line.find('='));
    if (parameter.starts_with("--")) parameter = parameter.substr(2);
    over += (over.empty() ? "" : "\n") + (parameter == name ? all_values(sources, *grows) : line);
  }
  config.options.resolve("over", over);
  return config;
}

/// From a source's cells to those of the whole, place by place along the axes.
class CellMap {
 public:
  CellMap(const Cells& from, const Cells& whole) : from_(from), whole_(whole) {
    for (std::size_t axis = 0; axis < whole.axes().size(); ++axis) {
      std::vector<std::size_t>& places = places_.emplace_back();
      const SweptParameter& here = from.axes()[axis].parameters.front();
      const SweptParameter& there = whole.axes()[axis].parameters.front();
      if (same_values(from.axes()[axis], whole.axes()[axis])) {
        places.resize(here.size());
        std::iota(places.begin(), places.end(), std::size_t{0});
        continue;
      }
      std::map<std::string, std::size_t> place_of;
      for (std::size_t i = 0; i < there.size(); ++i) place_of[there.text(i)] = i;
      for (std::size_t i = 0; i < here.size(); ++i) places.push_back(place_of.at(here.text(i)));
    }
  }
  /// The whole's number of the source's cell `i`.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t i) const {
    const std::vector<std::size_t> at = from_.places(from_.number(i));
    std::uint64_t number = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis)
      number = number * whole_.axes()[axis].size() + places_[axis][at[axis]];
    return number;
  }

 private:
  const Cells& from_;
  const Cells& whole_;
  std::vector<std::vector<std::size_t>> places_;
};

std::vector<Source> read_sources(const std::vector<std::string>& files,
                                 const Catalogue& catalogue) {
  std::vector<Source> sources;
  for (const std::string& path : files) {
    look_for_signals();
    const DataFile file(path);
    if (kind_of(file) != FileKind::sweep)
      throw InputError("'" + path + "' is not a file of a popflow sweep, as '" + files.front() +
                       "' is");
    Source& source = sources.emplace_back();
    source.path = path;
    source.cells = std::make_unique<Cells>(sweep_config(file, catalogue));
    source.status = file.read("status").integers;
    const std::uint64_t each =
        source.cells->sweep().options.has("reduce") ? 1 : source.cells->runs();
    if (source.status.size() != source.cells->size() * each)
      throw InputError("'" + path + "' is damaged: 'status' has another shape");
  }
  return sources;
}

/// A cell of the whole, and where its numbers come from.
struct Owner {
  std::uint32_t source = kNobody;
  std::uint64_t cell = 0;  ///< in that source
};

/// Of a cell that several sources have, the first that has most of its runs.
std::vector<Owner> find_owners(const std::vector<Source>& sources, const Cells& whole) {
  std::vector<Owner> owners(whole.whole());
  for (std::uint32_t s = 0; s < sources.size(); ++s) {
    look_for_signals();
    const CellMap map(*sources[s].cells, whole);
    for (std::uint64_t cell = 0; cell < sources[s].cells->size(); ++cell) {
      const std::size_t finished = sources[s].finished(cell);
      if (finished == 0) continue;
      Owner& owner = owners[map(cell)];
      if (owner.source == kNobody || finished > sources[owner.source].finished(owner.cell))
        owner = {s, cell};
    }
  }
  return owners;
}

void require_all(const std::vector<Owner>& owners, const std::vector<Source>& sources,
                 const Cells& whole) {
  std::uint64_t missing = 0;
  std::vector<std::string> some;
  for (std::uint64_t cell = 0; cell < owners.size(); ++cell) {
    if (owners[cell].source != kNobody) continue;
    if (++missing <= 3) some.push_back(whole.describe(cell));
  }
  if (missing == 0) return;
  std::string shards;
  const std::uint64_t of = sources.front().cells->shard().of;
  std::set<std::uint64_t> there;
  for (const Source& source : sources)
    if (source.cells->shard().of == of) there.insert(source.cells->shard().number);
  for (std::uint64_t i = 1; of > 1 && i <= of; ++i)
    if (!there.contains(i)) shards += (shards.empty() ? "" : ", ") + std::to_string(i);
  std::string unfinished;
  for (const Source& source : sources)
    if (std::find(source.status.begin(), source.status.end(),
                  static_cast<std::int64_t>(CellStatus::missing)) != source.status.end())
      unfinished += (unfinished.empty() ? "" : ", ") + ("'" + source.path + "'");
  throw InputError(std::to_string(missing) + " of " + std::to_string(owners.size()) +
                   " cells are in none of the files" +
                   (shards.empty() ? "" : ": shard " + shards + " of " + std::to_string(of)) +
                   " (" + text::join(some, "; ") + (missing > 3 ? "; ..." : "") + ")" +
                   (unfinished.empty() ? "" : "; 'resume' finishes " + unfinished) +
                   "; --allow-missing marks them as missing, to be computed by 'resume' later");
}

/// Are a variable's dimensions first those of cells?
bool begins_with(const std::vector<std::string>& dimensions,
                 const std::vector<std::string>& cells) {
  return dimensions.size() >= cells.size() &&
         std::equal(cells.begin(), cells.end(), dimensions.begin());
}

/// What a variable holds of each cell: numbers of a type, along dimensions beyond the cells' own.
struct OfCell {
  NumberType type = NumberType::float64;
  std::vector<const DimensionSpec*> dimensions;  ///< in the file's layout

  [[nodiscard]] bool like(const OfCell& other) const {
    const auto same = [](const DimensionSpec* a, const DimensionSpec* b) {
      return a->name == b->name && a->size == b->size && a->first == b->first &&
             a->values == b->values;
    };
    return type == other.type && std::equal(dimensions.begin(), dimensions.end(),
                                            other.dimensions.begin(), other.dimensions.end(), same);
  }
};

/// What a file holds of each cell, by the names of its variables; not so coordinates.
std::map<std::string, OfCell> held_of_cells(const StoredFile& file, const Cells& cells) {
  const GroupSpec& root = file.layout();
  const std::vector<std::string> own = cell_dimensions(cells);
  std::map<std::string, OfCell> found;
  for (const VariableSpec& variable : root.variables) {
    if (cells.is_coordinate(variable.name) || !begins_with(variable.dimensions, own)) continue;
    OfCell& held = found[variable.name];
    held.type = variable.type;
    for (std::size_t i = own.size(); i < variable.dimensions.size(); ++i)
      held.dimensions.push_back(&Scope{root}.dimension(variable.dimensions[i]));
  }
  return found;
}

/// The attributes of a file that list states and passages.
constexpr std::array<const char*, 2> kListsOfStates = {"state_fields", "passages"};

/// The variables of cells that the whole has: those of all files, and states and passages only if
/// they are alike in all, as in a sweep of the whole. Files of earlier versions have more, for
/// final values that no cell can have.
std::set<std::string> shared_variables(const std::vector<Source>& sources,
                                       const std::vector<StoredFile>& files, const Cells& whole) {
  std::vector<std::map<std::string, OfCell>> held;
  std::set<std::string> states;
  for (std::size_t i = 0; i < files.size(); ++i) {
    held.push_back(held_of_cells(files[i], *sources[i].cells));
    for (const char* list : kListsOfStates)
      for (std::string& name : text::split_words(text_of(files[i].layout(), "", list)))
        states.insert(std::move(name));
  }
  std::set<std::string> shared;
  for (const auto& [name, ours] : held.front()) shared.insert(name);
  bool states_alike = true;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::erase_if(shared, [&](const std::string& name) { return !held[i].contains(name); });
    for (const std::string& name : states) {
      const auto ours = held.front().find(name), its = held[i].find(name);
      const bool here = ours != held.front().end(), there = its != held[i].end();
      const bool same = here == there && (!here || ours->second.like(its->second));
      if (!same && whole.sweep().options.has("state"))
        throw InputError("'" + files[i].path() + "' and '" + files.front().path() +
                         "' differ in '" + name +
                         "'; --state ends needs states of one shape in all cells");
      states_alike = states_alike && same;
    }
  }
  if (!states_alike)
    std::erase_if(shared, [&](const std::string& name) { return states.contains(name); });
  for (std::size_t i = 0; i < files.size(); ++i)
    for (const std::string& name : shared)
      if (!held.front().at(name).like(held[i].at(name)))
        throw InputError("'" + files[i].path() + "' and '" + files.front().path() +
                         "' differ in the shape of '" + name + "'");
  return shared;
}

/// Leaves out the variables of cells that are not `shared`, with the dimensions that they alone
/// have.
void keep_shared(GroupSpec& layout, const std::vector<std::string>& cells,
                 const std::set<std::string>& shared) {
  std::set<std::string> unused;
  std::erase_if(layout.variables, [&](const VariableSpec& variable) {
    if (shared.contains(variable.name) || !begins_with(variable.dimensions, cells)) return false;
    unused.insert(variable.dimensions.begin(), variable.dimensions.end());
    return true;
  });
  for (const VariableSpec& variable : layout.variables)
    for (const std::string& name : variable.dimensions) unused.erase(name);
  std::erase_if(layout.dimensions,
                [&](const DimensionSpec& dimension) { return unused.contains(dimension.name); });
  for (const char* list : kListsOfStates) {
    std::vector<std::string> names = text::split_words(text_of(layout, "", list));
    std::erase_if(names, [&](const std::string& name) { return !shared.contains(name); });
    if (Attribute* attribute = find_attribute(layout, list)) attribute->value = joined(names);
  }
}

/// A parameter as all files have it, with what was settled for all of their cells; null if they
/// differ.
const Attribute* alike(const std::vector<StoredFile>& files, const std::string& parameter) {
  const Attribute* found = nullptr;
  for (const StoredFile& file : files)
    for (const GroupSpec& group : file.layout().groups) {
      if (group.name != "parameters") continue;
      const Attribute* const its = find_attribute(group, parameter);
      if (its == nullptr || (found != nullptr && its->value != found->value)) return nullptr;
      found = its;
    }
  return found;
}

/// The layout of the whole, from that of the first source: axes in the place of its cells, and the
/// variables of cells that all have.
GroupSpec whole_layout(const std::vector<StoredFile>& files, const Source& first,
                       const Cells& whole, const FileContents& contents,
                       const std::set<std::string>& shared) {
  const StoredFile& file = files.front();
  GroupSpec layout = file.layout();
  const std::vector<std::string> old = cell_dimensions(*first.cells);
  const auto of_axes = [&](const auto& spec) {
    return whole.is_coordinate(spec.name) ||
           std::find(old.begin(), old.end(), spec.name) != old.end();
  };
  std::erase_if(layout.dimensions, of_axes);
  std::erase_if(layout.variables, of_axes);
  keep_shared(layout, old, shared);
  GroupSpec axes;
  add_axes(axes, whole);
  for (VariableSpec& variable : layout.variables) {
    if (!begins_with(variable.dimensions, old)) continue;
    variable.dimensions.erase(
        variable.dimensions.begin(),
        variable.dimensions.begin() + static_cast<std::ptrdiff_t>(old.size()));
    const std::vector<std::string> names = cell_dimensions(whole);
    variable.dimensions.insert(variable.dimensions.begin(), names.begin(), names.end());
    if (variable.name == "status") variable.blank = static_cast<std::int8_t>(CellStatus::missing);
  }
  layout.dimensions.insert(layout.dimensions.begin(), axes.dimensions.begin(),
                           axes.dimensions.end());
  layout.variables.insert(layout.variables.begin(), axes.variables.begin(), axes.variables.end());
  for (GroupSpec& group : layout.groups) {
    if (group.name == "sweep") {
      group = sweep_group(whole);
      group.attributes.push_back({"files", contents.lines()});
    }
    if (group.name == "parameters") {
      const std::string output = text_of(file.layout(), "parameters", "output");
      group = parameters_group(whole.sweep());
      for (const Parameter& row : whole.base().own.table())
        if (const Attribute* settled = alike(files, row.name); settled && !whole.sweeps(row.name))
          find_attribute(group, row.name)->value = settled->value;
      if (Attribute* kept = find_attribute(group, "output")) kept->value = output;
    }
  }
  return layout;
}

/// Numbers a cell of a variable; 0 if it has none.
std::size_t numbers_of_a_cell(const PlacedVariable& variable, const Cells& cells) {
  if (!begins_with(variable.dimensions, cell_dimensions(cells))) return 0;
  return variable.count() / static_cast<std::size_t>(cells.size());
}

/// One variable of all cells: read from the sources in their order, written in the whole's.
class Collector {
 public:
  Collector(const std::vector<StoredFile>& files, const std::vector<Owner>& owners)
      : files_(files), owners_(owners) {}

  void copy(const std::string& name, NumberType type, std::size_t width, TrajectoryFile& to) const {
    const std::size_t row = width * bytes_of(type);
    const std::size_t at_a_time =
        std::max<std::size_t>(1, kPieceBytes / std::max<std::size_t>(row, 1));
    for (std::uint64_t first = 0; first < owners_.size(); first += at_a_time) {
      look_for_signals();
      const std::uint64_t count = std::min<std::uint64_t>(at_a_time, owners_.size() - first);
      copy_piece(name, type, width, first, count, to);
    }
  }

 private:
  void copy_piece(const std::string& name, NumberType type, std::size_t width, std::uint64_t first,
                  std::uint64_t count, TrajectoryFile& to) const {
    const std::size_t bytes = bytes_of(type), row = width * bytes;
    std::vector<char> piece(row * count);
    // Stretches of cells that are somebody's, so that what nobody has keeps its blanks.
    for (std::uint64_t i = 0; i < count;) {
      if (owners_[first + i].source == kNobody) {
        ++i;
        continue;
      }
      std::uint64_t end = i;
      while (end < count && owners_[first + end].source != kNobody) ++end;
      for (std::uint64_t cell = i; cell < end;) {
        // As many as follow one another in one source, too.
        const Owner from = owners_[first + cell];
        std::uint64_t together = 1;
        while (cell + together < end && owners_[first + cell + together].source == from.source &&
               owners_[first + cell + together].cell == from.cell + together)
          ++together;
        files_[from.source].read(name, from.cell * width, together * width,
                                 piece.data() + cell * row);
        cell += together;
      }
      write(to, name, type, (first + i) * width, (end - i) * width, piece.data() + i * row);
      i = end;
    }
  }

  static void write(TrajectoryFile& to, const std::string& name, NumberType type, std::size_t first,
                    std::size_t count, const char* data) {
    switch (type) {
      case NumberType::float64:
        return write_as<double>(to, name, first, count, data);
      case NumberType::int64:
        return write_as<std::int64_t>(to, name, first, count, data);
      case NumberType::int8:
        return write_as<std::int8_t>(to, name, first, count, data);
    }
  }
  template <class Number>
  static void write_as(TrajectoryFile& to, const std::string& name, std::size_t first,
                       std::size_t count, const char* data) {
    std::vector<Number> numbers(count);
    std::memcpy(numbers.data(), data, count * sizeof(Number));
    to.write(name, first, std::span<const Number>(numbers));
  }

  const std::vector<StoredFile>& files_;
  const std::vector<Owner>& owners_;
};

/// Runs that several files have must be the same in all.
void require_same_overlaps(const std::vector<Source>& sources, const std::vector<StoredFile>& files,
                           const std::vector<Owner>& owners, const Cells& whole,
                           const std::set<std::string>& shared) {
  for (std::uint32_t s = 0; s < sources.size(); ++s) {
    const CellMap map(*sources[s].cells, whole);
    const std::vector<PlacedVariable> variables = variables_of(files[s].layout());
    for (std::uint64_t cell = 0; cell < sources[s].cells->size(); ++cell) {
      const std::uint64_t number = map(cell);
      const Owner& owner = owners[number];
      if (owner.source == s || owner.source == kNobody || sources[s].finished(cell) == 0) continue;
      look_for_signals();
      const std::size_t each = sources[s].status.size() / sources[s].cells->size();
      for (const PlacedVariable& variable : variables) {
        if (!shared.contains(variable.path)) continue;
        const std::size_t width = numbers_of_a_cell(variable, *sources[s].cells);
        const bool of_runs =
            width % each == 0 &&
            variable.dimensions.size() > cell_dimensions(*sources[s].cells).size() &&
            variable.dimensions[cell_dimensions(*sources[s].cells).size()] == "run";
        // Of the runs, those that both have.
        const std::size_t parts = of_runs ? each : 1, part = width / parts;
        for (std::size_t run = 0; run < parts; ++run) {
          const auto missing = static_cast<std::int64_t>(CellStatus::missing);
          if (of_runs && (sources[s].status[cell * each + run] == missing ||
                          sources[owner.source].status[owner.cell * each + run] == missing))
            continue;
          if (!same_numbers(files[s], {variable.path, cell * width + run * part},
                            files[owner.source], {variable.path, owner.cell * width + run * part},
                            part, variable.variable->type, look_for_signals))
            throw InputError("the cell " + whole.describe(number) + " is in '" +
                             sources[owner.source].path + "' and in '" + sources[s].path +
                             "', and they differ in '" + variable.path +
                             "'; a cell of a sweep has the same bits wherever it was computed");
        }
      }
    }
  }
}

StatusCounts count_statuses(const std::vector<Source>& sources, const std::vector<Owner>& owners,
                            std::size_t each) {
  StatusCounts counts;
  for (const Owner& owner : owners)
    for (std::size_t run = 0; run < each; ++run)
      counts.add(owner.source == kNobody ? static_cast<std::int64_t>(CellStatus::missing)
                                         : sources[owner.source].status[owner.cell * each + run]);
  return counts;
}

void merge_into(const MergeOptions& options, const Catalogue& catalogue, Screen& screen) {
  const std::vector<Source> sources = read_sources(options.files, catalogue);
  const Cells whole(whole_sweep(sources));
  const std::vector<Owner> owners = find_owners(sources, whole);
  if (!options.allow_missing) require_all(owners, sources, whole);
  std::vector<StoredFile> files;
  Origins origins;
  for (const Source& source : sources) {
    files.emplace_back(source.path);
    const Shard& shard = source.cells->shard();
    origins.add(
        (shard.whole() ? std::to_string(source.cells->size()) + " cells"
                       : "shard " + std::to_string(shard.number) + "/" + std::to_string(shard.of)) +
            ": ",
        files.back());
  }
  if (const std::string warning = origins.warning(); !warning.empty()) screen.warning(warning);
  const std::set<std::string> shared = shared_variables(sources, files, whole);
  require_same_overlaps(sources, files, owners, whole, shared);
  FileContents contents;
  for (std::size_t i = 0; i < files.size(); ++i)
    contents.add({*sources[i].cells, text_of(files[i].layout(), "sweep", "files"),
                  "for '" + files[i].path() + "'"});
  GroupSpec layout = whole_layout(files, sources.front(), whole, contents, shared);
  origins.describe(layout, options.command_line);
  const std::size_t each = sources.front().status.size() / sources.front().cells->size();
  const StatusCounts counts = count_statuses(sources, owners, each);
  if (Attribute* status = find_attribute(layout, "status"))
    status->value = std::string(counts[CellStatus::missing] == 0 ? "complete" : "interrupted");
  if (Attribute* said = find_attribute(layout, "status_message"))
    said->value =
        std::to_string(counts.all()) + (each > 1 ? " runs: " : " cells: ") + counts.text();
  require_disk(options.output, file_bytes(layout), "");
  TrajectoryFile file = TrajectoryFile::create_unpublished(options.output, layout);
  const Collector collector(files, owners);
  const std::vector<PlacedVariable> variables = variables_of(files.front().layout());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const PlacedVariable& variable = variables[i];
    // A shard's coordinates are not, nor states that are not alike.
    const bool kept = file.has(variable.path);
    const bool coordinate = whole.is_coordinate(variable.path);
    const std::size_t width = numbers_of_a_cell(variable, *sources.front().cells);
    if (kept && !coordinate && width > 0)
      collector.copy(variable.path, variable.variable->type, width, file);
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

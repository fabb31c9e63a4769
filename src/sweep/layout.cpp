#include "sweep/layout.hpp"

#include <algorithm>
#include <set>

#include "file/stored_file.hpp"
#include "popflow/error.hpp"
#include "run/specs.hpp"
#include "sweep/cell_status.hpp"
#include "sweep/read_files.hpp"

namespace popflow {

namespace {

/// Words that an int8 can count.
constexpr std::size_t kMostFlags = 127;

/// A word without the blanks that separate flag_meanings.
std::string one_word(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c <= ' '; }, '_');
  return text.empty() ? "(none)" : text;
}

/// The words in the order of the numbers that stand for them.
std::vector<Attribute> words_of(const SweptParameter& swept) {
  std::vector<std::int8_t> values;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < swept.size(); ++i) {
    words.push_back(one_word(swept.words[i]));
    if (i < kMostFlags) values.push_back(static_cast<std::int8_t>(i));
  }
  // Attributes of more numbers than an int8 counts are left out: the words are in their order.
  if (words.size() > kMostFlags) return {{"flag_meanings", joined(words)}};
  return {{"flag_values", values}, {"flag_meanings", joined(words)}};
}

std::vector<Attribute> described_values(const SweptParameter& swept) {
  std::vector<Attribute> attributes = described(swept.parameter->meaning);
  if (!swept.parameter->symbol.empty()) attributes.push_back({"symbol", swept.parameter->symbol});
  attributes.push_back({"option", swept.name()});
  return attributes;
}

DimensionSpec dimension_of(const Axis& axis) {
  if (axis.indexed)
    return places(axis.dimension, axis.size(), "place along parameters that change together");
  const SweptParameter& swept = axis.parameters.front();
  DimensionSpec dimension;
  dimension.name = axis.dimension;
  dimension.size = axis.size();
  dimension.attributes = described_values(swept);
  if (swept.is_number()) {
    dimension.coordinate = swept.parameter->kind == Kind::integer
                               ? DimensionSpec::Coordinate::wholes
                               : DimensionSpec::Coordinate::values;
    dimension.values = swept.numbers;
    return dimension;
  }
  dimension.coordinate = swept.size() > kMostFlags ? DimensionSpec::Coordinate::index
                                                   : DimensionSpec::Coordinate::flags;
  for (Attribute& attribute : words_of(swept)) dimension.attributes.push_back(std::move(attribute));
  return dimension;
}

/// A parameter's value at each of some places of its axis, along a dimension.
template <class PlaceOf>
VariableSpec values_along(const SweptParameter& swept, const std::string& dimension,
                          std::size_t size, const PlaceOf& place_of) {
  VariableSpec v;
  v.name = as_identifier(swept.name());
  v.dimensions = {dimension};
  v.attributes = described_values(swept);
  if (swept.is_number() && swept.parameter->kind == Kind::real) {
    std::vector<double> data(size);
    for (std::size_t i = 0; i < size; ++i) data[i] = swept.numbers[place_of(i)];
    v.data = std::move(data);
    return v;
  }
  v.type = NumberType::int64;
  std::vector<std::int64_t> data(size);
  for (std::size_t i = 0; i < size; ++i)
    data[i] = swept.is_number() ? static_cast<std::int64_t>(swept.numbers[place_of(i)])
                                : static_cast<std::int64_t>(place_of(i));
  if (!swept.is_number() && swept.size() <= kMostFlags) {
    v.type = NumberType::int8;
    v.data = std::vector<std::int8_t>(data.begin(), data.end());
  } else {
    v.data = std::move(data);
  }
  if (!swept.is_number())
    for (Attribute& attribute : words_of(swept)) v.attributes.push_back(std::move(attribute));
  return v;
}

/// The table's variables, with the dimensions that its rows have.
void add_variables(GroupSpec& root, const Table& table, const std::vector<std::string>& rows) {
  for (const Column& column : table.columns) {
    VariableSpec v = column.spec;
    v.dimensions.insert(v.dimensions.begin(), rows.begin(), rows.end());
    if (v.name == "status") v.blank = static_cast<std::int8_t>(CellStatus::missing);
    root.variables.push_back(std::move(v));
  }
}

void refuse_shared_names(const GroupSpec& root, const Cells& cells) {
  std::set<std::string> names;
  std::set<std::string> shared;
  for (const GroupSpec& group : root.groups) names.insert(group.name);
  for (const VariableSpec& variable : root.variables)
    if (!names.insert(variable.name).second) shared.insert(variable.name);
  for (const DimensionSpec& dimension : root.dimensions)
    if (!names.insert(dimension.name).second) shared.insert(dimension.name);
  if (shared.empty()) return;
  for (const Axis& axis : cells.axes())
    for (const SweptParameter& swept : axis.parameters)
      if (shared.contains(axis.dimension) || shared.contains(as_identifier(swept.name())))
        throw UsageError(
            "--over: the name '" +
            (shared.contains(axis.dimension) ? axis.dimension : as_identifier(swept.name())) +
            "' is that of something else in the file; give the axis another label, "
            "LABEL:" +
            swept.name() + "=...");
}

/// With what was settled beside what was given; made anew from the file, a sweep settles it again.
GroupSpec parameters_of(const RunConfig& sweep, const Columns& columns) {
  RunConfig told = sweep;
  for (const auto& [name, value] : columns.settled) told.own.resolve(name, value);
  GroupSpec group = parameters_group(told);
  const GroupSpec given = parameters_group(sweep);
  for (const char* name : {"not_default", "config"})
    find_attribute(group, name)->value = find_attribute(given, name)->value;
  return group;
}

}  // namespace

std::vector<std::string> cell_dimensions(const Cells& cells) {
  if (!cells.shard().whole()) return {"cell"};
  std::vector<std::string> names;
  for (const Axis& axis : cells.axes()) names.push_back(axis.dimension);
  return names;
}

void add_axes(GroupSpec& root, const Cells& cells) {
  if (cells.shard().whole()) {
    for (const Axis& axis : cells.axes()) {
      root.dimensions.push_back(dimension_of(axis));
      if (!axis.indexed) continue;
      for (const SweptParameter& swept : axis.parameters)
        root.variables.push_back(
            values_along(swept, axis.dimension, axis.size(), [](std::size_t i) { return i; }));
    }
    return;
  }
  DimensionSpec cell;
  cell.name = "cell";
  cell.size = static_cast<std::size_t>(cells.size());
  cell.coordinate = DimensionSpec::Coordinate::wholes;
  cell.attributes = described("number of the cell in the whole sweep");
  for (std::size_t i = 0; i < cell.size; ++i)
    cell.values.push_back(static_cast<double>(cells.number(i)));
  root.dimensions.push_back(std::move(cell));
  for (std::size_t axis = 0; axis < cells.axes().size(); ++axis)
    for (const SweptParameter& swept : cells.axes()[axis].parameters)
      root.variables.push_back(
          values_along(swept, "cell", static_cast<std::size_t>(cells.size()),
                       [&](std::size_t i) { return cells.places(cells.number(i))[axis]; }));
}

GroupSpec sweep_group(const Cells& cells) {
  const Parameters& options = cells.sweep().options;
  GroupSpec group;
  group.name = "sweep";
  std::vector<std::string> names;
  for (const Axis& axis : cells.axes()) names.push_back(axis.dimension);
  group.attributes = {{"over", options.text("over")},
                      {"axes", joined(names)},
                      {"cells", static_cast<std::int64_t>(cells.whole())},
                      {"runs", static_cast<std::int64_t>(cells.runs())},
                      {"record", options.word("record")},
                      {"reduce", options.text("reduce")},
                      {"shard", static_cast<std::int64_t>(cells.shard().number)},
                      {"shards", static_cast<std::int64_t>(cells.shard().of)},
                      {"hash", cells.hash()}};
  return group;
}

GroupSpec sweep_layout(const Cells& cells, const Columns& columns, const Reduction* reduction,
                       unsigned threads) {
  const SystemInfo& info = columns.info;
  const RunConfig& sweep = cells.sweep();
  std::vector<std::string> observables, constants;
  for (const ObservableInfo& one : info.observables) observables.push_back(one.name);
  GroupSpec root;
  root.attributes =
      file_attributes(info, "sweep: " + info.title, sweep.options.word("mode"), sweep);
  root.attributes.insert(root.attributes.end(), {{"observables", joined(observables)},
                                                 {"state_fields", joined(columns.field_names)},
                                                 {"passages", joined(columns.passage_names)},
                                                 {"constants", joined(columns.constant_names)}});
  add_axes(root, cells);
  std::vector<std::string> of_cells = cell_dimensions(cells), of_runs = of_cells;
  if (cells.noisy() && reduction == nullptr) {
    root.dimensions.push_back(places("run", cells.runs(), "run with noise of its own"));
    of_runs.push_back("run");
  }
  if (reduction != nullptr) root.dimensions.push_back(reduction->status_words());
  if (columns.series && columns.own_times)
    root.dimensions.push_back(places("save", columns.saves, "number of the record"));
  if (columns.series && !columns.own_times)
    root.dimensions.push_back(axis("time", columns.times, "flow time"));
  if (reduction == nullptr)
    for (const DimensionSpec& dimension : columns.dimensions) root.dimensions.push_back(dimension);
  if (reduction == nullptr)
    add_variables(root, columns.of_run, of_runs);
  else
    add_variables(root, reduction->of_cell(), of_cells);
  add_variables(root, columns.of_cell, of_cells);
  root.groups = {parameters_of(sweep, columns), sweep_group(cells), provenance_group(threads)};
  root.groups[1].attributes.push_back({"files", contents_of_files(cells)});
  root.groups.back().attributes.insert(
      root.groups.back().attributes.end(),
      {{"ranks", std::int64_t{1}}, {"messages", std::int64_t{0}}, {"writing_time", 0.0}});
  refuse_shared_names(root, cells);
  return root;
}

}  // namespace popflow

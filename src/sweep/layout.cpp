#include "sweep/layout.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "engine/described.hpp"
#include "engine/specs.hpp"
#include "engine/status.hpp"
#include "file/stored_file.hpp"
#include "popflow/error.hpp"
#include "sweep/read_files.hpp"

namespace popflow {

namespace {

/// Dimension of a shard.
constexpr const char* kCell = "cell";

/// Returns a word without the blanks that separate flag_meanings.
std::string one_word(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c <= ' '; }, '_');
  return text.empty() ? "(none)" : text;
}

/// Distinct words of a parameter, in the order of their first use, and the word of each place:
/// along a label a word may occur several times.
struct CodedWords {
  std::vector<std::string> words;
  std::vector<std::size_t> codes;

  explicit CodedWords(const SweptParameter& swept) {
    std::map<std::string, std::size_t> code_of;
    for (const std::string& word : swept.words) {
      const auto [found, first] = code_of.emplace(word, words.size());
      if (first) words.push_back(one_word(word));
      codes.push_back(found->second);
    }
  }
  [[nodiscard]] bool fit_int8() const { return words.size() <= kMostSmallFlags; }
  [[nodiscard]] NumberType type() const {
    return fit_int8() ? NumberType::int8 : NumberType::int64;
  }
  [[nodiscard]] std::vector<Attribute> attributes() const {
    return flag_attributes(words, 0, type());
  }
};

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
  // The words of an axis without a label are all distinct.
  const CodedWords coded(swept);
  dimension.coordinate =
      coded.fit_int8() ? DimensionSpec::Coordinate::flags : DimensionSpec::Coordinate::index;
  for (Attribute& attribute : coded.attributes())
    dimension.attributes.push_back(std::move(attribute));
  return dimension;
}

/// Makes the variable with a parameter's values at some places of its axis, along a dimension.
template <class PlaceOf>
VariableSpec values_along(const SweptParameter& swept, const std::string& dimension,
                          std::size_t size, const PlaceOf& place_of) {
  VariableSpec v;
  v.name = as_identifier(swept.name());
  v.dimensions = {dimension};
  v.attributes = described_values(swept);
  const auto data = [&]<class Number>(Number, const auto& of_places) {
    std::vector<Number> numbers(size);
    for (std::size_t i = 0; i < size; ++i) numbers[i] = static_cast<Number>(of_places[place_of(i)]);
    return numbers;
  };
  if (swept.is_number()) {
    const bool whole = swept.parameter->kind == Kind::integer;
    v.type = whole ? NumberType::int64 : NumberType::float64;
    if (whole)
      v.data = data(std::int64_t{}, swept.numbers);
    else
      v.data = data(double{}, swept.numbers);
    return v;
  }
  const CodedWords coded(swept);
  v.type = coded.type();
  if (coded.fit_int8())
    v.data = data(std::int8_t{}, coded.codes);
  else
    v.data = data(std::int64_t{}, coded.codes);
  for (Attribute& attribute : coded.attributes()) v.attributes.push_back(std::move(attribute));
  return v;
}

/// Adds the table's variables, with the dimensions of its rows.
void add_variables(GroupSpec& root, const Table& table, const std::vector<std::string>& rows) {
  for (const Column& column : table.columns) {
    VariableSpec v = column.spec;
    v.dimensions.insert(v.dimensions.begin(), rows.begin(), rows.end());
    if (v.name == "status") v.blank = static_cast<std::int8_t>(Status::missing);
    root.variables.push_back(std::move(v));
  }
}

/// Refuses labels that other names in the file exclude. Shards are checked as well, because they
/// become part of the whole file, where labels name dimensions.
void refuse_shared_names(const GroupSpec& root, const Cells& cells) {
  std::set<std::string> names;
  std::set<std::string> shared;
  const auto add = [&](const std::string& name) {
    if (!names.insert(name).second) shared.insert(name);
  };
  const bool whole = cells.shard().whole();
  for (const GroupSpec& group : root.groups) add(group.name);
  for (const VariableSpec& variable : root.variables) add(variable.name);
  for (const DimensionSpec& dimension : root.dimensions)
    if (whole || dimension.name != kCell) add(dimension.name);
  for (const Axis& axis : cells.axes())
    if (!whole && axis.indexed) add(axis.dimension);
  if (shared.empty()) return;
  for (const Axis& axis : cells.axes())
    for (const SweptParameter& swept : axis.parameters)
      if (shared.contains(axis.dimension) || shared.contains(as_identifier(swept.name())))
        throw UsageError(
            "--over: the name '" +
            (shared.contains(axis.dimension) ? axis.dimension : as_identifier(swept.name())) +
            "' is in use for something else in the file; give the axis another label, "
            "LABEL:" +
            swept.name() + "=...");
}

/// Returns the group of parameters, given and determined. A sweep that is made again from the file
/// determines them again.
GroupSpec parameters_of(const RunConfig& sweep, const SweepColumns& columns) {
  RunConfig described = sweep;
  for (const auto& [name, value] : columns.settled) {
    if (std::holds_alternative<std::monostate>(value))
      described.own.unset(name);  // replaced by the problem in the file
    else
      described.own.resolve(name, value);
  }
  GroupSpec group = parameters_group(described);
  const GroupSpec given = parameters_group(sweep);
  for (const char* name : {"not_default", "config"})
    find_attribute(group, name)->value = find_attribute(given, name)->value;
  return group;
}

}  // namespace

std::vector<std::string> cell_dimensions(const Cells& cells) {
  if (!cells.shard().whole()) return {kCell};
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
  cell.name = kCell;
  cell.size = static_cast<std::size_t>(cells.size());
  cell.coordinate = DimensionSpec::Coordinate::wholes;
  cell.attributes = described("number of the cell in the whole sweep");
  for (std::size_t i = 0; i < cell.size; ++i)
    cell.values.push_back(static_cast<double>(cells.number(i)));
  root.dimensions.push_back(std::move(cell));
  for (std::size_t axis = 0; axis < cells.axes().size(); ++axis)
    for (const SweptParameter& swept : cells.axes()[axis].parameters)
      root.variables.push_back(
          values_along(swept, kCell, static_cast<std::size_t>(cells.size()),
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

GroupSpec sweep_layout(const Cells& cells, const SweepColumns& columns, const Reduction* reduction,
                       unsigned threads) {
  const SystemInfo& info = columns.info;
  const RunConfig& sweep = cells.sweep();
  GroupSpec root;
  root.attributes =
      file_attributes(info, "sweep: " + info.title, sweep.options.word("mode"), sweep);
  // With a reduction there are no states and passages.
  const auto kept = [&](const std::vector<std::string>& names) {
    return reduction == nullptr ? joined(names) : "";
  };
  root.attributes.insert(root.attributes.end(),
                         {{"observables", joined(names_of(info.observables))},
                          {"state_fields", kept(columns.field_names)},
                          {"passages", kept(columns.passage_names)},
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
  root.groups = {parameters_of(sweep, columns), sweep_group(cells),
                 provenance_group(threads, info)};
  root.groups[1].attributes.push_back({"files", contents_of_files(cells)});
  root.groups.back().attributes.insert(
      root.groups.back().attributes.end(),
      {{"ranks", std::int64_t{1}}, {"messages", std::int64_t{0}}, {"writing_time", 0.0}});
  refuse_shared_names(root, cells);
  return root;
}

}  // namespace popflow

#include "merge/whole_layout.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "engine/specs.hpp"
#include "engine/status.hpp"
#include "file/structure.hpp"
#include "popflow/error.hpp"
#include "sweep/layout.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Returns whether a variable's first dimensions are those of cells.
bool begins_with(const std::vector<std::string>& dimensions,
                 const std::vector<std::string>& cells) {
  return dimensions.size() >= cells.size() &&
         std::equal(cells.begin(), cells.end(), dimensions.begin());
}

/// Numbers of a variable for each cell: their type, and their dimensions beyond those of the cells.
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

/// Returns the numbers that a file has for each cell, by the names of its variables, without
/// coordinates.
std::map<std::string, OfCell> variables_of_cells(const StoredFile& file, const Cells& cells) {
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

/// Attributes of a file that list states and passages.
constexpr std::array<const char*, 2> kListsOfStates = {"state_fields", "passages"};

/// Leaves out the variables of cells that are not `shared`, with the dimensions that only they
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

/// Returns a parameter that all files share, as given or as determined for all of their cells; null
/// if they differ.
const Attribute* shared_parameter(const std::vector<SweepPart>& parts,
                                  const std::string& parameter) {
  const Attribute* found = nullptr;
  for (const SweepPart& part : parts)
    for (const GroupSpec& group : part.file.layout().groups) {
      if (group.name != "parameters") continue;
      const Attribute* const its = find_attribute(group, parameter);
      if (its == nullptr || (found != nullptr && its->value != found->value)) return nullptr;
      found = its;
    }
  return found;
}

}  // namespace

bool is_of_cells(const PlacedVariable& variable, const Cells& cells) {
  return begins_with(variable.dimensions, cell_dimensions(cells));
}

bool is_of_runs(const PlacedVariable& variable, const Cells& cells) {
  const std::size_t beyond = cell_dimensions(cells).size();
  return variable.dimensions.size() > beyond && variable.dimensions[beyond] == "run";
}

std::set<std::string> shared_variables(const std::vector<SweepPart>& parts, const Cells& whole) {
  std::vector<std::map<std::string, OfCell>> held;
  std::set<std::string> states;
  for (const SweepPart& part : parts) {
    held.push_back(variables_of_cells(part.file, *part.cells));
    for (const char* list : kListsOfStates)
      for (std::string& name : text::split_words(text_of(part.file.layout(), "", list)))
        states.insert(std::move(name));
  }
  std::set<std::string> shared;
  for (const auto& [name, ours] : held.front()) shared.insert(name);
  bool states_alike = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::erase_if(shared, [&](const std::string& name) { return !held[i].contains(name); });
    for (const std::string& name : states) {
      const auto ours = held.front().find(name), its = held[i].find(name);
      const bool here = ours != held.front().end(), there = its != held[i].end();
      const bool same = here == there && (!here || ours->second.like(its->second));
      if (!same && whole.sweep().options.has("state"))
        throw InputError("'" + parts[i].path() + "' and '" + parts.front().path() +
                         "' differ in '" + name +
                         "'; --state ends needs states of one shape in all cells");
      states_alike = states_alike && same;
    }
  }
  if (!states_alike)
    std::erase_if(shared, [&](const std::string& name) { return states.contains(name); });
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (const std::string& name : shared)
      if (!held.front().at(name).like(held[i].at(name)))
        throw InputError("'" + parts[i].path() + "' and '" + parts.front().path() +
                         "' differ in the shape of '" + name + "'");
  return shared;
}

GroupSpec whole_layout(const std::vector<SweepPart>& parts, const Cells& whole,
                       const FileContents& contents, const std::set<std::string>& shared) {
  const StoredFile& file = parts.front().file;
  GroupSpec layout = file.layout();
  const std::vector<std::string> old = cell_dimensions(*parts.front().cells);
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
    if (variable.name == "status") variable.blank = static_cast<std::int8_t>(Status::missing);
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
        if (const Attribute* settled = shared_parameter(parts, row.name);
            settled && !whole.sweeps(row.name))
          find_attribute(group, row.name)->value = settled->value;
      if (Attribute* kept = find_attribute(group, "output")) kept->value = output;
    }
  }
  return layout;
}

}  // namespace popflow

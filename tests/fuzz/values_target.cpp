// Parses values of options: the first line names the option, and the rest is the value.

#include "cli/commands.hpp"
#include "fuzz/support.hpp"
#include "popflow/systems.hpp"

namespace popflow::fuzz {
namespace {

/// Returns the options of all commands and systems.
const ParameterTable& table() {
  static const ParameterTable all = [] {
    ParameterTable rows;
    for (const cli::Command& command : cli::commands())
      rows.insert(rows.end(), command.options().begin(), command.options().end());
    for (const CatalogueRow& row : systems().rows())
      rows.insert(rows.end(), row.info().parameters.begin(), row.info().parameters.end());
    return rows;
  }();
  return all;
}

void run(std::string_view input) {
  const auto parts = first_line(input);
  const std::string &name = parts.first, &value = parts.second;
  for (const Parameter& parameter : table()) {
    if (parameter.name != name) continue;
    const ParameterTable row = {parameter};
    for (const Origin origin : {Origin::command_line, Origin::config}) {
      Parameters values(row);
      if (!done_or_refused([&] { values.set(name, value, origin); })) continue;
      Parameters again(row);
      const std::string text = values.text(name);
      expect(done_or_refused([&] { again.set(name, text, origin); }) && again.text(name) == text,
             "--" + name + " is not read back from '" + text + "'");
    }
  }
}

std::string suggest(Random& random, const Lines& lines, std::size_t at) {
  const Parameter& any = fuzz::any_of(random, table());
  if (at == 0) return any.name;
  for (const Parameter& parameter : table())
    if (parameter.name == lines.front()) return some_value(random, parameter);
  return some_value(random, any);
}

}  // namespace

Target values() { return {"values", run, suggest}; }

}  // namespace popflow::fuzz

#include "cli/help.hpp"

#include <utility>

#include "cli/option_groups.hpp"
#include "cli/system_page.hpp"
#include "text/text.hpp"

namespace popflow::cli {
namespace {

using namespace text;  // NOLINT: the words of pages

std::string option_rows(const std::vector<Parameter>& options) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(options.size());
  for (const auto& option : options) rows.push_back({option_form(option), option_details(option)});
  return columns(rows);
}

bool takes_parameters(const Command& command) {
  return command.takes_system && !command.options().empty();
}

}  // namespace

std::string program_help(const Program& program) {
  std::vector<std::vector<std::string>> rows, examples;
  for (const auto& command : commands()) {
    const std::string first = command.takes_file ? " FILE" : command.takes_system ? " NAME" : "";
    rows.push_back({command.name + first, command.summary});
  }
  const std::string system = program.catalogue.rows().front().info().name;
  examples = {
      {program.name + " run " + system + " --plot", "run it, and draw it here"},
      {program.name + " plot " + system + "-flow.h5 -o " + system + ".pdf", "a figure for a paper"},
      {program.name + " compare " + system + " --runs 8", "is SGD like the flow here?"}};
  return "Population dynamics of transformer training, computed into one labelled file.\n\n" +
         paragraph("NAME: " + system_names(program.catalogue) + " ('" + program.name +
                   " systems' says what they are).") +
         "\nCommands\n" + columns(rows) + "\nExamples\n" + columns(examples) + "\n" +
         paragraph("'" + program.name + " COMMAND --help' explains a command, '" + program.name +
                   " run NAME --help' all options. '" + program.name +
                   " --version' prints the version.");
}

std::string command_help(const Program& program, const Command& command, const SystemInfo* system) {
  const bool has_own = system != nullptr && takes_parameters(command);
  std::string text = program.name + " " + command.name + " " + command.arguments + "\n\n" +
                     paragraph(command.description);
  bool first = true;
  for (const OptionGroup& group : option_groups(command.options())) {
    text += "\n" + group.question + "\n" + option_rows(group.options);
    if (std::exchange(first, false) && has_own)
      text += "\nParameters of " + system->name + "\n" + option_rows(system->parameters);
  }
  if (command.takes_system && !has_own) {
    const std::string more =
        takes_parameters(command)
            ? "'" + program.name + " " + command.name + " NAME --help' lists its parameters"
            : "'" + program.name + " systems NAME' describes it in full";
    text += "\n" + paragraph("For NAME, " + system_names(program.catalogue) + "; " + more + ".");
  }
  return text;
}

}  // namespace popflow::cli

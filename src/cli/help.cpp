#include "cli/help.hpp"

#include "cli/system_page.hpp"
#include "text/text.hpp"

namespace popflow::cli {
namespace {

using namespace text;  // NOLINT: the words of pages

std::string option_rows(const ParameterTable& options) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& option : options) rows.push_back({option_form(option), option_details(option)});
  return columns(rows);
}

bool takes_parameters(const Command& command) {
  return command.takes_system && !command.options.empty();
}

}  // namespace

std::string program_help(const Program& program) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& command : commands()) {
    rows.push_back({program.name + " " + command.name + " " + command.arguments, command.summary});
  }
  return "Population dynamics of transformer training: integrates the differential equations of a\n"
         "system and stores the trajectory in an HDF5 (netCDF-4) file.\n\n" +
         columns(rows) + "\n'" + program.name + " COMMAND --help' explains a command, '" +
         program.name + " run NAME --help' also lists the options of\na system. '" + program.name +
         " --version' prints the version.\n";
}

std::string command_help(const Program& program, const Command& command, const SystemInfo* system) {
  const bool has_own = system != nullptr && takes_parameters(command);
  std::string text = program.name + " " + command.name + " " + command.arguments + "\n\n" +
                     paragraph(command.description);
  if (has_own) {
    text += "\nParameters of " + system->name + ", " + system->title + "\n" +
            option_rows(system->parameters);
  }
  if (!command.options.empty()) text += "\nOptions\n" + option_rows(command.options);
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

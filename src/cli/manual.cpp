#include "cli/manual.hpp"

#include "cli/commands.hpp"
#include "cli/system_page.hpp"
#include "machine/this_build.hpp"
#include "text/text.hpp"

namespace popflow::cli {
namespace {

using namespace text;  // NOLINT: the words of pages

/// Escapes text for roff.
std::string roff(const std::string& text) {
  std::string escaped;
  bool line_start = true;
  for (const char character : text) {
    if (line_start && (character == '.' || character == '\'')) escaped += "\\&";
    if (character == '\\') {
      escaped += "\\e";
    } else if (character == '-') {
      escaped += "\\-";
    } else {
      escaped += character;
    }
    line_start = character == '\n';
  }
  return escaped;
}

std::string section(const std::string& title) { return ".SH " + title + "\n"; }

/// Formats a term and its meaning.
std::string item(const std::string& term, const std::string& meaning) {
  return ".TP\n.B " + roff(term) + "\n" + roff(meaning) + "\n";
}

std::string option_items(const ParameterTable& options) {
  std::string items;
  for (const auto& option : options) items += item(option_form(option), option_details(option));
  return items;
}

std::string command_section() {
  std::string text = section("COMMANDS");
  for (const auto& command : commands()) {
    text += item("popflow " + command.name + " " + command.arguments, command.description);
  }
  return text;
}

std::string option_sections() {
  std::string text;
  for (const auto& command : commands()) {
    if (command.options().empty()) continue;
    text += section("\"OPTIONS OF " + command.name + "\"") + option_items(command.options());
  }
  return text;
}

std::string system_sections(const Catalogue& catalogue) {
  std::string text;
  for (const auto& row : catalogue.rows()) {
    const SystemInfo& info = row.info();
    text += section("\"SYSTEM " + info.name + "\"") + roff(info.title) +
            ".\n.PP\nSource: " + roff(info.source) + "\n.PP\n" + option_items(info.parameters);
  }
  return text;
}

std::string file_section() {
  return section("\"CONFIGURATION FILES\"") +
         roff(
             "A file for --config has one line 'key = value' per option; the keys are the long "
             "options without their dashes. '#' starts a comment; a value that contains '#' stands "
             "in double quotes, with \\x23 for the '#'. Flags take true or false. Paths are "
             "relative to the file's own folder.\n") +
         section("FILES") +
         roff(
             "A run writes one HDF5 file that is also a netCDF-4 file; xarray, ncdump, h5py, "
             "Octave, R and Julia open it. It has every resolved option. The attribute config of "
             "its group parameters is the text of a configuration file that reproduces the run.\n");
}

std::string exit_section() {
  return section("\"EXIT STATUS\"") + item("0", "done, or stopped at a steady state") +
         item("1", "verify: a check failed; other commands: a function of the system failed") +
         item("2", "the command line is wrong, or needs more memory or disk than the machine has") +
         item("3", "an input file is missing or wrong") +
         item("4", "the trajectory diverged; the file has all records before that") +
         item("5", "output could not be written") +
         item("6",
              "the step limit was reached, the end is out of reach (--stop-when stuck), or the "
              "step size became too small") +
         item("129, 130, 143",
              "hung up, interrupted, terminated; the records are kept and the run can be resumed");
}

}  // namespace

std::string manual_page(const Catalogue& catalogue) {
  const std::string& name = catalogue.rows().front().info().name;
  return ".TH POPFLOW 1 \"\" \"popflow " + roff(this_build().version) + "\" \"User Commands\"\n" +
         section("NAME") + "popflow \\- population dynamics of transformer training\n" +
         section("SYNOPSIS") + ".B popflow\n.I command\n[options]\n" + section("DESCRIPTION") +
         roff(
             "Integrates the differential equations of a system and stores the trajectory in an "
             "HDF5 (netCDF-4) file.\n") +
         command_section() + option_sections() + system_sections(catalogue) + file_section() +
         exit_section() + section("ENVIRONMENT") +
         item("NO_COLOR", "if set, messages on a terminal have no colours") + section("EXAMPLES") +
         ".nf\n" +
         roff("popflow systems " + name + "\n" + "popflow run " + name +
              " --t-end 100 --output run.h5\n" + "popflow info run.h5\n" +
              "popflow resume run.h5 --t-end 200\n") +
         ".fi\n";
}

}  // namespace popflow::cli

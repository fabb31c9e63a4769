#include "cli/experiments.hpp"

#include <sstream>
#include <vector>

#include "options/config_file.hpp"
#include "options/experiments.hpp"
#include "options/tokens.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow::cli {
namespace {

using options::ShippedExperiment;

/// Returns the paragraphs of the comment at the beginning of a configuration: first the command
/// that runs it, then its claim.
std::vector<std::string> opening_comment(const std::string& config) {
  std::vector<std::string> paragraphs;
  bool begins = true;
  std::istringstream lines(config);
  for (std::string line; std::getline(lines, line) && line.starts_with('#');) {
    const std::size_t text = line.find_first_not_of("# ");
    if (text == std::string::npos) {
      begins = true;
      continue;
    }
    if (begins) paragraphs.emplace_back();
    paragraphs.back() += (begins ? "" : " ") + line.substr(text);
    begins = false;
  }
  return paragraphs;
}

/// Returns "run" of "popflow run scb --config ...".
std::string command_in(const std::string& line) {
  std::istringstream words(line);
  std::string program, command;
  words >> program >> command;
  return command;
}

}  // namespace

std::string experiment_list(const std::string& program, const Catalogue& catalogue) {
  std::string page;
  for (const ShippedExperiment& experiment : options::shipped_experiments()) {
    if (catalogue.find(options::system_in_config(experiment.path)) == nullptr) continue;
    const auto paragraphs = opening_comment(options::read_config_file(experiment.path));
    if (paragraphs.size() < 2) continue;
    page += program + " " + command_in(paragraphs[0]) + " --config " + experiment.name + "\n" +
            text::paragraph(paragraphs[1], 2) + "\n";
  }
  return page.empty() ? "no experiments are installed for the systems of this program\n" : page;
}

std::string experiment_page(const std::string& name) {
  std::vector<std::string> names;
  for (const ShippedExperiment& experiment : options::shipped_experiments()) {
    if (experiment.name == name) return options::read_config_file(experiment.path);
    names.push_back(experiment.name);
  }
  throw UsageError("unknown experiment '" + name + "'" + options::suggestion(name, names) +
                   (nearest(name, names).empty() ? "; 'experiments' lists them" : ""));
}

}  // namespace popflow::cli

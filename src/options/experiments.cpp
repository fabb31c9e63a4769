#include "options/experiments.hpp"

#include <algorithm>
#include <filesystem>

#include "options/program_folders.hpp"
#include "options/tokens.hpp"
#include "popflow/error.hpp"

namespace popflow::options {

namespace fs = std::filesystem;

std::vector<ShippedExperiment> shipped_experiments() {
  std::vector<ShippedExperiment> found;
  std::error_code ignored;
  const fs::path data = program_folders().data;
  if (data.empty()) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(data / "experiments", ignored))
    if (entry.path().extension() == ".cfg")
      found.push_back({entry.path().stem().string(), entry.path().string()});
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

std::string config_path(const std::string& named) {
  std::error_code ignored;
  if (fs::exists(named, ignored) || named.find('/') != std::string::npos) return named;
  std::vector<std::string> names;
  for (const ShippedExperiment& experiment : shipped_experiments()) {
    if (named == experiment.name || named == experiment.name + ".cfg") return experiment.path;
    names.push_back(experiment.name);
  }
  throw InputError("there is no configuration file '" + named +
                   "' here, and no experiment of that name" + suggestion(named, names));
}

}  // namespace popflow::options

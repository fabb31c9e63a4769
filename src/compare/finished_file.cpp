#include "compare/finished_file.hpp"

#include "compare/rungs.hpp"
#include "plan/mode_plan.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Options of `run` that make a rung: "--mode sgd --svag 3".
std::string settings_of_rung(const std::string& word, const SystemInfo& system) {
  if (const RungInfo* own = own_rung(system, word)) return "--mode flow " + settings_of(*own);
  if (word == "sde") return "--mode sde --modified-equation 1";
  if (word == "sde2") return "--mode sde --modified-equation 2";
  if (word == "gd") return "--mode sde --method gradient_descent";
  if (word == "flow") return "--mode flow";
  return "--mode sgd --svag " + std::to_string(std::max<std::int64_t>(1, svag_of(word)));
}

/// Whether a run matches the rung's word.
bool fits_rung(const std::string& word, const RunConfig& config, const SystemInfo& system) {
  const Parameters& options = config.options;
  const std::string& mode = options.word("mode");
  if (own_rung(system, word) != nullptr) return rung_of_its_own(config, system) == word;
  if (word == "flow") return mode == "flow" && rung_of_its_own(config, system).empty();
  if (word == "sde" || word == "sde2" || word == "gd") {
    if (mode != "sde") return false;  // only sde has these methods
    const bool gd = counts_steps(options);
    const std::int64_t order = word == "sde2" ? 2 : 1;
    return gd == (word == "gd") && (gd || options.integer("modified-equation") == order);
  }
  return mode == "sgd" && options.integer("svag") == std::max<std::int64_t>(1, svag_of(word));
}

}  // namespace

std::vector<FinishedFile> finished_files(const std::string& text) {
  std::vector<FinishedFile> files;
  for (const std::string& item : text::split(text, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == item.size())
      throw UsageError("--from has '" + item +
                       "'; it takes RUNG=FILE, several separated by commas (a comma in a path is "
                       "written \\,)");
    files.push_back({item.substr(0, equals), item.substr(equals + 1)});
  }
  return files;
}

void require_rung(const FinishedFile& file, const RunConfig& config, const SystemInfo& system) {
  if (fits_rung(file.word, config, system)) return;
  const Parameters& options = config.options;
  const std::string own = rung_of_its_own(config, system);
  std::string its;
  if (!own.empty())
    its = "is of the rung " + own + ", " + settings_of_rung(own, system);
  else
    its = "has --mode " + options.word("mode") +
          (options.has("method") ? " --method " + options.word("method") : "") +
          " --modified-equation " + options.text("modified-equation") + " --svag " +
          options.text("svag");
  throw InputError(file.path + " does not hold the rung " + file.word + ", which is " +
                   settings_of_rung(file.word, system) + "; it " + its);
}

bool may_differ_between_rungs(const Parameter& parameter, const SystemInfo& system) {
  const auto names = [&](const OptionSetting& setting) { return setting.option == parameter.name; };
  if (parameter.makes_problem) return true;
  if (std::any_of(system.unreduced.begin(), system.unreduced.end(), names)) return true;
  return std::any_of(system.rungs.begin(), system.rungs.end(), [&](const RungInfo& rung) {
    return std::any_of(rung.settings.begin(), rung.settings.end(), names);
  });
}

std::string said_of_shared_numbers(const FinishedFile& first, const FinishedFile& second,
                                   const std::string& seed) {
  return first.name() + " and " + second.name() + " have the same --seed, " + seed +
         ": their runs share random numbers, and tests that take them for independent are not "
         "exact";
}

}  // namespace popflow

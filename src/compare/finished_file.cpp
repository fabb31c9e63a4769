#include "compare/finished_file.hpp"

#include <algorithm>

#include "observed/observed_info.hpp"
#include "options/rung_words.hpp"
#include "popflow/data_file.hpp"
#include "text/text.hpp"
#include "training/trained.hpp"

namespace popflow {

namespace {

/// Returns the options that make a rung, as words of a command line: " --mode sgd --svag 3".
std::string words_of(const RungModel& model) {
  return words_of(model.options) + words_of(model.own);
}

/// Returns the names of the observables that each file records.
std::vector<std::vector<std::string>> recorded_by(const std::vector<FinishedFile>& files) {
  std::vector<std::vector<std::string>> names;
  names.reserve(files.size());
  for (const FinishedFile& file : files)
    names.push_back(
        text::split_words(DataFile(file.path).text_attribute("", "observables").value_or("")));
  return names;
}

bool is_in_all(const std::string& name, const std::vector<std::vector<std::string>>& lists) {
  return std::ranges::all_of(lists, [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, name) != names.end();
  });
}

/// Returns whether the option belongs to a reduction, or to a rung's definition.
bool makes_rung(const Parameter& parameter, const SystemInfo& system) {
  const auto names = [&](const OptionSetting& setting) { return setting.option == parameter.name; };
  return std::any_of(system.unreduced.begin(), system.unreduced.end(), names) ||
         std::any_of(system.rungs.begin(), system.rungs.end(), [&](const RungInfo& rung) {
           return std::any_of(rung.settings.begin(), rung.settings.end(), names);
         });
}

}  // namespace

std::vector<FinishedFile> finished_files(const std::string& text) {
  std::vector<FinishedFile> files;
  for (const std::string& item : text::split(text, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == item.size())
      throw UsageError("--from has '" + item +
                       "', which is not of the form RUNG=FILE; separate several by commas, and "
                       "write a comma in a path as \\,");
    files.push_back({item.substr(0, equals), item.substr(equals + 1)});
  }
  return files;
}

SystemInfo recorded_by_all(const std::vector<FinishedFile>& files, const SystemInfo& system,
                           const Parameters& options) {
  const auto lists = recorded_by(files);
  std::vector<std::string> shared = lists.front();
  std::erase_if(shared, [&](const std::string& name) { return !is_in_all(name, lists); });
  if (shared.empty())
    throw InputError("the files have no observable in common: " + files.front().path + " has " +
                     text::join(lists.front(), ", ") + " (--record-observables)");
  return with_observables(recorded_info(system, observation_of(options)), shared);
}

std::string left_out_notes(const std::vector<FinishedFile>& files) {
  const auto lists = recorded_by(files);
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::vector<std::string> missing;
    for (const std::vector<std::string>& names : lists)
      for (const std::string& name : names)
        if (std::ranges::find(lists[i], name) == lists[i].end() &&
            std::ranges::find(missing, name) == missing.end())
          missing.push_back(name);
    if (!missing.empty())
      sentences.push_back(files[i].name() + " lacks " + text::join(missing, ", "));
  }
  return sentences.empty() ? ""
                           : "only observables that all files record are compared: " +
                                 text::join(sentences, "; ");
}

void require_different_words(const std::vector<FinishedFile>& files) {
  for (auto file = files.begin(); file != files.end(); ++file)
    if (std::any_of(files.begin(), file,
                    [&](const FinishedFile& other) { return other.word == file->word; }))
      throw UsageError("--from names " + file->word + " twice");
}

void require_rung(const FinishedFile& file, const RunConfig& config, const SystemInfo& system) {
  const RungModel model = rung_model(file.word, system).value();
  if (model.fits(config, system)) return;
  const Parameters& options = config.options;
  std::string its;
  if (const RungInfo* own = own_rung_of(config, system))
    its = "is of the rung " + own->word + "," + words_of(rung_model(own->word, system).value());
  else
    its = "has --mode " + options.word("mode") +
          (options.has("method") ? " --method " + options.word("method") : "") +
          " --modified-equation " + options.text("modified-equation") + " --svag " +
          options.text("svag");
  throw InputError(file.path + " is not the rung " + file.word + ", which is" + words_of(model) +
                   "; the file " + its);
}

InputError differ(const FinishedFile& first, const FinishedFile& other, const std::string& what,
                  const std::string& ours, const std::string& its, const std::string& same) {
  const auto shown = [](const std::string& value) { return value.empty() ? "none" : value; };
  return InputError("the files differ in " + what + ": " + shown(its) + " in " + other.name() +
                    ", " + shown(ours) + " in " + first.name() +
                    "; compared files must have the same " + same);
}

void require_same_options(const RungOptions& first, const RungOptions& other,
                          const SystemInfo& system) {
  constexpr const char* kProblemAndStart = "problem and start";
  const bool sweeps = static_cast<bool>(first.sweeps);
  const auto check = [&](const Parameters& ours, const Parameters& its, const std::string& name,
                         const std::string& same) {
    if (sweeps && first.sweeps(name)) return;
    if (ours.text(name) != its.text(name))
      throw differ(first.of, other.of, "--" + name, ours.text(name), its.text(name), same);
  };
  const Parameters &ours = first.config.options, &its = other.config.options;
  for (const Parameter& parameter : first.config.own.table()) {
    const bool free = parameter.makes_problem ? !sweeps : makes_rung(parameter, system);
    if (!free && acts(parameter, ours) && acts(parameter, its))
      check(first.config.own, other.config.own, parameter.name, kProblemAndStart);
  }
  for (const char* name : {"problem", "problem-seed", "init-from"})
    if (sweeps || std::string(name) != "problem") check(ours, its, name, kProblemAndStart);
  if (first.exact() || other.exact()) return;
  for (const char* name : {"learning-rate", "batch-size"}) check(ours, its, name, name);
}

std::string shared_numbers_warning(const std::vector<RungOptions>& rungs,
                                   const std::function<bool(std::size_t, std::size_t)>& share) {
  for (std::size_t j = 0; j < rungs.size(); ++j)
    for (std::size_t i = 0; i < j; ++i) {
      const Parameters &a = rungs[i].config.options, &b = rungs[j].config.options;
      if (rungs[i].exact() || rungs[j].exact() || a.word("mode") != b.word("mode") || !share(i, j))
        continue;
      return rungs[i].of.name() + " and " + rungs[j].of.name() + " have the same --seed, " +
             a.text("seed") +
             ", so their runs share random numbers; tests that assume independent runs are not  "
             "exact";
    }
  return "";
}

}  // namespace popflow

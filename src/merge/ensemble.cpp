#include "merge/ensemble.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/interrupt.hpp"
#include "engine/made_of_files.hpp"
#include "engine/status.hpp"
#include "file/copy_numbers.hpp"
#include "file/output.hpp"
#include "file/trajectory_file.hpp"
#include "flow/step_length.hpp"
#include "merge/origins.hpp"
#include "merge/parts.hpp"
#include "report/summary.hpp"
#include "run/experiment.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Formats ranges as "3 to 7 and 9", at most a few.
std::string ranges(const std::vector<std::pair<std::int64_t, std::int64_t>>& from_to) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> words;
  for (const auto& [first, end] : from_to) {
    if (words.size() == kMost) {
      words.push_back("others");
      break;
    }
    words.push_back(std::to_string(first) +
                    (end - first > 1 ? " to " + std::to_string(end - 1) : ""));
  }
  const std::string last = words.back();
  words.pop_back();
  return words.empty() ? last : text::join(words, ", ") + " and " + last;
}

/// Parts of an ensemble, and the part from which each run of the whole is taken.
struct Ensemble {
  std::vector<Part> parts;  ///< sorted by their first runs
  std::vector<Owner> owners;

  [[nodiscard]] std::int64_t first() const { return parts.front().first; }
  [[nodiscard]] std::size_t runs() const { return owners.size(); }
  [[nodiscard]] FileParts files() const { return pointers_to_parts(parts); }
};

void require_no_gaps(const std::vector<Part>& parts) {
  std::vector<std::pair<std::int64_t, std::int64_t>> gaps;
  std::int64_t end = parts.front().first;
  for (const Part& part : parts) {
    if (part.first > end) gaps.emplace_back(end, part.first);
    end = std::max(end, part.end());
  }
  if (gaps.empty()) return;
  const bool one = gaps.size() == 1 && gaps[0].second - gaps[0].first == 1;
  throw InputError(std::string(one ? "run " : "runs ") + ranges(gaps) + (one ? " is" : " are") +
                   " missing: the files have runs " + std::to_string(parts.front().first) + " to " +
                   std::to_string(end - 1) +
                   " of an ensemble; add the files with the missing runs");
}

/// Opens every file, and checks it against the first.
Ensemble look_at(const std::vector<std::string>& files) {
  Ensemble ensemble;
  std::vector<Part>& parts = ensemble.parts;
  for (const std::string& path : files) {
    throw_if_interrupted();
    parts.push_back(read_part(path));
    require_same_ensemble(parts.front().file, parts.back().file);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.first < b.first; });
  require_no_gaps(parts);
  std::int64_t end = 0;
  for (Part& part : parts) {
    end = std::max(end, part.end());
    part.places.resize(part.status.size());
    std::iota(part.places.begin(), part.places.end(),
              static_cast<std::uint64_t>(part.first - ensemble.first()));
  }
  ensemble.owners =
      find_owners(ensemble.files(), static_cast<std::uint64_t>(end - ensemble.first()), true);
  return ensemble;
}

// ---- Values.

/// Throws InputError unless the data that all runs share are the same in all files.
void require_same_shared(const StoredFile& first, const StoredFile& other) {
  for (const PlacedVariable& variable : variables_of(first.layout())) {
    if (is_of_runs(variable)) continue;
    if (same_numbers(first, {variable.path}, other, {variable.path}, variable.count(),
                     variable.variable->type, throw_if_interrupted))
      continue;
    const bool of_problem = variable.path.starts_with("problem/");
    throw InputError("'" + other.path() + "' and '" + first.path() + "' differ in '" +
                     variable.path + "'; " +
                     (of_problem ? "parts of one ensemble must have the same problem"
                                 : "parts of one ensemble must share these data"));
  }
}

/// Returns the variables that must be the same in runs that several files have. Restart data are
/// left out, because the time at which they are written may depend on the clock.
std::vector<UnitVariable> compared(const Part& part) {
  std::vector<UnitVariable> found;
  for (PlacedVariable& variable : variables_of(part.file.layout()))
    if (is_of_runs(variable) && !variable.path.starts_with("restart/"))
      found.push_back({std::move(variable)});
  return found;
}

// ---- Attributes of the whole.

Ending ending_of(const Ensemble& ensemble, const std::vector<std::string>& outcomes) {
  EnsembleEnding together;
  for (const Owner& owner : ensemble.owners) {
    const Part& part = ensemble.parts[owner.part];
    const auto here = static_cast<std::size_t>(owner.unit);
    Ending ending;
    ending.outcome.kind = outcome_kind(static_cast<Status>(part.status[here]));
    ending.outcome.message = part.message;
    if (part.message.empty() && ending.outcome.kind != Outcome::Kind::reached)
      ending.outcome.message = status_word(status_of(ending.outcome.kind)) +
                               std::string(" in a part that was interrupted");
    ending.outcome.diverged_at = part.diverged_at[here];
    const auto word = static_cast<std::size_t>(part.outcome.empty() ? 0 : part.outcome[here]);
    if (word < outcomes.size()) ending.where = outcomes[word];
    together.add(ending);
  }
  return together.ending();
}

void describe_ending(GroupSpec& layout, const Ending& ending) {
  const auto set = [&](const char* name, auto value) {
    if (Attribute* attribute = find_attribute(layout, name)) attribute->value = value;
  };
  std::string message = ending.outcome.message;
  const Attribute* end = find_attribute(*find_group(layout, "parameters"), "t-end");
  const auto* time = end == nullptr ? nullptr : std::get_if<double>(&end->value);
  if (message.empty() && time != nullptr) message = "reached " + at_time(*time);
  set("status", status_word(status_of(ending.outcome.kind)));
  set("status_message", message);
  set("diverged_at", ending.outcome.kind == Outcome::Kind::diverged
                         ? ending.outcome.diverged_at
                         : std::numeric_limits<double>::quiet_NaN());
  set("outcome", ending.where);
}

std::vector<std::string> outcomes_of(const GroupSpec& layout) {
  for (const VariableSpec& variable : layout.variables) {
    if (variable.name != "outcome") continue;
    for (const Attribute& attribute : variable.attributes)
      if (const auto* words = std::get_if<std::string>(&attribute.value);
          words != nullptr && attribute.name == "flag_meanings")
        return text::split_words(*words);
  }
  return {};
}

TrajectoryFile write_whole(const MergeOptions& options, Screen& screen) {
  const Ensemble ensemble = look_at(options.files);
  const FileParts files = ensemble.files();
  const StoredFile& first = ensemble.parts.front().file;
  Origins origins;
  for (const Part& part : ensemble.parts) {
    origins.add(
        "runs " + std::to_string(part.first) + " to " + std::to_string(part.end() - 1) + ": ",
        part.file);
    require_same_shared(first, part.file);
  }
  screen.warning(origins.warning());
  require_same_overlaps(
      files, ensemble.owners, [&](std::size_t part) { return compared(ensemble.parts[part]); },
      [&](std::uint64_t run) {
        return "run " + std::to_string(ensemble.first() + static_cast<std::int64_t>(run));
      });
  GroupSpec layout = resized(first.layout(), ensemble.first(), ensemble.runs());
  origins.describe(layout, options.command_line);
  if (Attribute* output = find_attribute(*find_group(layout, "parameters"), "output"))
    output->value = options.output;
  describe_ending(layout, ending_of(ensemble, outcomes_of(layout)));
  require_disk(options.output, file_bytes(layout), "");
  throw_if_interrupted();
  TrajectoryFile file = TrajectoryFile::create_unpublished(options.output, layout);
  copy_all(
      files, ensemble.owners, variables_of(first.layout()),
      [](const PlacedVariable& variable) { return is_of_runs(variable); }, file, screen);
  return file;
}

}  // namespace

ExitCode merge_ensemble(const MergeOptions& options, Screen& screen) {
  return make_of_files([&] { return write_whole(options, screen); }, summarize, options.force,
                       screen);
}

}  // namespace popflow

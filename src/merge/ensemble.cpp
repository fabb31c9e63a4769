#include "merge/ensemble.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include "engine/interrupt.hpp"
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

/// "3 to 7 and 9", at most a few ranges.
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

/// The parts, and which of them each run of the whole is taken from.
struct Ensemble {
  std::vector<Part> parts;  ///< by their first runs
  std::int64_t first = 0;
  std::vector<std::uint32_t> owner;  ///< a place in `parts`, for each run

  [[nodiscard]] std::size_t runs() const { return owner.size(); }
  [[nodiscard]] const Part& part_of(std::size_t run) const { return parts[owner[run]]; }
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
                   " missing: the files hold runs " + std::to_string(parts.front().first) + " to " +
                   std::to_string(end - 1) + " of an ensemble, and all in between must be there");
}

/// Opens every file once, and checks it against the first.
Ensemble look_at(const std::vector<std::string>& files) {
  Ensemble ensemble;
  const StoredFile reference(files.front());
  for (const std::string& path : files) {
    look_for_signals();
    const StoredFile file(path);
    ensemble.parts.push_back(read_part(file));
    require_same_ensemble(reference, file);
  }
  std::vector<Part>& parts = ensemble.parts;
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.first < b.first; });
  require_no_gaps(parts);
  ensemble.first = parts.front().first;
  std::int64_t end = 0;
  for (const Part& part : parts) end = std::max(end, part.end());
  constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();
  ensemble.owner.assign(static_cast<std::size_t>(end - ensemble.first), kNobody);
  // Of a run in several parts the first that has it whole.
  for (const bool whole : {true, false})
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (std::int64_t run = parts[p].first; run < parts[p].end(); ++run) {
        std::uint32_t& owner = ensemble.owner[static_cast<std::size_t>(run - ensemble.first)];
        if (owner == kNobody && parts[p].ended(run) == whole) owner = static_cast<std::uint32_t>(p);
      }
  return ensemble;
}

// ---- Values.

/// What all runs share must be the same in all files.
void require_same_shared(const StoredFile& first, const StoredFile& other, std::size_t runs) {
  for (const PlacedVariable& variable : variables_of(first.layout())) {
    if (rows_of_a_run(variable, runs) > 0) continue;
    if (same_numbers(first, {variable.path}, other, {variable.path}, variable.count(),
                     variable.variable->type, look_for_signals))
      continue;
    const bool of_problem = variable.path.starts_with("problem/");
    throw InputError("'" + other.path() + "' and '" + first.path() + "' differ in '" +
                     variable.path + "'; " +
                     (of_problem ? "parts of one ensemble have the same problem"
                                 : "parts of one ensemble share it"));
  }
}

/// Runs that are whole in this part and come from another one: they must be the same.
void require_same_runs(const Ensemble& ensemble, std::size_t p, const StoredFile& file) {
  const Part& part = ensemble.parts[p];
  std::optional<std::uint32_t> open;
  std::optional<StoredFile> other;
  for (std::int64_t run = part.first; run < part.end(); ++run) {
    const std::uint32_t owner = ensemble.owner[static_cast<std::size_t>(run - ensemble.first)];
    const Part& its = ensemble.parts[owner];
    if (owner == p || its.path == part.path || !part.ended(run)) continue;
    if (open != owner) {
      other.emplace(its.path);
      open = owner;
    }
    for (const PlacedVariable& variable : variables_of(file.layout())) {
      // When restart data are written may depend on the clock.
      const std::size_t numbers = numbers_of_a_run(variable, part.runs);
      if (numbers == 0 || variable.path.starts_with("restart/")) continue;
      const auto here = static_cast<std::size_t>(run - part.first) * numbers;
      const auto there = static_cast<std::size_t>(run - its.first) * numbers;
      if (!same_numbers(file, {variable.path, here}, *other, {variable.path, there}, numbers,
                        variable.variable->type, look_for_signals))
        throw InputError("run " + std::to_string(run) + " is in '" + its.path + "' and in '" +
                         part.path + "', and they differ in '" + variable.path +
                         "'; a run of an ensemble has the same bits wherever it was computed");
    }
  }
}

/// The runs that are taken from part `p`, those that follow one another together.
void copy_runs(const Ensemble& ensemble, std::size_t p, const StoredFile& file,
               TrajectoryFile& to) {
  const Part& part = ensemble.parts[p];
  const std::vector<PlacedVariable> variables = variables_of(file.layout());
  for (std::int64_t run = part.first; run < part.end();) {
    const auto is_ours = [&](std::int64_t r) {
      return ensemble.owner[static_cast<std::size_t>(r - ensemble.first)] == p;
    };
    std::int64_t next = run + 1;
    while (next < part.end() && is_ours(next) == is_ours(run)) ++next;
    if (is_ours(run)) {
      for (const PlacedVariable& variable : variables) {
        const std::size_t numbers = numbers_of_a_run(variable, part.runs);
        if (numbers == 0) continue;
        const auto there = static_cast<std::size_t>(run - part.first) * numbers;
        const auto here = static_cast<std::size_t>(run - ensemble.first) * numbers;
        copy_numbers(file, {variable.path, there}, to, {variable.path, here},
                     static_cast<std::size_t>(next - run) * numbers, variable.variable->type,
                     look_for_signals);
      }
    }
    run = next;
  }
}

// ---- What the whole says of itself.

Ending ending_of(const Ensemble& ensemble, const std::vector<std::string>& outcomes) {
  Together together;
  for (std::size_t run = 0; run < ensemble.runs(); ++run) {
    const Part& part = ensemble.part_of(run);
    const auto here =
        static_cast<std::size_t>(ensemble.first + static_cast<std::int64_t>(run) - part.first);
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

TrajectoryFile write_whole(const Ensemble& ensemble, const MergeOptions& options, Screen& screen) {
  Origins origins;
  for (const Part& part : ensemble.parts)
    origins.add(
        "runs " + std::to_string(part.first) + " to " + std::to_string(part.end() - 1) + ": ",
        StoredFile(part.path));
  if (const std::string warning = origins.warning(); !warning.empty()) screen.warning(warning);
  const StoredFile first(ensemble.parts.front().path);
  GroupSpec layout = resized(first.layout(), ensemble.first, ensemble.runs());
  if (find_group(layout, "provenance") == nullptr)
    throw InputError("'" + first.path() + "' is damaged: it has no group 'provenance'");
  origins.describe(layout, options.command_line);
  if (Attribute* output = find_attribute(*find_group(layout, "parameters"), "output"))
    output->value = options.output;
  describe_ending(layout, ending_of(ensemble, outcomes_of(layout)));
  require_disk(options.output, file_bytes(layout), "");
  look_for_signals();

  TrajectoryFile file = TrajectoryFile::create_unpublished(options.output, layout);
  for (const PlacedVariable& variable : variables_of(first.layout()))
    if (rows_of_a_run(variable, ensemble.parts.front().runs) == 0)
      copy_numbers(first, {variable.path}, file, {variable.path}, variable.count(),
                   variable.variable->type, look_for_signals);
  for (std::size_t p = 0; p < ensemble.parts.size(); ++p) {
    const StoredFile part(ensemble.parts[p].path);
    if (p > 0) require_same_shared(first, part, ensemble.parts.front().runs);
    require_same_runs(ensemble, p, part);
    copy_runs(ensemble, p, part, file);
    screen.progress(
        static_cast<double>(p + 1) / static_cast<double>(ensemble.parts.size()),
        std::to_string(p + 1) + " of " + std::to_string(ensemble.parts.size()) + " parts");
  }
  file.sync();
  look_for_signals();
  return file;
}

}  // namespace

ExitCode merge_ensemble(const MergeOptions& options, Screen& screen) {
  const auto interrupted = unless_interrupted(screen, [&] {
    const Ensemble ensemble = look_at(options.files);
    write_whole(ensemble, options, screen).publish(options.force);
  });
  if (interrupted) return *interrupted;
  screen.result(summarize(DataFile(options.output)));
  return ExitCode::success;
}

}  // namespace popflow

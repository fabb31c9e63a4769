#include "run/resume_config.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>

#include "engine/interrupt.hpp"
#include "engine/restart.hpp"
#include "engine/status.hpp"
#include "file/structure.hpp"
#include "plan/mode_plan.hpp"
#include "plugin/loaded.hpp"

namespace popflow {

namespace {

std::string required_text(const DataFile& file, const std::string& group, const std::string& name) {
  const std::optional<std::string> text = file.text_attribute(group, name);
  if (!text)
    throw InputError(file.path() + " is incomplete: attribute '" + name + "' is missing" +
                     (group.empty() ? "" : " in group '" + group + "'"));
  return *text;
}

/// Returns whether the times in the file agree with the plan. One time may differ: a run that
/// stopped early recorded the time of its stop.
bool times_agree(const std::vector<double>& times, const Schedule& plan) {
  if (times.size() != plan.size()) return false;
  std::size_t other = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) other += times[i] == plan[i] ? 0 : 1;
  return other <= 1;
}

/// Returns the spacing of the save times that the file states, by which its run is extended. Throws
/// InputError if the spacing does not match the times, since an extended file would contradict
/// itself. `step` is the distance of times that are counted in steps (else 0).
Spacing checked_spacing(const DataFile& file, const Parameters& options, const Schedule& times,
                        double step) {
  constexpr double kRounding = 1e-9;
  const Spacing its = read_spacing(file);
  const auto require = [&](bool same, const std::string& should) {
    if (!same)
      throw InputError(file.path() + " is damaged: its group 'restart' states that the times are " +
                       its.kind + " with step " + shortest(its.step) + ", but " + should);
  };
  if (!options.has("save-at")) {
    const Spacing planned = spacing_of(options, times.back(), step);
    require(its.kind == planned.kind &&
                std::abs(its.step - planned.step) <= kRounding * std::abs(planned.step),
            "the parameters say " + planned.kind + " with step " + shortest(planned.step));
    return its;
  }
  // Listed times, or a regular grid that was extended to an end that is not on the grid.
  if (its.kind == "linear") {
    const double first = times.size() > 1 ? times[1] - times[0] : 0;
    require(std::abs(its.step - first) <= step + kRounding * first,
            "the first two times are " + shortest(first) + " apart");
  } else if (its.kind == "log" && !(step > 0)) {
    const double ratio = times.size() > 2 ? times[2] / times[1] : 0;
    require(std::abs(its.step - ratio) <= kRounding * ratio,
            "the ratio of the first times is " + shortest(ratio));
  } else {
    require(its.kind == "log" ? its.step > 1 : its.kind == "listed", "this spacing does not exist");
  }
  return its;
}

/// Throws InputError unless the file has a variable of `scope` with the shape and type of its
/// dimensions; the dimensions of time have the file's own length.
void require_as_laid_out(const DataFile& file, const Scope& scope, const VariableSpec& variable,
                         const std::string& name) {
  std::vector<std::size_t> shape;
  for (const std::string& dimension : variable.dimensions)
    shape.push_back(dimension.starts_with("time") ? file.length(dimension)
                                                  : scope.dimension(dimension).size);
  if (file.shape(name) != shape)
    throw InputError(file.path() + " is damaged: '" + name + "' has shape " +
                     in_words(file.shape(name)) + ", not " + in_words(shape));
  if (variable.type == NumberType::float64) return;
  const DataArray numbers = file.read(name, shape);
  if (numbers.integers.size() != numbers.values.size())
    throw InputError(file.path() + " is damaged: '" + name + "' has numbers that are not whole");
}

/// Copies a variable into a file with more times: for each run, the elements that exist.
void copy(const DataFile& from, TrajectoryFile& to, const VariableSpec& variable,
          const std::string& name) {
  const std::vector<std::size_t> shape = from.shape(name);
  const bool of_runs = !variable.dimensions.empty() && variable.dimensions[0] == "run";
  const std::size_t runs = of_runs ? shape.at(0) : 1;
  const std::size_t axis = of_runs ? 1 : 0;  // axis within a run
  const std::size_t there = to.size(name) / std::max<std::size_t>(runs, 1);
  if (variable.type != NumberType::float64) {
    std::vector<std::int64_t> all = from.read(name).integers;
    if (of_runs && name == "status")
      for (std::int64_t& status : all) status = status_when_extended(status);
    const std::size_t here = all.size() / std::max<std::size_t>(runs, 1);
    for (std::size_t run = 0; run < runs; ++run) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(run * here);
      const auto end = begin + static_cast<std::ptrdiff_t>(here);
      if (variable.type == NumberType::int64)
        to.write(name, run * there, std::span<const std::int64_t>(begin, end));
      else
        to.write(name, run * there,
                 std::span<const std::int8_t>(std::vector<std::int8_t>(begin, end)));
    }
    return;
  }
  if (shape.size() <= axis) {  // one number per run
    const std::vector<double> all = from.read(name).values;
    to.write(name, 0, std::span<const double>(all));
    return;
  }
  // Pieces along the first axis, because a state of all saves need not fit into memory.
  const std::size_t row = std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                                          shape.end(), std::size_t{1}, std::multiplies<>());
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  const std::size_t at_a_time = std::max<std::size_t>(1, kPiece / std::max<std::size_t>(row, 1));
  std::vector<double> piece;
  // With states at the ends only, the row of the old end becomes the row of the new end, except in
  // a run that goes no further.
  const bool at_ends = variable.dimensions[axis] == "time_state";
  std::vector<std::int64_t> status;
  if (at_ends && of_runs) status = from.read("status").integers;
  for (std::size_t run = 0; run < runs; ++run) {
    const bool stays = run < status.size() && is(status[run], Status::diverged);
    const std::size_t rows = at_ends && !stays ? 1 : shape[axis];
    const std::vector<std::size_t> prefix(axis, run);
    for (std::size_t i = 0; i < rows; i += at_a_time) {
      const std::size_t count = std::min(at_a_time, rows - i);
      piece.resize(count * row);
      from.read_rows(name, prefix, i, count, piece.data());
      to.write(name, run * there + i * row, std::span<const double>(piece));
    }
  }
}

Attribute& attribute(GroupSpec& group, const std::string& name) {
  return *std::find_if(group.attributes.begin(), group.attributes.end(),
                       [&](const Attribute& a) { return a.name == name; });
}

/// Keeps in the longer file the record of the run's beginning and the options that do not describe
/// the run.
void keep_history(const DataFile& old, GroupSpec& layout) {
  std::string& history = std::get<std::string>(attribute(layout, "history").value);
  history = required_text(old, "", "history") + "\n" + history;
  if (const auto continues_at = old.number_attribute("", "continues_at"))
    layout.attributes.push_back({"continues_at", *continues_at});
  for (GroupSpec& group : layout.groups) {
    if (group.name == "provenance")
      attribute(group, "started").value = required_text(old, "provenance", "started");
    // Parts of a merged file.
    if (group.name == "provenance")
      if (const auto parts = old.text_attribute("provenance", "parts"))
        group.attributes.push_back({"parts", *parts});
    if (group.name != "parameters") continue;
    for (Attribute& kept : group.attributes) {
      if (kept.name == "config" || describes_run(kept.name)) continue;
      if (std::holds_alternative<std::string>(kept.value))
        kept.value = required_text(old, "parameters", kept.name);
      else if (const auto flag = old.number_attribute("parameters", kept.name))
        kept.value = static_cast<std::int8_t>(*flag != 0 ? 1 : 0);
    }
  }
}

}  // namespace

void require_format(const DataFile& file) {
  if (file.text_attribute("", "format") != "popflow")
    throw InputError(file.path() + " is not a popflow file");
  const std::optional<double> version = file.number_attribute("", "format_version");
  if (!version || *version > 1)
    throw InputError(file.path() + " has format version " +
                     (version ? shortest(*version) : std::string("none")) +
                     "; this program reads version 1");
}

RunConfig stored_config(const DataFile& file, const Catalogue& catalogue, ConfigParser parse) {
  require_format(file);
  const std::string system = required_text(file, "", "system");
  const std::string text = required_text(file, "parameters", "config");
  if (catalogue.find(system) == nullptr)
    throw InputError(file.path() + " has the system '" + system +
                     "', which this program does not have; the file's attribute 'history' names "
                     "the program that wrote it");
  plugin::require_same_source(file);
  return blaming_file(file.path(),
                      [&] { return parse(catalogue.info(system), text, file.path()); });
}

RunConfig recorded_config(const DataFile& file, const Catalogue& catalogue) {
  RunConfig config = stored_config(file, catalogue, from_config_text);
  if (!config.options.has("t-end"))
    throw InputError(file.path() + " is incomplete: 't-end' is missing in its 'config'");
  return config;
}

std::int64_t times_resumed(const DataFile& file) {
  const double times = file.number_attribute("provenance", "resumed").value_or(0);
  return times >= 0 && times < largest_whole ? static_cast<std::int64_t>(times) : 0;
}

void use_own_problem(RunConfig& config, const DataFile& file, const SystemInfo& info) {
  config.options.unset("init-from");
  config.options.unset("init-optimizer");
  for (const Parameter& parameter : config.own.table())
    if (parameter.makes_problem) config.own.unset(parameter.name);
  if (!info.problem.empty())
    config.options.set("problem", std::filesystem::absolute(file.path()).string(), Origin::config);
}

RunConfig config_of_file(const DataFile& file, const Catalogue& catalogue) {
  RunConfig config = recorded_config(file, catalogue);
  use_own_problem(config, file, catalogue.info(config.system));
  return config;
}

ResumePlan plan_resume(const std::string& path, const ResumeOptions& options,
                       const Catalogue& catalogue) {
  const DataFile file(path);
  ResumePlan plan(config_of_file(file, catalogue), recorded_config(file, catalogue));
  const std::string status = required_text(file, "", "status");
  const double end = plan.config.options.real("t-end");
  double step = 0;
  plan.schedule = blaming_file(path, [&] {
    step = step_length(mode_plan(plan.config.options));
    return make_schedule(plan.config.options, end, step);
  });
  if (!times_agree(file.read("time").values, plan.schedule))
    throw InputError(path + " is damaged: its times do not match its parameters");
  plan.wall_time = file.number_attribute("provenance", "wall_time").value_or(0);
  plan.resumed = times_resumed(file);
  plan.recorded.command_line = options.command_line;
  options.apply(plan.config.options);

  const bool unfinished = is_unfinished(status);
  if (options.t_end && *options.t_end > end) {
    if (!unfinished && status != "complete")
      throw UsageError(path + " ended as '" + status +
                       "' and cannot be extended to t = " + shortest(*options.t_end));
    plan.extends = true;
    plan.spacing = checked_spacing(file, plan.config.options, plan.schedule, step);
    plan.schedule = extend_schedule(plan.schedule, plan.spacing, *options.t_end, step);
    describe_schedule(plan.schedule, step, plan.config.options);
    describe_schedule(plan.schedule, step, plan.recorded.options);
    return plan;
  }
  if (options.t_end && *options.t_end < end)
    throw UsageError("--t-end is " + shortest(*options.t_end) + ", but " + path +
                     " was planned to end at " + shortest(end) + " and can only be extended");
  if (!unfinished) {
    plan.finished = true;
    plan.why_finished =
        path + " is finished (" + status + "): nothing to do" +
        (status == "complete"     ? "; --t-end X extends it"
         : status == "step_limit" ? "; a new run with a larger --max-steps goes further"
                                  : "");
  }
  return plan;
}

TrajectoryFile extend_file(const std::string& path, GroupSpec layout) {
  // The canonical path keeps a symbolic link; the permissions are copied below.
  const std::string target = std::filesystem::canonical(path).string();
  const DataFile old(target);
  keep_history(old, layout);
  TrajectoryFile file = TrajectoryFile::create_unpublished(target, layout);
  const Scope root{layout};
  const auto copy_all = [&](const Scope& scope, const std::string& group) {
    for (const VariableSpec& variable : scope.group.variables) {
      throw_if_interrupted();
      const std::string name = join(group, variable.name);
      require_as_laid_out(old, scope, variable, name);
      copy(old, file, variable, name);
    }
  };
  copy_all(root, "");
  for (const GroupSpec& group : layout.groups)
    if (group.name != "problem") copy_all({group, &root}, group.name);
  file.sync();
  throw_if_interrupted();
  const std::filesystem::perms permissions = std::filesystem::status(target).permissions();
  file.publish(true);
  std::error_code ignored;  // some file systems have no permissions
  std::filesystem::permissions(target, permissions, ignored);
  return file;
}

}  // namespace popflow

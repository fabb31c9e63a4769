#include "run/resume_config.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>

#include "popflow/last_state.hpp"
#include "popflow/registry.hpp"
#include "run/restart.hpp"

namespace popflow {

namespace {

std::string required_text(const DataFile& file, const std::string& group, const std::string& name) {
  const std::optional<std::string> text = file.text_attribute(group, name);
  if (!text)
    throw InputError(file.path() + " is not a whole popflow file: attribute '" + name +
                     "' is missing" + (group.empty() ? "" : " in group '" + group + "'"));
  return *text;
}

/// Do the times in the file agree with the plan? A run that stopped early has its stop's time at
/// one place.
bool agree(const std::vector<double>& times, const Schedule& plan) {
  if (times.size() != plan.size()) return false;
  std::size_t other = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) other += times[i] == plan[i] ? 0 : 1;
  return other <= 1;
}

/// Copies a variable into a file whose times go on beyond this one's: of each run the elements
/// there are.
void copy(const DataFile& from, TrajectoryFile& to, const VariableSpec& variable,
          const std::string& name) {
  const std::vector<std::size_t> shape = from.shape(name);
  const bool of_runs = !variable.dimensions.empty() && variable.dimensions[0] == "run";
  const std::size_t runs = of_runs ? shape.at(0) : 1;
  const std::size_t axis = of_runs ? 1 : 0;  // the first within a run
  const std::size_t there = to.size(name) / std::max<std::size_t>(runs, 1);
  if (variable.type != NumberType::float64) {
    const std::vector<std::int64_t> all = from.read(name).integers;
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
  if (shape.size() <= axis) {  // a number a run
    const std::vector<double> all = from.read(name).values;
    to.write(name, 0, std::span<const double>(all));
    return;
  }
  // Row by row along the first axis: a state of all saves need not fit the memory.
  std::vector<double> row(std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                                          shape.end(), std::size_t{1}, std::multiplies<>()));
  // Of a state at the ends, the stop's row belongs to the new end.
  const std::size_t rows = variable.dimensions[axis] == "time_state" ? 1 : shape[axis];
  for (std::size_t run = 0; run < runs; ++run) {
    const std::vector<std::size_t> prefix(axis, run);
    for (std::size_t i = 0; i < rows; ++i) {
      from.read_rows(name, prefix, i, 1, row.data());
      to.write(name, run * there + i * row.size(), std::span<const double>(row));
    }
  }
}

Attribute& attribute(GroupSpec& group, const std::string& name) {
  return *std::find_if(group.attributes.begin(), group.attributes.end(),
                       [&](const Attribute& a) { return a.name == name; });
}

/// The longer file tells of the run's beginning, too, and keeps the words that don't describe it.
void keep_history(const DataFile& old, GroupSpec& layout) {
  std::string& history = std::get<std::string>(attribute(layout, "history").value);
  history = required_text(old, "", "history") + "\n" + history;
  for (GroupSpec& group : layout.groups) {
    if (group.name == "provenance")
      attribute(group, "started").value = required_text(old, "provenance", "started");
    if (group.name != "parameters") continue;
    for (Attribute& kept : group.attributes) {
      if (kept.name == "config" || describes_run(kept.name)) continue;
      if (std::holds_alternative<std::string>(kept.value))
        kept.value = required_text(old, "parameters", kept.name);
      else if (const auto flag = old.number_attribute("parameters", kept.name))
        kept.value = static_cast<std::int8_t>(*flag);
    }
  }
}

}  // namespace

RunConfig recorded_config(const DataFile& file) {
  if (file.text_attribute("", "format") != "popflow")
    throw InputError(file.path() + " is not a popflow file");
  const std::optional<double> version = file.number_attribute("", "format_version");
  if (!version || *version > 1)
    throw InputError(file.path() + " has format version " +
                     (version ? shortest(*version) : std::string("none")) +
                     "; this program reads version 1");
  const std::string system = required_text(file, "", "system");
  const std::string text = required_text(file, "parameters", "config");
  RunConfig config = blaming_file(file.path(), [&] { return from_config_text(system, text); });
  if (!config.options.has("t-end"))
    throw InputError(file.path() + " is not a whole popflow file: its 'config' has no t-end");
  return config;
}

void use_own_problem(RunConfig& config, const DataFile& file, const std::string& problem) {
  config.options.unset("init-from");
  for (const Parameter& parameter : config.own.table())
    if (parameter.kind == Kind::path || parameter.name == "init-mix")
      config.own.unset(parameter.name);
  config.options.set("problem", std::filesystem::absolute(file.path()).string(), Origin::config);
  if (file.has_dataset(problem + "/V0") && config.own.find("init-value") != nullptr)
    config.own.resolve("init-value", std::string("problem"));
}

RunConfig config_of_file(const DataFile& file) {
  RunConfig config = recorded_config(file);
  use_own_problem(config, file, "problem");
  return config;
}

LastState load_last_state(const std::string& path, Workers& workers) {
  const DataFile file(path);
  if (file.text_attribute("", "mode") == "compare")
    throw InputError(path + " holds a comparison, not a run: it has no last state of its own");
  LastState last{config_of_file(file), nullptr, {}, 0};
  last.system = blaming_file(path, [&] {
    return find_system(last.config.system).make({last.config.own, last.config.options, workers});
  });
  Restart restart = read_restart(file, *last.system, 0, Slots::all);
  last.x = std::move(restart.x);
  last.t = restart.t;
  return last;
}

ResumePlan plan_resume(const std::string& path, const ResumeOptions& options) {
  const DataFile file(path);
  ResumePlan plan(config_of_file(file), recorded_config(file));
  const std::string status = required_text(file, "", "status");
  const double end = plan.config.options.real("t-end");
  plan.schedule = blaming_file(path, [&] { return make_schedule(plan.config.options, end); });
  if (!agree(file.read("time").values, plan.schedule))
    throw InputError(path + " is damaged: its times are not those of its parameters");
  plan.wall_time = file.number_attribute("provenance", "wall_time").value_or(0);
  plan.resumed =
      static_cast<std::int64_t>(file.number_attribute("provenance", "resumed").value_or(0));
  plan.recorded.command_line =
      "popflow resume " + path + (options.t_end ? " --t-end " + shortest(*options.t_end) : "");
  if (options.threads) plan.config.options.resolve("threads", std::int64_t{*options.threads});
  if (options.checkpoint_every)
    plan.config.options.resolve("checkpoint-every", *options.checkpoint_every);

  const bool unfinished = status == "running" || status == "interrupted";
  if (options.t_end && *options.t_end > end) {
    if (!unfinished && status != "complete")
      throw UsageError(path + " ended as '" + status +
                       "' and cannot be extended to t = " + shortest(*options.t_end));
    plan.extends = true;
    plan.spacing = read_spacing(file);
    plan.schedule = extend_schedule(plan.schedule, plan.spacing, *options.t_end);
    describe_schedule(plan.schedule, plan.config.options);
    describe_schedule(plan.schedule, plan.recorded.options);
    return plan;
  }
  if (options.t_end && *options.t_end < end)
    throw UsageError("--t-end is " + shortest(*options.t_end) + "; " + path +
                     " was planned to end at " + shortest(end) + " and can only be extended");
  if (!unfinished) {
    plan.finished = true;
    plan.why_finished = path + " is finished (" + status + "): nothing to do" +
                        (status == "complete" ? "; --t-end X extends it" : "");
  }
  return plan;
}

TrajectoryFile extend_file(const std::string& path, GroupSpec layout) {
  const DataFile old(path);
  keep_history(old, layout);
  TrajectoryFile file = TrajectoryFile::create_unpublished(path, layout);
  for (const VariableSpec& variable : layout.variables) copy(old, file, variable, variable.name);
  for (const GroupSpec& group : layout.groups) {
    if (group.name == "problem") continue;
    for (const VariableSpec& variable : group.variables)
      copy(old, file, variable, group.name + "/" + variable.name);
  }
  file.sync();
  file.publish(true);
  return file;
}

}  // namespace popflow

#include "run/resume_config.hpp"

#include <filesystem>

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

/// Copies the leading elements of a dataset that both files have.
void copy(const DataFile& from, TrajectoryFile& to, const std::string& name) {
  if (!to.has(name)) return;
  const std::vector<std::size_t> shape = from.shape(name);
  if (shape.empty()) {
    const DataArray all = from.read(name);
    all.integers.empty() ? to.write(name, 0, all.values[0]) : to.write(name, 0, all.integers[0]);
    return;
  }
  // Row by row along the first axis: a state of all saves need not fit the memory.
  std::size_t row = 1;
  for (std::size_t axis = 1; axis < shape.size(); ++axis) row *= shape[axis];
  const DataArray probe = shape.size() == 1 ? from.read(name) : DataArray{};
  if (!probe.integers.empty()) {
    const bool bytes = name == "events/kind";
    if (bytes)
      for (std::size_t i = 0; i < probe.integers.size(); ++i)
        to.write(name, i, static_cast<std::int8_t>(probe.integers[i]));
    else
      to.write(name, 0, std::span<const std::int64_t>(probe.integers));
    return;
  }
  std::vector<double> values(row);
  for (std::size_t i = 0; i < shape[0]; ++i) {
    from.read_rows(name, {}, i, 1, values.data());
    to.write(name, i * row, std::span<const double>(values));
  }
}

}  // namespace

RunConfig config_of_file(const DataFile& file) {
  if (file.text_attribute("", "format") != "popflow")
    throw InputError(file.path() + " is not a popflow file");
  const std::optional<double> version = file.number_attribute("", "format_version");
  if (!version || *version > 1)
    throw InputError(file.path() + " has format version " +
                     (version ? shortest(*version) : std::string("none")) +
                     "; this program reads version 1");
  const std::string system = required_text(file, "", "system");
  RunConfig config = from_config_text(system, required_text(file, "parameters", "config"));
  // The file's own problem stands for whatever it was made from.
  config.options.unset("init-from");
  for (const Parameter& parameter : config.own.table())
    if (parameter.kind == Kind::path || parameter.name == "init-mix")
      config.own.unset(parameter.name);
  config.options.set("problem", std::filesystem::absolute(file.path()).string(), Origin::config);
  if (file.has_dataset("problem/V0") && config.own.find("init-value") != nullptr)
    config.own.resolve("init-value", std::string("problem"));
  return config;
}

LastState load_last_state(const std::string& path, Workers& workers) {
  const DataFile file(path);
  LastState last{config_of_file(file), nullptr, {}, 0};
  last.system = find_system(last.config.system).make({last.config.own, last.config.options, workers});
  Restart restart = read_restart(file, *last.system);
  last.x = std::move(restart.x);
  last.t = restart.t;
  return last;
}

ResumePlan plan_resume(const std::string& path, const ResumeOptions& options) {
  const DataFile file(path);
  ResumePlan plan{config_of_file(file)};
  const std::string status = required_text(file, "", "status");
  const DataArray times = file.read("time");
  plan.schedule = times.values;
  plan.wall_time = file.number_attribute("provenance", "wall_time").value_or(0);
  plan.resumed =
      static_cast<std::int64_t>(file.number_attribute("provenance", "resumed").value_or(0));
  plan.config.command_line = "popflow resume " + path;
  if (options.threads) plan.config.options.resolve("threads", std::int64_t{*options.threads});
  if (options.checkpoint_every)
    plan.config.options.resolve("checkpoint-every", *options.checkpoint_every);

  const bool unfinished = status == "running" || status == "interrupted";
  const double end = plan.config.options.real("t-end");
  if (options.t_end && *options.t_end > end) {
    if (!unfinished && status != "complete")
      throw UsageError(path + " ended as '" + status + "' and cannot be extended to t = " +
                       shortest(*options.t_end));
    plan.extends = true;
    plan.schedule = extend_schedule(plan.schedule, plan.config.options, *options.t_end);
    plan.config.options.resolve("t-end", *options.t_end);
    if (!plan.config.options.has("save-at"))
      plan.config.options.resolve("saves", static_cast<std::int64_t>(plan.schedule.size()));
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

TrajectoryFile extend_file(const std::string& path, const GroupSpec& layout) {
  const DataFile old(path);
  TrajectoryFile file = TrajectoryFile::create_unpublished(path, layout);
  const auto copy_group = [&](const GroupSpec& group, const std::string& prefix) {
    for (const VariableSpec& variable : group.variables) {
      const std::string name = prefix + variable.name;
      const bool ends = !variable.dimensions.empty() && variable.dimensions[0] == "time_state";
      if (!ends) {
        copy(old, file, name);
        continue;
      }
      // The stop's row belongs to the new end.
      const std::vector<double> first = old.read_slab(name, {0});
      file.write(name, 0, std::span<const double>(first));
    }
  };
  copy_group(layout, "");
  for (const GroupSpec& group : layout.groups)
    if (group.name != "problem") copy_group(group, group.name + "/");
  file.write("saves_done", 0, old.read("saves_done").integers.at(0));
  file.sync();
  file.publish(true);
  return file;
}

}  // namespace popflow

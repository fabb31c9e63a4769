#include "sweep/columns.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>

#include "engine/described.hpp"
#include "engine/specs.hpp"
#include "observed/observed_info.hpp"
#include "plan/course.hpp"
#include "popflow/error.hpp"
#include "run/last_state.hpp"
#include "sweep/refusal.hpp"

namespace popflow {

namespace {

/// Largest state that is kept by default: numbers of a run's last state and passages.
constexpr std::size_t kSmallState = 1000;
constexpr double kSmallStates = 1024.0 * 1024 * 1024;

/// Number of places on an axis where systems are made to compare the sizes of their states.
constexpr std::size_t kProbes = 9;

/// Shapes of a System's states and passages.
struct StateShape {
  std::vector<std::string> fields;
  std::vector<std::string> passages;
  std::vector<DimensionSpec> dimensions;  ///< dimensions of states and passages
  std::size_t numbers = 0;

  explicit StateShape(const System& system)
      : fields(system.shape().fields), passages(system.shape().passages) {
    std::set<std::string> used;
    const auto add = [&](const std::vector<std::string>& names) {
      numbers += system.shape().size_of(names);
      used.insert(names.begin(), names.end());
    };
    for (const std::string& name : fields) add(field_info(system, name).dimensions);
    for (const std::string& name : passages) add(passage_info(system.info(), name).dimensions);
    for (const DimensionSpec& dimension : system.shape().dimensions)
      if (used.contains(dimension.name)) dimensions.push_back(dimension);
  }

  [[nodiscard]] bool like(const StateShape& other) const {
    const auto same = [](const DimensionSpec& a, const DimensionSpec& b) {
      return a.name == b.name && a.size == b.size && a.values == b.values;
    };
    return fields == other.fields && passages == other.passages &&
           std::equal(dimensions.begin(), dimensions.end(), other.dimensions.begin(),
                      other.dimensions.end(), same);
  }
};

/// Returns the numbers of at most `most` cells along each axis: those at both ends, and cells at
/// the beginning of the axis.
std::vector<std::uint64_t> probes(const Cells& cells, std::size_t most) {
  std::vector<std::uint64_t> numbers = {0};
  std::uint64_t stride = cells.whole();
  for (const Axis& axis : cells.axes()) {
    stride /= axis.size();
    const std::size_t count = std::min(axis.size(), most);
    for (std::size_t i = 1; i < count; ++i)
      numbers.push_back(stride * (i * (axis.size() - 1) / (count - 1)));
  }
  return numbers;
}

Made made(const Cells& cells, std::uint64_t number, const Catalogue& catalogue, Workers& workers) {
  return make_system(cells.config(number), catalogue, workers);
}

/// Returns the shape of a cell's states; none if the system refuses the cell and such cells are
/// marked.
std::optional<StateShape> shape_of(const Cells& cells, std::uint64_t number,
                                   const Catalogue& catalogue, Workers& workers) {
  try {
    return naming_cell(cells, number,
                       [&] { return StateShape(*made(cells, number, catalogue, workers).system); });
  } catch (const Error& error) {
    if (!is_refusal(error) || !cells.sweep().options.flag("keep-going")) throw;
  }
  return std::nullopt;
}

/// Returns unswept parameters of the system whose values are determined when it is made. Only those
/// count that are equal in the first cell and in those at the ends of the axes.
std::vector<std::pair<std::string, Value>> shared_settled_values(const Cells& cells,
                                                                 const Catalogue& catalogue,
                                                                 Workers& workers) {
  std::vector<std::pair<std::string, Value>> found;
  try {
    const Parameters given = cells.config(0).own;
    for (const std::uint64_t number : probes(cells, 2)) {
      const Parameters own = made(cells, number, catalogue, workers).own;
      if (number > 0)
        std::erase_if(found, [&](const auto& one) { return own.value(one.first) != one.second; });
      else
        for (const Parameter& row : own.table())
          if (!cells.sweeps(row.name) && own.text(row.name) != given.text(row.name))
            found.emplace_back(row.name, own.value(row.name));
      if (found.empty()) break;
    }
  } catch (const Error&) {  // the refusal is reported elsewhere
    return {};
  }
  return found;
}

/// Returns whether two cells can have different save times.
bool times_differ(const Cells& cells) {
  const Parameters& options = cells.sweep().options;
  const bool flow = !cells.noisy();
  const bool in_steps = counts_steps(options);
  if (flow || !in_steps)
    return !options.has("t-end") || cells.sweeps("t-end") || cells.sweeps("method") ||
           cells.sweeps("steps");
  for (const char* name : {"t-end", "steps", "learning-rate", "svag", "method"})
    if (cells.sweeps(name)) return true;
  return !options.has("t-end") && !options.has("steps");
}

/// Returns whether a cell can have final values. A swept option counts as having any value: sweeps
/// that differ in the values of an axis must have the same variables, because they may be merged.
bool may_have_finals(const Cells& cells, const SystemInfo& info) {
  if (info.finals.empty() || info.finals_with.empty()) return !info.finals.empty();
  const Parameters& own = cells.sweep().own;
  return std::any_of(info.finals_with.begin(), info.finals_with.end(), [&](const auto& setting) {
    return cells.sweeps(setting.option) ||
           (own.has(setting.option) &&
            (setting.word.empty() || own.word(setting.option) == setting.word));
  });
}

/// Returns the numbers of the training rule that cells can have.
std::vector<ObservableInfo> of_rule_in(const Cells& cells) {
  const Parameters& options = cells.sweep().options;
  const bool memory = options.given("optimizer") || cells.sweeps("optimizer");
  const bool descent =
      cells.sweeps("method") || (options.has("method") && options.word("method") == "euler");
  if (!observation_of(options).sharpness || !(cells.noisy() || memory || descent)) return {};
  return {sharpness_threshold()};
}

Observation observation_in(const Cells& cells) {
  Observation what = observation_of(cells.sweep().options);
  what.averages = what.averages || cells.sweeps("average");
  return what;
}

}  // namespace

std::size_t Table::add(VariableSpec spec, std::size_t numbers) {
  columns.push_back({std::move(spec), numbers, width});
  width += numbers;
  return columns.back().begin;
}

SweepColumns::SweepColumns(const Cells& cells, const Catalogue& catalogue, Workers& workers)
    : info(recorded_info(catalogue.info(cells.sweep().system), observation_in(cells))),
      of_rule(of_rule_in(cells)),
      series(cells.sweep().options.word("record") == "series"),
      noisy(cells.noisy()) {
  add_ends();
  add_state(cells, catalogue, workers);
  if (series) add_series(cells);
  add_cell(cells);
  settled = shared_settled_values(cells, catalogue, workers);
}

void SweepColumns::add_ends() {
  stop_time = of_run.add(variable("stop_time", {}, "flow time at which the run ended"));
  status = of_run.add(status_of_runs({}));
  accepted_steps = of_run.add(variable("accepted_steps", {}, "steps taken", NumberType::int64));
  if (!info.outcomes.empty())
    outcome = of_run.add(outcome_of(info, {}, "where the run has ended (-1: it is missing)"));
  observables = of_run.width;
  const auto add = [&](const ObservableInfo& one) {
    VariableSpec spec = variable_of(one, info, {}, Recorded::at_end);
    if (series) spec.name += "_end";
    of_run.add(std::move(spec));
  };
  std::ranges::for_each(info.observables, add);
  std::ranges::for_each(of_rule, add);
  events = of_run.width;
  for (const EventInfo& one : info.events) of_run.add(time_of(one, {}));
}

void SweepColumns::add_state(const Cells& cells, const Catalogue& catalogue, Workers& workers) {
  const Parameters& options = cells.sweep().options;
  const bool asked = options.has("state");
  const auto first = shape_of(cells, 0, catalogue, workers);
  finals = of_run.width;
  has_finals = may_have_finals(cells, info);
  if (has_finals)
    for (const FinalInfo& one : info.finals) of_run.add(variable_of(one, {}));
  passages = fields = of_run.width;
  if (!first || (asked && options.word("state") == "none")) return;
  const double bytes = 8.0 * static_cast<double>(first->numbers) *
                       static_cast<double>(cells.size()) * static_cast<double>(cells.runs());
  if (!asked && (first->numbers > kSmallState || bytes > kSmallStates)) return;
  for (const std::uint64_t number : probes(cells, kProbes)) {
    const auto other = shape_of(cells, number, catalogue, workers);
    if (!other || other->like(*first)) continue;
    if (asked)
      throw UsageError(
          "--state ends needs states of one shape in all cells, but those of the cells " +
          cells.describe(0) + " and " + cells.describe(number) + " differ");
    return;
  }
  dimensions = first->dimensions;
  const auto size = [&](const std::vector<std::string>& names) {
    std::size_t product = 1;
    for (const std::string& name : names)
      for (const DimensionSpec& dimension : dimensions)
        if (dimension.name == name) product *= dimension.size;
    return product;
  };
  passage_names = first->passages;
  for (const std::string& name : passage_names) {
    const PassageInfo& one = passage_info(info, name);
    of_run.add(variable_of(one, info, one.dimensions), size(one.dimensions));
  }
  fields = of_run.width;
  field_names = first->fields;
  for (const std::string& name : field_names)
    for (const FieldInfo& one : info.fields)
      if (one.name == name) {
        of_fields.push_back(of_run.columns.size());
        of_run.add(variable_of(one, info, one.dimensions, Recorded::at_end), size(one.dimensions));
      }
}

void SweepColumns::add_series(const Cells& cells) {
  const Parameters& options = cells.sweep().options;
  own_times = times_differ(cells);
  if (!own_times) {
    const RunConfig config = cells.config(0);
    const auto no_default = []() -> double {
      throw std::logic_error("cells whose ends are their systems' own save at times of their own");
    };
    times = course_of(config.options, mode_plan(config.options), no_default).schedule;
    saves = times.size();
  } else {
    saves = options.has("save-at") ? options.reals("save-at").size() + 1
                                   : static_cast<std::size_t>(options.integer("saves"));
  }
  series_at = of_run.width;
  const auto add = [&](const ObservableInfo& one) {
    of_run.add(variable_of(one, info, {own_times ? "save" : "time"}), saves);
  };
  std::ranges::for_each(info.observables, add);
  std::ranges::for_each(of_rule, add);
}

void SweepColumns::add_cell(const Cells& cells) {
  has_seed = cells.noisy() && !cells.sweeps("seed");
  if (has_seed) {
    VariableSpec spec =
        variable("seed", {}, "seed of the cell's noise and samples", NumberType::int64);
    seed = of_cell.add(std::move(spec));
  }
  constants = of_cell.width;
  // A label of this name is no parameter, and is refused elsewhere.
  const auto is_swept = [&](const std::string& name) {
    return std::ranges::any_of(cells.axes(), [&](const Axis& axis) {
      return std::ranges::any_of(axis.parameters, [&](const SweptParameter& swept) {
        return as_identifier(swept.name()) == name;
      });
    });
  };
  for (const ConstantInfo& one : info.constants) {
    if (is_swept(one.name)) continue;  // the coordinate has the values
    constant_names.push_back(one.name);
    of_cell.add(variable_of(one, {}));
  }
  cell_times = of_cell.width;
  if (own_times) of_cell.add(variable("time", {"save"}, "flow time"), saves);
}

}  // namespace popflow

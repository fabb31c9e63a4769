#include "popflow/function_system.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>

#include "popflow/datasets.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "popflow/problem_file.hpp"
#include "popflow/retraction.hpp"
#include "popflow/training.hpp"
#include "text/text.hpp"
#include "training/finite_data.hpp"

namespace popflow {

namespace {

using Axes = std::vector<std::pair<std::string, std::size_t>>;

/// Axes along which a field is recorded.
Axes axes_of(const Functions::Field& field) {
  if (!field.axes.empty() || field.start.size() == 1) return field.axes;
  return {{field.name + "_index", field.start.size()}};
}

/// Axes of a field, given its description. The description belongs to the default parameters, for
/// which the field's own axis may have a single entry and therefore be missing.
Axes axes_of(const Functions::Field& field, const FieldInfo& described) {
  const std::string own = field.name + "_index";
  if (field.axes.empty() && described.dimensions == std::vector<std::string>{own})
    return {{own, field.start.size()}};
  return axes_of(field);
}

[[noreturn]] void wrong(const SystemInfo& info, const std::string& sentence) {
  throw SystemError("the system " + info.name + ": " + sentence);
}

std::size_t entries(const Axes& axes) {
  std::size_t product = 1;
  for (const auto& [axis, size] : axes) product *= size;
  return product;
}

/// Names of the axes of the item `name`; describes axes that are new.
std::vector<std::string> named(const std::string& name, const Axes& axes, SystemInfo& info) {
  std::vector<std::string> names;
  for (const auto& [axis, size] : axes) {
    names.push_back(axis);
    const auto known = [&, of = axis](const DimensionInfo& other) { return other.name == of; };
    if (std::none_of(info.dimensions.begin(), info.dimensions.end(), known))
      info.dimensions.push_back({axis, "axis of " + name});
  }
  return names;
}

/// Symbol of a value, or its name if it has none, because files store a symbol for every value.
template <class Value>
std::string symbol_of(const Value& value) {
  return value.symbol.empty() ? value.name : value.symbol;
}

/// Tables of a system, from a set of functions.
SystemInfo info_of(const FunctionSystem& of, const Functions& functions) {
  SystemInfo info;
  info.name = of.name;
  info.title = of.title;
  info.source = of.source;
  info.equations = of.equations;
  info.parameters = of.parameters;
  info.end = of.end;
  info.unreduced = of.unreduced;
  info.figure = of.figure;
  info.figure_of_sweeps = of.figure_of_sweeps;
  for (const Functions::Field& field : functions.state)
    info.fields.push_back(
        {field.name, named(field.name, axes_of(field), info), symbol_of(field), field.meaning, ""});
  for (const Functions::Derived& derived : functions.derived)
    info.fields.push_back({derived.name, named(derived.name, derived.axes, info),
                           symbol_of(derived), derived.meaning, ""});
  for (const Functions::Derived& passage : functions.passages)
    info.passages.push_back({passage.name, named(passage.name, passage.axes, info),
                             symbol_of(passage), passage.meaning, ""});
  const bool is_estimated = std::ranges::any_of(
      functions.observables, [](const auto& one) { return one.name == "loss_standard_error"; });
  if (functions.loss)
    info.observables.push_back({"loss", "L",
                                is_estimated ? "estimated population loss" : "population loss", "",
                                functions.loss_floor});
  for (const auto& observable : functions.observables)
    info.observables.push_back(
        {observable.name, symbol_of(observable), observable.meaning, "", observable.floor});
  for (const auto& invariant : functions.invariants) {
    info.observables.push_back({invariant.name, symbol_of(invariant), invariant.meaning, ""});
    info.invariants.push_back(
        {invariant.name, InvariantInfo::Form::constant, invariant.meaning + " is conserved"});
  }
  for (const auto& event : functions.events) info.events.push_back({event.name, event.meaning});
  for (const auto& constant : functions.constants)
    info.constants.push_back({constant.name, symbol_of(constant), constant.meaning});
  for (const auto& array : functions.arrays)
    info.problem.push_back({array.name, named(array.name, array.axes, info), array.meaning});
  for (const auto& final : functions.finals)
    info.finals.push_back({final.name, symbol_of(final), final.meaning});
  info.outcomes = functions.outcomes;
  return info;
}

/// Entry of a table with this name; null if there is none.
template <class Row>
const Row* row_named(const std::vector<Row>& rows, const std::string& name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

/// Adds to the tables of a system the properties that only the states of noisy runs and sampled
/// training have.
void add_noisy(const SystemInfo& noisy, SystemInfo& info) {
  const auto add = [](const auto& from, auto& to, const auto&... more) {
    for (const auto& row : from)
      if (row_named(to, row.name) == nullptr) {
        to.push_back(row);
        (more(to.back()), ...);
      }
  };
  for (FieldInfo& field : info.fields)
    if (!noisy.fields.empty() && row_named(noisy.fields, field.name) == nullptr)
      field.when = "along the flow";
  add(noisy.fields, info.fields,
      [](FieldInfo& field) { field.when = "with noise or sampled training"; });
  add(noisy.dimensions, info.dimensions);
}

/// Checks that a problem has the contents that the tables describe. The tables are made for the
/// default problem, so every problem must have the same contents.
void require_as_described(const SystemInfo& info, const Functions& functions) {
  const auto names = [](const auto&... lists) {
    std::vector<std::string> all;
    (std::transform(lists.begin(), lists.end(), std::back_inserter(all),
                    [](const auto& value) { return value.name; }),
     ...);
    return all;
  };
  const auto require = [&](const char* what, const std::vector<std::string>& has,
                           const std::vector<std::string>& described) {
    if (has == described) return;
    const auto listed = [](const std::vector<std::string>& all) {
      std::string list;
      for (const std::string& one : all) list += (list.empty() ? "" : ", ") + one;
      return all.empty() ? std::string("none") : list;
    };
    wrong(info, std::string("it has the ") + what + " " + listed(has) +
                    "; with the defaults of its parameters it has " + listed(described) +
                    ", and names must not depend on values");
  };
  std::vector<std::string> observables = names(functions.observables, functions.invariants);
  if (functions.loss) observables.insert(observables.begin(), "loss");
  require("observables and invariants", observables, names(info.observables));
  std::vector<std::string> fields = names(functions.state, functions.derived), described;
  for (const FieldInfo& field : info.fields)
    if (field.when.empty() || std::find(fields.begin(), fields.end(), field.name) != fields.end())
      described.push_back(field.name);
  std::vector<std::string> in_order = fields, all = described;
  std::sort(in_order.begin(), in_order.end());
  std::sort(all.begin(), all.end());
  if (in_order != all) require("fields", fields, described);
  require("passages", names(functions.passages), names(info.passages));
  require("events", names(functions.events), names(info.events));
  require("constants", names(functions.constants), names(info.constants));
  require("arrays", names(functions.arrays), names(info.problem));
  require("final values", names(functions.finals), names(info.finals));
}

/// Adds the axes of a described item to the dimensions, each once.
void add_axes(const SystemInfo& info, const std::string& name, const Axes& axes,
              const std::vector<std::string>& described, Shape& shape) {
  std::vector<std::string> names;
  for (const auto& [axis, size] : axes) names.push_back(axis);
  if (names != described)
    wrong(info, name + " has " + std::to_string(entries(axes)) +
                    " numbers along other axes than with the defaults of its parameters; give its "
                    "axes names that do not depend on values");
  for (const auto& [axis, size] : axes) {
    if (size == 0) wrong(info, "the axis " + axis + " has no entries");
    const auto known =
        std::find_if(shape.dimensions.begin(), shape.dimensions.end(),
                     [&, of = axis](const DimensionSpec& d) { return d.name == of; });
    if (known == shape.dimensions.end())
      shape.dimensions.push_back({axis,
                                  size,
                                  DimensionSpec::Coordinate::index,
                                  {{"long_name", "axis of " + name}, {"units", std::string("1")}}});
    else if (known->size != size)
      wrong(info, "the axis " + axis + " has two lengths");
  }
}

Shape shape_of(const SystemInfo& info, const Functions& functions) {
  require_as_described(info, functions);
  Shape shape;
  if (functions.state.empty()) wrong(info, "it has no state");
  shape.approximation = functions.approximation;
  for (const Functions::Field& field : functions.state) {
    const FieldInfo& described = *row_named(info.fields, field.name);
    const Axes axes = axes_of(field, described);
    if (field.start.empty()) wrong(info, "the start of " + field.name + " has no numbers");
    if (entries(axes) != field.start.size())
      wrong(info, "the start of " + field.name + " has " + std::to_string(field.start.size()) +
                      " numbers; its axes say " + std::to_string(entries(axes)));
    if (!(field.scale > 0))
      wrong(info, "the scale of " + field.name + " is " + shortest(field.scale) +
                      "; it must be positive");
    shape.blocks.push_back({field.name, field.start.size(), field.scale});
    shape.fields.push_back(field.name);
    add_axes(info, field.name, axes, described.dimensions, shape);
  }
  for (const Functions::Derived& derived : functions.derived) {
    shape.fields.push_back(derived.name);
    add_axes(info, derived.name, derived.axes, row_named(info.fields, derived.name)->dimensions,
             shape);
  }
  auto passes = info.passages.begin();
  for (const Functions::Derived& passage : functions.passages) {
    shape.passages.push_back(passage.name);
    add_axes(info, passage.name, passage.axes, passes++->dimensions, shape);
  }
  auto stored = info.problem.begin();
  for (const Functions::Array& array : functions.arrays) {
    if (array.axes.empty() || array.axes.size() > 2)
      wrong(info, "the array " + array.name + " has " + std::to_string(array.axes.size()) +
                      " axes; it must have one or two");
    add_axes(info, array.name, array.axes, stored++->dimensions, shape);
    if (entries(array.axes) != array.values.size())
      wrong(info, "the array " + array.name + " has " + std::to_string(array.values.size()) +
                      " numbers; its axes say " + std::to_string(entries(array.axes)));
  }
  shape.finals = !functions.finals.empty();
  for (const auto& invariant : functions.invariants) shape.invariants.push_back(invariant.name);
  for (const auto& event : functions.events) shape.events.push_back(event.name);
  for (const auto& constant : functions.constants)
    shape.constants.emplace_back(constant.name, constant.value);
  return shape;
}

/// Throws SystemError for missing functions, and for a default end that is not after the start.
void require_functions(const SystemInfo& info, const Functions& functions) {
  if (!functions.rhs) wrong(info, "it has no right-hand side");
  const Functions::Vector none;
  const auto require = [&](const auto& values, const auto& function, const auto& of_all) {
    for (const auto& value : values)
      if (!(value.*function) && !of_all) wrong(info, value.name + " has no function");
  };
  require(functions.observables, &Functions::Observable::value, functions.all_observed);
  require(functions.invariants, &Functions::Invariant::value, functions.all_observed);
  require(functions.events, &Functions::Event::value, functions.all_events);
  require(functions.derived, &Functions::Derived::values, none);
  require(functions.passages, &Functions::Derived::values, none);
  require(functions.finals, &Functions::Final::value, functions.all_finals);
  if (functions.sample && functions.samples)
    wrong(info, "it has both `sample` and `samples`; give only one of them");
  if (bool(functions.outcome) == functions.outcomes.empty())
    wrong(info, "it must have both outcomes and a function for them, or neither");
  if (functions.precondition && !functions.loss)
    wrong(
        info,
        "it has a precondition but no loss; the precondition applies to the gradient of the loss");
  // If the end is infinite or NaN, the user must give one.
  if (functions.end <= 0)
    wrong(info, "its default end is " + shortest(functions.end) + "; it must be positive");
  if (!(functions.max_step > 0))
    wrong(info, "its longest step is " + shortest(functions.max_step) + "; it must be positive");
}

std::size_t state_size(const Functions& functions) {
  std::size_t size = 0;
  for (const Functions::Field& field : functions.state) size += field.start.size();
  return size;
}

bool has_lanes(const Functions& functions) {
  return functions.lanes && state_size(functions) <= kLargestInLanes;
}

/// Calls a function of a system. Its exceptions become SystemErrors whose message starts with
/// begin().
template <class Call, class Begin>
auto as_system_errors(Call call, Begin begin) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw SystemError(begin() + ": " + error.what());
  } catch (...) {
    throw SystemError(begin() + ": it threw an exception that is no std::exception");
  }
}

Functions make_functions(const FunctionSystem& of, const Parameters& own, const Setting& setting) {
  if (!of.functions) throw SystemError("the system " + of.name + ": it has no `functions`");
  return as_system_errors(
      [&] {
        Functions functions = of.functions(own, setting);
        add_finite(of.name, functions);
        return functions;
      },
      [&] { return "the system " + of.name + " could not be made"; });
}

/// Tables of a system for noisy runs and sampled training; empty if the system refuses both.
SystemInfo noisy_info(const FunctionSystem& of) {
  Setting noisy;
  noisy.noisy = true;
  try {
    return info_of(of, make_functions(of, Parameters(of.parameters), noisy));
  } catch (const UsageError&) {
    return {};
  }
}

/// System with its tables.
struct Described {
  FunctionSystem system;
  SystemInfo info;
  /// Exception for the default parameters, from which the tables are made.
  std::exception_ptr failed = nullptr;

  explicit Described(const FunctionSystem& of) : system(of) {
    try {
      info = info_of(of, make_functions(of, Parameters(of.parameters), {}));
      add_noisy(noisy_info(of), info);
    } catch (...) {  // reported on use, when the program can handle it
      info = info_of(of, {});
      failed = std::current_exception();
    }
    info.flow_in_lanes = [of](const Parameters& own) {
      try {
        return has_lanes(make_functions(of, own, {}));
      } catch (const UsageError&) {
        return false;  // the problem does not exist
      }
    };
  }

  [[nodiscard]] Functions make(const Parameters& own, const Setting& setting) const {
    if (failed) std::rethrow_exception(failed);
    return make_functions(system, own, setting);
  }
};

/// SIMD formulas of a problem; all null if it has none.
LaneFormulas lane_formulas_of(const SystemInfo& info, const Functions& functions,
                              const Shape& shape) {
  if (!functions.lanes) return {};
  const Functions::Lanes& lanes = *functions.lanes;
  if (lanes.rhs == nullptr || functions.events.empty() != (lanes.events == nullptr) ||
      functions.passages.empty() != (lanes.passages == nullptr))
    wrong(info,
          "its lanes need a right-hand side, and formulas of events and of passages where there "
          "are any");
  return {{lanes.of.size(), shape.state_size()},
          lanes.rhs,
          lanes.rhs_and_covariance,
          lanes.events,
          lanes.passages};
}

/// Calls a function of a system, with its name and the time in the message.
template <class Call>
auto of_system(const SystemInfo& info, const char* what, const std::string& name, double t,
               Call call) {
  const auto begin = [&] {
    return "the system " + info.name + ": its " + what + (name.empty() ? "" : " " + name) +
           " at t = " + shortest(t) + " failed";
  };
  return as_system_errors(
      [&] {
        try {
          return call();
        } catch (const Error& error) {
          // The options were valid, so the error belongs to the system.
          throw SystemError(begin() + ": " + error.what());
        }
      },
      begin);
}

/// System made of the functions of one problem.
class Composed : public System,
                 public GradientFlow,
                 public Jacobian,
                 public Events,
                 public ClosedForm,
                 public Sampled,
                 public Covariance,
                 public NoiseProjection,
                 public Outcomes,
                 public FinalValues,
                 public InLanes {
 public:
  Composed(std::shared_ptr<const Described> of, Functions functions, const Setting& setting)
      : of_(std::move(of)),
        functions_(std::move(functions)),
        shape_(shape_of(of_->info, functions_)),
        lane_formulas_(lane_formulas_of(of_->info, functions_, shape_)) {
    require_functions(of_->info, functions_);
    for (const Functions::Field& field : functions_.state)
      start_.insert(start_.end(), field.start.begin(), field.start.end());
    if (const LastState* last = whole_start(setting, shape_.blocks)) {
      start_.assign(last->x.begin(), last->x.end());
      from_file_ = true;
    }
  }

  [[nodiscard]] const SystemInfo& info() const override { return of_->info; }
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] double default_end() const override { return functions_.end; }
  [[nodiscard]] double first_stage_time() const override { return functions_.first_stage_time; }
  [[nodiscard]] std::vector<Note> notes() const override { return functions_.notes; }

  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities can;
    can.events = this;
    if (functions_.loss) can.gradient_flow = this;
    if (functions_.jacobian)
      can.jacobian = this;
    else if (!functions_.no_jacobian.empty())
      can.jacobian = Lacking{functions_.no_jacobian};
    if (functions_.project_noise) can.noise_projection = this;
    if (functions_.sample || functions_.samples) can.sampled = this;
    if (functions_.covariance) can.covariance = this;
    if (functions_.outcome) can.outcomes = this;
    if (!functions_.finals.empty()) can.final_values = this;
    if (functions_.solution && from_file_)
      can.closed_form = Lacking{"the exact solution holds for the system's own start only"};
    else if (functions_.solution)
      can.closed_form = this;
    if (has_lanes(functions_))
      can.in_lanes = this;
    else if (functions_.lanes)
      can.in_lanes = Lacking{"lanes hold states of up to " + std::to_string(kLargestInLanes) +
                             " numbers; this state has " + std::to_string(shape_.state_size())};
    can.jumps = functions_.jumps;
    can.longest_step = functions_.max_step;
    can.no_noise = functions_.no_noise;
    can.common_values = functions_.common_values;
    if (!functions_.no_noise.empty()) can.sampled = Lacking{functions_.no_noise};
    return can;
  }
  [[nodiscard]] GroupSpec problem() const override {
    GroupSpec group{"problem", {}, {}, {}, {}};
    for (const Functions::Array& array : functions_.arrays) {
      std::vector<std::string> axes;
      for (const auto& [axis, size] : array.axes) axes.push_back(axis);
      group.variables.push_back(dataset(array.name, std::move(axes), array.meaning));
      group.variables.back().data = array.values;
    }
    return group;
  }

  void start(std::span<double> x) const override {
    std::copy(start_.begin(), start_.end(), x.begin());
  }
  void rhs(StateView x, double t, std::span<double> dxdt) const override {
    of_system(info(), "right-hand side", "", t, [&] { functions_.rhs(x, t, dxdt); });
  }
  void observe(StateView x, double t, std::span<double> values) const override {
    std::size_t i = 0;
    if (functions_.loss) values[i++] = loss(x, t);
    if (functions_.all_observed) {
      of_system(info(), "observables", "", t,
                [&] { functions_.all_observed(x, t, values.subspan(i)); });
      return;
    }
    for (const auto& observable : functions_.observables)
      values[i++] = of_system(info(), "observable", observable.name, t,
                              [&] { return observable.value(x, t); });
    for (const auto& invariant : functions_.invariants)
      values[i++] =
          of_system(info(), "invariant", invariant.name, t, [&] { return invariant.value(x, t); });
  }
  void field(std::string_view name, StateView x, double t, const FieldSink& sink) const override {
    std::size_t begin = 0;
    for (const StateBlock& block : shape_.blocks) {
      if (block.name == name) sink(0, x.subspan(begin, block.size));
      begin += block.size;
    }
    for (const Functions::Derived& derived : functions_.derived) {
      if (derived.name != name) continue;
      std::vector<double> values(entries(derived.axes));
      of_system(info(), "field", derived.name, t, [&] { derived.values(x, t, values); });
      sink(0, values);
    }
  }

  [[nodiscard]] double loss(StateView x, double t) const override {
    return of_system(info(), "loss", "", t, [&] { return functions_.loss(x, t); });
  }
  void precondition(StateView x, std::span<double> v) const override {
    if (functions_.precondition)
      as_system_errors([&] { functions_.precondition(x, v); },
                       [&] { return "the system " + info().name + ": its precondition failed"; });
  }
  void jacobian(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> j,
                std::span<double> time_derivative) const override {
    RowMajor rows = RowMajor::Zero(j.rows(), j.cols());
    of_system(info(), "Jacobian", "", t, [&] {
      functions_.jacobian(x, {rows.data(), static_cast<std::size_t>(rows.size())});
    });
    j = rows;
    std::fill(time_derivative.begin(), time_derivative.end(), 0.0);
  }
  void event_functions(StateView x, double t, std::span<double> values) const override {
    if (functions_.all_events) {
      of_system(info(), "events", "", t, [&] { functions_.all_events(x, t, values); });
      return;
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = of_system(info(), "event", functions_.events[i].name, t,
                            [&] { return functions_.events[i].value(x, t); });
  }
  void passage_functions(StateView x, double t, std::span<double> values) const override {
    std::size_t begin = 0;
    for (const Functions::Derived& passage : functions_.passages) {
      const std::size_t size = entries(passage.axes);
      of_system(info(), "passage", passage.name, t,
                [&] { passage.values(x, t, values.subspan(begin, size)); });
      begin += size;
    }
  }
  [[nodiscard]] const LaneFormulas& lane_formulas() const override { return lane_formulas_; }
  void lane_parameters(std::span<double> of) const override {
    std::copy(functions_.lanes->of.begin(), functions_.lanes->of.end(), of.begin());
  }
  void closed_form(double t, std::span<double> x) const override {
    of_system(info(), "exact solution", "", t, [&] { functions_.solution(t, x); });
  }
  void add_sampled(StateView x, double t, const SampleKey& key, std::span<const double> weights,
                   std::span<double> out) const override {
    const std::vector<double> here(x.begin(), x.end());  // `out` may be x itself
    if (functions_.samples) {
      of_system(info(), "samples", "", t, [&] { functions_.samples(here, t, key, weights, out); });
      return;
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      RandomStream random = key.stream(i);
      of_system(info(), "sample", "", t, [&] { functions_.sample(here, random, weights[i], out); });
    }
  }
  void covariance(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> c) const override {
    RowMajor rows = RowMajor::Zero(c.rows(), c.cols());
    of_system(info(), "covariance", "", t, [&] {
      functions_.covariance(x, t, {rows.data(), static_cast<std::size_t>(rows.size())});
    });
    c = rows;
  }
  void project_noise(StateView x, std::span<double> noise) const override {
    as_system_errors(
        [&] { functions_.project_noise(x, noise); },
        [&] { return "the system " + info().name + ": its projection of noise failed"; });
  }
  [[nodiscard]] std::string outcome(StateView x, double t) const override {
    return of_system(info(), "outcome", "", t, [&] { return functions_.outcome(x, t); });
  }
  void final_values(StateView x, double t, std::span<double> values) const override {
    if (functions_.all_finals) {
      of_system(info(), "final values", "", t, [&] { functions_.all_finals(x, t, values); });
      return;
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = of_system(info(), "final value", functions_.finals[i].name, t,
                            [&] { return functions_.finals[i].value(x, t); });
  }

 private:
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  std::shared_ptr<const Described> of_;
  Functions functions_;
  Shape shape_;
  LaneFormulas lane_formulas_;
  std::vector<double> start_;
  bool from_file_ = false;
};

/// A composed System with weights on spheres.
class OnSpheres : public Composed, public Retraction {
 public:
  OnSpheres(std::shared_ptr<const Described> of, const Functions& functions, const Setting& setting)
      : Composed(std::move(of), functions, setting), is_noisy_(setting.noisy) {
    std::vector<double> x(shape().state_size());
    start(x);
    std::size_t begin = 0;
    for (const Functions::Field& field : functions.state) {
      const std::size_t rows = field.sphere && field.axes.size() == 2 ? field.axes[0].second : 1;
      const std::size_t size = field.start.size() / rows;
      for (std::size_t row = 0; row < rows && field.sphere; ++row)
        spheres_.push_back(
            {begin + row * size, size, norm(std::span(x).subspan(begin + row * size, size))});
      if (field.sphere) names_.push_back(field.name);
      begin += field.start.size();
    }
  }

  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities can = Composed::capabilities();
    if (is_noisy_) can.in_lanes = Lacking{manifold() + " has no SIMD lanes in runs with noise"};
    return can;
  }
  void retract(std::span<double> x) const override {
    for (const Sphere& sphere : spheres_) {
      const std::span<double> row = x.subspan(sphere.begin, sphere.size);
      const double scale = sphere.radius / norm(row);
      for (double& entry : row) entry *= scale;
    }
  }
  [[nodiscard]] std::string manifold() const override {
    return "the sphere of " + text::join(names_, ", ");
  }

 private:
  struct Sphere {
    std::size_t begin, size;
    double radius;
  };

  static double norm(std::span<const double> x) {
    double sum = 0;
    for (const double entry : x) sum += entry * entry;
    return std::sqrt(sum);
  }

  bool is_noisy_;
  std::vector<Sphere> spheres_;
  std::vector<std::string> names_;
};

}  // namespace

void read_problem(const Setting& setting, std::vector<Functions::Array>& arrays) {
  if (!setting.problem || arrays.empty()) return;
  std::vector<std::string> names;
  names.reserve(arrays.size());
  for (const Functions::Array& array : arrays) names.push_back(array.name);
  const ProblemFile file(*setting.problem, names);
  file.refuse_misspelt(names);
  for (Functions::Array& array : arrays) {
    if (!file.has(array.name)) continue;
    const std::string because = "the system's own " + array.name + " has that shape";
    if (array.axes.size() == 1) {
      const Eigen::VectorXd values = file.vector(array.name, array.axes[0].second, because);
      file.require_finite(array.name, ProblemFile::Matrix(values));
      array.values.assign(values.data(), values.data() + values.size());
    } else {
      const ProblemFile::Matrix values =
          file.matrix(array.name, array.axes.at(0).second, array.axes.at(1).second, because);
      file.require_finite(array.name, values);
      array.values = row_major(values);
    }
  }
}

const Retraction* retraction_of(const System& system) {
  const Capability<Training> training = system.capabilities().training;
  return dynamic_cast<const Retraction*>(training ? &training->trained() : &system);
}

CatalogueRow FunctionSystem::row() const {
  const auto described = std::make_shared<const Described>(*this);
  return {[described]() -> const SystemInfo& { return described->info; },
          [described](const Ingredients& from) -> std::unique_ptr<System> {
            Functions made = described->make(from.own, from.setting);
            if (made.use_workers) made.use_workers(from.workers);
            if (std::ranges::any_of(made.state, &Functions::Field::sphere))
              return std::make_unique<OnSpheres>(described, made, from.setting);
            return std::make_unique<Composed>(described, std::move(made), from.setting);
          }};
}

}  // namespace popflow

#include "popflow/function_system.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "popflow/error.hpp"

namespace popflow {

namespace {

using Axes = std::vector<std::pair<std::string, std::size_t>>;

/// The axes that a field is recorded along.
Axes axes_of(const Functions::Field& field) {
  if (!field.axes.empty() || field.start.size() == 1) return field.axes;
  return {{field.name + "_index", field.start.size()}};
}

std::size_t entries(const Axes& axes) {
  std::size_t product = 1;
  for (const auto& [axis, size] : axes) product *= size;
  return product;
}

/// The names of the axes of something called `name`; describes those that are new.
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

/// Files give every value a symbol: its own name where it has no other.
template <class Value>
std::string symbol_of(const Value& value) {
  return value.symbol.empty() ? value.name : value.symbol;
}

/// What a set of functions has, as the tables of a system.
SystemInfo info_of(const FunctionSystem& of, const Functions& functions) {
  SystemInfo info;
  info.name = of.name;
  info.title = of.title;
  info.source = of.source;
  info.equations = of.equations;
  info.parameters = of.parameters;
  info.end = of.end;
  info.unreduced = of.unreduced;
  for (const Functions::Field& field : functions.state)
    info.fields.push_back(
        {field.name, named(field.name, axes_of(field), info), symbol_of(field), field.meaning, ""});
  for (const Functions::Derived& derived : functions.derived)
    info.fields.push_back({derived.name, named(derived.name, derived.axes, info),
                           symbol_of(derived), derived.meaning, ""});
  for (const Functions::Derived& passage : functions.passages)
    info.passages.push_back({passage.name, named(passage.name, passage.axes, info),
                             symbol_of(passage), passage.meaning, ""});
  if (functions.loss) info.observables.push_back({"loss", "L", "population loss", ""});
  for (const auto& observable : functions.observables)
    info.observables.push_back({observable.name, symbol_of(observable), observable.meaning, ""});
  for (const auto& invariant : functions.invariants) {
    info.observables.push_back({invariant.name, symbol_of(invariant), invariant.meaning, ""});
    info.invariants.push_back(
        {invariant.name, InvariantInfo::Form::constant, invariant.meaning + " is conserved"});
  }
  for (const auto& event : functions.events) info.events.push_back({event.name, event.meaning});
  for (const auto& constant : functions.constants)
    info.constants.push_back({constant.name, symbol_of(constant), constant.meaning});
  return info;
}

/// Adds the axes of something called `name` to the dimensions, each once.
void add_dimensions(const std::string& name, const Axes& axes, Shape& shape) {
  for (const auto& [axis, size] : axes) {
    const auto known =
        std::find_if(shape.dimensions.begin(), shape.dimensions.end(),
                     [&, of = axis](const DimensionSpec& d) { return d.name == of; });
    if (known == shape.dimensions.end())
      shape.dimensions.push_back({axis,
                                  size,
                                  DimensionSpec::Coordinate::index,
                                  {{"long_name", "axis of " + name}, {"units", std::string("1")}}});
    else if (known->size != size)
      throw std::logic_error("the axis " + axis + " has two lengths");
  }
}

Shape shape_of(const Functions& functions) {
  Shape shape;
  for (const Functions::Field& field : functions.state) {
    const Axes axes = axes_of(field);
    if (entries(axes) != field.start.size())
      throw std::logic_error("the start of " + field.name + " has " +
                             std::to_string(field.start.size()) + " numbers; its axes say " +
                             std::to_string(entries(axes)));
    shape.blocks.push_back({field.name, field.start.size(), field.scale});
    shape.fields.push_back(field.name);
    add_dimensions(field.name, axes, shape);
  }
  for (const Functions::Derived& derived : functions.derived) {
    shape.fields.push_back(derived.name);
    add_dimensions(derived.name, derived.axes, shape);
  }
  for (const Functions::Derived& passage : functions.passages) {
    shape.passages.push_back(passage.name);
    add_dimensions(passage.name, passage.axes, shape);
  }
  for (const auto& invariant : functions.invariants) shape.invariants.push_back(invariant.name);
  for (const auto& event : functions.events) shape.events.push_back(event.name);
  for (const auto& constant : functions.constants)
    shape.constants.emplace_back(constant.name, constant.value);
  return shape;
}

bool small_enough(const Shape& shape) { return shape.state_size() <= kLargestInLanes; }

/// Do flows of the problem with these parameters have lanes?
bool has_lanes(const FunctionSystem& of, const Parameters& own) {
  try {
    const Functions functions = of.functions(own, {});
    return functions.lanes && small_enough(shape_of(functions));
  } catch (const UsageError&) {
    return false;  // there is no such problem
  }
}

/// The formulas of a problem for many side by side; all null without any.
LaneFormulas lane_formulas_of(const Functions& functions, const Shape& shape) {
  if (!functions.lanes) return {};
  const Functions::Lanes& lanes = *functions.lanes;
  if (lanes.rhs == nullptr || functions.events.empty() != (lanes.events == nullptr) ||
      functions.passages.empty() != (lanes.passages == nullptr))
    throw std::logic_error(
        "lanes need a right-hand side, and formulas of events and of passages where there are any");
  return {{lanes.of.size(), shape.state_size()}, lanes.rhs, nullptr, lanes.events, lanes.passages};
}

/// The functions of one problem, as a System.
class Composed : public System,
                 public GradientFlow,
                 public Jacobian,
                 public Events,
                 public ClosedForm,
                 public Sampled,
                 public InLanes {
 public:
  Composed(const SystemInfo& info, Functions functions, const Setting& setting)
      : info_(info),
        functions_(std::move(functions)),
        shape_(shape_of(functions_)),
        lane_formulas_(lane_formulas_of(functions_, shape_)) {
    require_same_names();
    for (const Functions::Field& field : functions_.state)
      start_.insert(start_.end(), field.start.begin(), field.start.end());
    if (const LastState* last = whole_start(setting, shape_.blocks)) {
      start_.assign(last->x.begin(), last->x.end());
      from_file_ = true;
    }
  }

  [[nodiscard]] const SystemInfo& info() const override { return info_; }
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] double default_end() const override { return functions_.end; }
  [[nodiscard]] std::vector<Note> notes() const override { return functions_.notes; }

  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities can;
    can.events = this;
    if (functions_.loss) can.gradient_flow = this;
    if (functions_.jacobian) can.jacobian = this;
    if (functions_.sample) can.sampled = this;
    if (functions_.solution && from_file_)
      can.closed_form = Lacking{"the exact solution holds for the system's own start only"};
    else if (functions_.solution)
      can.closed_form = this;
    if (functions_.lanes && small_enough(shape_))
      can.in_lanes = this;
    else if (functions_.lanes)
      can.in_lanes = Lacking{"they hold states of up to " + std::to_string(kLargestInLanes) +
                             " numbers, and this has " + std::to_string(shape_.state_size())};
    can.jumps = functions_.jumps;
    can.no_noise = functions_.no_noise;
    if (!functions_.no_noise.empty()) can.sampled = Lacking{functions_.no_noise};
    return can;
  }

  void start(std::span<double> x) const override {
    std::copy(start_.begin(), start_.end(), x.begin());
  }
  void rhs(StateView x, double t, std::span<double> dxdt) const override {
    functions_.rhs(x, t, dxdt);
  }
  void observe(StateView x, double t, std::span<double> values) const override {
    std::size_t i = 0;
    if (functions_.loss) values[i++] = functions_.loss(x, t);
    for (const auto& observable : functions_.observables) values[i++] = observable.value(x, t);
    for (const auto& invariant : functions_.invariants) values[i++] = invariant.value(x, t);
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
      derived.values(x, t, values);
      sink(0, values);
    }
  }

  [[nodiscard]] double loss(StateView x, double t) const override { return functions_.loss(x, t); }
  void precondition(StateView x, std::span<double> v) const override {
    if (functions_.precondition) functions_.precondition(x, v);
  }
  void jacobian(StateView x, double /*t*/, Eigen::Ref<Eigen::MatrixXd> j,
                std::span<double> time_derivative) const override {
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    RowMajor rows = RowMajor::Zero(j.rows(), j.cols());
    functions_.jacobian(x, {rows.data(), static_cast<std::size_t>(rows.size())});
    j = rows;
    std::fill(time_derivative.begin(), time_derivative.end(), 0.0);
  }
  void event_functions(StateView x, double t, std::span<double> values) const override {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = functions_.events[i].value(x, t);
  }
  void passage_functions(StateView x, double t, std::span<double> values) const override {
    std::size_t begin = 0;
    for (const Functions::Derived& passage : functions_.passages) {
      const std::size_t size = entries(passage.axes);
      passage.values(x, t, values.subspan(begin, size));
      begin += size;
    }
  }
  [[nodiscard]] const LaneFormulas& lane_formulas() const override { return lane_formulas_; }
  void lane_parameters(std::span<double> of) const override {
    std::copy(functions_.lanes->of.begin(), functions_.lanes->of.end(), of.begin());
  }
  void closed_form(double t, std::span<double> x) const override { functions_.solution(t, x); }
  void add_sampled(StateView x, double /*t*/, const SampleKey& key, std::span<const double> weights,
                   std::span<double> out) const override {
    const std::vector<double> here(x.begin(), x.end());  // `out` may be x itself
    for (std::size_t i = 0; i < weights.size(); ++i) {
      RandomStream random = key.stream(i);
      functions_.sample(here, random, weights[i], out);
    }
  }

 private:
  /// The tables describe what the default problem has, so every problem must have it.
  void require_same_names() const {
    std::vector<std::string> ours, theirs;
    if (functions_.loss) ours.push_back("loss");
    for (const auto& observable : functions_.observables) ours.push_back(observable.name);
    for (const auto& invariant : functions_.invariants) ours.push_back(invariant.name);
    for (const auto& observable : info_.observables) theirs.push_back(observable.name);
    for (const auto& name : shape_.fields) ours.push_back(name);
    for (const auto& field : info_.fields) theirs.push_back(field.name);
    for (const auto& name : shape_.passages) ours.push_back(name);
    for (const auto& passage : info_.passages) theirs.push_back(passage.name);
    for (const auto& name : shape_.events) ours.push_back(name);
    for (const auto& event : info_.events) theirs.push_back(event.name);
    if (ours != theirs)
      throw std::logic_error(info_.name +
                             " has other observables, fields or events than with the "
                             "defaults of its parameters");
  }

  const SystemInfo& info_;
  Functions functions_;
  Shape shape_;
  LaneFormulas lane_formulas_;
  std::vector<double> start_;
  bool from_file_ = false;
};

}  // namespace

CatalogueRow FunctionSystem::row() const {
  struct Row {
    FunctionSystem system;
    SystemInfo info;
  };
  const auto row = std::make_shared<Row>(Row{*this, {}});
  row->info = info_of(*this, functions(Parameters(parameters), {}));
  row->info.flow_in_lanes = [of = *this](const Parameters& own) { return has_lanes(of, own); };
  return {[row]() -> const SystemInfo& { return row->info; },
          [row](const Ingredients& from) -> std::unique_ptr<System> {
            return std::make_unique<Composed>(
                row->info, row->system.functions(from.own, from.setting), from.setting);
          }};
}

}  // namespace popflow

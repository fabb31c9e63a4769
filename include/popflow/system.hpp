#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "popflow/capabilities.hpp"
#include "popflow/file_layout.hpp"
#include "popflow/state_view.hpp"
#include "popflow/system_info.hpp"

namespace popflow {

/// Takes elements [first, first + values.size()) of a row-major field. Large fields come in pieces,
/// so that recording a state needs no second copy of it, and from several threads at once.
using FieldSink = std::function<void(std::size_t first, std::span<const double> values)>;

/// A note shown at the start of a run.
struct Note {
  std::string text;
  bool warning = false;  ///< the user should not miss it (a step that will be unstable)
};

/// A problem with its flow. Knows nothing of integrators, noise, files or the command line.
///
/// The integration state need not be what is recorded: a System may integrate deviations from the
/// start (so that a drift of 1e-9 does not drown in rounding) and provide fields in the papers'
/// terms. States are flat arrays of Shape::state_size() doubles, blocks one after the other.
class System {
 public:
  virtual ~System() = default;

  [[nodiscard]] virtual const SystemInfo& info() const = 0;
  [[nodiscard]] virtual const Shape& shape() const = 0;
  /// What it can do beyond what follows.
  [[nodiscard]] virtual Capabilities capabilities() const { return {}; }

  /// Writes the start.
  virtual void start(std::span<double> x) const = 0;
  /// dx/dt; `x` and `dxdt` don't overlap.
  virtual void rhs(StateView x, double t, std::span<double> dxdt) const = 0;
  /// All of info().observables, in that order; NaN where one is undefined. Bound tables
  /// (bound.hpp) keep names and numbers together.
  virtual void observe(StateView x, double t, std::span<double> values) const = 0;
  /// Hands the recorded field called `name`, one of shape().fields, to `sink`, in one piece or in
  /// several, row-major.
  virtual void field(std::string_view name, StateView x, double t, const FieldSink& sink) const = 0;

  /// The matrices of the problem, as a run's file stores them and as `--problem` reads them.
  [[nodiscard]] virtual GroupSpec problem() const { return {"problem", {}, {}, {}, {}}; }
  /// Datasets besides the state that are constant in time (positions of a support, say).
  [[nodiscard]] virtual std::vector<VariableSpec> constants_of_fields() const { return {}; }
  /// A time by which the dynamics of interest are over. Where it is not finite, one has to be
  /// given.
  [[nodiscard]] virtual double default_end() const = 0;
  /// Time that its first stage takes, roughly, where later ones may take far longer: a run that
  /// goes on for much longer is by default recorded at times equally spaced in log t. 0: there is
  /// no such stage.
  [[nodiscard]] virtual double first_stage_time() const { return 0; }
  /// Notes to be shown at the start of a run (a property of this problem, a coordinate that
  /// would be much faster).
  [[nodiscard]] virtual std::vector<Note> notes() const { return {}; }
};

}  // namespace popflow

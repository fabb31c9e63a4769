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

/// Receives elements [first, first + values.size()) of a row-major field. Large fields arrive in
/// pieces, possibly from several threads at once, so that recording needs no second copy.
using FieldSink = std::function<void(std::size_t first, std::span<const double> values)>;

/// A note shown at the start of a run.
struct Note {
  std::string text;
  bool warning = false;  ///< whether the user must not miss it (an unstable step)
};

/// A problem with its flow. Independent of integrators, noise, files and the command line.
///
/// The integration state and the recorded fields may differ. For example, a System may integrate
/// deviations from the start, so that a drift of 1e-9 is not lost in rounding, and provide fields
/// in the notation of the paper. States are flat arrays of Shape::state_size() doubles, blocks one
/// after the other.
class System {
 public:
  virtual ~System() = default;

  [[nodiscard]] virtual const SystemInfo& info() const = 0;
  [[nodiscard]] virtual const Shape& shape() const = 0;
  /// Optional capabilities of the System.
  [[nodiscard]] virtual Capabilities capabilities() const { return {}; }

  /// Writes the start.
  virtual void start(std::span<double> x) const = 0;
  /// Writes dx/dt; `x` and `dxdt` don't overlap.
  virtual void rhs(StateView x, double t, std::span<double> dxdt) const = 0;
  /// Writes all of info().observables, in that order; NaN where one is undefined. Bound tables
  /// (bound.hpp) keep names and numbers together.
  virtual void observe(StateView x, double t, std::span<double> values) const = 0;
  /// Hands the recorded field called `name`, one of shape().fields, to `sink`, in one piece or in
  /// several, row-major.
  virtual void field(std::string_view name, StateView x, double t, const FieldSink& sink) const = 0;

  /// Matrices of the problem, as stored in a run's file and read by `--problem`.
  [[nodiscard]] virtual GroupSpec problem() const { return {"problem", {}, {}, {}, {}}; }
  /// Datasets besides the state that are constant in time, such as positions of a support.
  [[nodiscard]] virtual std::vector<VariableSpec> constants_of_fields() const { return {}; }
  /// Time by which the dynamics of interest are over. If it is not finite, the user must give an
  /// end.
  [[nodiscard]] virtual double default_end() const = 0;
  /// Rough duration of the first stage, if later stages may take far longer; 0 if there is no such
  /// stage. A run that is much longer is by default recorded at times equally spaced in log t.
  [[nodiscard]] virtual double first_stage_time() const { return 0; }
  /// Notes shown at the start of a run, such as a property of the problem or faster coordinates.
  [[nodiscard]] virtual std::vector<Note> notes() const { return {}; }
};

}  // namespace popflow

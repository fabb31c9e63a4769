#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "popflow/parameter.hpp"
#include "popflow/random.hpp"
#include "popflow/trajectory_file.hpp"
#include "popflow/workers.hpp"

namespace popflow {

// ---- What a system is, before any problem is drawn: the reference page, and the names of all
// ---- that its instances can hold.

struct DimensionInfo {
  std::string name;
  std::string meaning;
};

/// A recorded state field, by the paper's name.
struct FieldInfo {
  std::string name;
  std::vector<std::string> dimensions;  ///< without run and time
  std::string symbol;
  std::string meaning;    ///< becomes long_name
  std::string source;     ///< equation or section
  std::string when = {};  ///< in which variant it is there; empty: always
};

struct ObservableInfo {
  std::string name;
  std::string symbol;
  std::string meaning;
  std::string source;
};

/// Something that happens once: the first upward crossing of zero of a function of the state.
struct EventInfo {
  std::string name;
  std::string meaning;
  std::string after = {};  ///< looked for only from this event on
};

/// A conserved quantity, by the observable that shows it.
struct InvariantInfo {
  enum class Form {
    zero,      ///< the observable itself is the drift
    constant,  ///< the drift is the observable's change since the start
  };
  std::string observable;
  Form form = Form::zero;
  std::string meaning;  ///< what is conserved, and when
};

/// The times at which many items (tokens, say) each pass a level for the first time: a dataset of
/// its own, since events have room for few.
struct PassageInfo {
  std::string name;
  std::vector<std::string> dimensions;
  std::string symbol;
  std::string meaning;
  std::string source;
};

/// Where a run can have ended, in the system's own terms.
struct OutcomeInfo {
  std::string word;  ///< at most 16 letters
  std::string meaning;
};

/// A stage of a training whose rule changes on the way.
struct StageInfo {
  std::string word;  ///< without blanks
  std::string meaning;
};

/// A number that is told of the end of a run alone: of what its last state is made into.
struct FinalInfo {
  std::string name;
  std::string symbol;
  std::string meaning;
  bool warns = false;  ///< counts what went wrong, and is 0 when nothing did
};

/// A dataset of a problem file.
struct ProblemDatasetInfo {
  std::string name;
  std::vector<std::string> dimensions;
  std::string meaning;  ///< with what is checked of it
};

struct ConstantInfo {
  std::string name;
  std::string symbol;
  std::string meaning;
};

/// Everything that can be said of a system without a problem. One static instance per system.
struct SystemInfo {
  std::string name;
  std::string title;      ///< a line
  std::string source;     ///< the paper
  std::string equations;  ///< plain text, several lines
  ParameterTable parameters;
  std::vector<DimensionInfo> dimensions;
  std::vector<FieldInfo> fields;
  std::vector<ObservableInfo> observables;
  std::vector<EventInfo> events;
  std::vector<InvariantInfo> invariants;
  std::vector<ConstantInfo> constants;
  std::vector<ProblemDatasetInfo> problem = {};  ///< what --problem reads
  std::string end = {};                          ///< the default of --t-end, in a sentence
  std::vector<PassageInfo> passages = {};
  std::vector<OutcomeInfo> outcomes = {};  ///< beside "undecided"; empty: the system has none
  std::vector<StageInfo> stages = {};      ///< in their order; empty: the system has none
  std::vector<FinalInfo> finals = {};
};

// ---- What one instance (a problem in chosen coordinates) holds.

/// A stretch of the integration state whose entries share a natural size: absolute tolerances are
/// multiples of it.
struct StateBlock {
  std::string name;
  std::size_t size = 0;
  double scale = 1;
};

/// The names chosen from SystemInfo, and the sizes.
struct Shape {
  std::vector<StateBlock> blocks;         ///< in the order of the state vector
  std::vector<DimensionSpec> dimensions;  ///< of fields and problem
  std::vector<std::string> fields;        ///< recorded state fields of this variant
  std::vector<std::string> invariants;    ///< observables of the invariants that hold here
  std::vector<std::string> events;        ///< events that are defined here
  std::vector<std::pair<std::string, double>> constants;
  std::vector<std::string> passages = {};  ///< passages that are defined here
  bool stages = false;                     ///< is it trained in the stages of SystemInfo?
  bool finals = false;                     ///< are the numbers of its end told?
  [[nodiscard]] std::size_t state_size() const;
  /// Product of the sizes of dimensions that `dimensions` names.
  [[nodiscard]] std::size_t size_of(const std::vector<std::string>& names) const;
};

/// Takes elements [first, first + values.size()) of a row-major field. Large fields come in pieces,
/// so that recording a state needs no second copy of it, and from several threads at once.
using FieldSink = std::function<void(std::size_t first, std::span<const double> values)>;

/// A problem with its flow. Knows nothing of integrators, noise, files or the command line.
///
/// The integration state need not be what is recorded: a System may integrate deviations from the
/// start (so that a drift of 1e-9 does not drown in rounding) and hand out fields in the papers'
/// terms. States are flat arrays of Shape::state_size() doubles, blocks one after the other.
class System {
 public:
  virtual ~System() = default;

  [[nodiscard]] virtual const SystemInfo& info() const = 0;
  [[nodiscard]] virtual const Shape& shape() const = 0;
  /// Datasets beside the state that don't change in time (positions of a support, say).
  [[nodiscard]] virtual std::vector<VariableSpec> constants_of_fields() const { return {}; }
  /// The matrices of the problem, as a run's file stores them and as `--problem` reads them.
  [[nodiscard]] virtual GroupSpec problem() const = 0;
  /// A time by which the interesting part is over.
  [[nodiscard]] virtual double default_end() const = 0;
  /// Sentences worth telling at the start of a run (a property of this problem, a coordinate that
  /// would be much faster).
  [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }
  /// Sentences that the user should not miss at the start of a run (a step that will be unstable).
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }

  /// Writes the start.
  virtual void start(std::span<double> x) const = 0;
  /// dx/dt; `x` and `dxdt` have state_size() elements and don't overlap.
  virtual void rhs(std::span<const double> x, double t, std::span<double> dxdt) const = 0;

  /// The Jacobian of the right-hand side, for implicit methods. A System that has none says why.
  [[nodiscard]] virtual bool has_jacobian() const { return false; }
  [[nodiscard]] virtual std::string why_no_jacobian() const { return info().name + " has none"; }
  /// J(i,j) = d(dx_i/dt)/dx_j, and the explicit time derivative of the right-hand side.
  virtual void jacobian(std::span<const double> x, double t, Eigen::Ref<Eigen::MatrixXd> j,
                        std::span<double> time_derivative) const;

  /// A non-smooth term handled by splitting: after each smooth step of length dt the driver calls
  /// proximal(x, dt). Only asked for when has_proximal().
  [[nodiscard]] virtual bool has_proximal() const { return false; }
  virtual void proximal(std::span<double> /*x*/, double /*dt*/) const {}

  /// All of info().observables, in that order; NaN where one is not defined.
  virtual void observe(std::span<const double> x, double t, std::span<double> values) const = 0;
  /// Hands the recorded field shape().fields[i] to `sink`, in one piece or in several, row-major.
  virtual void field(std::size_t i, std::span<const double> x, double t,
                     const FieldSink& sink) const = 0;
  /// The functions whose upward zero crossings are the events shape().events, in that order.
  virtual void event_functions(std::span<const double> x, double t, std::span<double> values) const;
  /// The functions whose first upward zero crossings are shape().passages, all items of one after
  /// those of another, row-major; NaN for an item that has none.
  virtual void passage_functions(std::span<const double> x, double t,
                                 std::span<double> values) const;

  /// One of info().outcomes for a run that has come to x, or "undecided".
  [[nodiscard]] virtual std::string outcome(std::span<const double> /*x*/, double /*t*/) const {
    return "undecided";
  }

  /// The numbers SystemInfo::finals for a run that ends at x, in that order. Only asked for where
  /// Shape::finals says so. The state itself stays as it is.
  virtual void final_values(std::span<const double> /*x*/, double /*t*/,
                            std::span<double> /*values*/) const {}

  /// The exact state at time t of a run from the start, where there is a closed form.
  [[nodiscard]] virtual bool has_closed_form() const { return false; }
  virtual void closed_form(double t, std::span<double> x) const;

  // ---- Noise: how one minibatch gradient is drawn. All else about noise is no System's business.

  /// Is there a sampled model in these coordinates? A System without one says why.
  [[nodiscard]] virtual bool has_samples() const { return false; }
  [[nodiscard]] virtual std::string why_no_samples() const {
    return info().name + " has no sampled model";
  }
  /// Adds sum_i weights[i] v_i to `out`, v_i being minus the gradient of sample i at x, with the
  /// flow's own preconditioner and projection: the expectation of v_i is rhs (in the limit that the
  /// flow takes). Sample i comes from key.stream(i). `out` may be x itself.
  virtual void add_sampled(std::span<const double> x, double t, const SampleKey& key,
                           std::span<const double> weights, std::span<double> out) const;
  /// Does covariance() know the covariance of one sample's v_i without drawing any?
  [[nodiscard]] virtual bool has_covariance() const { return false; }
  /// Cov(v_i) at x, state_size() x state_size(). For Systems with few numbers.
  virtual void covariance(std::span<const double> x, double t, Eigen::Ref<Eigen::MatrixXd> c) const;
  /// Why the coordinates allow no noise at all, because they are not exact in law; empty: they do.
  [[nodiscard]] virtual std::string why_no_noise() const { return ""; }
  /// Projects noise on the linear invariants that every single sample keeps.
  virtual void project_noise(std::span<double> /*noise*/) const {}
  /// The same at x, where they depend on the stage that x is in.
  virtual void project_noise_at(std::span<const double> /*x*/, std::span<double> noise) const {
    project_noise(noise);
  }

  // A right-hand side that jumps on surfaces (a relu's kink) is smooth between them: such a System
  // keeps the mode it is in (which side, or sliding along) as entries of the state with a zero
  // derivative (methods keep those up to rounding only), and says when it ends. No step of a flow
  // crosses a surface in the wrong mode; a noisy run changes its mode after the first step at whose
  // end the present one is over. Stages of a training are modes, too.

  /// Number of functions that are positive as long as the present mode is the right one.
  [[nodiscard]] virtual std::size_t switches() const { return 0; }
  virtual void switch_functions(std::span<const double> /*x*/, double /*t*/,
                                std::span<double> /*values*/) const {}
  /// One of them has come down to zero: enters the mode that holds from here on.
  virtual void switch_mode(std::span<double> /*x*/, double /*t*/) const {}
  /// Has the system come to rest for good, so that no mode or noise moves x any more?
  [[nodiscard]] virtual bool at_rest(std::span<const double> /*x*/) const { return false; }
  /// Which of SystemInfo::stages x is in, counted from 1. Only asked for where Shape::stages says
  /// so.
  [[nodiscard]] virtual std::int8_t stage(std::span<const double> /*x*/) const { return 1; }
};

/// Items of all of a system's passages together.
std::size_t passage_items(const System& system);
/// The SystemInfo entry of a passage.
const PassageInfo& passage_info(const System& system, const std::string& name);

/// Bytes in words: "1.6 MB" (powers of 1000).
std::string describe_bytes(double bytes);
/// Bytes of memory this machine has.
double physical_memory();
/// Throws UsageError that names the need when `doubles` numbers exceed the machine's memory.
void require_memory(double doubles, const std::string& what);

}  // namespace popflow

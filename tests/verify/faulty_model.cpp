#include "verify/faulty_model.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "popflow/system.hpp"

namespace popflow::test {
namespace {

constexpr double kDeviation = 0.5;  // standard deviation of a sample's entries
constexpr double kUndrawn = 1e-7;   // share of samples that no test meets

SystemInfo model_info() {
  SystemInfo info;
  info.name = "model";
  info.title = "three numbers that approach their mean";
  info.source = "a test";
  info.equations = "dx/dt = -(x - mean x)";
  info.parameters = {{.name = "coordinates",
                      .kind = Kind::word,
                      .default_text = "full",
                      .meaning = "all numbers, or the first two, the others being equal",
                      .words = {"full", "reduced"}},
                     {.name = "length",
                      .kind = Kind::integer,
                      .default_text = "10",
                      .meaning = "the bias falls as one over it"}};
  info.observables = {{"loss", "L", "half the squared distance from the mean", "a test", 1e-16},
                      {"sum", "s", "sum of the numbers", "a test"}};
  info.dimensions = {{"x_index", "entries"}};
  info.fields = {{"x", {"x_index"}, "x", "the numbers", ""}};
  info.outcomes = {{"together", "the numbers are equal"}};
  info.invariants = {{"sum", InvariantInfo::Form::constant, "the sum"}};
  info.problem = {{"x0", {"x_index"}, "the start"}};
  info.unreduced = {{"coordinates", "full"}};
  return info;
}

/// Computes x' = -(x - mean x) in lanes, in the first `Rows` of three rows. With `Shift` > 0 lanes
/// read each other's states, which is a fault.
template <std::size_t Shift, std::size_t Rows>
void lane_flow(const LaneSizes& /*sizes*/, const double* of, const double* x, double* out) {
  for (std::size_t i = 0; i < Rows; ++i)
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double* at = x + (l + Shift) % kLanes;
      const double mean = (at[0] + at[kLanes] + at[2 * kLanes]) / 3;
      out[i * kLanes + l] = of[l] * (at[i % 3 * kLanes] - mean);
    }
}

void lane_flow_and_covariance(const double* of, const double* x, double* dxdt, double* c) {
  lane_flow<0, 3>({}, of, x, dxdt);
  for (std::size_t row = 0; row < 6; ++row)
    for (std::size_t l = 0; l < kLanes; ++l)
      c[row * kLanes + l] = row == 0 || row == 2 || row == 5 ? of[kLanes + l] : 0;
}

/// System x' = -(x - mean x) from (a, b, b). Its flow descends half the squared distance from the
/// mean, conserves the sum, and is mean + (x0 - mean) e^-t. Samples add independent normals.
class Model : public System,
              public Separable,
              public GradientFlow,
              public Jacobian,
              public ClosedForm,
              public Sampled,
              public Covariance,
              public NoiseProjection,
              public Outcomes,
              public InLanes {
 public:
  Model(const SystemInfo& info, Fault fault, const Ingredients& from)
      : info_(info),
        fault_(fault),
        noisy_(from.setting.noisy),
        reduced_(from.own.word("coordinates") == "reduced"),
        length_(from.own.integer("length")),
        threads_(from.workers.threads()) {
    if (noisy_ && reduced_) throw UsageError("noise moves all three");
    if (from.setting.problem) {
      if (fault == Fault::refused_file) throw InputError("no file is good enough");
      x0_ = DataFile(*from.setting.problem).read("problem/x0").values;
    }
    shape_.blocks = {{"x", reduced_ ? std::size_t{2} : std::size_t{3}, 1.0}};
    shape_.dimensions = {{"x_index", 3, DimensionSpec::Coordinate::index, {}, {}}};
    if (!reduced_) shape_.invariants = {"sum"};
    if (!reduced_) shape_.fields = {"x"};
    lanes_ = {{2, 3}, lane_flow<0, 3>, lane_flow_and_covariance, nullptr, nullptr};
    if (fault_ == Fault::lanes_beyond) lanes_.flow = lane_flow<0, 4>;
    if (fault_ == Fault::lanes_short) lanes_.flow = lane_flow<0, 2>;
    if (fault_ == Fault::lanes_mixed) lanes_.flow = lane_flow<1, 3>;
  }

  [[nodiscard]] const SystemInfo& info() const override { return info_; }
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] double default_end() const override { return 3; }
  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities can;
    can.outcomes = this;
    if (reduced_) return can;
    can.gradient_flow = this;
    can.jacobian = this;
    can.closed_form = this;
    if (fault_ == Fault::parts) can.separable = this;
    can.sampled = this;
    can.covariance = this;
    if (fault_ == Fault::none || fault_ >= Fault::lanes_flow) can.in_lanes = this;
    if (fault_ == Fault::kept_sum || fault_ == Fault::projection) can.noise_projection = this;
    if (fault_ == Fault::bias)
      can.sampling_bias = {"samples are of finite length", "length", 1'000'000'000};
    return can;
  }
  void start(std::span<double> x) const override { std::copy_n(x0_.begin(), x.size(), x.begin()); }
  void rhs(StateView x, double /*t*/, std::span<double> dxdt) const override {
    const double second = fault_ == Fault::reduction && reduced_ ? 2.01 : 2;
    const double mean = reduced_ ? (x[0] + second * x[1]) / 3 : (x[0] + x[1] + x[2]) / 3;
    for (std::size_t i = 0; i < x.size(); ++i) dxdt[i] = rate() * (x[i] - mean);
  }
  void observe(StateView x, double t, std::span<double> values) const override {
    const double last = reduced_ ? x[1] : x[2];
    const double mean = (x[0] + x[1] + last) / 3;
    values[0] =
        0.5 * (std::pow(x[0] - mean, 2) + std::pow(x[1] - mean, 2) + std::pow(last - mean, 2));
    // negative late in the run, like a wrong minimum
    if (fault_ == Fault::negative) values[0] -= 0.1;
    if (fault_ == Fault::missing) return;
    values[1] = x[0] + x[1] + (fault_ == Fault::invariant ? 1.001 : 1) * last;
    if (fault_ == Fault::infinite && t > 1) values[1] = INFINITY;
  }
  void field(std::string_view /*name*/, StateView x, double /*t*/,
             const FieldSink& sink) const override {
    if (fault_ == Fault::no_numbers) return;
    sink(0, x.first(1));
    if (fault_ == Fault::twice) sink(0, x.first(1));
    sink(1, x.subspan(1, fault_ == Fault::few_numbers ? 1 : 2));
    if (fault_ == Fault::many_numbers) sink(3, x.first(1));
  }
  [[nodiscard]] std::string outcome(StateView /*x*/, double t) const override {
    if (t < 1) return "undecided";
    return fault_ == Fault::outcome ? "apart" : "together";
  }
  void project_noise(StateView /*x*/, std::span<double> noise) const override {
    const double mean = (noise[0] + noise[1] + noise[2]) / 3;
    for (double& number : noise) number -= mean;
  }
  [[nodiscard]] const LaneFormulas& lane_formulas() const override { return lanes_; }
  void lane_parameters(std::span<double> of) const override {
    of[0] = (fault_ == Fault::lanes_flow ? 1.001 : 1) * rate();
    of[1] = (fault_ == Fault::lanes_covariance ? 1.01 : 1) * kDeviation * kDeviation;
  }
  [[nodiscard]] GroupSpec problem() const override {
    std::vector<double> x0 = x0_;
    if (fault_ == Fault::problem_file) x0[0] *= 1 + 1e-10;
    VariableSpec start;
    start.name = "x0";
    start.dimensions = {"x_index"};
    start.data = x0;
    return {"problem", {}, {}, {start}, {}};
  }

  [[nodiscard]] double loss(StateView x, double t) const override {
    std::vector<double> values(2);
    observe(x, t, values);
    return values[0];
  }
  void precondition(StateView /*x*/, std::span<double> v) const override {
    if (fault_ == Fault::gradient) v[1] = -v[1];
  }
  void jacobian(StateView /*x*/, double /*t*/, Eigen::Ref<Eigen::MatrixXd> j,
                std::span<double> time_derivative) const override {
    j = Eigen::MatrixXd::Constant(3, 3, 1.0 / 3) - Eigen::MatrixXd::Identity(3, 3);
    if (fault_ == Fault::jacobian) j(1, 2) *= 1.001;
    std::fill(time_derivative.begin(), time_derivative.end(), 0.0);
  }
  // Fault: the mean does not depend on the state.
  void part_rhs(std::size_t /*begin*/, std::span<const double> x, double /*t*/,
                std::span<double> dxdt) const override {
    const double mean = (x0_[0] + x0_[1] + x0_[2]) / 3;
    for (std::size_t i = 0; i < x.size(); ++i) dxdt[i] = mean - (1 + 1e-9) * x[i];
  }
  void closed_form(double t, std::span<double> x) const override {
    const double mean = (x0_[0] + x0_[1] + x0_[2]) / 3;
    const double rate = fault_ == Fault::closed_form ? 1.001 : 1;
    for (std::size_t i = 0; i < 3; ++i) x[i] = mean + (x0_[i] - mean) * std::exp(-rate * t);
  }
  void add_sampled(StateView x, double t, const SampleKey& key, std::span<const double> weights,
                   std::span<double> out) const override {
    std::vector<double> f(3);
    rhs(x, t, f);
    const bool biased = fault_ == Fault::bias || fault_ == Fault::undeclared_bias;
    if (biased) f[0] += 0.5 / static_cast<double>(length_);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      RandomStream random = key.stream(i);
      double drawn = 0;  // the mean of the normals, if samples conserve the sum
      if (fault_ == Fault::kept_sum) {
        RandomStream same = key.stream(i);
        for (int k = 0; k < 3; ++k) drawn += same.normal() / 3;
      }
      // Fault: one sample in ten million has all of the last entry's drift.
      const bool rare = fault_ == Fault::undrawn_samples;
      if (rare && random.uniform() < kUndrawn) out[2] += weights[i] * f[2] / kUndrawn;
      for (std::size_t k = 0; k < (rare ? 2 : 3); ++k)
        out[k] +=
            weights[i] *
            (k == 2 && kept() < 1 ? kept() * f[k] : f[k] + kDeviation * (random.normal() - drawn));
    }
  }
  void covariance(StateView x, double t, Eigen::Ref<Eigen::MatrixXd> c) const override {
    c = kDeviation * kDeviation * Eigen::MatrixXd::Identity(3, 3);
    if (fault_ == Fault::kept_sum) c -= kDeviation * kDeviation / 3 * Eigen::MatrixXd::Ones(3, 3);
    if (fault_ == Fault::covariance) c(0, 1) = c(1, 0) = 0.05;
    if (kept() < 1) c(2, 2) = 0;
    if (fault_ == Fault::undrawn_samples) {
      std::vector<double> f(3);
      rhs(x, t, f);
      c(2, 2) = f[2] * f[2] * (1 / kUndrawn - 1);
    }
  }

 private:
  [[nodiscard]] double rate() const {
    double rate = -1;
    if (fault_ == Fault::threads) rate *= 1 + 1e-15 * threads_;
    if (fault_ == Fault::noisy_coordinates && noisy_) rate *= 1.001;
    return rate;
  }
  /// Returns the part of the last entry's drift that every sample has. It is less than 1 if samples
  /// are wrong, or if one sample in ten million has the rest.
  [[nodiscard]] double kept() const {
    return fault_ == Fault::still_samples ? 0.99 : fault_ == Fault::rare_samples ? 1 - 1e-7 : 1;
  }

  const SystemInfo& info_;
  Fault fault_;
  bool noisy_, reduced_;
  std::int64_t length_;
  unsigned threads_;
  std::vector<double> x0_ = {2, 0.5, 0.5};
  Shape shape_;
  LaneFormulas lanes_;
};

}  // namespace

Catalogue catalogue_of(Fault fault) {
  static const SystemInfo info = model_info();
  return std::vector<CatalogueRow>{{[]() -> const SystemInfo& { return info; },
                                    [fault](const Ingredients& from) -> std::unique_ptr<System> {
                                      return std::make_unique<Model>(info, fault, from);
                                    }}};
}

}  // namespace popflow::test

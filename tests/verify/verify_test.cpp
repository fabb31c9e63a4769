// A system that is right passes every check, and each way of being wrong is found by the check that
// is there for it, and by no other.

#include "verify/verify.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <stdexcept>

#include "options/run_config.hpp"
#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "popflow/function_system.hpp"
#include "popflow/pack.hpp"
#include "popflow/system.hpp"
#include "popflow/systems.hpp"

namespace popflow::test {
namespace {

/// What is wrong with a Model.
enum class Fault {
  none,
  gradient,
  jacobian,
  parts,
  invariant,
  bias,
  undeclared_bias,
  covariance,
  still_samples,
  rare_samples,
  undrawn_samples,
  closed_form,
  reduction,
  threads,
  noisy_coordinates,
  problem_file,
  refused_file,
  infinite,
  missing,
  few_numbers,
  many_numbers,
  no_numbers,
  twice,
  outcome,
  kept_sum,
  projection,
  lanes_flow,
  lanes_covariance,
  lanes_beyond,
  lanes_short,
  lanes_mixed,
};

constexpr double kDeviation = 0.5;  // of a sample's entries
constexpr double kUndrawn = 1e-7;   // the share of samples that are never met

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
  info.observables = {{"loss", "L", "half the squared distance from the mean", "a test"},
                      {"sum", "s", "sum of the numbers", "a test"}};
  info.dimensions = {{"x_index", "entries"}};
  info.fields = {{"x", {"x_index"}, "x", "the numbers", ""}};
  info.outcomes = {{"together", "the numbers are equal"}};
  info.invariants = {{"sum", InvariantInfo::Form::constant, "the sum"}};
  info.problem = {{"x0", {"x_index"}, "the start"}};
  info.unreduced = {{"coordinates", "full"}};
  return info;
}

/// x' = -(x - mean x) in lanes, of which number l of each row belongs to lane l + `Shift`, in so
/// many of the three rows.
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

/// x' = -(x - mean x) from (a, b, b): descends half the squared distance from the mean, keeps the
/// sum, and is mean + (x0 - mean) e^-t. Samples add independent normals.
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
  // As if the mean did not move with the numbers.
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
      double drawn = 0;  // the mean of the normals, where samples keep the sum
      if (fault_ == Fault::kept_sum) {
        RandomStream same = key.stream(i);
        for (int k = 0; k < 3; ++k) drawn += same.normal() / 3;
      }
      // One sample in ten million does all that the flow does to the last entry.
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
  /// What samples leave of the last entry's mean without any noise: less where they are wrong, or
  /// where the rest is that of one sample in ten million.
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

Catalogue catalogue_of(Fault fault) {
  static const SystemInfo info = model_info();
  return std::vector<CatalogueRow>{{[]() -> const SystemInfo& { return info; },
                                    [fault](const Ingredients& from) -> std::unique_ptr<System> {
                                      return std::make_unique<Model>(info, fault, from);
                                    }}};
}

std::vector<Check> verified(Fault fault, const std::vector<std::string>& words,
                            const VerifyOptions& options = {}) {
  const Catalogue catalogue = catalogue_of(fault);
  Workers workers(2);
  return verify(parse_verify(catalogue.info("model"), words), catalogue, workers, options);
}

/// Names of the checks that end like this.
std::set<std::string> names(const std::vector<Check>& checks, Check::Verdict verdict) {
  std::set<std::string> found;
  for (const Check& check : checks)
    if (check.verdict == verdict) found.insert(check.name);
  return found;
}

TEST_CASE("a system that is right passes every check", "[fast][verify]") {
  const std::vector<Check> checks = verified(Fault::none, {});
  INFO(verification_table(checks));
  CHECK(holds(checks));
  const std::set<std::string> ok = names(checks, Check::Verdict::ok);
  for (const char* name :
       {"finite", "observables", "gradient", "Jacobian", "mean of samples", "covariance",
        "invariant sum", "lanes", "closed form", "closed form, order of rk4", "order of rk4",
        "order of euler", "error of dopri5", "error of rosenbrock4", "threads", "resuming",
        "noisy coordinates", "problem file"})
    CHECK(ok.count(name) == 1);
  CHECK(names(checks, Check::Verdict::skipped).empty());
  CHECK(ok.count("reduction") == 0);  // nothing is reduced

  const std::vector<Check> reduced = verified(Fault::none, {"--coordinates", "reduced"});
  INFO(verification_table(reduced));
  CHECK(holds(reduced));
  CHECK(names(reduced, Check::Verdict::ok).count("reduction") == 1);
  CHECK(names(reduced, Check::Verdict::skipped).count("noisy coordinates") == 1);

  VerifyOptions thorough;
  thorough.thorough = true;
  thorough.only = {"gradient descent", "resuming", "gradient"};
  const std::vector<Check> more = verified(Fault::none, {}, thorough);
  INFO(verification_table(more));
  CHECK(holds(more));
  CHECK(names(more, Check::Verdict::ok).count("gradient descent to the flow") == 1);
}

TEST_CASE("each fault is found by the check that is there for it", "[fast][verify]") {
  using Names = std::set<std::string>;
  struct Case {
    Fault fault;
    Names failing;
    std::vector<std::string> words = {};
  };
  const std::vector<Case> cases = {
      {Fault::gradient, {"gradient"}},
      {Fault::jacobian, {"Jacobian"}},
      {Fault::parts, {"parts"}},
      {Fault::invariant, {"invariant sum"}},
      {Fault::undeclared_bias, {"mean of samples"}},
      {Fault::bias, {}},
      {Fault::covariance, {"covariance"}},
      {Fault::still_samples, {"mean of samples", "covariance"}},
      {Fault::rare_samples, {}},
      {Fault::undrawn_samples, {}},
      {Fault::closed_form, {"closed form", "closed form, order of rk4"}},
      {Fault::reduction, {"reduction"}, {"--coordinates", "reduced"}},
      {Fault::threads, {"threads"}},
      {Fault::noisy_coordinates, {"noisy coordinates"}},
      {Fault::problem_file, {"problem file"}},
      {Fault::refused_file, {"problem file"}},
      {Fault::infinite, {"observables"}},
      {Fault::missing, {"observables"}},
      {Fault::few_numbers, {"observables"}},
      {Fault::many_numbers, {"observables"}},
      {Fault::no_numbers, {"observables"}},
      {Fault::twice, {"observables"}},
      {Fault::outcome, {"observables"}},
      {Fault::kept_sum, {}},
      {Fault::projection, {"noise projection"}},
      {Fault::lanes_flow, {"lanes"}},
      {Fault::lanes_covariance, {"lanes"}},
      {Fault::lanes_beyond, {"lanes"}},
      {Fault::lanes_short, {"lanes"}},
      {Fault::lanes_mixed, {"lanes"}},
  };
  for (const Case& one : cases) {
    const std::vector<Check> checks = verified(one.fault, one.words);
    INFO(verification_table(checks));
    CHECK(names(checks, Check::Verdict::fails) == one.failing);
    CHECK(holds(checks) == one.failing.empty());
  }
}

const Check& named(const std::vector<Check>& checks, const std::string& name) {
  return *std::find_if(checks.begin(), checks.end(),
                       [&](const Check& check) { return check.name == name; });
}

TEST_CASE("nothing is concluded from samples that are too rare to be met", "[fast][verify]") {
  const VerifyOptions only = {.only = {"mean of samples", "covariance"}};
  const std::vector<Check> some = verified(Fault::undrawn_samples, {}, only);
  INFO(verification_table(some));
  for (const char* name : {"mean of samples", "covariance"}) {
    CHECK(named(some, name).verdict == Check::Verdict::ok);  // of what is met
    CHECK(named(some, name).note.find("nothing is concluded from") != std::string::npos);
  }
  // Transitions of a chain, none of which is ever met, or a few.
  Workers workers(2);
  for (const char* rare : {"--q", "--p"})
    for (const char* probability : {"1e-12", "1e-8", "1e-5"}) {
      const std::vector<Check> checks = verify(
          parse_verify(systems().info("markov"), {rare, probability}), systems(), workers, only);
      INFO(rare << ' ' << probability << '\n' << verification_table(checks));
      CHECK(holds(checks));
      for (const Check& check : checks)
        CHECK(check.note.find("nothing is concluded") != std::string::npos);
      if (std::string(probability) == "1e-12")
        CHECK(names(checks, Check::Verdict::skipped).size() == checks.size());
    }
  // A letter that one sample in a hundred thousand has.
  const std::filesystem::path counts =
      std::filesystem::temp_directory_path() / ("popflow-counts-" + std::to_string(getpid()));
  std::ofstream(counts) << "a\ta\t1200000\na\tb\t900000\na\tc\t1\nb\ta\t900000\nb\tb\t1100000\n"
                           "b\tc\t1\nc\ta\t1\nc\tb\t1\nc\tc\t1\n";
  for (const char* preconditioner : {"inverse-frequency", "none"}) {
    const std::vector<Check> checks =
        verify(parse_verify(systems().info("scb"), {"--counts", counts.string(), "--context-length",
                                                    "10", "--preconditioner", preconditioner}),
               systems(), workers, only);
    INFO(preconditioner << '\n' << verification_table(checks));
    CHECK(named(checks, "mean of samples").verdict == Check::Verdict::ok);
    CHECK(named(checks, "mean of samples").note.find("nothing is concluded from") !=
          std::string::npos);
  }
  std::filesystem::remove(counts);
}

std::vector<Check> verified(const FunctionSystem& system, const VerifyOptions& options = {}) {
  const Catalogue catalogue = std::vector<CatalogueRow>{system};
  Workers workers(1);
  return verify(parse_verify(catalogue.info(system.name), {}), catalogue, workers, options);
}

/// Rotation: no gradient, but a radius that is kept, and an exact solution.
FunctionSystem rotation(double jacobian) {
  return {.name = "rotation",
          .title = "a point on a circle",
          .source = "a test",
          .equations = "x' = y, y' = -x",
          .parameters = {},
          .functions = [jacobian](const Parameters&, const Setting&) {
            Functions f;
            f.state = {{"x", {1}, "place"}, {"y", {0}, "velocity"}};
            f.rhs = [](std::span<const double> x, double, std::span<double> out) {
              out[0] = x[1];
              out[1] = -x[0];
            };
            f.invariants = {{"radius", "its square", [](std::span<const double> x, double) {
                               return x[0] * x[0] + x[1] * x[1];
                             }}};
            f.jacobian = [jacobian](std::span<const double>, std::span<double> j) {
              j[1] = jacobian;
              j[2] = -1;
            };
            f.solution = [](double t, std::span<double> x) {
              x[0] = std::cos(t);
              x[1] = -std::sin(t);
            };
            f.end = 5;
            return f;
          }};
}

TEST_CASE("a system of functions is verified like any other", "[fast][verify]") {
  for (const double jacobian : {1.0, 1.01}) {
    const std::vector<Check> checks = verified(rotation(jacobian));
    INFO(verification_table(checks));
    CHECK(names(checks, Check::Verdict::fails) ==
          (jacobian == 1 ? std::set<std::string>{} : std::set<std::string>{"Jacobian"}));
    const std::set<std::string> ok = names(checks, Check::Verdict::ok);
    for (const char* name : {"invariant radius", "closed form", "order of rk4"})
      CHECK(ok.count(name) == 1);
    CHECK(ok.count("gradient") == 0);  // it declares none
  }
}

/// x' = 1 + e^-x, whose derivative is of the size of rounding late in a run.
FunctionSystem settling(double jacobian) {
  return {.name = "settling",
          .title = "a speed that settles",
          .source = "a test",
          .equations = "x' = 1 + e^-x",
          .parameters = {},
          .functions = [jacobian](const Parameters&, const Setting&) {
            Functions f;
            f.state = {{"x", {0}, "place"}};
            f.rhs = [](std::span<const double> x, double, std::span<double> out) {
              out[0] = 1 + std::exp(-x[0]);
            };
            f.jacobian = [jacobian](std::span<const double> x, std::span<double> j) {
              j[0] = -jacobian * std::exp(-x[0]);
            };
            f.end = 25;
            return f;
          }};
}

TEST_CASE("rounding of a right-hand side is not held against its Jacobian", "[fast][verify]") {
  for (const double jacobian : {1.0, 1.0001}) {
    const std::vector<Check> checks = verified(settling(jacobian));
    INFO(verification_table(checks));
    CHECK(names(checks, Check::Verdict::fails) ==
          (jacobian == 1 ? std::set<std::string>{} : std::set<std::string>{"Jacobian"}));
  }
}

/// x moves y and z, and of these nothing moves the second, at whose 0 right-hand sides have a kink.
/// `of_x` and `of_y` are what the Jacobian's entries are multiplied by.
FunctionSystem kinked(double of_x, double of_y, bool moved) {
  return {.name = "kinked",
          .title = "a kink on the way",
          .source = "a test",
          .equations = "x' = -x + |z|, y' = x, z' = -|z|, or y - |z|",
          .parameters = {},
          .functions = [=](const Parameters&, const Setting&) {
            Functions f;
            f.state = {{"x", {1}, "decays"}, {"y", {0}, "follows"}, {"z", {0}, "has the kink"}};
            f.rhs = [=](std::span<const double> x, double, std::span<double> out) {
              out[0] = -x[0] + std::abs(x[2]);
              out[1] = x[0];
              out[2] = -std::abs(x[2]) + (moved ? x[1] : 0);
            };
            f.jacobian = [=](std::span<const double>, std::span<double> j) {
              j[0] = -of_x;
              j[3] = of_y;
              j[7] = moved ? 1 : 0;
            };
            f.end = 5;
            return f;
          }};
}

TEST_CASE("no Jacobian is asked for along an entry that is kept where there is no derivative",
          "[fast][verify]") {
  struct Case {
    double of_x, of_y;
    bool moved, right;
  };
  for (const Case& one : {Case{1, 1, false, true}, Case{1.0001, 1, false, false},
                          Case{1, 0.9999, false, false}, Case{1, 1, true, false}}) {
    const std::vector<Check> checks = verified(kinked(one.of_x, one.of_y, one.moved));
    INFO(verification_table(checks));
    CHECK((names(checks, Check::Verdict::fails).count("Jacobian") == 0) == one.right);
    CHECK((names(checks, Check::Verdict::ok).count("Jacobian") == 1) == one.right);
  }
}

/// x' = -4 (1 + w) g x as a difference of two terms, of which rounding is left where w is nearly
/// -1.
FunctionSystem cancelling(double w, double jacobian) {
  return {.name = "cancelling",
          .title = "a rate of rounding",
          .source = "a test",
          .equations = "x' = -4 (1 + w) g x, w' = 0",
          .parameters = {},
          .functions = [=](const Parameters&, const Setting&) {
            Functions f;
            constexpr double g = 0.1234567;
            f.state = {{"x", {0}, "place"}, {"w", {w}, "rate"}};
            f.rhs = [](std::span<const double> x, double, std::span<double> out) {
              out[0] = -x[0] * ((1 + 2 * (2 * x[1] + 1)) * g + g);
              out[1] = 0;
            };
            f.jacobian = [=](std::span<const double> x, std::span<double> j) {
              j[0] = -jacobian * 4 * (1 + x[1]) * g;
              j[1] = -x[0] * 4 * g;
            };
            f.end = 5;
            return f;
          }};
}

TEST_CASE("a Jacobian is known no better than the state's last digits tell", "[fast][verify]") {
  for (const double w : {-1 + 1e-16, -0.7}) {
    for (const double jacobian : {1.0, 1.0001}) {
      const std::vector<Check> checks = verified(cancelling(w, jacobian));
      INFO(verification_table(checks));
      const bool told = w > -1 + 1e-10 && jacobian != 1;
      CHECK(names(checks, Check::Verdict::fails) ==
            (told ? std::set<std::string>{"Jacobian"} : std::set<std::string>{}));
    }
  }
}

using Spoil = std::function<void(Functions&)>;

/// x' = -x, y' = -2 y with all that can be said of it, but for what `spoil` makes of that.
FunctionSystem decaying(const Spoil& spoil) {
  using X = std::span<const double>;
  return {.name = "decaying",
          .title = "two numbers that vanish",
          .source = "a test",
          .equations = "x' = -x, y' = -2 y",
          .parameters = {},
          .functions = [spoil](const Parameters&, const Setting&) {
            Functions f;
            f.state = {{"x", {2}, "vanishes"}, {"y", {0.5, 0.25}, "vanishes sooner"}};
            f.rhs = [](X x, double, std::span<double> out) {
              for (std::size_t i = 0; i < 3; ++i) out[i] = i == 0 ? -x[i] : -2 * x[i];
            };
            f.loss = [](X x, double) { return x[0] * x[0] / 2 + x[1] * x[1] + x[2] * x[2]; };
            f.events = {{"half", "x is 1", [](X x, double) { return 1 - x[0]; }}};
            f.observables = {{"ratio", "y over x", [](X x, double) { return x[1] / x[0]; }}};
            f.jacobian = [](X, std::span<double> j) {
              j[0] = -1;
              j[4] = j[8] = -2;
            };
            f.sample = [](X x, RandomStream& random, double weight, std::span<double> out) {
              for (std::size_t i = 0; i < 3; ++i)
                out[i] += weight * ((i == 0 ? -x[i] : -2 * x[i]) + random.normal());
            };
            f.end = 10;
            spoil(f);
            return f;
          }};
}

TEST_CASE("what is not finite is named with its place, by the first check", "[fast][verify]") {
  using X = std::span<const double>;
  const auto rhs_at_once = [](Functions& f) {
    f.rhs = [](X, double, std::span<double> out) {
      out[0] = out[1] = 1;
      out[2] = NAN;
    };
  };
  const auto rhs_late = [](Functions& f) {
    f.rhs = [rhs = f.rhs](X x, double t, std::span<double> out) {
      rhs(x, t, out);
      if (t > 3) out[1] = NAN;
    };
  };
  struct Case {
    Spoil spoil;
    std::string note;
    bool goes_on = true;
  };
  for (const Case& one : std::vector<Case>{
           {[](Functions& f) { f.state[1].start[1] = NAN; }, "y[1] is NaN at the start", false},
           {[](Functions& f) { f.state[0].start[0] = INFINITY; }, "x is infinite at the", false},
           {rhs_at_once, "the right-hand side of y[1] is NaN at the start", false},
           {rhs_late, "the trajectory became non-finite at t = 3"},
           {[](Functions& f) { f.loss = [](X, double) { return NAN; }; },
            "the loss is NaN at the start"},
           {[](Functions& f) {
              f.loss = [loss = f.loss](X x, double t) { return x[0] < 1 ? NAN : loss(x, t); };
            },
            "the loss is NaN at t = 1"},
           {[](Functions& f) { f.events[0].value = [](X, double) { return NAN; }; },
            "the function of the event half is NaN at the start"},
       }) {
    const std::vector<Check> checks = verified(decaying(one.spoil));
    INFO(one.note << '\n' << verification_table(checks));
    CHECK(names(checks, Check::Verdict::fails) == std::set<std::string>{"finite"});
    CHECK(checks.front().name == "finite");
    CHECK(checks.front().note.find(one.note) != std::string::npos);
    CHECK((checks.size() > 1) == one.goes_on);
    for (const Check& check : checks)
      CHECK(check.note.find("rounding at any") == std::string::npos);
  }
}

TEST_CASE("lanes of functions are held against these", "[fast][verify]") {
  // x' = x - c x^3; x rises to 0.9, and passes 0.5.
  constexpr auto push = [](auto of, auto x, auto out) {
    out[0] = x[0] - of[0] * x[0] * x[0] * x[0];
  };
  constexpr auto rises = [](auto, auto x, auto out) { out[0] = x[0] - 0.9; };
  constexpr auto rises_less = [](auto, auto x, auto out) { out[0] = x[0] - 0.8; };
  constexpr auto half = [](auto, auto x, auto out) { out[0] = x[0] - 0.5; };
  constexpr auto nearly_half = [](auto, auto x, auto out) { out[0] = x[0] - 0.500001; };
  const auto held = [&](const Functions::Lanes& lanes, double level = 0.5) {
    const std::vector<Check> checks =
        verified(decaying([&](Functions& f) {
                   using X = std::span<const double>;
                   f = {};
                   f.state = {{"x", {0.1}, "rises"}};
                   f.rhs = alone(push, {1});
                   f.events = {{"late", "x is 0.9", [](X x, double) { return x[0] - 0.9; }}};
                   f.passages = {{"half", "x is 0.5", {}, [=](X x, double, std::span<double> out) {
                                    out[0] = x[0] - level;
                                  }}};
                   f.lanes = lanes;
                 }),
                 {.only = {"lanes"}});
    INFO(verification_table(checks));
    REQUIRE(checks.size() == 1);
    CHECK(checks[0].verdict != Check::Verdict::skipped);
    CHECK(checks[0].allowed > 0);
    return holds(checks);
  };
  const Functions::Lanes right = {{1}, in_lanes(push), in_lanes(rises), in_lanes(half)};
  CHECK(held(right));
  CHECK_FALSE(held({{1.001}, in_lanes(push), in_lanes(rises), in_lanes(half)}));
  CHECK_FALSE(held({{1 + 1e-9}, in_lanes(push), in_lanes(rises), in_lanes(half)}));
  CHECK_FALSE(held({{1}, in_lanes(push), in_lanes(rises_less), in_lanes(half)}));
  CHECK_FALSE(held({{1}, in_lanes(push), in_lanes(rises), in_lanes(nearly_half)}));
  CHECK_FALSE(held({{NAN}, in_lanes(push), in_lanes(rises), in_lanes(half)}));
  CHECK_FALSE(held(right, NAN));
}

TEST_CASE("a flow that grows without bound is no fault, and is told", "[fast][verify]") {
  const FunctionSystem growing = decaying([](Functions& f) {
    f.rhs = [](std::span<const double> x, double, std::span<double> out) {
      out[0] = x[0] * x[0];
      out[1] = out[2] = 0;
    };
  });
  // In so many steps as lead there.
  const std::vector<Check> checks = verified(growing, {.thorough = true, .only = {"finite"}});
  INFO(verification_table(checks));
  CHECK(holds(checks));
  CHECK(checks.front().note.find("grows without bound at t = 0.5") != std::string::npos);
}

TEST_CASE("what throws fails by its own words, and the other checks are made", "[fast][verify]") {
  using X = std::span<const double>;
  const auto throws_value = [](X, double) -> double { throw std::runtime_error("it says no"); };
  struct Case {
    Spoil spoil;
    std::set<std::string> failing, holding;
  };
  for (const Case& one : std::vector<Case>{
           {[&](Functions& f) { f.loss = throws_value; },
            {"finite", "observables", "gradient"},
            {"Jacobian", "mean of samples", "order of rk4", "resuming"}},
           {[&](Functions& f) { f.observables[0].value = throws_value; },
            {"observables", "threads"},
            {"finite", "gradient", "Jacobian", "mean of samples", "order of rk4", "resuming"}},
           {[&](Functions& f) {
              f.jacobian = [](X, std::span<double>) { throw UsageError("it says no"); };
            },
            {"Jacobian"},
            {"finite", "gradient", "mean of samples", "threads"}},
           {[&](Functions& f) {
              f.sample = [](X, RandomStream&, double, std::span<double>) {
                throw std::out_of_range("it says no");
              };
            },
            {"finite", "mean of samples", "threads", "resuming"},
            {"gradient", "Jacobian", "order of rk4", "error of dopri5"}},
           {[&](Functions& f) { f.events[0].value = throws_value; },
            {"finite", "observables", "threads", "methods", "resuming"},
            {"gradient", "Jacobian", "mean of samples"}},
           {[&](Functions& f) {
              f.rhs = [rhs = f.rhs](X x, double t, std::span<double> out) {
                if (t > 3) throw std::runtime_error("it says no");
                rhs(x, t, out);
              };
            },
            {"finite"},
            {"gradient", "observables", "mean of samples", "order of rk4", "threads"}},
           {[&](Functions& f) {
              f.rhs = [](X, double, std::span<double>) { throw std::runtime_error("it says no"); };
            },
            {"finite", "gradient", "Jacobian", "mean of samples", "threads", "resuming"},
            {"observables"}},
       }) {
    const std::vector<Check> checks = verified(decaying(one.spoil));
    INFO(verification_table(checks));
    const std::set<std::string> fail = names(checks, Check::Verdict::fails);
    const std::set<std::string> hold = names(checks, Check::Verdict::ok);
    for (const std::string& name : one.failing) CHECK(fail.count(name) == 1);
    for (const std::string& name : one.holding) CHECK(hold.count(name) == 1);
    for (const Check& check : checks)
      if (check.verdict == Check::Verdict::fails)
        CHECK(check.note.find("it says no") != std::string::npos);
  }
}

/// Phase retrieval: a weight along the teacher's and one across it, whose loss is zero at the
/// minimum, as a sum of squares or as a difference. `push`: what the flow is multiplied by.
FunctionSystem phase_retrieval(bool difference, double push) {
  return {.name = "phase-retrieval",
          .title = "phase retrieval",
          .source = "a test",
          .equations = "a' = (3 s - 3 n) a, b' = (s - 3 n) b with n = a^2 + b^2, s = 1",
          .parameters = {},
          .functions = [=](const Parameters&, const Setting&) {
            Functions f;
            f.state = {{"a", {0.01}, "along"}, {"b", {1}, "across"}};
            f.rhs = [=](std::span<const double> x, double, std::span<double> out) {
              const double n = x[0] * x[0] + x[1] * x[1];
              out[0] = (3 - 3 * n) * x[0];
              out[1] = push * (1 - 3 * n) * x[1];
            };
            f.loss = [=](std::span<const double> x, double) {
              const double n = x[0] * x[0] + x[1] * x[1];
              if (difference) return (3 * n * n + 3 - 2 * (n + 2 * x[0] * x[0])) / 4;
              return (3 * (n - 1) * (n - 1) + 4 * x[1] * x[1]) / 4;
            };
            f.end = 10;
            return f;
          }};
}

TEST_CASE("a loss that is a difference of terms is known no better than these", "[fast][verify]") {
  for (const bool difference : {false, true})
    for (const double push : {1.0, 1.0001}) {
      const std::vector<Check> checks = verified(phase_retrieval(difference, push));
      INFO(verification_table(checks));
      CHECK(names(checks, Check::Verdict::fails) ==
            (push == 1 ? std::set<std::string>{} : std::set<std::string>{"gradient"}));
      CHECK((names(checks, Check::Verdict::ok).count("gradient") == 1) == (push == 1));
    }
}

/// A flow that is a million times as fast at first.
FunctionSystem plunging() {
  return {.name = "plunging",
          .title = "a fall from high up",
          .source = "a test",
          .equations = "x' = -x^3 / 2",
          .parameters = {},
          .functions = [](const Parameters&, const Setting&) {
            Functions f;
            f.state = {{"x", {1e4}, "height"}};
            f.rhs = [](std::span<const double> x, double, std::span<double> out) {
              out[0] = -0.5 * x[0] * x[0] * x[0];
            };
            f.end = 100;
            return f;
          }};
}

TEST_CASE("orders of methods are looked for where steps of one length show them",
          "[fast][verify]") {
  const std::vector<Check> checks = verified(plunging());
  INFO(verification_table(checks));
  CHECK(holds(checks));
  for (const char* name : {"order of euler", "order of rk4"})
    CHECK(names(checks, Check::Verdict::ok).count(name) == 1);
}

TEST_CASE("what verify has called wrong though it is right holds", "[fast][verify]") {
  struct Case {
    std::string system;
    std::vector<std::string> words;
  };
  const Catalogue& catalogue = systems();
  for (const Case& one : std::vector<Case>{
           {"markov", {"--w0", "0"}},
           {"markov", {"--w0", "-0.7071067811865476", "--e0", "0"}},
           {"markov", {"--bias", "free", "--b0", "30"}},
           {"markov", {"--w0", "100", "--e0", "100"}},
           {"linear-attention", {"--eigenvalues", "100,1e-3"}},
           {"scb", {"--schedule", "two-stage"}},
       }) {
    Workers workers(2);
    const std::vector<Check> checks =
        verify(parse_verify(catalogue.info(one.system), one.words), catalogue, workers);
    INFO(one.system << '\n' << verification_table(checks));
    CHECK(holds(checks));
  }
}

TEST_CASE("what takes long is told", "[fast][verify]") {
  std::vector<double> parts;
  std::set<std::string> rows;
  VerifyOptions options;
  options.progress = [&](double part, const std::string& what) {
    parts.push_back(part);
    rows.insert(what);
  };
  (void)verified(Fault::none, {}, options);
  CHECK(std::is_sorted(parts.begin(), parts.end()));
  CHECK(parts.front() == 0);
  CHECK(parts.back() < 1);
  for (const char* row : {"the flow", "Jacobian: the start", "methods: dopri5", "threads"})
    CHECK(rows.count(row) == 1);
  CHECK(parts.size() > 1000);  // at every step of flows
}

}  // namespace
}  // namespace popflow::test

#include "compare/noise_check.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>

#include "compare/narrow.hpp"
#include "engine/interrupt.hpp"
#include "engine/specs.hpp"
#include "noise/noise_model.hpp"
#include "numerics/linear_algebra.hpp"
#include "popflow/error.hpp"
#include "popflow/flow_driver.hpp"
#include "report/contents.hpp"
#include "text/text.hpp"
#include "training/sampled_gradients.hpp"

namespace popflow {

namespace {

constexpr std::size_t kDraws = 1024;  // draws for the directions; as many again for the variances
constexpr std::size_t kDirections = 5;
constexpr double kMostNumbers = 0x1p27;  // 1 GiB of draws at a time
constexpr std::size_t kStates = 3;       // start, middle and end of the flow

using Draw = std::function<void(std::size_t i, State& out)>;

bool is_interrupted() { return InterruptGuard::signal() != 0; }

/// Returns draws as columns; those after an interruption are missing.
Eigen::MatrixXd columns_of(std::size_t size, std::size_t draws, const Draw& draw) {
  Eigen::MatrixXd all(static_cast<Eigen::Index>(size), static_cast<Eigen::Index>(draws));
  State one(size);
  for (std::size_t i = 0; i < draws && !is_interrupted(); ++i) {
    std::fill(one.begin(), one.end(), 0.0);
    draw(i, one);
    std::copy(one.begin(), one.end(), all.col(static_cast<Eigen::Index>(i)).data());
  }
  return all;
}

/// Returns leading eigenvectors of a large semi-definite matrix by orthogonal iteration with a few
/// spare vectors. The error from the other eigenvectors is far below the noise of the draws. A full
/// decomposition would take minutes and could not be interrupted.
Eigen::MatrixXd leading_eigenvectors(const Eigen::MatrixXd& matrix, Eigen::Index number) {
  constexpr Eigen::Index kSpare = 15;
  constexpr int kIterations = 40;
  const Eigen::Index columns = std::min(number + kSpare, matrix.cols());
  RandomStream random(0, Purpose::check);
  Eigen::MatrixXd basis(matrix.rows(), columns);
  for (double& entry : basis.reshaped()) entry = random.normal();
  for (int i = 0; i < kIterations && !is_interrupted(); ++i)
    basis = orthonormal_basis(matrix * basis);
  const SymmetricEigen within = symmetric_eigen(basis.transpose() * matrix * basis);
  return basis * within.vectors.rightCols(number).rowwise().reverse();
}

/// Returns a'a, computed in blocks if the product takes long, so that it can be interrupted.
Eigen::MatrixXd gram(const Eigen::MatrixXd& a) {
  constexpr Eigen::Index kBlock = 64;
  Eigen::MatrixXd product = Eigen::MatrixXd::Zero(a.cols(), a.cols());
  for (Eigen::Index i = 0; i < a.cols() && !is_interrupted(); i += kBlock) {
    const Eigen::Index columns = std::min(kBlock, a.cols() - i);
    product.middleCols(i, columns).noalias() = a.transpose() * a.middleCols(i, columns);
  }
  return product;
}

/// Returns leading eigenvectors of a semi-definite matrix of any size.
Eigen::MatrixXd eigenvectors_of(const Eigen::MatrixXd& matrix, Eigen::Index number) {
  constexpr Eigen::Index kSmall = 300;  // takes well below half a second
  if (matrix.rows() > kSmall) return leading_eigenvectors(matrix, number);
  return symmetric_eigen(matrix).vectors.rightCols(number).rowwise().reverse();
}

/// Returns leading eigenvectors of the columns' covariance, from the smaller of the two products.
Eigen::MatrixXd directions_of(Eigen::MatrixXd draws, std::size_t number) {
  draws.colwise() -= draws.rowwise().mean().eval();
  const auto k = static_cast<Eigen::Index>(number);
  if (draws.rows() <= draws.cols()) return eigenvectors_of(draws * draws.transpose(), k);
  Eigen::MatrixXd directions = draws * eigenvectors_of(gram(draws), k);
  for (Eigen::Index i = 0; i < k; ++i)
    if (const double norm = directions.col(i).norm(); norm > 0) directions.col(i) /= norm;
  return directions;
}

/// Returns the mean of the values with its standard error.
NoiseCheck::Estimate mean_of(const Eigen::ArrayXd& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = values.mean();
  return {mean, std::sqrt((values - mean).square().sum() / (n - 1) / n)};
}

NoiseCheck::Source source_of(Eigen::MatrixXd draws, const Eigen::MatrixXd& directions) {
  NoiseCheck::Source source;
  draws.colwise() -= draws.rowwise().mean().eval();
  const auto n = static_cast<double>(draws.cols());
  const double unbiased = n / (n - 1);
  source.trace = mean_of(unbiased * draws.colwise().squaredNorm().transpose().array());
  for (Eigen::Index i = 0; i < directions.cols(); ++i) {
    const Eigen::ArrayXd along = (directions.col(i).transpose() * draws).transpose().array();
    source.variances.push_back(mean_of(unbiased * along.square()));
    if (i > 0) continue;
    const double square = along.square().mean();
    const Eigen::ArrayXd z = along / std::sqrt(square);
    const double kurtosis = z.pow(4).mean();
    // Influence function of m4/m2^2, for the standard error.
    const Eigen::ArrayXd influence = z.pow(4) - 2 * kurtosis * z.square() + kurtosis;
    source.kurtosis = {kurtosis, std::sqrt(influence.square().mean() / n)};
  }
  return source;
}

}  // namespace

std::size_t noise_directions(const Rung& rung) {
  return std::min(kDirections, rung.experiment->system->shape().state_size());
}

std::optional<NoiseCheck> check_noise(const Rung& rung) {
  const Experiment& experiment = *rung.experiment;
  const System& system = *experiment.system;
  const std::size_t size = system.shape().state_size();
  const Capability<Sampled> sampled = system.capabilities().sampled;
  if (!sampled) throw UsageError("--check-noise: " + why_no_samples(system));
  if (static_cast<double>(size) * kDraws > kMostNumbers)
    throw UsageError("--check-noise keeps " + std::to_string(kDraws) +
                     " gradients in memory, so a state of " + std::to_string(size) +
                     " entries is too large for it (at most " +
                     shortest(std::floor(kMostNumbers / kDraws)) + ")");
  const DriverHooks hooks{[] { return InterruptGuard::signal() != 0; }, {}};
  SdeDriver::Options options = std::get<SdePlan>(experiment.plan.mode).driver;
  options.hooks = hooks;
  FlowDriver::Options of_flow;
  of_flow.hooks.interrupted = hooks.interrupted;
  if (system.capabilities().proximal) {
    // The flow takes fixed steps, like SGD.
    of_flow.method = "rk4";
    of_flow.dt = options.learning_rate;
  }
  FlowDriver flow(system, experiment.workers, of_flow);
  const auto noise = make_noise(system, experiment.workers, options);
  const double scale = std::sqrt(static_cast<double>(options.batch_size) / options.learning_rate);

  NoiseCheck check;
  for (std::size_t state = 0; state < kStates; ++state) {
    const double t = experiment.plan.schedule().back() * static_cast<double>(state) / (kStates - 1);
    const Outcome outcome = flow.advance(t);
    if (outcome.kind == Outcome::Kind::interrupted) return std::nullopt;
    if (outcome.kind != Outcome::Kind::reached) break;
    const State state_now = flow.state();
    const Regime regime = flow.regime();
    const StateView x(state_now, regime);
    const std::vector<double> weight = {1};
    const auto sample = [&](std::size_t first) {
      return [&, first](std::size_t i, State& out) {
        const SampleKey key{options.seed, Purpose::check, 0, (state * 2 + first) * kDraws + i};
        sampled->add_sampled(x, t, key, weight, out);
      };
    };
    if (is_interrupted()) return std::nullopt;
    const Eigen::MatrixXd directions =
        directions_of(columns_of(size, kDraws, sample(0)), noise_directions(rung));
    NoiseCheck::Source sampler = source_of(columns_of(size, kDraws, sample(1)), directions);
    // The fourth cumulant of a batch mean, in units of its squared variance, is 1/B of that of one
    // sample.
    const auto batch = static_cast<double>(options.batch_size);
    sampler.kurtosis = {3 + (sampler.kurtosis.value - 3) / batch, sampler.kurtosis.error / batch};
    // Each draw has its own interval, so that its samples are fresh; x is fixed.
    const auto draw = [&](std::size_t i, State& out) {
      const std::uint64_t place = state * kDraws + i;
      noise->add(x, {static_cast<double>(place) * options.learning_rate, 1, place, 1}, out);
      for (double& value : out) value *= scale;
    };
    check.times.push_back(t);
    check.sampler.push_back(std::move(sampler));
    check.noise.push_back(source_of(columns_of(size, kDraws, draw), directions));
    if (hooks.interrupted()) return std::nullopt;
  }
  return check;
}

GroupSpec noise_group(const Rung& rung) {
  GroupSpec group;
  group.name = "noise";
  group.attributes = {{"rung", rung.word},
                      {"noise", rung.experiment->config.options.word("noise")},
                      {"draws", static_cast<std::int64_t>(kDraws)}};
  std::vector<double> times;
  for (std::size_t i = 0; i < kStates; ++i)
    times.push_back(rung.experiment->plan.schedule().back() * static_cast<double>(i) /
                    (kStates - 1));
  group.dimensions = {axis("time", times, "flow time of the state"),
                      places("direction", noise_directions(rung),
                             "eigenvector of the sampler's covariance, largest first")};
  for (const auto& [name, words] :
       {std::pair<std::string, std::string>{"sampler", "sampled gradients"},
        {"noise", "noise model"}}) {
    const auto add = [&, name = name, words = words](const std::string& what,
                                                     const std::vector<std::string>& dimensions,
                                                     const std::string& meaning) {
      group.variables.push_back(variable(name + "_" + what, dimensions, words + ": " + meaning));
      group.variables.push_back(variable(name + "_" + what + "_error", dimensions,
                                         words + ": standard error of the " + meaning));
    };
    add("trace", {"time"}, "trace of one sample's covariance");
    add("variance", {"time", "direction"}, "variance of one sample along the direction");
    add("kurtosis", {"time"},
        "kurtosis along the first direction (3: Gaussian), of a batch's mean");
  }
  return group;
}

void write_noise(const TrajectoryGroup& file, const NoiseCheck& check) {
  const auto write = [&](const std::string& name, std::size_t place,
                         const NoiseCheck::Estimate& estimate) {
    file.write(name, place, estimate.value);
    file.write(name + "_error", place, estimate.error);
  };
  for (std::size_t t = 0; t < check.times.size(); ++t) {
    for (const auto& [name, source] :
         {std::pair<std::string, const NoiseCheck::Source*>{"sampler", &check.sampler[t]},
          {"noise", &check.noise[t]}}) {
      write(name + "_trace", t, source->trace);
      write(name + "_kurtosis", t, source->kurtosis);
      for (std::size_t i = 0; i < source->variances.size(); ++i)
        write(name + "_variance", t * source->variances.size() + i, source->variances[i]);
    }
  }
}

std::string describe_noise(const DataFile& file) {
  using contents::attribute;
  const DataFile group(file.path(), "noise");
  contents::Rows rows = {
      {"noise of " + attribute(group, "", "rung") + " (" + attribute(group, "", "noise") + ")", "t",
       "samples", "noise model"}};
  const auto times = group.read("time").values;
  const auto row = [&](const std::string& label, const std::string& name, std::size_t t,
                       std::size_t place) {
    const auto cell = [&](const std::string& source) {
      return text::with_error(group.read(source + "_" + name).values.at(place),
                              group.read(source + "_" + name + "_error").values.at(place));
    };
    rows.push_back({label, text::rounded(times[t]), cell("sampler"), cell("noise")});
  };
  const std::size_t directions = group.read("direction").values.size();
  for (std::size_t t = 0; t < times.size(); ++t) {
    row("trace", "trace", t, t);
    for (std::size_t i = 0; i < directions; ++i)
      row("variance along " + std::to_string(i + 1), "variance", t, t * directions + i);
    row("kurtosis along 1, of a batch", "kurtosis", t, t);
  }
  return narrow_table(rows, 2, 40) +
         narrow_paragraph(
             "All numbers are for the gradient of one sample; directions are the leading "
             "eigenvectors of the sampler's covariance. A Gaussian has kurtosis 3.");
}

}  // namespace popflow

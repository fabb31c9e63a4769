// Checks of bit-for-bit reproducibility: with any number of threads, after resuming, and with a
// problem file.

#include <stdlib.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <optional>

#include "engine/drivers.hpp"
#include "file/trajectory_file.hpp"
#include "popflow/error.hpp"
#include "popflow/sgd_driver.hpp"
#include "steppers/flow_methods.hpp"
#include "verify/checks.hpp"

namespace popflow::verification {

namespace {

/// Counts the differences and remembers the first one.
class Differences {
 public:
  void same(bool equal, const std::string& what) {
    ++looked_;
    if (equal) return;
    if (found_ == 0) first_ = what;
    ++found_;
  }
  [[nodiscard]] Check check(const std::string& name, const std::string& what) const {
    return {name,
            found_ == 0 ? Check::Verdict::ok : Check::Verdict::fails,
            static_cast<double>(found_),
            0,
            false,
            "of " + std::to_string(looked_) + " " + what + " are not bit-identical" +
                (first_.empty() ? "" : ", first: " + first_)};
  }

 private:
  int looked_ = 0, found_ = 0;
  std::string first_;
};

bool same_observables(std::vector<double> a, std::vector<double> b) {
  // The sign and the payload of a NaN are ignored.
  for (std::vector<double>* values : {&a, &b})
    for (double& value : *values)
      if (std::isnan(value)) value = 0.25;
  return same_bits(a, b);
}

/// Driver with the configured method, and a bounded time to integrate.
struct Stretch {
  State x;
  Regime regime;
  StepStatistics counts;
  std::vector<double> passages;
  std::vector<double> events;
  Outcome::Kind outcome;

  Stretch(const Driver& driver, Outcome::Kind kind)
      : x(driver.state()),
        regime(driver.regime()),
        counts(driver.statistics()),
        passages(driver.passages()),
        outcome(kind) {
    for (const FoundEvent& event : driver.events())
      events.insert(events.end(), {static_cast<double>(event.event), event.time});
  }
  bool operator==(const Stretch& other) const {
    return same_bits(x, other.x) && same_bits(regime, other.regime) &&
           same_observables(passages, other.passages) && same_bits(events, other.events) &&
           counts.evaluations == other.counts.evaluations &&
           counts.accepted == other.counts.accepted && counts.samples == other.counts.samples &&
           outcome == other.outcome;
  }
};

/// Save times through which a driver is advanced, possibly from the middle.
class SaveTimes {
 public:
  SaveTimes(double end, int saves) : end_(end), saves_(saves) {}
  /// Advances to the end and returns how the run ended.
  Outcome::Kind go_on(Driver& driver) {
    Outcome::Kind kind = Outcome::Kind::reached;
    while (next_ <= saves_ && kind == Outcome::Kind::reached) {
      kind = driver.advance(end_ * next_ / saves_).kind;
      if (kind == Outcome::Kind::reached) ++next_;
    }
    return kind;
  }

 private:
  double end_;
  int saves_;
  int next_ = 1;
};

/// Runs without interruption, then interrupts and restores the run; returns the number of
/// interruptions after which the end differs in any bit. Drivers need not check for an interrupt
/// after every step, but in each call of advance(): a run of few steps is interrupted at its save
/// times.
template <class Make>
void compare_cuts(Make&& make, double end, int cuts, const std::string& what, Differences& found) {
  const std::unique_ptr<Driver> whole = make(DriverHooks{});
  const Outcome::Kind kind = SaveTimes(end, cuts).go_on(*whole);
  const Stretch expected(*whole, kind);
  bool any = false;
  for (int k = 0; k < cuts; ++k) {
    const std::int64_t wanted = expected.counts.accepted * k / cuts;
    const Driver* self = nullptr;
    const std::unique_ptr<Driver> begun = make(
        DriverHooks{[&] { return self != nullptr && self->statistics().accepted >= wanted; }, {}});
    self = begun.get();
    SaveTimes save_times(end, cuts);
    if (save_times.go_on(*begun) != Outcome::Kind::interrupted)
      continue;  // a restored run with a longer last step cannot be cut here
    const ResumePoint point = begun->resume_point();
    const std::int64_t cut = begun->statistics().accepted;
    any = any || cut > 0;
    const std::unique_ptr<Driver> resumed = make(DriverHooks{});
    resumed->restore(*point.x, *point.regime, point.t, point.data);
    const Outcome::Kind again = save_times.go_on(*resumed);
    found.same(Stretch(*resumed, again) == expected,
               what + " interrupted after " + std::to_string(cut) + " steps");
  }
  if (expected.counts.accepted >= cuts) found.same(any, what + " could not be interrupted");
}

/// Temporary folder, removed with its contents.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "popflow-verify-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw OutputError("cannot make a folder " + name);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

Checks check_threads(const Subject& subject) {
  Differences found;
  Workers one(1);
  const Variant alone = subject.make(subject.config(), one);
  const auto flow = [&](const System& system, Workers& workers) {
    FlowDriver driver(system, workers, subject.flow_options());
    const Outcome::Kind kind = driver.advance(subject.window()).kind;
    return Stretch(driver, kind);
  };
  const Stretch expected = flow(*alone.system, one);
  std::vector<Variant> alone_noisy;
  std::vector<Stretch> expected_noisy;
  const auto noise = [&](const System& system, const NoisyRun& run, Workers& workers) {
    const auto driver = make_driver(system, workers, run.mode, 0, DriverHooks{});
    const Outcome::Kind kind = driver->advance(run.end).kind;
    return Stretch(*driver, kind);
  };
  // Runs are concurrent and share one System, as in an ensemble; the System must not keep any
  // state.
  constexpr std::uint32_t kRuns = 12;
  const auto ensemble = [&](const System& system, const NoisyRun& run, Workers& workers) {
    std::vector<std::optional<Stretch>> ends(kRuns);
    workers.run(kRuns, [&](std::size_t number) {
      Workers alone_here(1);
      const auto driver = make_driver(system, alone_here, run.mode,
                                      static_cast<std::uint32_t>(number), DriverHooks{});
      const Outcome::Kind kind = driver->advance(run.end).kind;
      ends[number].emplace(*driver, kind);
    });
    return ends;
  };
  std::vector<std::vector<std::optional<Stretch>>> expected_ensemble;
  for (const NoisyRun& run : subject.noisy_runs()) {
    alone_noisy.push_back(subject.make(run.config, one));
    expected_noisy.push_back(noise(*alone_noisy.back().system, run, one));
    expected_ensemble.push_back(ensemble(*alone_noisy.back().system, run, one));
  }
  for (const unsigned threads : {2U, 5U}) {
    Workers many(threads);
    const Variant other = subject.make(subject.config(), many);
    const std::string with = " with " + std::to_string(threads) + " threads";
    for (const Point& point : subject.points()) {
      found.same(same_bits(rhs_at(*alone.system, point), rhs_at(*other.system, point)),
                 "the right-hand side at " + point.where + with);
      found.same(same_observables(observables_at(*alone.system, point),
                                  observables_at(*other.system, point)),
                 "observables at " + point.where + with);
    }
    found.same(flow(*other.system, many) == expected, "the flow" + with);
    for (std::size_t r = 0; r < expected_noisy.size(); ++r) {
      const NoisyRun& run = subject.noisy_runs()[r];
      const Variant noisy = subject.make(run.config, many);
      found.same(noise(*noisy.system, run, many) == expected_noisy[r], run.name() + with);
      found.same(ensemble(*noisy.system, run, many) == expected_ensemble[r],
                 run.name() + ", runs at the same time" + with);
      const Capability<Sampled> a = alone_noisy[r].system->capabilities().sampled,
                                b = noisy.system->capabilities().sampled;
      if (!a || !b) continue;
      for (const Point& point : subject.noisy_points()) {
        const std::vector<double> weights(70, 1.0 / 70);
        State x(point.x.size()), y(point.x.size());
        std::fill(x.begin(), x.end(), 0.0);
        std::fill(y.begin(), y.end(), 0.0);
        const SampleKey key{subject.options().seed, Purpose::check, 5, 0};
        a->add_sampled(point.view(), point.t, key, weights, {x.data(), x.size()});
        b->add_sampled(point.view(), point.t, key, weights, {y.data(), y.size()});
        found.same(same_bits(x, y), "samples at " + point.where + with);
      }
    }
  }
  return {found.check("threads", "results on 1, 2 and 5 threads")};
}

Checks check_resuming(const Subject& subject) {
  Differences found;
  const int cuts = subject.options().thorough ? 6 : 3;
  std::vector<std::string> ways = {std::string(subject.flow_options().method->name)};
  if (subject.options().thorough && subject.no_tolerance().empty())
    for (const FlowMethod& other : flow_methods())
      if (other.steps == StepRule::adaptive && !other.needs_jacobian) ways.emplace_back(other.name);
  for (const std::string& method : ways)
    compare_cuts(
        [&](DriverHooks hooks) -> std::unique_ptr<Driver> {
          FlowDriver::Options options = subject.flow_options();
          if (method != options.method->name) options = subject.tolerance(1e-8);
          options.method = method;
          options.hooks.interrupted = std::move(hooks.interrupted);
          options.max_steps = 2000;
          return std::make_unique<FlowDriver>(subject.system(), subject.workers(), options);
        },
        subject.end(), cuts, "the flow by " + method, found);
  for (const NoisyRun& run : subject.noisy_runs())
    compare_cuts(
        [&](DriverHooks hooks) {
          return make_driver(*subject.noisy()->system, subject.workers(), run.mode, 0,
                             std::move(hooks));
        },
        run.end, cuts, run.name(), found);
  return {found.check("resuming", "ends of resumed runs")};
}

Checks check_problem_file(const Subject& subject) {
  const System& system = subject.system();
  if (system.info().problem.empty()) return {};
  const Folder folder;
  const std::string path = folder.file("problem.h5");
  GroupSpec root;
  for (const DimensionSpec& dimension : system.shape().dimensions)
    root.dimensions.push_back(dimension);
  root.groups = {system.problem()};
  { const TrajectoryFile file = TrajectoryFile::create(path, root, false); }
  Differences found;
  std::string why;
  try {
    RunConfig config = subject.config();
    for (const Parameter& parameter : config.own.table())
      if (parameter.makes_problem) config.own.unset(parameter.name);
    config.options.set("problem", path, Origin::config);
    const Variant again = subject.make(config, subject.workers());
    const std::size_t n = again.system->shape().state_size();
    found.same(n == subject.size(), "the number of entries");
    if (n == subject.size()) {
      State start(n);
      again.system->start({start.data(), n});
      found.same(same_bits(start, subject.points().front().x), "the start");
      for (const Point& point : subject.points())
        found.same(same_bits(rhs_at(system, point), rhs_at(*again.system, point)),
                   "the right-hand side at " + point.where);
    }
  } catch (const Error& error) {
    why = error.what();
  }
  if (why.empty()) return {found.check("problem file", "results of the problem read back")};
  return {{"problem file", Check::Verdict::fails, 1, 0, false,
           "the system refuses the file of its own problem: " + why}};
}

}  // namespace popflow::verification

// A state whose entries feel nothing of each other takes steps of its own in each block of them.

#include "flow/block_dopri5.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "popflow/flow_driver.hpp"
#include "popflow/system.hpp"

namespace popflow::test {
namespace {

constexpr std::size_t kEntries = 3000;  // eleven whole blocks, and one that is not
constexpr double kSlowest = 0.01, kSpan = 1e4;

/// x_i' = rate_i (1 - x_i) from 0, with rates over four decades in no order: x_i reaches one half
/// at log 2 / rate_i. The event is where half of the sum is reached.
class Relaxations : public System, public Events, public Separable {
 public:
  explicit Relaxations(bool separable, double at_jump = INFINITY)
      : separable_(separable), jump_(at_jump) {
    info_.name = "relaxations";
    info_.events = {{.name = "half_of_the_sum", .meaning = "the sum reaches half of its limit"}};
    info_.passages = {{"halfway", {"x_index"}, "t", "one half", "a test"}};
    shape_.blocks = {{"x", kEntries, 1.0}};
    shape_.dimensions = {{"x_index", kEntries, DimensionSpec::Coordinate::index, {}, {}}};
    shape_.events = {"half_of_the_sum"};
    shape_.passages = {"halfway"};
    for (std::size_t i = 0; i < kEntries; ++i)
      rates_.push_back(kSlowest *
                       std::pow(kSpan, static_cast<double>(i * 389 % kEntries) / kEntries));
    order_.resize(kEntries);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t a, std::size_t b) { return rates_[a] < rates_[b]; });
  }

  [[nodiscard]] const SystemInfo& info() const override { return info_; }
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] double default_end() const override { return 10; }
  [[nodiscard]] GroupSpec problem() const override { return {}; }
  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities can;
    can.events = this;
    if (separable_) can.separable = this;
    return can;
  }
  void start(std::span<double> x) const override { std::fill(x.begin(), x.end(), 0.0); }
  void rhs(StateView x, double t, std::span<double> dxdt) const override {
    for (std::size_t i = 0; i < kEntries; ++i) dxdt[i] = slope(i, x[i], t);
  }
  void observe(StateView /*x*/, double /*t*/, std::span<double> /*values*/) const override {}
  void field(std::string_view /*name*/, StateView x, double /*t*/,
             const FieldSink& sink) const override {
    sink(0, x);
  }
  void event_functions(StateView x, double /*t*/, std::span<double> values) const override {
    double sum = 0;
    for (std::size_t i = 0; i < kEntries; ++i) sum += x[i];
    values[0] = sum - 0.5 * kEntries;
  }
  void passage_functions(StateView x, double /*t*/, std::span<double> values) const override {
    for (std::size_t i = 0; i < kEntries; ++i) values[i] = x[i] - 0.5;
  }
  [[nodiscard]] std::span<const std::size_t> part_order() const override { return order_; }
  void part_rhs(std::size_t begin, std::span<const double> x, double t,
                std::span<double> dxdt) const override {
    for (std::size_t l = 0; l < x.size(); ++l) dxdt[l] = slope(order_[begin + l], x[l], t);
  }
  void part_passages(std::size_t /*begin*/, std::span<const double> x, double /*t*/,
                     std::span<double> values) const override {
    for (std::size_t l = 0; l < x.size(); ++l) values[l] = x[l] - 0.5;
  }

  [[nodiscard]] double exact(std::size_t i, double t) const {
    return -std::expm1(-rates_[i] * way(t));
  }
  /// When it reaches one half.
  [[nodiscard]] double halfway(std::size_t i) const {
    return kPeriod * std::asin(std::min(1.0, std::log(2.0) / rates_[i] / kPeriod));
  }

 private:
  static constexpr double kPeriod = 20;
  static double way(double t) { return kPeriod * std::sin(t / kPeriod); }
  // One entry has no slope from a time on.
  [[nodiscard]] double slope(std::size_t i, double x, double t) const {
    return i == 500 && t > jump_ ? NAN : rates_[i] * (1 - x) * std::cos(t / kPeriod);
  }
  bool separable_;
  double jump_;
  SystemInfo info_;
  Shape shape_;
  std::vector<double> rates_;
  std::vector<std::size_t> order_;
};

struct Errors {
  double state = 0, passages = 0;
};

Errors errors(const Relaxations& system, const FlowDriver& driver, double t) {
  Errors worst;
  for (std::size_t i = 0; i < kEntries; ++i) {
    worst.state = std::max(worst.state, std::abs(driver.state()[i] - system.exact(i, t)));
    const double halfway = system.halfway(i);
    if (halfway > 0.999 * t) continue;
    worst.passages = std::max(worst.passages, std::abs(driver.passages()[i] / halfway - 1));
  }
  return worst;
}

FlowDriver::Options within(double rtol) { return {.rtol = rtol, .atol = rtol / 100}; }

TEST_CASE("blocks in steps of their own follow the exact solution, with fewer right-hand sides",
          "[fast][flow]") {
  const Relaxations apart(true), together(false);
  REQUIRE(BlockDopri5::suits(apart));
  REQUIRE_FALSE(BlockDopri5::suits(together));
  Workers workers(2);
  constexpr double kEnd = 20;
  double last = INFINITY;
  for (const double rtol : {1e-5, 1e-7, 1e-9, 1e-11}) {
    CAPTURE(rtol);
    FlowDriver driver(apart, workers, within(rtol));
    FlowDriver odeint(together, workers, within(rtol));
    for (FlowDriver* one : {&driver, &odeint})
      REQUIRE(one->advance(kEnd).kind == Outcome::Kind::reached);
    const Errors ours = errors(apart, driver, kEnd);
    CHECK(ours.state < rtol);
    CHECK(ours.passages < rtol);
    CHECK(ours.state < last / 10);  // of a hundred in the tolerance
    last = ours.state;
    // The fastest block alone needs as many steps as Odeint takes for all.
    CHECK(3 * driver.statistics().evaluations < 2 * odeint.statistics().evaluations);
    REQUIRE(driver.events().size() == 1);
    REQUIRE(odeint.events().size() == 1);
    CHECK(driver.events()[0].time == Approx(odeint.events()[0].time).epsilon(2 * rtol));
  }
}

TEST_CASE("blocks in steps of their own give the same bits on any number of threads",
          "[fast][flow]") {
  const Relaxations system(true);
  std::vector<std::vector<double>> results;
  for (const unsigned threads : {1U, 2U, 5U}) {
    Workers workers(threads);
    FlowDriver driver(system, workers, {});
    for (const double t : {0.5, 20.0}) REQUIRE(driver.advance(t).kind == Outcome::Kind::reached);
    std::vector<double>& result =
        results.emplace_back(driver.state().begin(), driver.state().end());
    for (const double time : driver.passages()) result.push_back(std::isnan(time) ? -1 : time);
    result.push_back(driver.events().at(0).time);
    result.push_back(static_cast<double>(driver.statistics().evaluations));
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

TEST_CASE("blocks in steps of their own resume bit for bit from wherever they are interrupted",
          "[fast][flow]") {
  const Relaxations system(true);
  Workers workers(1);
  FlowDriver whole(system, workers, {});
  for (const double t : {0.5, 20.0}) REQUIRE(whole.advance(t).kind == Outcome::Kind::reached);
  for (const int stop : {3, 8, 15}) {
    CAPTURE(stop);
    int looks = 0;
    FlowDriver first(system, workers, {.interrupted = [&] { return ++looks > stop; }});
    Outcome::Kind kind = Outcome::Kind::reached;
    for (const double t : {0.5, 20.0})
      if (kind == Outcome::Kind::reached) kind = first.advance(t).kind;
    REQUIRE(kind == Outcome::Kind::interrupted);
    const ResumePoint point = first.resume_point();
    FlowDriver second(system, workers, {});
    second.restore(*point.x, *point.regime, point.t, point.data);
    for (const double t : {0.5, 20.0})
      if (second.time() < t) REQUIRE(second.advance(t).kind == Outcome::Kind::reached);
    CHECK(std::equal(whole.state().begin(), whole.state().end(), second.state().begin()));
    CHECK(second.events().at(0).time == whole.events().at(0).time);
    CHECK(second.statistics().evaluations == whole.statistics().evaluations);
  }
}

TEST_CASE("a block whose slope is lost ends the flow there", "[fast][flow]") {
  const Relaxations system(true, 3.0);
  Workers workers(1);
  FlowDriver driver(system, workers, {});
  const Outcome outcome = driver.advance(20);
  CHECK(outcome.kind == Outcome::Kind::diverged);
  CHECK(outcome.time == Approx(3.0));
}

}  // namespace
}  // namespace popflow::test

// Exact integration of the l1 term: which weights rest at zero, when they come to rest and when
// they leave, compared with an independent integration (data/reference/scb-l1.txt). Also resuming,
// stages and the choice of the solver.

#include <cmath>
#include <fstream>
#include <sstream>

#include "popflow/error.hpp"
#include "support/catch.hpp"
#include "support/finite_differences.hpp"
#include "support/make_system.hpp"
#include "support/scb_fixture.hpp"
#include "support/slopes.hpp"
#include "support/source_folder.hpp"

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;
using Catch::Contains;
using popflow::test::log_log_slope;

namespace {

scb::Training exactly(double l1) { return {.l1 = l1, .solver = L1Solver::active_set}; }

/// Change of a weight's sign, with its time and the new sign.
struct Change {
  std::size_t query = 0;
  std::size_t slot = 0;  ///< number of slots: off the support
  double time = 0;
  int sign = 0;
  double rate = std::nan("");
};

/// Run that records every change of a sign.
class Watched {
 public:
  Watched(const Scb& system, FlowDriver::Options options)
      : system_(system), driver_(system, workers_, with_hook(std::move(options))) {
    before_ = signs();
  }

  Eigen::VectorXd to(double t) {
    const Outcome outcome = driver_.advance(t);
    INFO(outcome.message);
    REQUIRE(outcome.kind == Outcome::Kind::reached);
    return Eigen::Map<const Eigen::VectorXd>(driver_.state().data(),
                                             static_cast<Eigen::Index>(driver_.state().size()));
  }
  [[nodiscard]] const std::vector<Change>& changes() const { return changes_; }
  [[nodiscard]] const FlowDriver& driver() const { return driver_; }

  /// Returns the signs by query and slot, then the sign of the weights off the support; empty in
  /// stage 1. In full coordinates all weights of a query off the support must have the same sign.
  [[nodiscard]] std::vector<int> signs() const {
    std::vector<int> result;
    if (system_.stage(driver_.view()) == 1 && system_.training().two_stage) return result;
    const Positions& Q = system_.data().Q;
    const bool full = system_.coordinates() == Coordinates::full;
    const auto N = static_cast<std::size_t>(Q.weight.cols());
    const auto slots = static_cast<std::size_t>(Q.slots());
    const std::size_t column = full ? static_cast<std::size_t>(Q.context_length) : slots + 1;
    const std::span<const double> all = std::span(driver_.regime()).last(N * column);
    for (std::size_t k = 0; k < N; ++k) {
      const auto own = all.subspan(k * column, column);
      std::vector<bool> on_support(column, !full);
      for (std::size_t slot = 0; slot < slots; ++slot) {
        const auto at = full ? static_cast<std::size_t>(Q.position(static_cast<Eigen::Index>(slot),
                                                                   static_cast<Eigen::Index>(k)))
                             : slot;
        on_support[at] = true;
        result.push_back(static_cast<int>(own[at]));
      }
      if (!full) {
        result.push_back(static_cast<int>(own[slots]));
        continue;
      }
      std::vector<int> off;
      for (std::size_t i = 0; i < column; ++i)
        if (!on_support[i]) off.push_back(static_cast<int>(own[i]));
      CHECK(std::count(off.begin(), off.end(), off[0]) == static_cast<std::ptrdiff_t>(off.size()));
      result.push_back(off[0]);
    }
    return result;
  }

 private:
  FlowDriver::Options with_hook(FlowDriver::Options options) {
    options.max_steps = 1'000'000;
    options.hooks.on_step = [this](double t) {
      std::vector<int> now = signs();
      const auto groups = static_cast<std::size_t>(system_.data().Q.slots()) + 1;
      for (std::size_t i = 0; i < before_.size(); ++i)
        if (now[i] != before_[i]) changes_.push_back({i / groups, i % groups, t, now[i]});
      before_ = std::move(now);
    };
    return options;
  }

  const Scb& system_;
  Workers workers_{2};
  std::vector<int> before_;
  std::vector<Change> changes_;
  FlowDriver driver_;
};

// ---- the reference

struct Case {
  std::string name;
  double l1 = 0;
  Variant variant;
  bool own_start = false;
  bool two_stage = false;
};

std::istringstream next_of(std::istream& file, const std::string& kind) {
  for (std::string line; std::getline(file, line);)
    if (line.rfind(kind + " ", 0) == 0) return std::istringstream(line.substr(kind.size() + 1));
  return {};
}

/// Returns the reference file's lines that start with `kind`, without this word.
std::vector<std::istringstream> reference(const std::string& kind) {
  std::ifstream file(popflow::test::source_file("data/reference/scb-l1.txt"));
  std::vector<std::istringstream> lines;
  for (std::istringstream line = next_of(file, kind); !line.str().empty();
       line = next_of(file, kind))
    lines.push_back(std::move(line));
  REQUIRE_FALSE(lines.empty());
  return lines;
}

double number(std::istream& line) {
  std::string word;
  line >> word;
  return std::stod(word);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (std::istringstream& line : reference("case")) {
    Case one;
    std::string project, preconditioner, start, schedule;
    line >> one.name;
    one.l1 = number(line);
    line >> project >> preconditioner >> start >> schedule;
    one.two_stage = schedule == "two-stage";
    one.variant = {.inverse_frequency = preconditioner == "inverse-frequency",
                   .project = project == "attention"};
    one.own_start = start == "V0";
    all.push_back(one);
  }
  return all;
}

std::vector<Change> changes_of(const std::string& name) {
  std::vector<Change> all;
  for (std::istringstream& line : reference("change")) {
    std::string of;
    Change change;
    line >> of;
    if (of != name) continue;
    change.time = number(line);
    line >> change.query >> change.slot >> change.sign;
    change.rate = number(line);
    all.push_back(change);
  }
  return all;
}

struct Reached {
  double time = 0, excess_loss = 0, distance_P = 0, distance_Q = 0;
  Eigen::MatrixXd A;  ///< slot x query, weights off the support last
};

std::vector<Reached> states_of(const std::string& name) {
  std::vector<Reached> all;
  for (std::istringstream& line : reference("state")) {
    std::string of;
    line >> of;
    if (of != name) continue;
    Reached state{number(line), number(line), number(line), number(line), Eigen::MatrixXd(3, 3)};
    for (double& weight : state.A.reshaped()) weight = number(line);
    all.push_back(state);
  }
  return all;
}

Problem hand_problem() {
  Problem problem = uneven_problem(3, 20, 2, 1);
  problem.P << 0.7, 0.4, 0.2, 0.1, 0.4, 0.4, 0.2, 0.2, 0.4;
  problem.mu << 0.5, 0.25, 0.25;
  set_column(problem.Q, 0, {{3, 0.8}, {11, 0.2}});
  set_column(problem.Q, 1, {{0, 0.5}, {7, 0.5}});
  set_column(problem.Q, 2, {{5, 0.35}, {19, 0.65}});
  return problem;
}

Eigen::MatrixXd hand_start(const Problem& problem, bool own) {
  if (!own) return start_value(problem, From::stationary);
  Eigen::MatrixXd V0(3, 3);
  V0 << 0.125, 0.75, 0.5, 0.625, 0.125, 0.25, 0.25, 0.125, 0.25;
  return V0;
}

std::unique_ptr<Scb> make_case(const Case& one, Coordinates coordinates) {
  Problem problem = hand_problem();
  if (one.name == "S5") {
    Workers workers(1);
    const Made made = popflow::test::make_system(
        popflow::test::parse("scb", {"--vocab-size", "3", "--context-length", "20", "--sparsity",
                                     "2", "--position-concentration", "1", "--problem-seed", "5"}),
        workers);
    problem = dynamic_cast<const Scb&>(*made.system).data();
  }
  scb::Training training = exactly(one.l1);
  if (one.two_stage) training.two_stage = TwoStage{.threshold = 0.1};
  return make_scb(problem, one.variant, coordinates, hand_start(problem, one.own_start), training);
}

/// Returns V and A of a flow at time t.
Matrices reached(const Scb& system, Flow& flow, double t) {
  const Eigen::VectorXd x = flow.to(t);
  return recorded(system, x, t, flow.view().regime);
}

/// Returns the attention in the reference's layout.
Eigen::MatrixXd by_slots(const Scb& system, const Eigen::VectorXd& x,
                         std::span<const double> regime) {
  const Eigen::MatrixXd A = recorded(system, x, 0, regime).A;
  const Positions& Q = system.data().Q;
  Eigen::MatrixXd result(Q.slots() + 1, A.cols());
  for (Eigen::Index k = 0; k < A.cols(); ++k) {
    for (Eigen::Index slot = 0; slot < Q.slots(); ++slot)
      result(slot, k) = A(Q.position(slot, k), k);
    Eigen::Index off = 0;
    while (off == Q.position(0, k) || off == Q.position(1, k)) ++off;
    result(Q.slots(), k) = A(off, k);
  }
  return result;
}

bool same_zeros(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return ((a.array() == 0) == (b.array() == 0)).all();
}

/// Compares each weight's changes in order. Rounding may reorder the changes of different weights.
void check_changes(const std::vector<Change>& found, const std::vector<Change>& expected) {
  REQUIRE(found.size() == expected.size());
  for (const Change& change : expected) {
    const auto of_weight = [&](const std::vector<Change>& all) {
      std::vector<Change> own;
      for (const Change& other : all)
        if (other.query == change.query && other.slot == change.slot) own.push_back(other);
      return own;
    };
    const std::vector<Change> a = of_weight(found), b = of_weight(expected);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      INFO("query " << a[i].query << ", slot " << a[i].slot << ", t = " << a[i].time << ", "
                    << b[i].time);
      CHECK(a[i].sign == b[i].sign);
      // Time error times the rate at which the deciding quantity passes zero.
      const double rate = std::isnan(b[i].rate) ? 1e-2 : std::abs(b[i].rate);
      CHECK(std::abs(a[i].time - b[i].time) * rate < 1e-11);
    }
  }
}

}  // namespace

TEST_CASE("Small runs with l1 agree with an independent integration", "[fast][numbers][scb][l1]") {
  for (const Case& one : cases()) {
    for (const Coordinates coordinates : {Coordinates::support, Coordinates::full}) {
      for (const std::string method : {"dopri5", "fehlberg78", "bulirsch_stoer", "rosenbrock4"}) {
        const auto system = make_case(one, coordinates);
        if (method == "rosenbrock4" && !system->capabilities().jacobian) continue;
        INFO(one.name << " in " << describe(coordinates) << ", " << method);
        Watched run(*system, {.method = method, .rtol = 1e-11, .atol = 1e-13});
        for (const Reached& expected : states_of(one.name)) {
          INFO("t = " << expected.time);
          const Eigen::VectorXd x = run.to(expected.time);
          const Eigen::MatrixXd A = by_slots(*system, x, run.driver().regime());
          CHECK((A - expected.A).cwiseAbs().maxCoeff() < 1e-10);
          CHECK(same_zeros(A, expected.A));
          const auto seen = observe(*system, x, expected.time);
          CHECK(std::abs(seen.at("distance_P") - expected.distance_P) < 1e-9);
          CHECK(std::abs(seen.at("distance_Q") - expected.distance_Q) < 1e-10);
          if (!std::isnan(expected.excess_loss))
            CHECK(std::abs(seen.at("excess_loss") - expected.excess_loss) < 1e-11);
        }
        std::vector<Change> expected = changes_of(one.name);
        check_changes(run.changes(), expected);
      }
    }
  }
}

TEST_CASE("Long runs with l1 agree with an independent integration", "[slow][scb][l1]") {
  Workers workers(2);
  for (const std::string l1 : {"0", "1e-4", "1e-3", "1e-2"}) {
    const Made made = popflow::test::make_system(
        popflow::test::parse(
            "scb", {"--vocab-size", "10", "--context-length", "5000", "--coordinates", "support",
                    "--schedule", "two-stage", "--plateau-time", "0", "--l1", l1}),
        workers);
    const auto& system = dynamic_cast<const Scb&>(*made.system);
    // Without weights at rest (l1 = 0) the flow is stiff, and an explicit method takes many steps.
    const double end = l1 == "0" ? 40 : 400;
    for (const std::string method : {"dopri5", "rosenbrock4"}) {
      INFO("l1 = " << l1 << ", " << method);
      Flow flow(system, {.method = method, .rtol = 1e-10, .atol = 1e-12});
      for (std::istringstream& line : reference("large")) {
        std::string of;
        line >> of;
        const double t = number(line);
        if (of != l1 || t > end) continue;
        INFO("t = " << t);
        const double excess_loss = number(line), distance_P = number(line),
                     distance_Q = number(line), rounded_P = number(line), off = number(line);
        const Eigen::VectorXd x = flow.to(t);
        const auto seen = observe(system, x, t);
        CHECK(std::abs(seen.at("excess_loss") - excess_loss) < 1e-12);
        CHECK(std::abs(seen.at("distance_P") - distance_P) < 1e-9);
        CHECK(std::abs(seen.at("distance_Q") - distance_Q) < 1e-9);
        const Eigen::MatrixXd offs =
            recorded_field(system, "A_off", x, t, 1, 10, flow.view().regime);
        CHECK((offs.array() - off).abs().maxCoeff() < 1e-12);
        if (off == 0) CHECK((offs.array() == 0).all());
        std::vector<double> finals(system.info().finals.size());
        system.final_values(flow.view(), t, finals);
        for (std::size_t i = 0; i < finals.size(); ++i)
          if (system.info().finals[i].name == "distance_P_after")
            CHECK(std::abs(finals[i] - rounded_P) < 1e-9);
      }
      for (std::istringstream& line : reference("stage2")) {
        std::string of;
        line >> of;
        if (of == l1) CHECK(std::abs(flow.event("stage2") - number(line)) < 1e-8);
      }
    }
  }
}

TEST_CASE("Weights off the positions leave and come to rest together, at the reference's times",
          "[fast][numbers][scb][l1]") {
  Workers workers(2);
  for (const std::string l1 : {"1e-4", "1e-3", "1e-2"}) {
    INFO("l1 = " << l1);
    const Made made = popflow::test::make_system(
        popflow::test::parse(
            "scb", {"--vocab-size", "10", "--context-length", "5000", "--coordinates", "support",
                    "--schedule", "two-stage", "--plateau-time", "0", "--l1", l1}),
        workers);
    const auto& system = dynamic_cast<const Scb&>(*made.system);
    Watched run(system, {.method = "rosenbrock4", .rtol = 1e-10, .atol = 1e-12});
    run.to(70);
    std::vector<Change> expected;
    for (std::istringstream& line : reference("large-change")) {
      std::string of;
      Change change{.slot = 2};
      line >> of;
      change.time = number(line);
      line >> change.sign;
      change.rate = number(line);
      if (of != l1) continue;
      for (change.query = 0; change.query < 10; ++change.query) expected.push_back(change);
    }
    CHECK(expected.size() == (l1 == "1e-2" ? 0 : 20));
    check_changes(run.changes(), expected);
  }
}

TEST_CASE("Full and support coordinates have the same active set", "[fast][scb][l1]") {
  const Problem problem = uneven_problem(5, 20, 3, 2);
  const auto V0 = start_value(problem, From::transfer);
  for (const bool project : {false, true}) {
    for (const bool inverse_frequency : {false, true}) {
      const Variant variant{.inverse_frequency = inverse_frequency, .project = project};
      INFO(describe(variant));
      const auto full = make_scb(problem, variant, Coordinates::full, V0, exactly(0.03));
      const auto support = make_scb(problem, variant, Coordinates::support, V0, exactly(0.03));
      CHECK_FALSE(full->capabilities().proximal);
      const FlowDriver::Options options{.rtol = 1e-10, .atol = 1e-12};
      Flow full_flow(*full, options);
      Flow support_flow(*support, options);
      bool zeros = false;
      for (const double t : {2.0, 10.0, 50.0, 200.0}) {
        const Matrices a = reached(*full, full_flow, t);
        const Matrices b = reached(*support, support_flow, t);
        CHECK((b.A - a.A).cwiseAbs().maxCoeff() < 1e-9);
        CHECK((b.V - a.V).cwiseAbs().maxCoeff() < 1e-9);
        CHECK(same_zeros(a.A, b.A));
        zeros = zeros || (a.A.array() == 0).any();
        if (project) CHECK((a.A.colwise().sum().array() - 1).abs().maxCoeff() < 1e-12);
      }
      if (!project) CHECK(zeros);
    }
  }
}

TEST_CASE("The Jacobian is the derivative within an active set", "[fast][scb][l1]") {
  const Problem problem = uneven_problem(5, 13, 3, 1);
  const auto V0 = start_value(problem, From::anywhere);
  for (const bool project : {false, true}) {
    const auto system =
        make_scb(problem, {.project = project}, Coordinates::support, V0, exactly(0.02));
    Eigen::VectorXd x = random_state(*system, 0.3, 3);
    Regime regime = system->first_regime();
    const std::size_t first = static_cast<std::size_t>(x.size()) - regime.size();
    for (std::size_t i = 0; i < regime.size(); ++i) {
      regime[i] = static_cast<double>(i % 3) - 1;
      if (regime[i] == 0) x[static_cast<Eigen::Index>(first + i)] = -1 / 13.0;
    }
    Eigen::MatrixXd J(x.size(), x.size());
    Eigen::VectorXd by_time(x.size());
    system->jacobian({view(x), regime}, 0, J, view(by_time));
    Eigen::MatrixXd expected = popflow::test::jacobian(
        [&](const Eigen::VectorXd& at) { return rhs(*system, at, 0, regime); }, x, 2e-3);
    for (std::size_t i = 0; i < regime.size(); ++i) {
      if (regime[i] != 0) continue;
      CHECK(expected.row(static_cast<Eigen::Index>(first + i)).norm() == 0);
      expected.col(static_cast<Eigen::Index>(first + i)).setZero();  // this weight does not move
    }
    CHECK(difference(J, expected) < 1e-10);
    if (!project) continue;
    const Eigen::VectorXd velocity = rhs(*system, x, 0, regime);
    const std::vector<double> many =
        SupportAttention(Columns(problem.Q, problem.mu, {})).multiplicities();
    for (std::size_t k = 0; k < 5; ++k) {
      double sum = 0;
      for (std::size_t i = 4 * k; i < 4 * (k + 1); ++i)
        sum += many[i] * velocity[static_cast<Eigen::Index>(first + i)];
      CHECK(std::abs(sum) < 1e-14);
    }
  }
}

TEST_CASE("Save times do not change a run with l1", "[fast][scb][l1]") {
  const auto one = cases()[2];
  const auto system = make_case(one, Coordinates::support);
  Watched few(*system, {}), many(*system, {});
  const Eigen::VectorXd a = few.to(100);
  Eigen::VectorXd b;
  for (int i = 1; i <= 1000; ++i) b = many.to(0.1 * i);
  CHECK((a - b).cwiseAbs().maxCoeff() < 1e-8);
  REQUIRE(few.changes().size() == changes_of(one.name).size());
  REQUIRE(many.changes().size() == few.changes().size());
  for (std::size_t i = 0; i < few.changes().size(); ++i)
    CHECK(std::abs(few.changes()[i].time - many.changes()[i].time) < 1e-5);
}

TEST_CASE("A drift that barely reaches the penalty costs no extra steps",
          "[fast][numbers][scb][l1]") {
  double tangent = 0, time = 0;
  for (std::istringstream& line : reference("tangency")) {
    tangent = number(line);
    time = number(line);
  }
  Workers workers(2);
  const auto at_end = [&](double l1, const std::string& method) {
    const Made made = popflow::test::make_system(
        popflow::test::parse(
            "scb", {"--vocab-size", "10", "--context-length", "5000", "--coordinates", "support",
                    "--schedule", "two-stage", "--plateau-time", "0", "--l1", shortest(l1)}),
        workers);
    FlowDriver driver(*made.system, workers, {.method = method});
    REQUIRE(driver.advance(time + 1.5).kind == Outcome::Kind::reached);
    std::vector<double> seen(made.system->info().observables.size());
    made.system->observe(driver.view(), driver.time(), seen);
    return std::pair(driver.statistics().accepted + driver.statistics().rejected, seen[5]);
  };
  for (const std::string method : {"dopri5", "fehlberg78", "rosenbrock4"}) {
    const auto [steps, distance] = at_end(tangent, method);
    const std::int64_t clear = at_end(0.99 * tangent, method).first;
    for (const double off : {-1e-6, -1e-9, -1e-12, 1e-12, 1e-9, 1e-6}) {
      INFO(method << ", penalty off by " << off);
      const auto [more, near] = at_end(tangent * (1 + off), method);
      CHECK(more <= clear + 20);
      CHECK(std::abs(near - distance) < 1e-7);
    }
  }
}

TEST_CASE("The splitting converges to the exact flow at order 1", "[slow][scb][l1]") {
  for (const bool project : {false, true}) {
    // With the projection the penalty only affects states with a negative weight.
    const Problem problem = project ? hand_problem() : uneven_problem(5, 20, 3, 1);
    const auto V0 = project ? hand_start(problem, true) : start_value(problem, From::stationary);
    const double l1 = project ? 0.02 : 0.01;
    const Variant variant{.project = project};
    const auto system = make_scb(problem, variant, Coordinates::support, V0, exactly(l1));
    const auto split = make_scb(problem, variant, Coordinates::support, V0, l1);
    Flow exact(*system, {.rtol = 1e-11, .atol = 1e-13});
    const double end = project ? 4 : 60;
    const Matrices limit = reached(*system, exact, end);
    CHECK((limit.A.array() == 0).any());
    std::vector<double> steps, errors;
    for (double power = 10; power <= 14; power += 1) {
      const double dt = end / std::pow(2, power);
      Flow flow(*split, {.method = "rk4", .dt = dt});
      const Matrices point = recorded(*split, flow.to(end), end);
      steps.push_back(dt);
      errors.push_back((point.A - limit.A).cwiseAbs().maxCoeff());
      CHECK(same_zeros(point.A, limit.A));
    }
    INFO("errors " << errors.front() << " .. " << errors.back());
    CHECK(log_log_slope(steps, errors) == Approx(1).epsilon(0.1));
  }
}

TEST_CASE("Different weights come to rest one by one", "[slow][scb][l1]") {
  // Starts near P and Q with different weights, as after a noisy run. Compares the active set with
  // adaptive splitting.
  const Problem problem = hand_problem();
  const Eigen::MatrixXd V0 = 0.9 * problem.P + 0.1 * start_value(problem, From::stationary);
  const Eigen::MatrixXd Q = dense_Q(problem);
  const auto with = [&](L1Solver solver) {
    Start start{V0, false};
    RandomStream random(5, Purpose::test);
    for (const double q : Q.reshaped())
      start.attention.push_back(0.9 * (q - 1 / 20.0) + 0.02 * random.normal());
    static Workers workers(2);
    return std::make_unique<Scb>(problem, Variant{.project = false}, Coordinates::full, start,
                                 scb::Training{.l1 = 0.02, .solver = solver}, workers);
  };
  const auto exact = with(L1Solver::active_set);
  const auto split = with(L1Solver::adaptive_splitting);
  REQUIRE(split->capabilities().proximal);
  CHECK_FALSE(exact->capabilities().proximal);
  for (const double t : {1.0, 5.0, 20.0}) {
    Flow a(*exact, {.rtol = 1e-10, .atol = 1e-12});
    const Matrices limit = reached(*exact, a, t);
    const auto zeros = (limit.A.array() == 0).count();
    INFO("t = " << t << ", " << zeros << " weights at rest");
    if (t == 20) CHECK(zeros == 54);
    double before = 0;
    for (const double rtol : {1e-3, 1e-5, 1e-7}) {
      Flow b(*split, {.rtol = rtol, .atol = 0.01 * rtol});
      const Matrices point = recorded(*split, b.to(t), t);
      const double error = (point.A - limit.A).cwiseAbs().maxCoeff();
      CHECK(error < rtol);
      CHECK((point.V - limit.V).cwiseAbs().maxCoeff() < rtol);
      CHECK(same_zeros(point.A, limit.A));
      if (before > 0) CHECK(error < 0.06 * before);
      before = error;
    }
  }
}

TEST_CASE("Interrupted runs with l1 resume bit for bit", "[fast][scb][l1]") {
  const auto one = cases()[2];
  for (const Coordinates coordinates : {Coordinates::support, Coordinates::full}) {
    const auto system = make_case(one, coordinates);
    Workers workers(2);
    for (const std::string method : {"dopri5", "bulirsch_stoer"}) {
      FlowDriver whole(*system, workers, {.method = method});
      for (const double t : {1.45, 5.0, 60.0})
        REQUIRE(whole.advance(t).kind == Outcome::Kind::reached);
      const std::int64_t steps = whole.statistics().accepted;
      for (int cut = 1; cut < steps; cut += 1 + static_cast<int>(steps / 12)) {
        INFO(describe(coordinates) << ", " << method << ", cut at step " << cut);
        int asked = 0;
        FlowDriver begun(
            *system, workers,
            {.method = method, .hooks = {.interrupted = [&] { return ++asked == cut; }}});
        const std::vector<double> targets = {1.45, 5.0, 60.0};
        std::size_t next = 0;
        while (next < 3 && begun.advance(targets[next]).kind == Outcome::Kind::reached) ++next;
        const ResumePoint point = begun.resume_point();
        FlowDriver resumed(*system, workers, {.method = method});
        resumed.restore(*point.x, *point.regime, point.t, point.data);
        for (; next < 3; ++next)
          REQUIRE(resumed.advance(targets[next]).kind == Outcome::Kind::reached);
        CHECK(std::equal(whole.state().begin(), whole.state().end(), resumed.state().begin()));
        CHECK(resumed.regime() == whole.regime());
        CHECK(resumed.statistics().accepted == steps);
      }
    }
  }
}

TEST_CASE("A run takes its signs from its start", "[fast][scb][l1]") {
  const Problem problem = uneven_problem(5, 20, 3, 1);
  const auto V0 = start_value(problem, From::stationary);
  const Variant free{.project = false};
  const auto before = make_scb(problem, free, Coordinates::support, V0, exactly(0.01));
  Flow flow(*before, {.rtol = 1e-10, .atol = 1e-12});
  const Eigen::VectorXd x = flow.to(100);
  const Regime on(flow.view().regime.begin(), flow.view().regime.end());
  REQUIRE((recorded(*before, x, 100, on).A.array() == 0).any());
  Workers workers(2);
  const auto from_there = [&](double l1) {
    Start start{before->value_matrix(view(x), 100), false};
    const auto a = before->attention_state(view(x));
    start.attention.assign(a.begin(), a.end());
    return std::make_unique<Scb>(problem, free, Coordinates::support, start, exactly(l1), workers);
  };
  // With the same penalty nothing changes; a smaller penalty releases weights at once, and a larger
  // one keeps them.
  const auto same = from_there(0.01);
  CHECK(same->first_regime() == on);
  Flow again(*same, {.rtol = 1e-10, .atol = 1e-12});
  CHECK((reached(*same, again, 20).A - reached(*before, flow, 120).A).cwiseAbs().maxCoeff() < 1e-9);
  const auto count = [](const Regime& regime) {
    return std::count(regime.begin(), regime.end(), 0.0);
  };
  CHECK(count(from_there(1)->first_regime()) == count(on));
  const auto smaller = from_there(1e-6);
  CHECK(count(smaller->first_regime()) < count(on));
  Flow leaving(*smaller);
  const Eigen::MatrixXd A = reached(*smaller, leaving, 1).A;
  CHECK((A.array() == 0).count() < (recorded(*before, x, 100, on).A.array() == 0).count());
}

TEST_CASE("Runs with very small and very large penalties reach the end", "[fast][scb][l1]") {
  const Problem problem = uneven_problem(5, 20, 3, 1);
  const auto V0 = start_value(problem, From::stationary);
  for (const bool project : {false, true}) {
    const Variant variant{.project = project};
    const auto plain = make_scb(problem, variant, Coordinates::support, V0);
    Flow reference(*plain, {.rtol = 1e-10, .atol = 1e-12});
    const Eigen::VectorXd limit = reference.to(100);
    for (const double l1 : {1e-18, 1e-13, 10.0}) {
      INFO("l1 = " << l1);
      const auto system = make_scb(problem, variant, Coordinates::support, V0, exactly(l1));
      Flow flow(*system, {.rtol = 1e-10, .atol = 1e-12});
      const Eigen::VectorXd x = flow.to(100);
      if (l1 < 1e-10) CHECK((x - limit).cwiseAbs().maxCoeff() < 1e-8);
      // A penalty larger than all drifts takes all weights to zero at once, unless the projection
      // keeps their sums.
      if (l1 > 1 && !project) {
        CHECK((recorded(*system, x, 100, flow.view().regime).A.array() == 0).all());
        CHECK(rhs(*system, x, 100, Regime(flow.view().regime.begin(), flow.view().regime.end()))
                  .tail(20)
                  .norm() == 0);
      }
    }
  }
}

TEST_CASE("Stages and signs may change at the same time", "[fast][scb][l1][stages]") {
  const Problem problem = uneven_problem(5, 30, 3, 1);
  const auto V0 = start_value(problem, From::stationary);
  scb::Training training = exactly(1e-3);
  training.two_stage =
      TwoStage{.signal = 0.5, .threshold = 0.1, .plateau_time = 30, .plateau_fall = 1e-5};
  training.rounding = 0.1;
  const auto system = make_scb(problem, {}, Coordinates::support, V0, training);
  training.solver = L1Solver::splitting;
  const auto split = make_scb(problem, {}, Coordinates::support, V0, training);
  Watched run(*system, {.rtol = 1e-10, .atol = 1e-12});
  const Eigen::VectorXd end = run.to(3000);
  Flow other(*split, {.dt = 0.005});
  other.to(500);
  CHECK(system->stage(run.driver().view()) == 3);
  for (const FoundEvent& found : run.driver().events()) {
    const std::string& name = system->shape().events[found.event];
    INFO(name);
    CHECK(found.time == Approx(other.event(name)).epsilon(1e-3));
  }
  CHECK(run.driver().events().size() >= 4);
  CHECK_FALSE(run.changes().empty());
  // Checks a weight that is at zero at the very end of an interval, when stage 2 begins.
  Eigen::VectorXd x = end;
  Regime regime = run.driver().regime();
  regime[0] = 2;
  regime[1] = 0;
  const std::size_t signs = regime.size() - 20;
  const auto first = x.size() - 20;
  std::size_t moving = 0;
  while (regime[signs + moving] == 0) ++moving;
  x[first + static_cast<Eigen::Index>(moving)] = -1 / 30.0 - 1e-10 * regime[signs + moving];
  std::vector<double> left(system->switches());
  REQUIRE(left.size() == 2);
  system->switch_functions({view(x), regime}, 30, left);
  CHECK(left[0] <= 0);
  CHECK(left[1] <= 0);
  system->switch_regime(view(x), regime, 30);
  CHECK(regime[1] == 30);
  system->switch_functions({view(x), regime}, 30, left);
  CHECK(left[0] > 0);
  CHECK(left[1] > 0);
}

TEST_CASE("The solver of the l1 term is chosen by cost", "[fast][scb][l1]") {
  const auto made = [](const std::vector<std::string>& words) {
    Workers workers(1);
    std::vector<std::string> all = {"--vocab-size", "4", "--context-length", "30", "--l1", "0.01"};
    all.insert(all.end(), words.begin(), words.end());
    return popflow::test::make_system(popflow::test::parse("scb", all), workers);
  };
  const auto word = [&](const std::vector<std::string>& words) {
    const Made system = made(words);
    return system.own.has("l1-solver") ? system.own.word("l1-solver") : std::string();
  };
  CHECK(word({}) == "active-set");
  CHECK(word({"--dt", "0.1"}) == "active-set");
  CHECK(word({"--coordinates", "support"}) == "active-set");
  CHECK(word({"--schedule", "two-stage"}) == "active-set");
  CHECK(word({"--method", "rk4", "--dt", "0.1"}) == "splitting");
  CHECK(word({"--method", "rk4", "--dt", "0.1", "--l1-solver", "active-set"}) == "active-set");
  CHECK(word({"--l1-solver", "splitting", "--dt", "0.1"}) == "splitting");
  CHECK(word({"--mode", "sgd"}).empty());
  CHECK_THROWS_WITH(made({"--l1-solver", "splitting"}),
                    Contains("--l1-solver splitting needs --dt"));
  // Noisy modes take proximal steps.
  const Made noisy = made({"--mode", "sgd", "--project", "none"});
  CHECK(noisy.system->capabilities().proximal);
  CHECK_FALSE(noisy.system->capabilities().switching);
  const auto told = [&](const std::string& solver) {
    const Made asked = made({"--mode", "sgd", "--l1-solver", solver});
    CHECK(asked.system->capabilities().proximal);
    std::string text;
    for (const Note& note : asked.system->notes()) text += note.text + "\n";
    return text;
  };
  CHECK_THAT(told("active-set"), Contains("--l1-solver has no effect"));
  CHECK_THAT(told("splitting"), !Contains("--l1-solver has no effect"));
}

TEST_CASE("A splitting reports steps that are too long for the attention's sums",
          "[fast][scb][l1]") {
  const auto warnings = [](const std::vector<std::string>& words) {
    Workers workers(1);
    std::vector<std::string> all = {
        "--vocab-size", "10",  "--context-length", "5000", "--coordinates", "support",
        "--l1",         "1e-4"};
    all.insert(all.end(), words.begin(), words.end());
    const Made made = popflow::test::make_system(popflow::test::parse("scb", all), workers);
    std::string text;
    for (const Note& note : made.system->notes())
      if (note.warning) text += note.text + "\n";
    return text;
  };
  const std::vector<std::string> stages = {"--schedule", "two-stage",   "--plateau-time",
                                           "0",          "--l1-solver", "splitting"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), stages.begin(), stages.end());
    return warnings(more);
  };
  // T |mu|^2 = 674.4, and the limit on the change of the loss is 6.3e-6.
  CHECK_THAT(with({"--dt", "0.1"}), Contains("--dt 0.1 is too large for l1 = 1e-04") &&
                                        Contains("= 674.4") && Contains("may add 0.0001") &&
                                        Contains("--l1-solver active-set"));
  CHECK(with({"--dt", "0.01"}).empty());
  CHECK_THAT(with({"--dt", "0.01", "--method", "rk4"}), Contains("is likely to diverge"));
  CHECK(warnings({"--dt", "0.1"}).empty());
  CHECK(warnings({"--schedule", "two-stage", "--dt", "0.1"}).empty());
  CHECK_THAT(warnings({"--project", "none", "--l1-solver", "splitting", "--dt", "0.1"}),
             Contains("too large"));
}

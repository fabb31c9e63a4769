// A correct system passes every check. Each fault is found by the check that is meant for it, and
// by no other.

#include "verify/verify.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>

#include "options/run_config.hpp"
#include "popflow/error.hpp"
#include "popflow/function_system.hpp"
#include "popflow/pack.hpp"
#include "popflow/system.hpp"
#include "popflow/systems.hpp"
#include "support/catch.hpp"
#include "support/monte_carlo.hpp"
#include "verify/faulty_model.hpp"

namespace popflow::test {
namespace {

std::vector<Check> verified(Fault fault, const std::vector<std::string>& words,
                            const VerifyOptions& options = {}) {
  const Catalogue catalogue = catalogue_of(fault);
  Workers workers(2);
  return verify(parse_verify(catalogue.info("model"), words), catalogue, workers, options);
}

/// Returns the names of the checks with this verdict.
std::set<std::string> names(const std::vector<Check>& checks, Check::Verdict verdict) {
  std::set<std::string> found;
  for (const Check& check : checks)
    if (check.verdict == verdict) found.insert(check.name);
  return found;
}

TEST_CASE("a correct system passes every check", "[fast][verify]") {
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
  CHECK(ok.count("reduction") == 0);  // the coordinates are not reduced

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

TEST_CASE("each fault is found by its check alone", "[fast][verify]") {
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
      {Fault::negative, {"observables"}},
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

TEST_CASE("samples too rare to occur make a check inconclusive", "[fast][verify]") {
  const VerifyOptions only = {.only = {"mean of samples", "covariance"}};
  const std::vector<Check> some = verified(Fault::undrawn_samples, {}, only);
  INFO(verification_table(some));
  for (const char* name : {"mean of samples", "covariance"}) {
    CHECK(named(some, name).verdict == Check::Verdict::ok);  // as far as samples occur
    CHECK(named(some, name).note.find("inconclusive: ") != std::string::npos);
  }
  // Transitions of a chain that no sample has, or only a few samples have.
  Workers workers(2);
  for (const char* rare : {"--q", "--p"})
    for (const char* probability : {"1e-12", "1e-8", "1e-5"}) {
      const std::vector<Check> checks = verify(
          parse_verify(systems().info("markov"), {rare, probability}), systems(), workers, only);
      INFO(rare << ' ' << probability << '\n' << verification_table(checks));
      CHECK(holds(checks));
      for (const Check& check : checks) CHECK(check.note.find("inconclusive") != std::string::npos);
      if (std::string(probability) == "1e-12")
        CHECK(names(checks, Check::Verdict::skipped).size() == checks.size());
    }
  // A letter that occurs in one sample of a hundred thousand.
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
    CHECK(named(checks, "mean of samples").note.find("inconclusive: ") != std::string::npos);
  }
  std::filesystem::remove(counts);
}

std::vector<Check> verified(const FunctionSystem& system, const VerifyOptions& options = {}) {
  const Catalogue catalogue = std::vector<CatalogueRow>{system};
  Workers workers(1);
  return verify(parse_verify(catalogue.info(system.name), {}), catalogue, workers, options);
}

/// System of a rotation: no gradient, but a conserved radius and an exact solution.
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
    CHECK(ok.count("gradient") == 0);  // it declares no gradient flow
  }
}

/// System dx/dt = -x whose samples use a vector that all samples share, unless `of_its_own`.
FunctionSystem sharing(bool of_its_own) {
  return {.name = "sharing",
          .title = "a sample that keeps what it computes",
          .source = "a test",
          .equations = "x' = -x",
          .parameters = {},
          .functions = [of_its_own](const Parameters&, const Setting&) {
            Functions f;
            f.state = {{"x", {1, 2}, "places"}};
            f.rhs = [](std::span<const double> x, double, std::span<double> out) {
              for (std::size_t i = 0; i < x.size(); ++i) out[i] = -x[i];
            };
            const auto shared = std::make_shared<std::vector<double>>(300);
            f.sample = [=](std::span<const double> x, RandomStream& random, double weight,
                           std::span<double> out) {
              std::vector<double> own;
              std::vector<double>& noise = of_its_own ? own : *shared;
              noise.assign(300, 0);
              for (double& entry : noise) entry = random.normal();
              for (std::size_t i = 0; i < x.size(); ++i) out[i] -= weight * (x[i] + noise[i]);
            };
            f.end = 3;
            return f;
          }};
}

TEST_CASE("simultaneous runs that disturb each other are detected", "[fast][verify]") {
  CHECK(names(verified(sharing(true)), Check::Verdict::fails).count("threads") == 0);
#ifndef POPFLOW_SANITIZED
  // The sanitizers would rightly stop this data race.
  CHECK(names(verified(sharing(false)), Check::Verdict::fails).count("threads") == 1);
#endif
}

/// System x' = 1 + e^-x, whose derivative becomes as small as rounding late in a run.
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

TEST_CASE("rounding of the right-hand side is no fault of the Jacobian", "[fast][verify]") {
  for (const double jacobian : {1.0, 1.0001}) {
    const std::vector<Check> checks = verified(settling(jacobian));
    INFO(verification_table(checks));
    CHECK(names(checks, Check::Verdict::fails) ==
          (jacobian == 1 ? std::set<std::string>{} : std::set<std::string>{"Jacobian"}));
  }
}

/// System in which x changes y and z. z stays 0 unless `moved`, and right-hand sides have a kink at
/// z = 0. `of_x` and `of_y` multiply the Jacobian's entries.
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

TEST_CASE("the Jacobian is not checked along a constant entry at which there is no derivative",
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

/// System x' = -4 (1 + w) g x, computed as a difference of two terms, which leaves rounding where w
/// is nearly -1.
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

TEST_CASE("the Jacobian is checked only up to the rounding of the state", "[fast][verify]") {
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

/// System x' = -x, y' = -2 y with all possible declarations, which `spoil` may change.
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

TEST_CASE("observables declared positive may be negative by rounding at most", "[fast][verify]") {
  using X = std::span<const double>;
  struct Case {
    double floor, below;
    bool right;
  };
  for (const Case& one : {Case{1e-16, 1e-17, true}, Case{1e-16, 2e-16, false}, Case{0, 1, true}}) {
    const std::vector<Check> checks =
        verified(decaying([&](Functions& f) {
                   f.observables.push_back({"left", "what is left",
                                            [=](X, double) { return -one.below; }, "", one.floor});
                 }),
                 {.only = {"observables"}});
    INFO(verification_table(checks));
    CHECK(holds(checks) == one.right);
    if (!one.right)
      CHECK(checks.front().note.find("left is -2e-16, but its floor of 1e-16 declares") !=
            std::string::npos);
  }
}

TEST_CASE("the first check names non-finite numbers with their index", "[fast][verify]") {
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
           {rhs_at_once, "the right-hand side of y[1] is NaN or not written at the start", false},
           {rhs_late, "the trajectory became non-finite at t = 3"},
           {[](Functions& f) { f.loss = [](X, double) { return NAN; }; },
            "the loss is NaN at the start"},
           {[](Functions& f) {
              f.loss = [loss = f.loss](X x, double t) { return x[0] < 1 ? NAN : loss(x, t); };
            },
            "the loss is NaN at t = 1"},
           {[](Functions& f) { f.events[0].value = [](X, double) { return NAN; }; },
            "the function of the event half is NaN or not written at the start"},
       }) {
    const std::vector<Check> checks = verified(decaying(one.spoil));
    INFO(one.note << '\n' << verification_table(checks));
    CHECK(names(checks, Check::Verdict::fails) == std::set<std::string>{"finite"});
    CHECK(checks.front().name == "finite");
    CHECK(checks.front().note.find(one.note) != std::string::npos);
    CHECK((checks.size() > 1) == one.goes_on);
    for (const Check& check : checks)
      CHECK(check.note.find("only by rounding") == std::string::npos);
  }
}

TEST_CASE("lanes of function systems are compared with the functions", "[fast][verify]") {
  // Flow x' = x - c x^3; x rises to 0.9 and passes 0.5.
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

TEST_CASE("a flow that grows without bound is no fault, and is reported", "[fast][verify]") {
  const FunctionSystem growing = decaying([](Functions& f) {
    f.rhs = [](std::span<const double> x, double, std::span<double> out) {
      out[0] = x[0] * x[0];
      out[1] = out[2] = 0;
    };
  });
  // The thorough check takes enough steps to reach the blow-up.
  const std::vector<Check> checks = verified(growing, {.thorough = true, .only = {"finite"}});
  INFO(verification_table(checks));
  CHECK(holds(checks));
  CHECK(checks.front().note.find("grows without bound at t = 0.5") != std::string::npos);
}

TEST_CASE("a check that throws fails with its message, and the other checks run",
          "[fast][verify]") {
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

/// Phase retrieval: one weight along the teacher's and one across it. The loss vanishes at the
/// minimum; it is computed as a sum of squares or as a difference. `push` multiplies the flow.
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

TEST_CASE("a loss computed as a difference is checked only up to the rounding of its terms",
          "[fast][verify]") {
  for (const bool difference : {false, true})
    for (const double push : {1.0, 1.0001}) {
      const std::vector<Check> checks = verified(phase_retrieval(difference, push));
      INFO(verification_table(checks));
      CHECK(names(checks, Check::Verdict::fails) ==
            (push == 1 ? std::set<std::string>{} : std::set<std::string>{"gradient"}));
      CHECK((names(checks, Check::Verdict::ok).count("gradient") == 1) == (push == 1));
    }
}

/// System whose flow is a million times faster at first.
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

TEST_CASE("orders of methods are measured where equal steps show them", "[fast][verify]") {
  const std::vector<Check> checks = verified(plunging());
  INFO(verification_table(checks));
  CHECK(holds(checks));
  for (const char* name : {"order of euler", "order of rk4"})
    CHECK(names(checks, Check::Verdict::ok).count(name) == 1);
}

/// Flow down a sum of log cosh (x_i - x_(i-1) / 2) in two fields. If `wrong` is an entry, its rate
/// is off by 1e-4 of the norm of all rates.
FunctionSystem of_many_numbers(std::size_t wrong) {
  constexpr std::size_t kNumber = 1500, kFirst = 1200;
  const auto argument = [](std::span<const double> x, std::size_t i) {
    return i < x.size() ? x[i] - (i > 0 ? 0.5 * x[i - 1] : 0) : 0;
  };
  const auto rates = [=](std::span<const double> x, std::span<double> out) {
    double square = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      out[i] = 0.5 * std::tanh(argument(x, i + 1)) - std::tanh(argument(x, i));
      square += out[i] * out[i];
    }
    if (wrong < x.size()) out[wrong] += 1e-4 * std::sqrt(square);
  };
  return {.name = "many",
          .title = "many numbers",
          .source = "a test",
          .equations = "x' = -grad L",
          .parameters = {},
          .functions = [=](const Parameters&, const Setting&) {
            Functions f;
            std::vector<double> start(kNumber);
            for (std::size_t i = 0; i < kNumber; ++i) start[i] = std::sin(static_cast<double>(i));
            f.state = {{"a", {start.begin(), start.begin() + kFirst}, "the first numbers"},
                       {"b", {start.begin() + kFirst, start.end()}, "the other numbers"}};
            f.rhs = [=](std::span<const double> x, double, std::span<double> out) {
              rates(x, out);
            };
            f.loss = [=](std::span<const double> x, double) {
              double sum = 0;
              for (std::size_t i = 0; i < x.size(); ++i) sum += std::log(std::cosh(argument(x, i)));
              return sum;
            };
            f.sample = [=](std::span<const double> x, RandomStream& random, double weight,
                           std::span<double> out) {
              std::vector<double> own(x.size());
              rates(x, own);
              for (std::size_t i = 0; i < x.size(); ++i)
                out[i] += weight * (own[i] + random.normal());
            };
            return f;
          }};
}

TEST_CASE("brief checks find a single wrong entry of a large gradient", "[fast][verify]") {
  // Two directions at each of three states are compared for each wrong system. A direction misses
  // an entry that is off by 1e-4 of the norm if its part in this entry, a standard normal number,
  // is below 0.01 (1e-6, or 1e-6 of rounding, over 1e-4): with probability 0.008. All six miss one
  // of the 6 entries with probability 6 * 0.008^6 = 2e-12.
  VerifyOptions brief;
  brief.within = 1e-9;
  constexpr std::size_t kEntries = 6, kApart = 250;
  for (std::size_t k = 0; k < kEntries; ++k) {
    brief.seed = k;
    const std::vector<Check> checks = verified(of_many_numbers(k * kApart), brief);
    INFO(k << '\n' << verification_table(checks));
    CHECK(names(checks, Check::Verdict::fails) ==
          std::set<std::string>{"gradient", "gradient, after noise"});
  }
  for (brief.seed = 0; brief.seed < 3; ++brief.seed) {
    const std::vector<Check> checks = verified(of_many_numbers(SIZE_MAX), brief);
    INFO(verification_table(checks));
    CHECK(names(checks, Check::Verdict::ok) ==
          std::set<std::string>{"finite", "observables", "gradient", "gradient, after noise"});
    CHECK(names(checks, Check::Verdict::skipped) == std::set<std::string>{"mean of samples"});
  }
  // With more time, directions of each field are compared, and samples.
  brief.within = 0.02;
  const std::vector<Check> checks = verified(of_many_numbers(kApart), brief);
  INFO(verification_table(checks));
  CHECK(named(checks, "gradient").verdict == Check::Verdict::fails);
  CHECK(names(checks, Check::Verdict::ok).count("order of rk4") == 0);
  brief.within = 1e9;
  const std::vector<Check> all = verified(Fault::none, {}, brief);
  CHECK(names(all, Check::Verdict::ok).count("order of rk4") == 1);
}

/// Flow down a mean of ReLU over samples, whose loss has a kink near any state. If `wrong`, a rate
/// is off by a hundredth of the norm of all rates. A smaller `distance` moves the kinks towards the
/// start.
FunctionSystem with_kinks(bool wrong, std::size_t number = 250, double distance = 1) {
  return {.name = "kinks",
          .title = "neurons on samples",
          .source = "a test",
          .equations = "x' = -grad L",
          .parameters = {},
          .functions = [=](const Parameters&, const Setting&) {
            constexpr std::size_t kSamples = 4000;
            const auto samples = std::make_shared<std::vector<double>>(kSamples * number);
            RandomStream random(3, Purpose::check, 1);
            for (double& entry : *samples) entry = random.normal();
            const auto each = [samples, number](std::span<const double> x, auto&& take) {
              for (auto at = samples->begin(); at != samples->end(); at += number)
                if (const double z = std::inner_product(x.begin(), x.end(), at, 0.0); z > 0)
                  take(z / kSamples, at);
            };
            Functions f;
            f.state = {{"x", std::vector<double>(number), "weights"}};
            std::vector<double>& start = f.state.front().start;
            f.end = 10 * distance * distance;
            for (double& entry : start) entry = random.normal();
            const double norm2 = std::inner_product(start.begin(), start.end(), start.begin(), 0.0);
            for (auto at = samples->begin(); at != samples->end(); at += number) {
              const double along = std::inner_product(start.begin(), start.end(), at, 0.0) / norm2;
              for (std::size_t i = 0; i < number; ++i)
                at[static_cast<std::ptrdiff_t>(i)] -= (1 - distance) * along * start[i];
            }
            f.loss = [=](std::span<const double> x, double) {
              double sum = 0;
              each(x, [&](double z, auto) { sum += z; });
              return sum;
            };
            f.rhs = [=](std::span<const double> x, double, std::span<double> out) {
              std::fill(out.begin(), out.end(), 0.0);
              each(x, [&](double, auto sample) {
                for (std::size_t i = 0; i < number; ++i)
                  out[i] -= sample[static_cast<std::ptrdiff_t>(i)] / kSamples;
              });
              double square = 0;
              for (const double entry : out) square += entry * entry;
              if (wrong) out[7] += 0.01 * std::sqrt(square);
            };
            return f;
          }};
}

TEST_CASE("kinks of the loss are no fault of the gradient, and hide none", "[fast][verify]") {
  VerifyOptions brief;
  brief.within = 1e-9;
  brief.only = {"gradient"};
  for (brief.seed = 0; brief.seed < 2; ++brief.seed)
    for (const bool wrong : {false, true}) {
      const std::vector<Check> checks = verified(with_kinks(wrong), brief);
      INFO(verification_table(checks));
      CHECK(named(checks, "gradient").verdict ==
            (wrong ? Check::Verdict::fails : Check::Verdict::ok));
    }
  VerifyOptions by_entry;
  by_entry.only = {"gradient"};
  for (by_entry.seed = 0; by_entry.seed < 2; ++by_entry.seed)
    for (const bool wrong : {false, true}) {
      const std::vector<Check> checks = verified(with_kinks(wrong, 10, 0.01), by_entry);
      INFO(verification_table(checks));
      CHECK(named(checks, "gradient").verdict ==
            (wrong ? Check::Verdict::fails : Check::Verdict::ok));
    }
}

TEST_CASE("correct systems that are hard to verify pass", "[fast][verify]") {
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

TEST_CASE("a long verification reports its progress", "[fast][verify]") {
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
  CHECK(parts.size() > 1000);  // progress is reported at every step of a flow
}

}  // namespace
}  // namespace popflow::test

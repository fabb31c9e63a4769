// Function systems: messages about wrong functions and names, and samples, passes and noise.

#include "popflow/function_system.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>

#include "popflow/error.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/passes.hpp"
#include "support/catch.hpp"

namespace popflow::test {
namespace {

/// Returns the system x' = -x with --size numbers; `change` can change its functions.
FunctionSystem decaying(std::function<void(Functions& f, std::size_t size)> change,
                        const std::string& size = "1") {
  return {.name = "decaying",
          .title = "decay",
          .source = "a test",
          .equations = "x' = -x",
          .parameters = {{"size", Kind::integer, size, "numbers of the state"}},
          .functions = [change](const Parameters& own, const Setting&) {
            const auto numbers = static_cast<std::size_t>(own.integer("size"));
            Functions f;
            f.state = {{"x", std::vector<double>(numbers, 1), "place"}};
            f.rhs = [](std::span<const double> x, double, std::span<double> out) {
              for (std::size_t i = 0; i < x.size(); ++i) out[i] = -x[i];
            };
            if (change) change(f, numbers);
            return f;
          }};
}

Made made(const FunctionSystem& system, const std::string& size, Workers& workers) {
  const Catalogue catalogue(std::vector<CatalogueRow>{system});
  Parameters own(system.parameters);
  own.set("size", size, Origin::command_line);
  return catalogue.make(system.name, own, {}, workers);
}

std::string refusal(const FunctionSystem& system, const std::string& size = "1") {
  Workers workers(1);
  try {
    made(system, size, workers);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

TEST_CASE("A field of size 1 keeps its axis, and axes other than those at the defaults are refused",
          "[fast]") {
  CHECK_THAT(refusal(decaying({}), "3"),
             Catch::Contains("x has 3 numbers along other axes than with the defaults"));
  CHECK(refusal(decaying({}), "1") == "nothing");
  Workers workers(1);
  const Made one = made(decaying({}, "4"), "1", workers);
  REQUIRE(one.system->shape().dimensions.size() == 1);
  CHECK(one.system->shape().dimensions[0].name == "x_index");
  CHECK(one.system->shape().dimensions[0].size == 1);
  const auto renamed = [](Functions& f, std::size_t size) {
    f.state[0].axes = {{size > 4 ? "many" : "few", size}};
  };
  CHECK(refusal(decaying(renamed), "4") == "nothing");
  CHECK_THAT(refusal(decaying(renamed), "5"), Catch::Contains("along other axes"));
}

TEST_CASE("Missing functions and impossible numbers are refused with the system's name", "[fast]") {
  const auto said = [](std::function<void(Functions & f)> change) {
    return refusal(decaying([change](Functions& f, std::size_t) { change(f); }));
  };
  using Catch::Contains;
  CHECK_THAT(said([](Functions& f) { f.rhs = {}; }),
             Contains("the system decaying: it has no right-hand side"));
  CHECK_THAT(said([](Functions& f) { f.state.clear(); }), Contains("it has no state"));
  CHECK_THAT(said([](Functions& f) { f.state[0].start.clear(); }), Contains("has no numbers"));
  CHECK_THAT(said([](Functions& f) { f.state[0].scale = -1; }), Contains("scale of x is -1"));
  CHECK_THAT(said([](Functions& f) {
               f.events = {{"late", "", {}}};
             }),
             Contains("late has no function"));
  CHECK_THAT(said([](Functions& f) { f.end = -1; }), Contains("default end is -1"));
  CHECK_THAT(said([](Functions& f) {
               f.precondition = [](std::span<const double>, std::span<double>) {};
             }),
             Contains("a precondition but no loss"));
}

TEST_CASE("An exception of a function is reported with the system, the function and the time",
          "[fast]") {
  Workers workers(1);
  const FunctionSystem late = decaying([](Functions& f, std::size_t) {
    f.rhs = [](std::span<const double>, double t, std::span<double> out) {
      if (t > 0.5) throw std::runtime_error("too late");
      out[0] = 1;
    };
    f.observables = {{"odd", "", [](std::span<const double>, double) -> double {
                        throw std::out_of_range("none");
                      }}};
  });
  const Made toy = made(late, "1", workers);
  FlowDriver flow(*toy.system, workers, {});
  CHECK_THROWS_AS(flow.advance(1), SystemError);
  CHECK_THROWS_WITH(flow.advance(1),
                    Catch::Contains("the system decaying: its right-hand side at t = ") &&
                        Catch::Contains("failed: too late"));
  double value = 0;
  CHECK_THROWS_WITH(toy.system->observe(flow.view(), 0, {&value, 1}),
                    Catch::Contains("its observable odd at t = 0 failed: none"));
  CHECK_THAT(refusal(decaying([](Functions&, std::size_t size) {
                       if (size > 1) throw std::runtime_error("no room");
                     }),
                     "2"),
             Catch::Contains("the system decaying could not be made: no room"));
  const FunctionSystem odd = decaying([](Functions& f, std::size_t) {
    f.rhs = [](std::span<const double>, double, std::span<double>) { throw 1; };
  });
  const Made other = made(odd, "1", workers);
  CHECK_THROWS_WITH(
      FlowDriver(*other.system, workers, {}).advance(1),
      Catch::Contains("at t = 0 failed: it threw an exception that is no std::exception"));
}

TEST_CASE("Errors at the default parameters are reported when the system is made, not before",
          "[fast]") {
  const FunctionSystem broken = decaying([](Functions&, std::size_t size) {
    if (size == 1) throw std::runtime_error("no such default");
  });
  CHECK(Catalogue({broken}).info("decaying").title == "decay");
  for (const char* size : {"1", "2"})
    CHECK_THAT(refusal(broken, size), Catch::Contains("could not be made: no such default"));
}

TEST_CASE("A system outlives the catalogue that it was made from", "[fast]") {
  Workers workers(1);
  const Made toy = made(decaying({}), "1", workers);  // its catalogue is gone
  CHECK(toy.system->info().title == "decay");
  CHECK(toy.system->info().fields.at(0).name == "x");
}

TEST_CASE("Functions may define covariance, samples of a batch, arrays, outcomes and final values",
          "[fast]") {
  const FunctionSystem rich = decaying([](Functions& f, std::size_t) {
    f.samples = [](std::span<const double>, double, const SampleKey&,
                   std::span<const double> weights, std::span<double> out) {
      for (const double weight : weights) out[0] += 2 * weight;
    };
    f.covariance = [](std::span<const double> x, double, std::span<double> c) {
      c[0] = x[0] * x[0];
    };
    f.arrays = {{"A", "matrix", {{"row", 2}, {"column", 3}}, {1, 2, 3, 4, 5, 6}}};
    f.finals = {{"twice", "twice x", [](std::span<const double> x, double) { return 2 * x[0]; }}};
    f.outcomes = {{"small", "x is below 1"}};
    f.outcome = [](std::span<const double> x, double) {
      return std::string(x[0] < 1 ? "small" : "undecided");
    };
  });
  Workers workers(1);
  const Made one = made(rich, "1", workers);
  const Capabilities can = one.system->capabilities();
  const double x = 3;
  const StateView view(std::span(&x, 1));
  REQUIRE(can.covariance);
  Eigen::MatrixXd c(1, 1);
  can.covariance->covariance(view, 0, c);
  CHECK(c(0, 0) == 9);
  const std::vector<double> weights = {1, 2, 3};
  double out = 1;
  can.sampled->add_sampled(view, 0, SampleKey{}, weights, {&out, 1});
  CHECK(out == 13);
  CHECK(one.system->problem().variables.at(0).name == "A");
  CHECK(one.system->info().problem.at(0).dimensions == std::vector<std::string>{"row", "column"});
  double final = 0;
  can.final_values->final_values(view, 0, {&final, 1});
  CHECK(final == 6);
  CHECK(can.outcomes->outcome(view, 0) == "undecided");
  const auto said = [](std::function<void(Functions & f)> change) {
    return refusal(decaying([change](Functions& f, std::size_t) { change(f); }));
  };
  CHECK_THAT(said([](Functions& f) {
               f.arrays = {{"A", "matrix", {{"row", 2}}, {1}}};
             }),
             Catch::Contains("the array A has 1 numbers; its axes say 2"));
  CHECK_THAT(said([](Functions& f) {
               f.outcomes = {{"small", "x is below 1"}};
             }),
             Catch::Contains("it must have both outcomes and a function"));
}

/// Flow dx/dt = -(x - mean of the data) for the data 0, 1, 4.
void with_data(Functions& f) {
  static const std::vector<double> data = {0, 1, 4};
  f.rhs = {};
  f.finite = {.samples = 3,
              .add =
                  [](std::span<const double> x, double, const SampleKey&,
                     std::span<const std::size_t> which, std::span<const double> weights,
                     std::span<double> out) {
                    for (std::size_t i = 0; i < which.size(); ++i)
                      out[0] += weights[i] * (data[which[i]] - x[0]);
                  },
              .loss = [](std::span<const double> x, double,
                         std::size_t i) { return (x[0] - data[i]) * (x[0] - data[i]) / 2; }};
}

TEST_CASE("Finite data give the flow, the loss, the samples and their covariance", "[fast]") {
  Workers workers(1);
  const Made one = made(decaying([](Functions& f, std::size_t) { with_data(f); }), "1", workers);
  const Capabilities can = one.system->capabilities();
  const double x = 3;
  const StateView view(std::span(&x, 1));
  double rate = 0;
  one.system->rhs(view, 0, {&rate, 1});
  CHECK(rate == Approx(5.0 / 3 - 3));
  CHECK(can.gradient_flow->loss(view, 0) == Approx((9.0 + 4 + 1) / 6));
  Eigen::MatrixXd c(1, 1);
  can.covariance->covariance(view, 0, c);
  CHECK(c(0, 0) == Approx(17.0 / 3 - 25.0 / 9));
  const std::vector<double> weights(3000, 1.0 / 3000);
  double mean = 0;
  can.sampled->add_sampled(view, 0, {1, Purpose::check}, weights, {&mean, 1});
  CHECK(std::abs(mean - rate) < 0.15);
}

TEST_CASE("Training in epochs visits every sample once in each pass", "[fast]") {
  Workers workers(1);
  const Made one = made(decaying([](Functions& f, std::size_t) {
                          with_data(f);
                          f.finite->epochs = true;
                        }),
                        "1", workers);
  const Capability<Sampled> sampled = one.system->capabilities().sampled;
  const double x = 0;
  const StateView view(std::span(&x, 1));
  const std::vector<double> weights(3, 1);
  const auto sum = [&](Purpose purpose, std::uint64_t first) {
    double out = 0;
    sampled->add_sampled(view, 0, {1, purpose, 0, first}, weights, {&out, 1});
    return out;
  };
  bool others = false;
  for (std::uint64_t pass = 0; pass < 20; ++pass) {
    CHECK(sum(Purpose::samples, 3 * pass) == 5);
    others = others || sum(Purpose::bootstrap, 3 * pass) != 5;
  }
  CHECK(others);  // the SDE's noise has independent draws
}

TEST_CASE("Each pass has a random order, which does not depend on the size of requests", "[fast]") {
  constexpr std::size_t kSamples = 7;
  std::vector<std::size_t> all(5 * kSamples), piece(3);
  visit_in_passes({3, Purpose::samples, 2}, kSamples, all);
  std::set<std::vector<std::size_t>> orders;
  for (std::size_t pass = 0; pass < 5; ++pass) {
    std::vector<std::size_t> order(
        all.begin() + static_cast<std::ptrdiff_t>(pass * kSamples),
        all.begin() + static_cast<std::ptrdiff_t>((pass + 1) * kSamples));
    orders.insert(order);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < kSamples; ++i) CHECK(order[i] == i);
  }
  CHECK(orders.size() > 1);
  for (std::uint64_t first = 0; first + 3 <= all.size(); first += 2) {
    visit_in_passes({3, Purpose::samples, 2, first}, kSamples, piece);
    CHECK(std::equal(piece.begin(), piece.end(), all.begin() + static_cast<std::ptrdiff_t>(first)));
  }
  std::vector<std::size_t> other(all.size());
  visit_in_passes({3, Purpose::samples, 3}, kSamples, other);
  CHECK(other != all);
}

TEST_CASE("Passes may leave out the last samples of their order", "[fast]") {
  constexpr std::size_t kSamples = 7, kVisited = 6;
  std::vector<std::size_t> all(3 * kSamples), some(3 * kVisited);
  visit_in_passes({3, Purpose::samples, 2}, kSamples, all);
  visit_in_passes({3, Purpose::samples, 2}, kSamples, some, kSamples - kVisited);
  for (std::size_t i = 0; i < some.size(); ++i)
    CHECK(some[i] == all[i / kVisited * kSamples + i % kVisited]);
}

TEST_CASE(
    "A system may have one state for the flow and another for noise, with the same observables",
    "[fast]") {
  FunctionSystem system = decaying({});
  system.functions = [](const Parameters&, const Setting& setting) {
    Functions f;
    const std::size_t numbers = setting.noisy ? 4 : 1;
    f.state = {{setting.noisy ? "w" : "x", std::vector<double>(numbers, 1), "place"}};
    f.rhs = [](std::span<const double> x, double, std::span<double> out) {
      for (std::size_t i = 0; i < x.size(); ++i) out[i] = -x[i];
    };
    f.observables = {
        {"first", "first entry", [](std::span<const double> x, double) { return x[0]; }}};
    if (setting.noisy) f.approximation = "the flow is a limit";
    return f;
  };
  const Catalogue catalogue(std::vector<CatalogueRow>{system});
  Workers workers(1);
  for (const bool noisy : {false, true}) {
    Parameters own(system.parameters);
    Setting setting;
    setting.noisy = noisy;
    const Made one = catalogue.make(system.name, own, setting, workers);
    CHECK(one.system->shape().fields == std::vector<std::string>{noisy ? "w" : "x"});
    CHECK(one.system->shape().approximation.empty() != noisy);
    CHECK(one.system->info().fields.size() == 2);
  }
}

}  // namespace
}  // namespace popflow::test

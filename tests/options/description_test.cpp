// Names and properties that a system may not have.

#include "options/description.hpp"

#include <algorithm>
#include <cmath>

#include "popflow/error.hpp"
#include "popflow/systems.hpp"
#include "support/catch.hpp"

namespace popflow::test {

TEST_CASE("Descriptions that command lines or files cannot represent are refused", "[fast]") {
  SystemInfo good;
  good.name = "toy-1";
  good.parameters = {{"rate", Kind::real, "1", "its rate"}};
  good.dimensions = {{"token", "of the vocabulary"}};
  good.fields = {{"x", {"token"}, "x", "place", ""}};
  good.observables = {{"loss", "L", "loss", ""}};
  good.events = {{"settled", "x settles"}};
  good.constants = {{"kappa", "", "a constant"}};
  CHECK_NOTHROW(require_description(good));

  const auto said = [&](auto change) {
    SystemInfo bad = good;
    change(bad);
    try {
      require_description(bad);
    } catch (const SystemError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto option = [&](Parameter own) {
    return said([&](SystemInfo& bad) { bad.parameters.push_back(std::move(own)); });
  };
  const auto observable = [&](const std::string& name) {
    return said([&](SystemInfo& bad) { bad.observables.push_back({name, "", "", ""}); });
  };
  using Catch::Contains;
  CHECK_THAT(said([](SystemInfo& bad) { bad.name = "a b"; }), Contains("its name is 'a b'"));
  CHECK_THAT(option({"rate", Kind::real, "2", ""}), Contains("two options 'rate'"));
  CHECK_THAT(option({"a=b", Kind::real, "2", ""}), Contains("an option 'a=b'"));
  CHECK_THAT(option({"seed", Kind::real, "2", ""}), Contains("which every system has"));
  CHECK_THAT(option({"help", Kind::flag, "", ""}), Contains("hides --help"));
  CHECK_THAT(option({.name = "order", .default_text = "2", .meaning = "", .letter = 'o'}),
             Contains("the same letter as --output"));
  CHECK_THAT(option({"kind", Kind::word, "", ""}), Contains("but the list is empty"));
  CHECK_THAT(option({"on", Kind::flag, "true", ""}), Contains("on by default"));
  for (const char* name : {"time", "run", "saves_done", "status", "loss", "x", "token", "kappa"})
    CHECK_THAT(observable(name), Contains("this name is already in use"));
  for (const char* name : {"", ".", "a b", "a/b"})
    CHECK_THAT(observable(name), Contains("may not contain blanks or '/'"));
  CHECK_THAT(said([](SystemInfo& bad) {
               bad.constants.push_back({"mode", "", ""});
             }),
             Contains("a constant 'mode'"));
  CHECK_THAT(observable("time_of_settled"), Contains("that the time of its event"));
  CHECK_THAT(observable("time"), Contains("the system toy-1:"));
  CHECK_THAT(option({"my_rate", Kind::real, "2", ""}), Contains("in Python"));
  CHECK_THAT(option({"show", Kind::real, "2", ""}), Contains("the Python package"));
  CHECK_THAT(option({"size", Kind::integer, "abc", ""}), Contains("a default is wrong: --size"));
  const auto half = [](const std::string& name, std::vector<std::string> axes) {
    return [=](SystemInfo& bad) { bad.passages.push_back({name, axes, "", "", ""}); };
  };
  CHECK_THAT(said(half("time_of_settled", {})), Contains("that the time of its event"));
  CHECK_THAT(said(half("half", {"token", "token"})), Contains("the axis 'token' twice"));
  CHECK_THAT(said(half("half", {"word"})), Contains("which is not among its axes"));
  CHECK_THAT(said([](SystemInfo& bad) { bad.events[0].after = "begun"; }),
             Contains("comes after 'begun', which is not one of its events"));
  CHECK_THAT(said([](SystemInfo& bad) {
               bad.invariants = {{"energy", InvariantInfo::Form::constant, ""}};
             }),
             Contains("'energy', which is not one of its observables"));
  CHECK(said([](SystemInfo& drawn) {
          drawn.figure = "loss; x over loss";
          drawn.figure_of_sweeps = "outcome loss";
        }) == "nothing");
  CHECK_THAT(said([](SystemInfo& bad) { bad.figure = "loss; los over x"; }),
             Contains("its figures show 'los', which is not in its description"));
  CHECK_THAT(said([](SystemInfo& bad) { bad.figure_of_sweeps = "begun"; }),
             Contains("its figures show 'begun'"));
  const auto outcome = [&](const std::string& word) {
    return said([&](SystemInfo& bad) { bad.outcomes = {{"well", ""}, {word, ""}}; });
  };
  for (const char* word : {"", "le arned", "an_outcome_of_more"})
    CHECK_THAT(outcome(word), Contains("an outcome has up to 16 letters"));
  for (const char* word : {"well", "undecided"}) CHECK_THAT(outcome(word), Contains("twice"));
  const auto rung = [&](const std::string& word, const OptionSetting& setting) {
    return said([&](SystemInfo& bad) { bad.rungs = {{word, "", {setting}}}; });
  };
  CHECK(rung("slow", {"rate", "0.5"}) == "nothing");
  CHECK_THAT(rung("sgd", {"rate", "0.5"}), Contains("a rung has letters"));
  CHECK_THAT(rung("slow", {"rat", "0.5"}), Contains("which is not one of its options"));
  CHECK_THAT(rung("slow", {"rate", "half"}), Contains("its rung 'slow': --rate is 'half'"));
  CHECK_THAT(said([](SystemInfo& bad) {
               bad.stages = {{"first stage", ""}};
             }),
             Contains("a stage has letters"));
}

TEST_CASE("Conditions of options that can never hold are refused", "[fast]") {
  const auto said = [](Parameter own) {
    SystemInfo info;
    info.name = "toy";
    info.parameters = {std::move(own)};
    try {
      require_description(info);
    } catch (const SystemError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  using Catch::Contains;
  CHECK_THAT(
      said({.name = "k", .default_text = "1", .meaning = "", .where = {{.option = "nosuch"}}}),
      Contains("depends on --nosuch, which is not an option"));
  CHECK(said({.name = "k", .default_text = "1", .meaning = "", .where = {{.option = "noise"}}}) ==
        "nothing");
  CHECK_THAT(said({.name = "k", .default_text = "1", .meaning = "", .modes = {"sde2"}}),
             Contains("the modes are flow, sde and sgd"));
  CHECK_THAT(said({.name = "k", .default_text = "1", .meaning = "", .range = {3, 0}}),
             Contains("at least 3 and at most 0"));
}

/// System whose description and shape a test can change.
struct Shaped : System {
  SystemInfo described;
  Shape shaped;
  Shaped() {
    described.name = "toy";
    described.dimensions = {{"token", "of the vocabulary"}};
    described.fields = {{"x", {"token"}, "x", "place", ""}};
    described.events = {{"begun", ""}, {.name = "late", .meaning = "", .after = "begun"}};
    described.finals = {{.name = "rest", .symbol = "", .meaning = ""}};
    shaped.blocks = {{"x", 2, 1.0}};
    shaped.dimensions = {{"token", 2, DimensionSpec::Coordinate::index, {}}};
    shaped.fields = {"x"};
  }
  [[nodiscard]] const SystemInfo& info() const override { return described; }
  [[nodiscard]] const Shape& shape() const override { return shaped; }
  [[nodiscard]] double default_end() const override { return 1; }
  [[nodiscard]] Capabilities capabilities() const override { return {}; }
  void start(std::span<double> /*x*/) const override {}
  void rhs(StateView /*x*/, double /*t*/, std::span<double> /*dxdt*/) const override {}
  void observe(StateView /*x*/, double /*t*/, std::span<double> /*values*/) const override {}
  void field(std::string_view /*name*/, StateView /*x*/, double /*t*/,
             const FieldSink& /*sink*/) const override {}
};

TEST_CASE("Inconsistent shapes are refused", "[fast]") {
  const auto said = [](auto change) {
    Shaped system;
    change(system.shaped);
    try {
      require_shape(system);
    } catch (const SystemError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  using Catch::Contains;
  CHECK(said([](Shape&) {}) == "nothing");
  CHECK_THAT(said([](Shape& s) { s.blocks.clear(); }),
             Contains("the system toy:") && Contains("no state"));
  CHECK_THAT(said([](Shape& s) { s.blocks[0].scale = 0; }), Contains("the scale of its block 'x'"));
  CHECK_THAT(said([](Shape& s) { s.fields = {"x", "x"}; }), Contains("the field 'x' twice"));
  CHECK_THAT(said([](Shape& s) { s.dimensions.clear(); }),
             Contains("its 'x' has the axis 'token', which is missing from its shape"));
  CHECK_THAT(said([](Shape& s) {
               s.dimensions[0].coordinate = DimensionSpec::Coordinate::values;
               s.dimensions[0].values = {1};
             }),
             Contains("2 entries but 1 values"));
  CHECK_THAT(said([](Shape& s) { s.events = {"begun"}; }), Contains("capabilities have no Events"));
  CHECK_THAT(said([](Shape& s) { s.events = {"late"}; }), Contains("it would never be found"));
  CHECK_THAT(said([](Shape& s) { s.finals = true; }), Contains("capabilities have no FinalValues"));
  CHECK_THAT(said([](Shape& s) { s.stages = true; }), Contains("capabilities have no Stages"));
}

TEST_CASE("A message names an entry that the right-hand side does not write", "[fast]") {
  struct Forgetful : Shaped {
    std::size_t written = 0;
    void start(std::span<double> x) const override { std::fill(x.begin(), x.end(), 1.0); }
    void rhs(StateView /*x*/, double /*t*/, std::span<double> dxdt) const override {
      for (std::size_t i = 0; i < written; ++i) dxdt[i] = std::nan("");
    }
  };
  Forgetful system;
  system.written = 1;
  CHECK_THROWS_WITH(require_rhs(system),
                    Catch::Contains("the system toy: its right-hand side writes no dx[1]/dt"));
  // A NaN that the right-hand side writes is reported later, during the run.
  system.written = 2;
  CHECK_NOTHROW(require_rhs(system));
}

TEST_CASE("All built-in systems have valid descriptions", "[fast]") {
  for (const CatalogueRow& row : systems().rows()) CHECK_NOTHROW(require_description(row.info()));
}

}  // namespace popflow::test

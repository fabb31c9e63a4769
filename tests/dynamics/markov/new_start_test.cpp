#include <bit>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "dynamics/markov.hpp"
#include "popflow/error.hpp"
#include "support/catch.hpp"
#include "support/make_system.hpp"
#include "support/markov_fixture.hpp"

// A system that gets another start, compared with a system made at that start.

using namespace popflow;
using namespace popflow::markov;
using namespace popflow::markov::test;

namespace {

/// Starts in every region of the landscape, on the lines between, and some at which w underflows
/// later.
const std::vector<Point> kStarts = {
    {0.7, 0.4, 1},     {-0.3, -0.2, 0}, {0, 0.5, 2},
    {0.05, -1.5, 0},   {1.2, 0, -1},    {40, 1e-3, 0},
    {0.5, -0.9, 0},    {0, 0, 0},       {0, -0.3, 5},
    {0.6, -1e-260, 0}, {2, -2, -3},     {1e-9, 0.8, 0},
    {0.01, 1e-275, 0}, {0.7, 0.4, -1},  {0, -1 / std::numbers::sqrt2, 0}};

/// Texts, and the bits of numbers, of a system's declarations and of its values at some states.
struct Said {
  explicit Said(const Markov& system) {
    const Shape& shape = system.shape();
    for (const StateBlock& block : shape.blocks) {
      words.push_back(block.name);
      add({static_cast<double>(block.size), block.scale});
    }
    for (const auto* names : {&shape.fields, &shape.invariants, &shape.events}) {
      words.insert(words.end(), names->begin(), names->end());
      words.emplace_back("end");
    }
    for (const auto& [name, value] : shape.constants) {
      words.push_back(name);
      add({value});
    }
    for (const Note& note : system.notes()) words.push_back(note.text);
    const Capabilities can = system.capabilities();
    words.push_back(can.gradient_flow.why_not());
    add({system.default_end(), can.gradient_flow ? 1.0 : 0.0, can.events ? 1.0 : 0.0});
    std::vector<double> of(system.lane_formulas().sizes.parameters);
    system.lane_parameters(of);
    add(of);
    std::vector<double> start(shape.state_size());
    system.start(start);
    add_at(system, start);
    for (const Point& other : {Point{0.3, 0.5, 0.2}, Point{1.1, -0.4, -2}, Point{0.01, -1.3, 1}})
      add_at(system, {other.e, other.w, other.b});
  }
  bool operator==(const Said&) const = default;

  std::vector<std::uint64_t> bits;
  std::vector<std::string> words;

 private:
  void add(const std::vector<double>& numbers) {
    for (const double number : numbers) bits.push_back(std::bit_cast<std::uint64_t>(number));
  }
  void add_at(const Markov& system, std::vector<double> x) {
    x.resize(system.shape().state_size());
    add(x);
    std::vector<double> dxdt(x.size());
    system.rhs(x, 0, dxdt);
    add(dxdt);
    std::vector<double> observed(system.info().observables.size());
    system.observe(x, 0, observed);
    add(observed);
    std::vector<double> events(system.shape().events.size());
    system.event_functions(x, 0, events);
    add(events);
    for (const std::string& field : system.shape().fields)
      system.field(field, x, 0, [&](std::size_t, std::span<const double> values) {
        add({values.begin(), values.end()});
      });
    add({system.loss(x, 0)});
    words.push_back(system.outcome(x, 0));
  }
};

}  // namespace

TEST_CASE("markov: a system with a new start equals one made at that start", "[fast][markov]") {
  for (const PQ& pq : kChains)
    for (const bool free : {false, true})
      for (const bool noisy : {false, true}) {
        const Sampling sampling{.context_length = 50, .noisy = noisy};
        const auto made_at = [&](const Point& at) {
          return free ? free_bias(pq, at.e, at.w, at.b, sampling)
                      : optimal(pq, at.e, at.w, sampling);
        };
        Markov system = made_at(kStarts.back());
        for (const Point& start : kStarts) {
          CAPTURE(pq.p, pq.q, free, noisy, start.e, start.w, start.b);
          system.begin_at(start);
          CHECK(Said(system) == Said(made_at(start)));
        }
      }
}

TEST_CASE("markov: a new start from parameters is read and refused like a first one",
          "[fast][markov]") {
  RunConfig config = popflow::test::parse("markov", {"--e0", "0.4", "--w0", "0.3"});
  const Made made = popflow::test::make_system(config, pool());
  auto& system = dynamic_cast<Markov&>(*made.system);
  const NewStart& new_start = systems().new_start("markov");
  config.own.set("w0", "-0.8", Origin::command_line);
  new_start.apply(system, config.own);
  CHECK(Said(system) == Said(optimal({config.own.real("p"), config.own.real("q")}, 0.4, -0.8)));
  config.own.set("e0", "1e-150", Origin::command_line);
  CHECK_THROWS_AS(new_start.apply(system, config.own), UsageError);
}

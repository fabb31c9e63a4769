#include "dynamics/markov.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "dynamics/markov/problem.hpp"
#include "dynamics/markov/system.hpp"
#include "popflow/error.hpp"

namespace popflow::markov {

namespace {

/// Smallest allowed size of a start: squares of smaller numbers underflow, and the flow would
/// vanish.
constexpr double kSmallestStart = 1e-100;

bool too_small(double start) { return start != 0 && std::abs(start) < kSmallestStart; }

std::string allowed() {
  return "; it must be 0, or at least " + shortest(kSmallestStart) +
         " in size, so that its square does not underflow";
}

Point given_start(const Parameters& own) {
  const Point start{own.real("e0"), own.real("w0"), own.real("b0")};
  for (const auto& [name, value] : {std::pair{"e0", start.e}, std::pair{"w0", start.w}})
    if (too_small(value))
      throw UsageError(std::string("--") + name + " is " + own.text(name) + allowed());
  return start;
}

Point start_of(const Ingredients& from, bool free_bias) {
  Parameters& own = from.own;
  if (from.setting.start == nullptr) return given_start(own);
  std::vector<StateBlock> blocks = {{"e", 1}, {"w", 1}};
  if (free_bias) blocks.push_back({"b", 1});
  const LastState* last = whole_start(from.setting, blocks);
  const Point start{last->x[0], last->x[1], free_bias ? last->x[2] : 0};
  for (const auto& [name, value] : std::vector<std::pair<std::string, double>>{
           {"e0", start.e}, {"w0", start.w}, {"b0", start.b}}) {
    // Both may be given with equal values: the configuration in a run's file contains both.
    if (own.given(name) && own.real(name) != value)
      throw UsageError("--" + name + " and --init-from both set the start; give one of them");
    if (name != "b0" && too_small(value))
      throw InputError("--init-from " + last->path + " ends at " + name.substr(0, 1) + " = " +
                       shortest(value) + allowed());
    // The start is recorded in the run's file, because scales and the limit of the flow depend on
    // it.
    own.resolve(name, value);
  }
  return start;
}

}  // namespace

std::unique_ptr<System> make(const Ingredients& from) {
  const bool free_bias = from.own.word("bias") == "free";
  Problem problem = make_problem(from);
  const Point start = start_of(from, free_bias);
  const Sampling sampling{.context_length = from.own.integer("context-length"),
                          .noisy = from.setting.noisy || from.setting.other_rule};
  return std::make_unique<Markov>(problem.chain, free_bias, start, std::move(problem.notes),
                                  sampling, from.workers);
}

NewStart new_start() {
  return {{"e0", "w0", "b0"}, [](System& system, const Parameters& own) {
            dynamic_cast<Markov&>(system).begin_at(given_start(own));
          }};
}

}  // namespace popflow::markov

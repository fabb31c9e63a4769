#include "dynamics/markov.hpp"

#include <cmath>

#include "dynamics/common/start.hpp"
#include "dynamics/markov/problem.hpp"
#include "dynamics/markov/system.hpp"
#include "popflow/error.hpp"

namespace popflow::markov {

namespace {

/// Squares of what is smaller than this vanish, and with them what the flow makes of it.
constexpr double kSmallestStart = 1e-100;

Point given_start(const Parameters& own) {
  for (const std::string name : {"e0", "w0"}) {
    const double size = std::abs(own.real(name));
    if (size != 0 && size < kSmallestStart)
      throw UsageError("--" + name + " is " + own.text(name) + "; it must be 0, or at least " +
                       shortest(kSmallestStart) + " in size, so that its square is a number");
  }
  return {own.real("e0"), own.real("w0"), own.real("b0")};
}

Point start_of(const Ingredients& from, bool free_bias) {
  std::vector<StateBlock> blocks = {{"e", 1}, {"w", 1}};
  if (free_bias) blocks.push_back({"b", 1});
  const auto x = whole_start(from, info(), blocks);
  if (!x) return given_start(from.own);
  for (const std::string name : {"e0", "w0", "b0"}) {
    if (from.own.given(name))
      throw UsageError("--" + name + " and --init-from both say where the flow starts; give one");
    from.own.unset(name);  // the file says it
  }
  return {(*x)[0], (*x)[1], free_bias ? (*x)[2] : 0};
}

}  // namespace

std::unique_ptr<System> make(Ingredients from) {
  const bool free_bias = from.own.word("bias") == "free";
  Problem problem = make_problem(from);
  const Point start = start_of(from, free_bias);
  const Sampling sampling{.context_length = from.own.integer("context-length"),
                          .noisy = from.shared.word("mode") != "flow"};
  return std::make_unique<Markov>(problem.chain, free_bias, start, std::move(problem.notes),
                                  sampling, from.workers);
}

}  // namespace popflow::markov

#include "dynamics/markov/problem.hpp"

#include <algorithm>
#include <optional>

#include "dynamics/common/problem_file.hpp"
#include "dynamics/common/sizes.hpp"
#include "dynamics/markov/letters.hpp"
#include "popflow/error.hpp"

namespace popflow::markov {

namespace {

Problem from_text(Parameters& own) {
  const std::string& path = own.word("text");
  std::optional<std::string> zeros;
  if (own.has("text-zeros")) zeros = own.word("text-zeros");
  const TransitionCounts counts = count_transitions(path, own.word("text-ones"), zeros);
  const char* const classes[] = {"zeros", "ones"};
  double probability[2] = {};
  std::string note = path + ": ";
  for (const int from : {0, 1}) {
    const int to = 1 - from;
    const std::int64_t all = counts.of[from][0] + counts.of[from][1];
    for (const int next : {0, 1})
      if (counts.of[from][next] == 0)
        throw InputError(
            path + ": a transition from " + classes[from] + " to " + classes[next] +
            " never occurs, so that p and q are not strictly between 0 and 1 (ones are '" +
            own.word("text-ones") + "', --text-ones; zeros are " +
            (zeros ? "'" + *zeros + "', --text-zeros)" : "the other letters, --text-zeros)"));
    probability[from] = static_cast<double>(counts.of[from][to]) / static_cast<double>(all);
    note += std::to_string(counts.of[from][to]) + " of " + std::to_string(all) + " " +
            classes[from] + " are followed by " + classes[to] + (from == 0 ? ", " : "");
  }
  resolve(own, "p", probability[0], path);
  resolve(own, "q", probability[1], path);
  return {Chain(probability[0], probability[1]), {{note}}};
}

double read_probability(const ProblemFile& file, const std::string& name) {
  if (!file.has(name)) throw file.wrong("holds no dataset " + name);
  const std::vector<std::size_t> shape = file.shape(name);
  if (std::any_of(shape.begin(), shape.end(), [](std::size_t size) { return size != 1; }))
    throw file.bad(name + " has shape " + in_words(shape) + "; it must be one number");
  const double value = file.file().read(file.inside(name)).values.at(0);
  if (const auto fault = transition_fault(value))
    throw file.bad(name + " is " + shortest(value) + "; it " + *fault);
  return value;
}

Problem from_file(Parameters& own, const std::string& path) {
  const ProblemFile file(path, {"p", "q"});
  const double p = read_probability(file, "p");
  const double q = read_probability(file, "q");
  resolve(own, "p", p, path);
  resolve(own, "q", q, path);
  return {Chain(p, q)};
}

}  // namespace

Problem make_problem(const Ingredients& from) {
  Parameters& own = from.own;
  const std::optional<std::string>& file = from.setting.problem;
  if (file && own.has("text"))
    throw UsageError("--problem and --text exclude each other: both determine p and q");
  if (file) return from_file(own, *file);
  if (own.has("text")) return from_text(own);
  for (const std::string name : {"p", "q"})
    if (const auto fault = transition_fault(own.real(name)))
      throw UsageError("--" + name + " is " + own.text(name) + "; it " + *fault);
  return {Chain(own.real("p"), own.real("q"))};
}

}  // namespace popflow::markov

#include "dynamics/markov/problem.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <utility>

#include "dynamics/markov/letters.hpp"
#include "popflow/error.hpp"
#include "popflow/problem_file.hpp"
#include "popflow/sizes.hpp"

namespace popflow::markov {

namespace {

/// Warns if p or q is uncertain by a relative standard error of more than a tenth.
std::vector<Note> warn_if_uncertain(const std::string& path, const double (&probability)[2],
                                    const std::int64_t (&all)[2]) {
  constexpr double kWide = 0.1;
  std::vector<Note> notes;
  for (const int from : {0, 1}) {
    const double p = probability[from];
    const double error = std::sqrt(p * (1 - p) / static_cast<double>(all[from]));
    if (error < kWide) continue;
    std::ostringstream text;
    text.precision(2);
    text << path << " has only " << all[from] << " transitions from "
         << (from == 0 ? "zeros" : "ones") << ": " << (from == 0 ? "p" : "q") << " is " << p
         << " with a standard error of " << error;
    notes.push_back({text.str(), true});
  }
  return notes;
}

Problem from_text(Parameters& own) {
  const std::string& path = own.word("text");
  std::optional<std::string> zeros;
  if (own.has("text-zeros")) zeros = own.word("text-zeros");
  if (!own.has("text-ones")) own.resolve("text-ones", std::string(vowels));
  const TransitionCounts counts = count_transitions(path, own.word("text-ones"), zeros);
  const char* const classes[] = {"zeros", "ones"};
  double probability[2] = {};
  std::int64_t transitions[2] = {};
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
    transitions[from] = all;
    probability[from] = static_cast<double>(counts.of[from][to]) / static_cast<double>(all);
    note += std::to_string(counts.of[from][to]) + " of " + std::to_string(all) + " " +
            classes[from] + " are followed by " + classes[to] + (from == 0 ? ", " : "");
  }
  resolve(own, "p", probability[0], path);
  resolve(own, "q", probability[1], path);
  std::vector<Note> notes = {{note}};
  for (Note& warning : warn_if_uncertain(path, probability, transitions))
    notes.push_back(std::move(warning));
  return {Chain(probability[0], probability[1]), std::move(notes)};
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
    throw UsageError("--problem and --text exclude each other, because both determine p and q");
  if (file) return from_file(own, *file);
  if (own.has("text")) return from_text(own);
  const double p = own.real("p"), q = own.real("q");
  for (const auto& [name, value] : {std::pair{"p", p}, std::pair{"q", q}})
    if (const auto fault = transition_fault(value))
      throw UsageError(std::string("--") + name + " is " + own.text(name) + "; it " + *fault);
  return {Chain(p, q)};
}

}  // namespace popflow::markov

#include "dynamics/scb/problem.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "dynamics/scb/bigrams.hpp"
#include "dynamics/scb/drawn.hpp"
#include "dynamics/scb/problem_file.hpp"
#include "popflow/error.hpp"
#include "popflow/memory.hpp"
#include "popflow/parameter.hpp"
#include "popflow/sizes.hpp"

namespace popflow::scb {
namespace {

void refuse_contradictions(const Ingredients& ingredients) {
  const auto refuse_both = [](const std::string& a, const std::string& b) {
    throw UsageError("--" + a + " and --" + b + " exclude each other: both determine P");
  };
  const bool text = ingredients.own.has("text");
  const bool counts = ingredients.own.has("counts");
  const bool problem = ingredients.setting.problem.has_value();
  if (problem && text) refuse_both("problem", "text");
  if (problem && counts) refuse_both("problem", "counts");
  if (text && counts) refuse_both("text", "counts");
}

Positions positions_of(const Ingredients& ingredients, std::int64_t vocabulary) {
  const Parameters& own = ingredients.own;
  const std::int64_t sparsity = own.integer("sparsity");
  require_memory(2 * static_cast<double>(sparsity) * static_cast<double>(vocabulary),
                 "the positions of " + std::to_string(vocabulary) + " queries at sparsity " +
                     std::to_string(sparsity));
  return draw_positions(vocabulary, own.integer("context-length"), sparsity,
                        own.real("position-concentration"), ingredients.setting.problem_seed);
}

Problem drawn(const Ingredients& ingredients) {
  const Parameters& own = ingredients.own;
  const std::int64_t N = own.integer("vocab-size");
  require_memory(2 * static_cast<double>(N) * static_cast<double>(N),
                 "the transition matrix of " + std::to_string(N) + " tokens");
  Problem problem;
  problem.Q = positions_of(ingredients, N);
  problem.P =
      draw_transitions(N, own.real("transition-concentration"), ingredients.setting.problem_seed);
  try {
    problem.mu = stationary_distribution(problem.P, "the drawn P");
  } catch (const InputError&) {
    throw UsageError("with --transition-concentration " + own.text("transition-concentration") +
                     " the drawn P has no positive stationary distribution; raise "
                     "--transition-concentration");
  }
  return problem;
}

/// Notes on the tokens of a text or a table, and on whether the counts suffice to estimate P.
std::vector<Note> notes_on(const BigramCounts& counts, const std::string& path,
                           const std::string& units) {
  std::vector<Note> notes;
  const auto tokens = static_cast<double>(counts.labels.size());
  if (counts.has_other()) {
    std::ostringstream text;
    text.precision(2);
    text << path << ": " << counts.kinds << " different " << units << ", the "
         << counts.labels.size() - 1 << " most frequent kept; (other) holds "
         << 100 * counts.share_of_other() << "% of the text; a larger --vocab-size keeps more";
    notes.push_back({text.str()});
  }
  // One is added to each count. With fewer bigrams than entries, P mostly consists of these ones.
  if (counts.count.sum() < tokens * tokens) {
    std::ostringstream text;
    text << path << " has " << counts.count.sum()
         << (counts.count.sum() == 1 ? " pair of " : " pairs of ") << units << " for the "
         << tokens * tokens
         << " entries of P, to each of which one is added: too few to estimate P";
    notes.push_back({text.str(), true});
  }
  return notes;
}

Problem counted(const Ingredients& ingredients) {
  Parameters& own = ingredients.own;
  const bool from_text = own.has("text");
  const std::string& path = own.word(from_text ? "text" : "counts");
  std::optional<std::int64_t> limit;
  // A text has thousands of words, so the default size limits it; a table keeps all its units.
  if (own.given("vocab-size") || (from_text && own.has("vocab-size"))) {
    limit = own.integer("vocab-size");
  }
  const TextUnit unit =
      from_text && own.word("text-unit") == "word" ? TextUnit::word : TextUnit::character;
  BigramCounts counts = from_text ? count_text(path, unit, limit) : read_counts(path, limit);

  const auto found = static_cast<std::int64_t>(counts.labels.size());
  if (own.given("vocab-size") && found < own.integer("vocab-size")) {
    throw UsageError("--vocab-size " + own.text("vocab-size") + " is more than " + path +
                     " holds: " + std::to_string(found) + " different units");
  }
  own.resolve("vocab-size", found);
  Problem problem;
  problem.Q = positions_of(ingredients, found);
  problem.P = transition_matrix(counts);
  problem.mu = stationary_distribution(problem.P, path + ": P");
  problem.notes = notes_on(counts, path,
                           !from_text               ? "units"
                           : unit == TextUnit::word ? "words"
                                                    : "characters");
  problem.labels = std::move(counts.labels);
  return problem;
}

Problem from_file(const Ingredients& ingredients) {
  Parameters& own = ingredients.own;
  const std::string& path = *ingredients.setting.problem;
  Problem problem = read_problem_file(path);
  resolve(own, "vocab-size", problem.vocabulary(), path);
  resolve(own, "context-length", problem.Q.context_length, path);
  resolve(own, "sparsity", problem.Q.slots(), path);
  return problem;
}

}  // namespace

Problem make_problem(const Ingredients& ingredients) {
  refuse_contradictions(ingredients);
  if (ingredients.setting.problem.has_value()) return from_file(ingredients);
  if (ingredients.own.has("text") || ingredients.own.has("counts")) return counted(ingredients);
  return drawn(ingredients);
}

void set_column(Positions& positions, Eigen::Index query, std::vector<WeightedPosition> column) {
  std::sort(column.begin(), column.end(),
            [](const auto& a, const auto& b) { return a.position < b.position; });
  positions.weight.col(query).setZero();
  positions.position.col(query).setConstant(-1);
  Eigen::Index slot = 0;
  for (const WeightedPosition& entry : column) {
    if (entry.weight == 0) continue;
    positions.weight(slot, query) = entry.weight;
    positions.position(slot, query) = entry.position;
    ++slot;
  }
}

std::string joined_labels(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += (text.empty() ? "" : " ") + label;
  return text;
}

std::vector<std::string> split_labels(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> labels;
  for (std::string label; words >> label;) labels.push_back(label);
  return labels;
}

}  // namespace popflow::scb

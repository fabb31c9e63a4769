#include "dynamics/joma/problem.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "popflow/error.hpp"
#include "popflow/math.hpp"
#include "popflow/memory.hpp"
#include "popflow/parameter.hpp"
#include "popflow/problem_file.hpp"
#include "popflow/random.hpp"
#include "popflow/sizes.hpp"

namespace popflow::joma {
namespace {

// Number of matrices of the problem's size that a System holds: goal, start, deviations, levels.
constexpr double kMatrices = 5;

/// Reads one problem from its file.
class Reader : private ProblemFile {
 public:
  explicit Reader(const std::string& path) : ProblemFile(path, {"target", "drive"}) {}
  Problem read();

 private:
  [[nodiscard]] Matrix table(const std::string& name) const;
};

/// A dataset (node, token), or (token) for one node.
Matrix Reader::table(const std::string& name) const {
  const std::vector<std::size_t> size = shape(name);
  const bool empty = std::find(size.begin(), size.end(), 0) != size.end();
  if (size.empty() || size.size() > 2 || empty)
    throw bad(name + " has shape " + in_words(size) +
              "; it must be (token) or (node, token), with at least one of each");
  require_memory(kMatrices * static_cast<double>(size[0]) *
                     (size.size() == 2 ? static_cast<double>(size[1]) : 1.0),
                 file().path() + ": " + name);
  const Matrix values = size.size() == 1 ? Matrix(vector(name).transpose()) : matrix(name);
  for (Eigen::Index k = 0; k < values.rows(); ++k) {
    for (Eigen::Index l = 0; l < values.cols(); ++l) {
      if (std::abs(values(k, l)) <= kLargestNumber) continue;
      throw bad((size.size() == 1 ? entry_name(name, l) : entry_name(name, k, l)) + " is " +
                shortest(values(k, l)) + "; every entry must be finite and at most " +
                shortest(kLargestNumber) + " in size");
    }
  }
  return values;
}

Problem Reader::read() {
  refuse_misspelt({"target", "drive", "v0"});
  Problem problem;
  problem.has_target = has("target");
  if (problem.has_target && has("drive"))
    throw wrong("holds both target and drive; a problem has only one of them");
  const std::string goal = problem.has_target ? "target" : "drive";
  problem.goal = table(goal);
  if (!has("v0")) return problem;
  problem.v0 = table("v0");
  if (problem.v0->rows() != problem.goal.rows() || problem.v0->cols() != problem.goal.cols())
    throw bad("v0 has shape " + in_words(shape("v0")) + "; it must be (" +
              std::to_string(problem.goal.rows()) + ", " + std::to_string(problem.goal.cols()) +
              "), as " + goal + " has " + std::to_string(problem.goal.rows()) + " nodes and " +
              std::to_string(problem.goal.cols()) + " tokens");
  return problem;
}

Problem from_file(const Ingredients& from) {
  Parameters& own = from.own;
  const std::string& path = *from.setting.problem;
  Problem problem = Reader(path).read();
  const std::string activation = problem.has_target ? "nonlinear" : "linear";
  if (own.given("activation") && own.word("activation") != activation)
    throw UsageError("--activation " + own.word("activation") + " disagrees with " + path +
                     ": it holds " + (problem.has_target ? "target" : "drive") + ", which means " +
                     activation);
  own.resolve("activation", activation);
  resolve(own, "nodes", problem.goal.rows(), path);
  resolve(own, "tokens", problem.goal.cols(), path);
  return problem;
}

Matrix drawn_uniform(const Ingredients& from) {
  const Parameters& own = from.own;
  const double low = own.real("target-min");
  const double high = own.real("target-max");
  if (low > high)
    throw UsageError("--target-min " + own.text("target-min") + " is above --target-max " +
                     own.text("target-max"));
  return draw_uniform(own.integer("nodes"), own.integer("tokens"), low, high,
                      from.setting.problem_seed);
}

}  // namespace

Matrix draw_uniform(Eigen::Index nodes, Eigen::Index tokens, double low, double high,
                    std::uint64_t seed) {
  Matrix values(nodes, tokens);
  for (Eigen::Index k = 0; k < nodes; ++k) {
    RandomStream random(seed, Purpose::problem, 0, static_cast<std::uint64_t>(k));
    for (Eigen::Index l = 0; l < tokens; ++l) values(k, l) = low + (high - low) * random.uniform();
  }
  return values;
}

Matrix tree_probabilities(Eigen::Index nodes, int depth, double rho) {
  const Eigen::Index leaves = Eigen::Index{1} << depth;
  Matrix values(nodes, leaves);
  for (Eigen::Index k = 0; k < nodes; ++k) {
    for (Eigen::Index l = 0; l < leaves; ++l) {
      // The paths to two leaves part at the highest bit in which their numbers differ.
      const auto height =
          static_cast<int>(std::bit_width(static_cast<std::uint64_t>(l ^ (k % leaves))));
      values(k, l) = 0.5 * (1 + math::pow(rho * rho, height));
    }
  }
  return values;
}

Problem make_problem(const Ingredients& from) {
  if (from.setting.problem) return from_file(from);
  Parameters& own = from.own;
  const bool tree = own.word("data") == "tree";
  if (tree)
    resolve(own, "tokens", std::int64_t{1} << own.integer("tree-depth"),
            "--tree-depth " + own.text("tree-depth") + " (2^depth leaves)");
  require_memory(kMatrices * static_cast<double>(own.integer("nodes")) *
                     static_cast<double>(own.integer("tokens")),
                 "--nodes " + own.text("nodes") + " with " + own.text("tokens") + " tokens");
  Problem problem;
  problem.has_target = own.word("activation") == "nonlinear";
  problem.goal =
      tree ? tree_probabilities(own.integer("nodes"), static_cast<int>(own.integer("tree-depth")),
                                own.real("tree-correlation"))
           : drawn_uniform(from);
  return problem;
}

}  // namespace popflow::joma

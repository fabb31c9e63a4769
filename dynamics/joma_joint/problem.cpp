#include "dynamics/joma_joint/problem.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "dynamics/joma_joint/attention.hpp"
#include "popflow/error.hpp"
#include "popflow/math.hpp"
#include "popflow/memory.hpp"
#include "popflow/problem_file.hpp"
#include "popflow/random.hpp"
#include "popflow/sizes.hpp"
#include "popflow/workers.hpp"

namespace popflow::joma_joint {
namespace {

/// Tokens in the first half have a Gaussian profile whose centre moves with the class; the others
/// are noise (arXiv 2310.00535, figures 2 and 3, for M = C = 20: exp(-(l - c/2)^2/30), U(0,1/2)).
Eigen::VectorXd gaussian_context(Eigen::Index tokens, Eigen::Index classes, Eigen::Index c,
                                 RandomStream& random) {
  const Eigen::Index half = tokens / 2;
  const auto width = static_cast<double>(half);
  const double centre = width * static_cast<double>(c) / static_cast<double>(classes);
  Eigen::VectorXd x(tokens);
  for (Eigen::Index l = 0; l < tokens; ++l) {
    const double off = static_cast<double>(l) - centre;
    x[l] = l < half ? math::exp(-off * off / (0.3 * width * width)) : 0.5 * random.uniform();
  }
  return x;
}

/// Uniform on the simplex: exponential variates, to be divided by their sum.
Eigen::VectorXd dirichlet_context(Eigen::Index tokens, RandomStream& random) {
  Eigen::VectorXd x(tokens);
  for (double& entry : x) entry = -math::log(random.uniform());
  return x;
}

Eigen::MatrixXd draw_contexts(const Ingredients& from) {
  const Eigen::Index M = from.own.integer("tokens");
  const Eigen::Index C = from.own.integer("classes");
  const bool gaussian = from.own.word("data") == "gaussian";
  Eigen::MatrixXd X(M, C);
  const auto draw = [&](std::size_t number) {
    const auto c = static_cast<Eigen::Index>(number);
    RandomStream random(from.setting.problem_seed, Purpose::problem, 0, number);
    X.col(c) = gaussian ? gaussian_context(M, C, c, random) : dirichlet_context(M, random);
    X.col(c) /= X.col(c).sum();
  };
  from.workers.run(to_size(C), to_size(X.size()), draw);
  return X;
}

enum class Part : std::uint32_t { weights, residuals, logits };

/// Normals with standard deviation init-scale, from a separate stream for each part, so that the
/// logits do not depend on the number of nodes.
Eigen::MatrixXd draw_start(const Ingredients& from, Part part, Eigen::Index rows,
                           Eigen::Index columns = 1) {
  const double scale = from.own.real("init-scale");
  Eigen::MatrixXd x(rows, columns);
  // A pair of normals takes two words of the stream, so each piece knows where its words begin.
  constexpr Eigen::Index kPiece = 1 << 14;
  const auto draw = [&](std::size_t piece) {
    const Eigen::Index first = static_cast<Eigen::Index>(piece) * kPiece;
    RandomStream random(from.setting.problem_seed, Purpose::start,
                        static_cast<std::uint32_t>(part));
    random.discard(to_size(first));
    for (double& entry : x.reshaped().segment(first, std::min(kPiece, x.size() - first)))
      entry = scale * random.normal();
  };
  from.workers.run(to_size((x.size() + kPiece - 1) / kPiece), to_size(x.size()), draw);
  return x;
}

void require_room(const Ingredients& from) {
  const Parameters& own = from.own;
  const auto size = [&](const char* name) { return static_cast<double>(own.integer(name)); };
  const double M = size("tokens");
  const double C = size("classes");
  const double K = size("nodes");
  // Memory for
  // - X, stored with tokens last and in three copies on the way to the file, and the attended
  //   contexts; with noise also tables for drawing, and x log x
  // - V with its start, its derivative and a method's stages
  // - h, g and related arrays, and the products of every block of tokens
  // The memory for a relu's slides is not known in advance.
  const auto stretches =
      static_cast<double>(blocks_of_tokens(static_cast<Eigen::Index>(std::min(M, 1e9))));
  const double contexts = from.setting.noisy ? 9 : 6;
  require_memory(contexts * M * C + 10 * M * K + (6 + stretches) * K * C,
                 own.text("tokens") + " tokens, " + own.text("classes") + " classes and " +
                     own.text("nodes") + " nodes");
}

/// Parts of a problem that a file gives.
struct Given {
  std::optional<Eigen::MatrixXd> X;
  std::optional<Eigen::VectorXd> p;
  std::optional<Eigen::MatrixXd> V;  ///< (node, token)
  std::optional<Eigen::VectorXd> r, z;
};

Given read(const Ingredients& from) {
  const std::string& path = *from.setting.problem;
  const ProblemFile file(path, {"X"});
  file.refuse_misspelt({"X", "class_weight", "V0", "r0", "z0"});
  Given given;
  const ProblemFile::Matrix X = file.matrix("X");
  if (X.size() == 0)
    throw file.bad("X has shape " + in_words(file.shape("X")) +
                   "; there must be at least one token and one class");
  file.require_columns_of_probabilities("X", X);
  given.X = X;
  const Eigen::Index M = X.rows();
  const Eigen::Index C = X.cols();
  const std::string tokens = "X has " + std::to_string(M) + " tokens";
  if (file.has("class_weight")) {
    given.p = file.vector("class_weight", static_cast<std::size_t>(C),
                          "X has " + std::to_string(C) + " classes");
    file.require_distribution("class_weight", *given.p);
  }
  if (file.has("V0")) {
    const std::vector<std::size_t> found = file.shape("V0");
    const std::size_t K = found.size() == 2 ? found[1] : 0;
    const ProblemFile::Matrix V0 = file.matrix("V0", static_cast<std::size_t>(M), K, tokens);
    if (K == 0) throw file.bad("V0 has shape " + in_words(found) + "; it must have nodes");
    file.require_finite("V0", V0);
    given.V = V0.transpose();
  }
  if (file.has("r0")) {
    given.r = given.V ? file.vector("r0", static_cast<std::size_t>(given.V->rows()),
                                    "V0 has " + std::to_string(given.V->rows()) + " nodes")
                      : file.vector("r0");
    if (given.r->size() == 0) throw file.bad("r0 is empty; there must be at least one node");
    file.require_finite("r0", *given.r);
  }
  if (file.has("z0")) {
    given.z = file.vector("z0", static_cast<std::size_t>(M), tokens);
    file.require_finite("z0", *given.z);
  }
  if ((given.V || given.r) && from.own.word("backprop") == "cross-entropy") {
    const Eigen::Index K = given.V ? given.V->rows() : given.r->size();
    if (K != C)
      throw file.bad(std::string(given.V ? "V0" : "r0") + " has " + std::to_string(K) +
                     " nodes, but X has " + std::to_string(C) +
                     " classes; --backprop cross-entropy needs as many nodes as classes");
  }
  resolve(from.own, "tokens", M, path);
  resolve(from.own, "classes", C, path);
  if (given.V || given.r)
    resolve(from.own, "nodes", given.V ? given.V->rows() : given.r->size(), path);
  return given;
}

}  // namespace

Problem make_problem(const Ingredients& from) {
  Parameters& own = from.own;
  if (!own.has("init-logit"))
    own.resolve("init-logit", own.word("attention") == "linear" ? 1.0 : 0.0);
  Given given;
  if (from.setting.problem) given = read(from);
  if (!own.has("nodes")) own.resolve("nodes", own.integer("classes"));
  require_room(from);

  Problem problem;
  problem.X = given.X ? std::move(*given.X) : draw_contexts(from);
  const Eigen::Index M = problem.tokens();
  const Eigen::Index C = problem.classes();
  const Eigen::Index K = own.integer("nodes");
  problem.p = given.p ? *given.p : Eigen::VectorXd::Constant(C, 1 / static_cast<double>(C));
  Start& start = problem.start;
  start.V = given.V ? std::move(*given.V) : draw_start(from, Part::weights, K, M);
  start.r = given.r ? *given.r : Eigen::VectorXd(draw_start(from, Part::residuals, K));
  if (given.z)
    start.z = *given.z;
  else
    start.z = draw_start(from, Part::logits, M).array() + own.real("init-logit");
  return problem;
}

}  // namespace popflow::joma_joint

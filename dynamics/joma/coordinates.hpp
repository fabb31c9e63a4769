#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dynamics/joma/attention.hpp"
#include "dynamics/joma/problem.hpp"
#include "popflow/system.hpp"

namespace popflow::joma {

/// Start and direction of the flow: v_kl moves on the line v0 + E ahead. E(t) is the same for all
/// nodes of a token, because they share its attention.
struct Start {
  Matrix v0;
  /// Whether all entries equal --init. If so, the file need not contain them.
  bool standard = true;
  Matrix ahead;  ///< mu - v0 (target) or Delta (drive)
};

/// A token's line in the space of its nodes: S_l = (along + length E)^2 + across.
struct Line {
  double along = 0;   ///< component of v0 in the direction of `ahead`
  double length = 0;  ///< norm of `ahead`
  double across = 0;  ///< squared norm of the part of v0 orthogonal to `ahead`
  /// End of the line, if there is a target.
  [[nodiscard]] double end() const { return along + length; }
};

/// Lines of all tokens, as a structure of arrays.
struct Lines {
  explicit Lines(const Start& start);
  std::vector<double> along, length, across;
  bool flat = true;  ///< all `across` are 0: one node
  [[nodiscard]] std::size_t size() const { return along.size(); }
  [[nodiscard]] Line at(std::size_t l) const { return {along[l], length[l], across[l]}; }
};

/// S_l of the tokens from `begin` on, with targets or drives; x holds their progress.
void squares_of_progress(const Lines& lines, bool has_target, std::size_t begin,
                         std::span<const double> x, double* out);
/// Progress at which v_kl passes 90% of mu_kl (nodes x tokens): 1 - (1 - v0/mu) e^{-s} = 0.9. NaN
/// where mu is 0.
Matrix passage_levels(const Problem& problem, const Start& start);

/// Interface to the state in one of its coordinate systems.
class Coordinates {
 public:
  virtual ~Coordinates() = default;
  [[nodiscard]] virtual std::string block() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  virtual void start(double* x) const = 0;

  // The functions below treat the tokens [begin, end) and write from out[0] on.
  /// S_l = sum_k v_kl^2
  virtual void squares(const double* x, std::size_t begin, std::size_t end, double* out) const = 0;
  /// S_l with the same bits as squares(), and (dS_l/dt) / (2 b_l) = sum_k v_kl F_kl
  virtual void motions(const double* x, std::size_t begin, std::size_t end, double* squares,
                       double* growths) const = 0;
  /// dx/dt from b_l; the reduced state's derivative is b itself, so `b` may be the same memory.
  virtual void derivative(const double* x, const double* b, std::size_t begin, std::size_t end,
                          double* dxdt) const = 0;
  /// v_kl of one node.
  virtual void values(const double* x, std::size_t node, std::size_t begin, std::size_t end,
                      double* out) const = 0;
  /// mu_kl - v_kl, accurate even if far below mu; only with a target.
  virtual void deviations(const double* x, std::size_t node, std::size_t begin, std::size_t end,
                          double* out) const = 0;
  /// s_l = integral of b_l over time; NaN where the state no longer determines s_l. Only with a
  /// target.
  virtual void progress(const double* x, std::size_t begin, std::size_t end, double* out) const = 0;
  /// Function that crosses zero upwards when v_kl passes 90% of mu_kl, for node k.
  virtual void passages(const double* x, std::size_t node, std::size_t begin, std::size_t end,
                        double* out) const = 0;
  /// d(dx/dt)/dx from b and its derivative by_square(l, l') = db_l/dS_l'.
  virtual void jacobian(const double* x, const Eigen::VectorXd& b, const Eigen::MatrixXd& by_square,
                        Eigen::Ref<Eigen::MatrixXd> j) const = 0;
  /// Exact state, given the progress of all tokens.
  virtual void from_progress(const double* s, double* x) const = 0;
};

/// The state is v itself or, with targets, the deviation v - mu: nodes times tokens numbers.
std::unique_ptr<Coordinates> full_coordinates(const Problem& problem, const Start& start);
/// The state is s_l = integral of b_l over time: one number per token.
std::unique_ptr<Coordinates> reduced_coordinates(const Problem& problem, const Start& start,
                                                 const Lines& lines);

}  // namespace popflow::joma

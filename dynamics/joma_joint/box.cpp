#include "dynamics/joma_joint/box.hpp"

#include <algorithm>
#include <utility>

#include "numerics/linear_algebra.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

bool symmetric(const Eigen::MatrixXd& A) {
  return (A - A.transpose()).cwiseAbs().maxCoeff() <= 1e-14 * A.cwiseAbs().maxCoeff();
}

/// State of an active-set search.
class Search {
 public:
  Search(const Eigen::MatrixXd& A, const Eigen::VectorXd& a, const Eigen::VectorXd& upper,
         Eigen::VectorXd guess)
      : A_(A), a_(a), upper_(upper), rest_{std::move(guess), {}} {
    rest_.mu = rest_.mu.cwiseMax(0).cwiseMin(upper);
    for (Index i = 0; i < a.size(); ++i)
      rest_.place.push_back(rest_.mu[i] <= 0          ? Place::low
                            : rest_.mu[i] >= upper[i] ? Place::high
                                                      : Place::between);
  }

  Equilibrium find() {
    // The minimum over a face decreases with each face, so the search terminates for a symmetric A.
    const Index limit = 20 * (a_.size() + 1);
    for (Index i = 0; i < limit; ++i)
      if (to_minimum_of_face() && !leave_face()) break;
    return std::move(rest_);
  }

 private:
  /// Moves towards the minimum over the free entries; returns false if one of them hit the box.
  bool to_minimum_of_face() {
    free_.clear();
    for (Index i = 0; i < a_.size(); ++i)
      if (place(i) == Place::between) free_.push_back(i);
    if (free_.empty()) return true;
    Eigen::VectorXd fixed = rest_.mu;
    fixed(free_).setZero();
    const Eigen::VectorXd b = a_(free_) - A_(free_, Eigen::all) * fixed;
    const Eigen::VectorXd target = solve_semidefinite(A_(free_, free_), b);
    double part = 1;
    Index blocking = -1;
    for (std::size_t j = 0; j < free_.size(); ++j) {
      const Index i = free_[j];
      const double goal = target[static_cast<Index>(j)];
      const double bound = goal < 0 ? 0.0 : upper_[i];
      if (goal >= 0 && goal <= upper_[i]) continue;
      const double until = (bound - rest_.mu[i]) / (goal - rest_.mu[i]);
      if (blocking >= 0 && until >= part) continue;
      part = std::max(0.0, until);
      blocking = i;
    }
    for (std::size_t j = 0; j < free_.size(); ++j) {
      const Index i = free_[j];
      const double moved = rest_.mu[i] + part * (target[static_cast<Index>(j)] - rest_.mu[i]);
      rest_.mu[i] = std::min(std::max(moved, 0.0), upper_[i]);
    }
    if (blocking < 0) return true;
    const bool high = target[position(blocking)] > 0;
    rest_.mu[blocking] = high ? upper_[blocking] : 0.0;
    place(blocking) = high ? Place::high : Place::low;
    return false;
  }

  /// Frees the entry that is pushed into the box most strongly; returns false if there is none.
  bool leave_face() {
    const Eigen::VectorXd w = a_ - A_ * rest_.mu;
    const double size = a_.cwiseAbs().maxCoeff() + (A_.cwiseAbs() * rest_.mu).maxCoeff();
    double worst = 1e-12 * size;
    Index pushed = -1;
    for (Index i = 0; i < w.size(); ++i) {
      if (upper_[i] <= 0) {
        place(i) = w[i] > 0 ? Place::high : Place::low;
        continue;
      }
      const double inwards = place(i) == Place::low ? w[i] : place(i) == Place::high ? -w[i] : 0.0;
      if (inwards <= worst) continue;
      worst = inwards;
      pushed = i;
    }
    if (pushed < 0) return false;
    place(pushed) = Place::between;
    return true;
  }

  Place& place(Index i) { return rest_.place[static_cast<std::size_t>(i)]; }
  [[nodiscard]] Index position(Index i) const {
    return static_cast<Index>(std::find(free_.begin(), free_.end(), i) - free_.begin());
  }

  const Eigen::MatrixXd& A_;
  const Eigen::VectorXd& a_;
  const Eigen::VectorXd& upper_;
  Equilibrium rest_;
  std::vector<Index> free_;
};

}  // namespace

Eigen::VectorXd solve_semidefinite(const Eigen::MatrixXd& A, const Eigen::VectorXd& b) {
  if (A.size() == 0) return b;
  Eigen::MatrixXd shifted = A;
  shifted.diagonal().array() += 1e-13 * A.diagonal().mean();
  if (symmetric(A))
    if (const auto solution = solve_positive(shifted, b)) return *solution;
  return solve_linear(shifted, b);
}

Equilibrium equilibrium_in_box(const Eigen::MatrixXd& A, const Eigen::VectorXd& a,
                               const Eigen::VectorXd& upper, Eigen::VectorXd guess) {
  return Search(A, a, upper, std::move(guess)).find();
}

}  // namespace popflow::joma_joint

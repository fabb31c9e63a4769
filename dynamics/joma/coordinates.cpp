#include "dynamics/joma/coordinates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/joma/kernels.hpp"
#include "popflow/math.hpp"

namespace popflow::joma {

namespace {

constexpr double kPassed = 0.9;

/// The state is v, or u = v - mu.
class Full : public Coordinates {
 public:
  Full(const Problem& problem, const Start& start)
      : problem_(problem), start_(start), tokens_(problem.goal.cols()) {}

  [[nodiscard]] std::string block() const override {
    return problem_.has_target ? "v - target" : "v";
  }
  [[nodiscard]] std::size_t size() const override { return problem_.goal.size(); }

  void start(double* x) const override {
    if (problem_.has_target)
      Eigen::Map<Matrix>(x, problem_.goal.rows(), problem_.goal.cols()) = -start_.ahead;
    else
      std::copy_n(start_.v0.data(), size(), x);
  }

  void squares(const double* x, std::size_t begin, std::size_t end, double* out) const override {
    std::fill(out, out + (end - begin), 0.0);
    each_node([&](const double* goal, std::size_t row) {
      const double* u = x + row;
      if (problem_.has_target)
        for (std::size_t l = begin; l < end; ++l) {
          const double v = goal[l] + u[l];
          out[l - begin] += v * v;
        }
      else
        for (std::size_t l = begin; l < end; ++l) out[l - begin] += u[l] * u[l];
    });
  }

  void motions(const double* x, std::size_t begin, std::size_t end, double* squares_out,
               double* growths) const override {
    squares(x, begin, end, squares_out);
    std::fill(growths, growths + (end - begin), 0.0);
    each_node([&](const double* goal, std::size_t row) {
      const double* u = x + row;
      if (problem_.has_target)
        for (std::size_t l = begin; l < end; ++l) growths[l - begin] -= (goal[l] + u[l]) * u[l];
      else
        for (std::size_t l = begin; l < end; ++l) growths[l - begin] += u[l] * goal[l];
    });
  }

  void derivative(const double* x, const double* b, std::size_t begin, std::size_t end,
                  double* dxdt) const override {
    each_node([&](const double* goal, std::size_t row) {
      if (problem_.has_target)
        for (std::size_t l = begin; l < end; ++l) dxdt[row + l] = -x[row + l] * b[l - begin];
      else
        for (std::size_t l = begin; l < end; ++l) dxdt[row + l] = goal[l] * b[l - begin];
    });
  }

  void values(const double* x, std::size_t node, std::size_t begin, std::size_t end,
              double* out) const override {
    const double* u = x + node * tokens_;
    const double* goal = problem_.goal.data() + node * tokens_;
    for (std::size_t l = begin; l < end; ++l)
      out[l - begin] = problem_.has_target ? goal[l] + u[l] : u[l];
  }

  void deviations(const double* x, std::size_t node, std::size_t begin, std::size_t end,
                  double* out) const override {
    for (std::size_t l = begin; l < end; ++l) out[l - begin] = -x[node * tokens_ + l];
  }

  void progress(const double* x, std::size_t begin, std::size_t end, double* out) const override {
    // Smaller deviations are dominated by the integrator's tolerance and do not determine e^{-s}.
    constexpr double kLost = 1e-6;
    std::vector<double> now(end - begin, 0.0);
    std::vector<double> first(end - begin, 0.0);
    each_node([&](const double*, std::size_t row) {
      for (std::size_t l = begin; l < end; ++l) {
        const double ahead = start_.ahead.data()[row + l];
        now[l - begin] -= x[row + l] * ahead;
        first[l - begin] += ahead * ahead;
      }
    });
    for (std::size_t i = 0; i < end - begin; ++i)
      out[i] = now[i] > kLost * first[i] ? -math::log(now[i] / first[i]) : kNone;
  }

  void passages(const double* x, std::size_t node, std::size_t begin, std::size_t end,
                double* out) const override {
    const double* u = x + node * tokens_;
    const double* goal = problem_.goal.data() + node * tokens_;
    for (std::size_t l = begin; l < end; ++l)
      out[l - begin] = goal[l] == 0 ? kNone : (1 - kPassed) + u[l] / goal[l];
  }

  void jacobian(const double* x, const Eigen::VectorXd& b, const Eigen::MatrixXd& by_square,
                Eigen::Ref<Eigen::MatrixXd> j) const override {
    const Eigen::Index M = problem_.goal.cols();
    const Eigen::Map<const Matrix> state(x, problem_.goal.rows(), M);
    const Matrix v = problem_.has_target ? Matrix(problem_.goal + state) : Matrix(state);
    const Matrix force = problem_.has_target ? Matrix(-state) : problem_.goal;
    for (Eigen::Index k = 0; k < v.rows(); ++k) {
      for (Eigen::Index other = 0; other < v.rows(); ++other)
        j.block(k * M, other * M, M, M) =
            force.row(k).asDiagonal() * by_square * (2 * v.row(other)).asDiagonal();
      if (problem_.has_target) j.block(k * M, k * M, M, M).diagonal() -= b;
    }
  }

  void from_progress(const double* s, double* x) const override {
    // Closed forms exist for drives only.
    for (Eigen::Index k = 0; k < problem_.goal.rows(); ++k)
      for (Eigen::Index l = 0; l < problem_.goal.cols(); ++l)
        x[k * problem_.goal.cols() + l] = start_.v0(k, l) + start_.ahead(k, l) * s[l];
  }

 private:
  template <class Body>
  void each_node(Body&& body) const {
    const auto nodes = static_cast<std::size_t>(problem_.goal.rows());
    for (std::size_t k = 0; k < nodes; ++k) body(problem_.goal.data() + k * tokens_, k * tokens_);
  }
  const Problem& problem_;
  const Start& start_;
  std::size_t tokens_;
};

void add_across(const Lines& lines, std::size_t begin, std::size_t count, double* squares) {
  if (lines.flat) return;
  const double* across = lines.across.data() + begin;
  for (std::size_t l = 0; l < count; ++l) squares[l] += across[l];
}

/// The state is s_l: v = v0 + s ahead with drives, v = v0 + (1 - e^{-s}) ahead with targets.
class Reduced : public Coordinates {
 public:
  Reduced(const Problem& problem, const Start& start, const Lines& lines)
      : problem_(problem), start_(start), lines_(lines) {
    if (problem.has_target) levels_ = passage_levels(problem, start);
  }

  [[nodiscard]] std::string block() const override { return "s"; }
  [[nodiscard]] std::size_t size() const override { return lines_.size(); }
  void start(double* x) const override { std::fill(x, x + size(), 0.0); }

  void squares(const double* x, std::size_t begin, std::size_t end, double* out) const override {
    squares_of_progress(lines_, problem_.has_target, begin, {x + begin, end - begin}, out);
  }

  void motions(const double* x, std::size_t begin, std::size_t end, double* squares_out,
               double* growths) const override {
    const double* along = lines_.along.data();
    const double* length = lines_.length.data();
    if (problem_.has_target)
      target_motions(end - begin, along + begin, length + begin, x + begin, squares_out, growths);
    else
      for (std::size_t l = begin; l < end; ++l) {
        const Motion<double> motion = drive_motion(along[l], length[l], x[l]);
        squares_out[l - begin] = motion.square;
        growths[l - begin] = motion.growth;
      }
    add_across(lines_, begin, end - begin, squares_out);
  }

  void derivative(const double* /*x*/, const double* b, std::size_t begin, std::size_t end,
                  double* dxdt) const override {
    if (b != dxdt + begin) std::copy(b, b + (end - begin), dxdt + begin);
  }

  void values(const double* x, std::size_t node, std::size_t begin, std::size_t end,
              double* out) const override {
    const double* v0 = start_.v0.data() + node * size();
    const double* ahead = start_.ahead.data() + node * size();
    const double* goal = problem_.goal.data() + node * size();
    if (problem_.has_target)
      target_values(end - begin, goal + begin, v0 + begin, ahead + begin, x + begin, out);
    else
      for (std::size_t l = begin; l < end; ++l) out[l - begin] = v0[l] + x[l] * ahead[l];
  }

  void deviations(const double* x, std::size_t node, std::size_t begin, std::size_t end,
                  double* out) const override {
    const double* ahead = start_.ahead.data() + node * size();
    for (std::size_t l = begin; l < end; ++l) out[l - begin] = math::exp(-x[l]) * ahead[l];
  }

  void progress(const double* x, std::size_t begin, std::size_t end, double* out) const override {
    std::copy(x + begin, x + end, out);
  }

  void passages(const double* x, std::size_t node, std::size_t begin, std::size_t end,
                double* out) const override {
    const double* level = levels_.data() + node * size();
    for (std::size_t l = begin; l < end; ++l) out[l - begin] = x[l] - level[l];
  }

  void jacobian(const double* x, const Eigen::VectorXd& /*b*/, const Eigen::MatrixXd& by_square,
                Eigen::Ref<Eigen::MatrixXd> j) const override {
    Eigen::VectorXd square(static_cast<Eigen::Index>(size()));
    Eigen::VectorXd growth(square.size());
    motions(x, 0, size(), square.data(), growth.data());
    j = by_square * (2 * growth).asDiagonal();
  }

  void from_progress(const double* s, double* x) const override { std::copy_n(s, size(), x); }

 private:
  const Problem& problem_;
  const Start& start_;
  const Lines& lines_;
  Matrix levels_;
};

}  // namespace

Lines::Lines(const Start& start)
    : along(start.v0.cols()), length(along.size()), across(along.size()) {
  const Eigen::Index nodes = start.v0.rows();
  for (Eigen::Index l = 0; l < start.v0.cols(); ++l) {
    const auto v0 = start.v0.col(l);
    const auto ahead = start.ahead.col(l);
    // A single node is its own line; abs() avoids rounding.
    length[l] = nodes == 1 ? std::abs(ahead[0]) : ahead.stableNorm();
    if (length[l] == 0) {
      across[l] = v0.squaredNorm();
    } else if (nodes == 1) {
      along[l] = ahead[0] < 0 ? -v0[0] : v0[0];
    } else {
      const Eigen::VectorXd direction = ahead / length[l];
      along[l] = v0.dot(direction);
      across[l] = (v0 - along[l] * direction).squaredNorm();
    }
    if (across[l] > 0) flat = false;
  }
}

void squares_of_progress(const Lines& lines, bool has_target, std::size_t begin,
                         std::span<const double> x, double* out) {
  const double* along = lines.along.data() + begin;
  const double* length = lines.length.data() + begin;
  if (has_target)
    target_squares(x.size(), along, length, x.data(), out);
  else
    for (std::size_t l = 0; l < x.size(); ++l)
      out[l] = drive_motion(along[l], length[l], x[l]).square;
  add_across(lines, begin, x.size(), out);
}

Matrix passage_levels(const Problem& problem, const Start& start) {
  Matrix levels(problem.goal.rows(), problem.goal.cols());
  for (Eigen::Index i = 0; i < levels.size(); ++i) {
    const double mu = problem.goal.data()[i];
    const double missing = start.ahead.data()[i] / mu;
    double level = kNone;
    if (mu != 0) level = missing <= 1 - kPassed ? 0 : math::log(missing / (1 - kPassed));
    levels.data()[i] = level;
  }
  return levels;
}

std::unique_ptr<Coordinates> full_coordinates(const Problem& problem, const Start& start) {
  return std::make_unique<Full>(problem, start);
}

std::unique_ptr<Coordinates> reduced_coordinates(const Problem& problem, const Start& start,
                                                 const Lines& lines) {
  return std::make_unique<Reduced>(problem, start, lines);
}

}  // namespace popflow::joma

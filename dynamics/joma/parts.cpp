#include "dynamics/joma/parts.hpp"

#include <algorithm>
#include <numeric>

namespace popflow::joma {

namespace {

/// By where a target draws a token to, or by how fast a drive takes it there: what lets attention
/// grow, and makes steps short.
std::vector<std::size_t> by_length(const Lines& lines) {
  std::vector<std::size_t> order(lines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lines.length[a] != lines.length[b] ? lines.length[a] < lines.length[b] : a < b;
  });
  return order;
}

}  // namespace

Parts::Parts(const Problem& problem, const Start& start, const Lines& lines,
             const Attention& attention)
    : has_target_(problem.has_target),
      attention_(attention),
      order_(by_length(lines)),
      lines_(lines) {
  for (std::size_t i = 0; i < order_.size(); ++i) {
    lines_.along[i] = lines.along[order_[i]];
    lines_.length[i] = lines.length[order_[i]];
    lines_.across[i] = lines.across[order_[i]];
  }
  if (!has_target_) return;
  const Matrix levels = passage_levels(problem, start);
  levels_.resize(levels.rows(), levels.cols());
  for (Eigen::Index k = 0; k < levels.rows(); ++k)
    for (std::size_t i = 0; i < order_.size(); ++i)
      levels_(k, static_cast<Eigen::Index>(i)) = levels(k, static_cast<Eigen::Index>(order_[i]));
}

void Parts::part_rhs(std::size_t begin, std::span<const double> x, double /*t*/,
                     std::span<double> dxdt) const {
  squares_of_progress(lines_, has_target_, begin, x, dxdt.data());
  attention_.apply(x.size(), dxdt.data());
}

void Parts::part_passages(std::size_t begin, std::span<const double> x, double /*t*/,
                          std::span<double> values) const {
  for (Eigen::Index k = 0; k < levels_.rows(); ++k) {
    const double* level = levels_.row(k).data() + begin;
    double* out = values.data() + static_cast<std::size_t>(k) * x.size();
    for (std::size_t l = 0; l < x.size(); ++l) out[l] = x[l] - level[l];
  }
}

}  // namespace popflow::joma

#include "dynamics/joma/parts.hpp"

#include <algorithm>
#include <utility>

namespace popflow::joma {

namespace {

/// Size of a part whose tokens jump, each in hundreds of steps while most other tokens rest: as
/// small as vectors allow.
constexpr std::size_t kJumping = 32;
bool jump(const Problem& problem, const Attention& attention, double peak_exponent) {
  constexpr double kJump = 16;
  return problem.has_target && attention.kind == Attention::Kind::exponential &&
         peak_exponent > kJump;
}

constexpr std::size_t kSortedAtOnce = std::size_t{1} << 15;

/// Calls body(begin, end) for stretches of `size` of n tokens, on all threads.
template <class Body>
void by_stretches(std::size_t size, Workers& workers, std::size_t n, Body&& body) {
  workers.run((n + size - 1) / size, n,
              [&](std::size_t task) { body(task * size, std::min(n, (task + 1) * size)); });
}

/// Order of the tokens by the length of their lines: how far a target draws a token, or how fast a
/// drive moves it. Long lines make attention grow and steps short.
std::vector<std::size_t> by_length(const Lines& lines, Workers& workers) {
  const std::size_t n = lines.size();
  std::vector<std::pair<double, std::size_t>> tokens(n);
  const auto at = [&](std::size_t i) { return tokens.begin() + static_cast<std::ptrdiff_t>(i); };
  by_stretches(kSortedAtOnce, workers, n, [&](std::size_t begin, std::size_t end) {
    for (std::size_t l = begin; l < end; ++l) tokens[l] = {lines.length[l], l};
    std::sort(at(begin), at(end));
  });
  for (std::size_t sorted = kSortedAtOnce; sorted < n; sorted *= 2)
    by_stretches(2 * sorted, workers, n, [&](std::size_t begin, std::size_t end) {
      std::inplace_merge(at(begin), at(std::min(begin + sorted, end)), at(end));
    });
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = tokens[i].second;
  return order;
}

}  // namespace

Parts::Parts(const Problem& problem, const Start& start, const Lines& lines,
             const Attention& attention, double peak_exponent, Workers& workers)
    : has_target_(problem.has_target),
      attention_(attention),
      part_size_(jump(problem, attention, peak_exponent) ? kJumping : kLargestPart),
      order_(by_length(lines, workers)),
      lines_(lines) {
  const Matrix levels = has_target_ ? passage_levels(problem, start) : Matrix();
  levels_.resize(levels.rows(), levels.cols());
  in_pieces(workers, order_.size(), [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t l = order_[i];
      lines_.along[i] = lines.along[l];
      lines_.length[i] = lines.length[l];
      lines_.across[i] = lines.across[l];
      for (Eigen::Index k = 0; k < levels.rows(); ++k)
        levels_(k, static_cast<Eigen::Index>(i)) = levels(k, static_cast<Eigen::Index>(l));
    }
  });
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

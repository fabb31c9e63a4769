#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "popflow/error_norm.hpp"
#include "popflow/state.hpp"
#include "popflow/system.hpp"
#include "popflow/workers.hpp"
#include "steppers/largest_entry.hpp"

namespace popflow {

/// Required accuracy of a step. The error of entry i is measured in units of atol * scale_i + rtol
/// * |x_i|, where scale_i is the natural scale of its block. A step is accepted if the norm of
/// these errors is at most 1.
class Tolerance {
 public:
  Tolerance(const std::vector<StateBlock>& blocks, double rtol, double atol,
            ErrorNorm norm = ErrorNorm::largest)
      : rtol_(rtol), atol_(atol), norm_(norm) {
    std::size_t begin = 0;
    for (const StateBlock& block : blocks) {
      pieces_.push_back({begin, begin + block.size, block.scale});
      begin += block.size;
    }
  }

  [[nodiscard]] double rtol() const { return factor_ * rtol_; }
  [[nodiscard]] double atol() const { return factor_ * atol_; }
  [[nodiscard]] ErrorNorm norm() const { return norm_; }
  /// Multiplies both requested tolerances by `factor` from now on.
  void tighten(double factor) { factor_ = factor; }
  [[nodiscard]] double factor() const { return factor_; }
  [[nodiscard]] std::size_t size() const { return pieces_.empty() ? 0 : pieces_.back().end; }

  /// Calls body(begin, end, scale) for the parts of [begin, end) that share a scale.
  template <class Body>
  void each_piece(std::size_t begin, std::size_t end, Body&& body) const {
    for (const Piece& piece : pieces_) {
      const std::size_t from = std::max(begin, piece.begin);
      const std::size_t to = std::min(end, piece.end);
      if (from < to) body(from, to, piece.scale);
    }
  }

 private:
  struct Piece {
    std::size_t begin, end;
    double scale;
  };
  double rtol_, atol_;
  ErrorNorm norm_;
  double factor_ = 1;
  boost::container::small_vector<Piece, 4> pieces_;  ///< small, because sweeps construct many
};

/// Number of elements per task: small enough to balance, large enough to be worth a thread.
constexpr std::size_t kTaskElements = std::size_t{1} << 14;

/// Calls body(begin, end, task) for subranges of [0, n) on all threads; returns the number of
/// subranges.
template <class Body>
std::size_t in_stretches(Workers& workers, std::size_t n, Body&& body) {
  if (n <= kTaskElements) {
    if (n > 0) body(std::size_t{0}, n, std::size_t{0});
    return n > 0 ? 1 : 0;
  }
  const std::size_t tasks = (n + kTaskElements - 1) / kTaskElements;
  workers.run(tasks, n, [&](std::size_t task) {
    const std::size_t begin = task * kTaskElements;
    body(begin, std::min(n, begin + kTaskElements), task);
  });
  return tasks;
}

/// Largest |value(i)| over [begin, end); NaN as soon as one value is NaN or infinite.
template <class Of>
double largest(std::size_t begin, std::size_t end, Of&& value) {
  // Several partial maxima let the compiler vectorise. `0 * value` is NaN for every value that is
  // not finite, and 0 otherwise.
  constexpr std::size_t kTogether = 8;
  double high[kTogether] = {};
  double poison[kTogether] = {};
  std::size_t i = begin;
  for (; i + kTogether <= end; i += kTogether) {
    for (std::size_t lane = 0; lane < kTogether; ++lane) {
      const double v = std::abs(value(i + lane));
      high[lane] = v > high[lane] ? v : high[lane];
      poison[lane] += 0 * v;
    }
  }
  for (; i < end; ++i) {
    const double v = std::abs(value(i));
    high[0] = v > high[0] ? v : high[0];
    poison[0] += 0 * v;
  }
  if (end - begin < kTogether) return high[0] + poison[0];
  double result = 0;
  for (std::size_t lane = 0; lane < kTogether; ++lane)
    result = std::max(result, high[lane]) + poison[lane];
  return result;
}

/// Sum of value(i)^2 over [begin, end); NaN or infinite as soon as one square is NaN or infinite.
template <class Of>
double sum_of_squares(std::size_t begin, std::size_t end, Of&& value) {
  // A fixed number of partial sums gives the same bits everywhere, and vectorises.
  constexpr std::size_t kTogether = 8;
  double sums[kTogether] = {};
  std::size_t i = begin;
  for (; i + kTogether <= end; i += kTogether) {
    for (std::size_t lane = 0; lane < kTogether; ++lane) {
      const double v = value(i + lane);
      sums[lane] += v * v;
    }
  }
  for (; i < end; ++i) {
    const double v = value(i);
    sums[0] += v * v;
  }
  double all = 0;
  for (const double sum : sums) all += sum;
  return all;
}

/// Maximum of two numbers; NaN if either is NaN.
inline double larger(double a, double b) { return b <= a || std::isnan(a) ? a : b; }

/// Reduces of(begin, end) over subranges of [0, n) with `join`: computes on all threads, joins in
/// order.
template <class Of, class Join>
double join_stretches(Workers& workers, std::size_t n, Of&& of, Join&& join) {
  if (n <= kTaskElements) return n > 0 ? of(std::size_t{0}, n) : 0;
  std::vector<double> parts((n + kTaskElements - 1) / kTaskElements);
  in_stretches(workers, n, [&](std::size_t begin, std::size_t end, std::size_t task) {
    parts[task] = of(begin, end);
  });
  double all = 0;
  for (const double part : parts) all = join(all, part);
  return all;
}

/// Maximum of of(begin, end) over subranges of [0, n) on all threads; NaN if any is NaN.
template <class Of>
double largest_of_stretches(Workers& workers, std::size_t n, Of&& of) {
  return join_stretches(workers, n, of, larger);
}

/// Error norm of a step from x to x_new, in units of the tolerance. NaN or infinite if any value is
/// not finite, or if a square overflows. `error(i)` is the error of entry i.
template <class Error>
double error_of_step(Workers& workers, const Tolerance& tolerance, const State& x,
                     const State& x_new, Error error) {
  const double rtol = tolerance.rtol();
  const double* const from = x.data();
  const double* const to = x_new.data();
  const auto in_units = [=](double atol) {
    return [=](std::size_t i) {
      const double before = std::abs(from[i]);
      const double after = std::abs(to[i]);
      constexpr double kOverflows = std::numeric_limits<double>::max() / kLargestEntry;
      // The last term is 0, or NaN where the new state is not finite.
      return error(i) / (atol + rtol * (before > after ? before : after)) +
             0 * (kOverflows * after);
    };
  };
  // Joins the results of `of` for the parts of a range that share a scale.
  const auto over = [&](auto&& of, auto&& join) {
    return join_stretches(
        workers, x.size(),
        [&](std::size_t begin, std::size_t end) {
          double all = 0;
          tolerance.each_piece(begin, end, [&](std::size_t low, std::size_t high, double scale) {
            all = join(all, of(low, high, in_units(tolerance.atol() * scale)));
          });
          return all;
        },
        join);
  };
  if (tolerance.norm() == ErrorNorm::rms) {
    const double squares = over([](std::size_t low, std::size_t high,
                                   auto&& value) { return sum_of_squares(low, high, value); },
                                [](double a, double b) { return a + b; });
    return x.size() == 0 ? 0 : std::sqrt(squares / static_cast<double>(x.size()));
  }
  return over(
      [](std::size_t low, std::size_t high, auto&& value) { return largest(low, high, value); },
      larger);
}

/// max_i |x_i| / scale_i; NaN if any entry is not finite.
inline double scaled_norm(Workers& workers, const Tolerance& tolerance, std::span<const double> x) {
  return largest_of_stretches(workers, x.size(), [&](std::size_t begin, std::size_t end) {
    double worst = 0;
    tolerance.each_piece(begin, end, [&](std::size_t from, std::size_t to, double scale) {
      worst = larger(worst, largest(from, to, [&](std::size_t i) { return x[i]; }) / scale);
    });
    return worst;
  });
}

/// max_i |x_i|; NaN if any entry is not finite.
inline double largest_entry(Workers& workers, std::span<const double> x) {
  return largest_of_stretches(workers, x.size(), [&](std::size_t begin, std::size_t end) {
    return largest(begin, end, [&](std::size_t i) { return x[i]; });
  });
}

/// Whether every entry is finite.
inline bool all_finite(Workers& workers, std::span<const double> x) {
  return std::isfinite(largest_entry(workers, x));
}

/// Whether every entry is finite and within the bound on states.
inline bool is_state(Workers& workers, std::span<const double> x) {
  return largest_entry(workers, x) <= kLargestEntry;
}

}  // namespace popflow

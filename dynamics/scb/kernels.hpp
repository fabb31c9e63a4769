#pragma once

#include <cstddef>

/// Loops over a column of length T. Each has a fixed order of summation (eight partial sums, added
/// at the end), so the same column gives the same bits on any thread.
namespace popflow::scb {

struct Sums {
  double sum = 0;
  double squares = 0;
};

/// Sum and sum of squares of n numbers.
Sums sums(const double* x, std::size_t n);

/// y = slope x + shift. With `stream`, stores bypass the caches (no read for ownership), for
/// columns that will not be read again soon.
void affine(double slope, double shift, const double* x, double* y, std::size_t n, bool stream);

/// affine() and the sums of x in one pass over memory.
Sums affine_sums(double slope, double shift, const double* x, double* y, std::size_t n,
                 bool stream);

/// x = slope x + shift + factor z, and the sums of the old x, in one pass over memory.
Sums affine_sums_add(double slope, double shift, double factor, const double* z, double* x,
                     std::size_t n);

/// y = e^(x - high), and its sums; sets `high` to the largest x.
Sums exponentials(const double* x, double* y, std::size_t n);

/// y = a (slope a + shift) with a = y / total, in place.
void softmax_rule(double slope, double shift, double total, double* y, std::size_t n);

}  // namespace popflow::scb

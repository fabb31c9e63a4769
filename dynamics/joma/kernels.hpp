#pragma once

#include <cstddef>

#include "dynamics/joma/token.hpp"

namespace popflow::joma {

// Inner loops: exponentials of whole arrays in the machine's widest vectors, bit-for-bit identical
// for every width.

/// values[i] = exp(min(factor values[i], highest) + c)
void exponentials(std::size_t count, double factor, double highest, double c, double* values);

/// values[i] = exp(factor values[i] - largest); returns the sum of the results.
double shifted_exponentials(std::size_t count, double factor, double largest, double* values);

/// out[i] = target_motion().square
void target_squares(std::size_t count, const double* along, const double* length, const double* s,
                    double* out);

/// Both parts of target_motion().
void target_motions(std::size_t count, const double* along, const double* length, const double* s,
                    double* squares, double* growths);

/// v = goal - e^{-s} ahead, computed from v0 if v is nearer to v0.
void target_values(std::size_t count, const double* goal, const double* v0, const double* ahead,
                   const double* s, double* out);

/// out[i] = exp(-factor ((along + length (1 - x[i]))^2 + across))
void inverse_rates(std::size_t count, double factor, double along, double length, double across,
                   const double* x, double* out);

/// Panels of the clocks' integrals, each on a token's line, as a structure of arrays.
struct Panels {
  const double *middle, *half;            ///< an interval of x = e^{-s}
  const double* minus;                    ///< subtracted from 1/g
  const double *along, *length, *across;  ///< the line
};
/// Adds `weight` times (1/g(x) - minus)/x at x = middle + node half to the sums of all panels.
void add_inverse_rates(std::size_t count, double factor, double node, double weight,
                       const Panels& panels, double* sums);
/// now = e^{-s} and way = 1 - e^{-s}.
void progress_fractions(std::size_t count, const double* s, double* now, double* way);

/// Largest value; NaN counts as 0.
double largest(std::size_t count, const double* values);

/// Shares with w = (square - reference) factor
void exponential_shares(std::size_t count, double factor, double reference, const double* squares,
                        double* w, double* p);
/// Shares with p^2 = (square + c)/(reference + c)
void root_shares(std::size_t count, double c, double reference, const double* squares, double* w,
                 double* p);

/// Sums over tokens, in a fixed order. w is known up to the rounding of the larger of (squares +
/// reference) factor and 1.
EntropySums<double> entropy_rate_sums(std::size_t count, const double* w, const double* p,
                                      const double* rates, const double* squares, double factor,
                                      double reference, double reference_rate);
/// Sums for the entropy alone: of p and of p w.
EntropySums<double> entropy_sums(std::size_t count, const double* w, const double* p);

}  // namespace popflow::joma

#pragma once

#include <cstddef>

namespace popflow::joma {

// The expensive loops: exponentials of whole arrays, in the widest vectors that the machine has,
// bit-for-bit identical for every width.

/// values[i] = exp(min(factor values[i], highest) + c)
void exponentials(std::size_t count, double factor, double highest, double c, double* values);

/// values[i] = exp(factor values[i] - largest); returns their sum.
double shifted_exponentials(std::size_t count, double factor, double largest, double* values);

/// y = along + length (1 - e^{-s}):  out[i] = y^2
void target_squares(std::size_t count, const double* along, const double* length, const double* s,
                    double* out);

/// squares[i] = y^2, growths[i] = y dy/ds
void target_motions(std::size_t count, const double* along, const double* length, const double* s,
                    double* squares, double* growths);

/// v = goal - e^{-s} ahead, from v0 where that is nearer.
void target_values(std::size_t count, const double* goal, const double* v0, const double* ahead,
                   const double* s, double* out);

/// out[i] = exp(-factor ((along + length (1 - x[i]))^2 + across))
void slownesses(std::size_t count, double factor, double along, double length, double across,
                const double* x, double* out);

/// Pieces of clocks' integrals, each on a token's line, field by field.
struct Panels {
  const double *middle, *half;            ///< of an interval of x = e^{-s}
  const double* minus;                    ///< taken off 1/g
  const double *along, *length, *across;  ///< of the line
};
/// Adds `weight` times (1/g(x) - minus)/x at x = middle + node half to the sums of all panels.
void add_slownesses(std::size_t count, double factor, double node, double weight,
                    const Panels& panels, double* sums);
/// now = e^{-s} and way = 1 - e^{-s}.
void ways(std::size_t count, const double* s, double* now, double* way);

/// The largest of the values; those that are NaN count as 0.
double largest(std::size_t count, const double* values);

// Attention relative to a reference's: w[i] = log(b_i/b_ref) and p[i] = e^w; where that is
// negligible relative to the reference p[i] = 0 and w[i] = kLowestExponent.
/// w = (square - reference) factor
void exponential_shares(std::size_t count, double factor, double reference, const double* squares,
                        double* w, double* p);
/// w = log((square + c)/(reference + c))/2
void root_shares(std::size_t count, double c, double reference, const double* squares, double* w,
                 double* p);

/// Sums over tokens, in an order of their own, of what makes the entropy and its derivative. u is
/// a token's rate less the reference's.
struct EntropySums {
  double p = 0, u = 0, w = 0, uu = 0, uw = 0;
  double noise = 0;       ///< rounding error of uw
  double unevenness = 0;  ///< largest |w| relative to its rounding
  void add(const EntropySums& other);
};

/// The derivative's: w is known to within the rounding of (squares + reference) factor, or of 1.
EntropySums entropy_rate_sums(std::size_t count, const double* w, const double* p,
                              const double* rates, const double* squares, double factor,
                              double reference, double reference_rate);
/// The entropy's own: p and w (which sums p w) alone.
EntropySums entropy_sums(std::size_t count, const double* w, const double* p);

}  // namespace popflow::joma

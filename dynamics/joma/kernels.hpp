#pragma once

#include <cstddef>

namespace popflow::joma {

// The loops that cost: exponentials of whole arrays, in the widest vectors that the machine has,
// with the same bits in all of them.

/// values[i] = exp(min(factor values[i], highest) + c)
void exponentials(std::size_t count, double factor, double highest, double c, double* values);

/// values[i] = exp(factor values[i] - largest); returns their sum.
double shifted_exponentials(std::size_t count, double factor, double largest, double* values);

/// y = along + length (1 - e^{-s}):  out[i] = y^2
void target_squares(std::size_t count, const double* along, const double* length, const double* s,
                    double* out);

/// out[i] = y dy/ds
void target_growths(std::size_t count, const double* along, const double* length, const double* s,
                    double* out);

/// v = goal - e^{-s} ahead, from v0 where that is nearer.
void target_values(std::size_t count, const double* goal, const double* v0, const double* ahead,
                   const double* s, double* out);

/// out[i] = exp(-factor ((along + length (1 - x[i]))^2 + across))
void slownesses(std::size_t count, double factor, double along, double length, double across,
                const double* x, double* out);

}  // namespace popflow::joma

#pragma once

#include <cstddef>

namespace popflow {

/// Two-sided quantile of Student's distribution; infinite below one degree of freedom, Gaussian for
/// infinitely many.
double student_quantile(double level, double degrees);
/// Probability that Student's t exceeds x.
double student_tail(double x, double degrees);
/// Number that Student's t exceeds with this probability, which may be tiny.
double student_upper_quantile(double tail, double degrees);

/// p-value for equal proportions (Fisher's exact test).
double proportions_p_value(std::size_t first, std::size_t of_first, std::size_t second,
                           std::size_t of_second);

}  // namespace popflow

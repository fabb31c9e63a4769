#pragma once

#include <cstdint>

namespace popflow::markov {

/// Sums over k = 0 .. n-1 of g(k) = (1 - lambda^k)/(1 - lambda) and of its square, with g(n) and
/// lambda^n, for a chain of n transitions with correlation lambda.
struct PathSums {
  double power = 1;
  double g = 0;
  double sum = 0;
  double squares = 0;
  double length = 0;
};

PathSums path_sums(double lambda, std::int64_t n);

}  // namespace popflow::markov

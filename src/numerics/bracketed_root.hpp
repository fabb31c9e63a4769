#pragma once

#include <boost/math/tools/toms748_solve.hpp>
#include <cstdint>
#include <utility>

namespace popflow {

/// Two places next to each other, to 45 bits, between which a function changes its sign; it is
/// `at_low` and `at_high`, of different signs, at the ends of where it is looked for.
template <class Function>
std::pair<double, double> bracketed_root(const Function& f, double low, double high, double at_low,
                                         double at_high) {
  std::uintmax_t iterations = 60;
  return boost::math::tools::toms748_solve(
      f, low, high, at_low, at_high, boost::math::tools::eps_tolerance<double>(45), iterations);
}

}  // namespace popflow

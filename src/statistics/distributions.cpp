#include "statistics/distributions.hpp"

#include <algorithm>
#include <boost/math/distributions/hypergeometric.hpp>
#include <boost/math/distributions/students_t.hpp>

#include "statistics/numbers.hpp"

namespace popflow {

double student_quantile(double level, double degrees) {
  if (!(degrees >= 1)) return kUnbounded;
  return boost::math::quantile(boost::math::students_t(degrees), (1 + level) / 2);
}

double student_tail(double x, double degrees) {
  return boost::math::cdf(
      boost::math::complement(boost::math::students_t(std::max(1.0, degrees)), x));
}

double student_upper_quantile(double tail, double degrees) {
  return boost::math::quantile(boost::math::complement(boost::math::students_t(degrees), tail));
}

double proportions_p_value(std::size_t first, std::size_t of_first, std::size_t second,
                           std::size_t of_second) {
  const auto hits = static_cast<unsigned>(first + second);
  const auto drawn = static_cast<unsigned>(of_first);
  const auto total = static_cast<unsigned>(of_first + of_second);
  if (hits == 0 || hits == total || drawn == 0 || drawn == total) return 1;
  const boost::math::hypergeometric_distribution<> law(hits, drawn, total);
  const double seen = boost::math::pdf(law, static_cast<unsigned>(first));
  const unsigned low = hits + drawn > total ? hits + drawn - total : 0;
  double p = 0;
  for (unsigned k = low; k <= std::min(hits, drawn); ++k) {
    const double here = boost::math::pdf(law, k);
    if (here <= seen * (1 + 1e-9)) p += here;
  }
  return std::min(1.0, p);
}

}  // namespace popflow

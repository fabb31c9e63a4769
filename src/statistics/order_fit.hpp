#pragma once

#include <span>
#include <string>
#include <vector>

namespace popflow {

/// An estimate, its standard error, and of how many degrees of freedom that is; infinitely many
/// where it is known.
struct Estimate {
  double value = 0;
  double error = 0;
  double degrees = 0;
};

/// First minus second, the degrees of freedom by Welch and Satterthwaite.
Estimate minus(const Estimate& first, const Estimate& second);

/// The order p of signed errors e = c eta^p (1 + b eta/eta_max), eta_max the largest rate: the
/// leading term and the next, whose sum lies between half and twice the leading term. The interval
/// of p is where the profile of chi^2 over c and b stays within its quantile of the minimum. Where
/// no single power fits, a term of third order is allowed for, of the size that b^2 has at that p:
/// it counts as an error of its own. Then (b/0.4)^2 is added to chi^2, since with large terms of
/// second and third order errors would have any order.
///
/// Standard errors of a few degrees of freedom count as larger, by Student's quantile over the
/// Gaussian one: taken as known, four runs of each would hold the order 76 to 88 times of 100 where
/// 95 are claimed, two 49 to 68. A standard error of 0 counts as 1e-6 of the largest error.
struct OrderFit {
  enum class Kind {
    fitted,
    no_signal,  ///< no error differs from zero at the level
    no_power,   ///< no power of eta leads: the errors change sign, say
    rounding,   ///< an invariant that both rungs keep to rounding: there is no error to be fitted
  };
  Kind kind = Kind::no_signal;
  double order = 0;  ///< of a single power if it fits; NaN: errors tell no more than the interval
  double low = 0, high = 0;  ///< of p; infinite where the data do not bound it
  double coefficient = 0;    ///< of the leading term
};
inline const std::vector<std::string> order_words = {"fitted", "no_signal", "no_power", "rounding"};

OrderFit fit_order(std::span<const double> eta, std::span<const Estimate> error, double level);

}  // namespace popflow

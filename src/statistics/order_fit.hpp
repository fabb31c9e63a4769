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

/// e = c eta^p fitted to signed errors by weighted least squares; the interval of p is where the
/// profile of chi^2 stays within its quantile of the minimum. Standard errors of a few degrees of
/// freedom count as larger, by Student's quantile over the Gaussian one: taken as known, four runs
/// of each would hold the order 76 to 88 times of 100 where 95 are claimed, two 49 to 68.
struct OrderFit {
  enum class Kind {
    fitted,
    no_signal,  ///< no error differs from zero at the level
    no_power,   ///< no power of eta fits: the errors change sign, say
    rounding,   ///< an invariant that both rungs keep to rounding: there is no error to be fitted
  };
  Kind kind = Kind::no_signal;
  double order = 0;          ///< NaN where errors tell no more than the interval
  double low = 0, high = 0;  ///< of p; infinite where the data do not bound it
  double coefficient = 0;
};
inline const std::vector<std::string> order_words = {"fitted", "no_signal", "no_power", "rounding"};

OrderFit fit_order(std::span<const double> eta, std::span<const Estimate> error, double level);

}  // namespace popflow

#pragma once

#include <span>
#include <string>
#include <vector>

namespace popflow {

/// Estimate with its standard error and the degrees of freedom of this error (infinite if the error
/// is known).
struct Estimate {
  double value = 0;
  double error = 0;
  double degrees = 0;
};

/// First minus second, with degrees of freedom by Welch and Satterthwaite.
Estimate minus(const Estimate& first, const Estimate& second);

/// Order p of signed errors e = c eta^p (1 + b eta/eta_max), where eta_max is the largest rate. The
/// sum of the leading and the next term lies between half and twice the leading term. The interval
/// of p contains the orders at which chi^2, minimised over c and b, exceeds its minimum by no more
/// than its quantile.
///
/// If no single power fits, a term of third order, of the size of b^2 at this p, is allowed and
/// counts as an additional error. Then (b/0.4)^2 is added to chi^2, because with large terms of
/// second and third order, errors could have any order.
///
/// Standard errors with few degrees of freedom are enlarged by the ratio of Student's quantile to
/// the Gaussian one. Otherwise a nominal 95 % interval would have a coverage of 76 to 88 % with
/// four runs of each rung, and 49 to 68 % with two. A standard error of 0 counts as 1e-6 of the
/// largest error.
struct OrderFit {
  enum class Kind {
    fitted,
    no_signal,  ///< no error differs significantly from zero
    no_power,   ///< no power of eta dominates, for example because the errors change sign
    rounding,   ///< an invariant that both rungs keep up to rounding: there is no error to fit
  };
  Kind kind = Kind::no_signal;
  /// Order of a single power if one fits; NaN: only the interval is known.
  double order = 0;
  double low = 0, high = 0;  ///< ends of the interval of p; infinite if the data do not bound it
  double coefficient = 0;    ///< coefficient of the leading term
};
inline const std::vector<std::string> order_words = {"fitted", "no_signal", "no_power", "rounding"};

/// Fits the order to the errors at the learning rates `eta`.
OrderFit fit_order(std::span<const double> eta, std::span<const Estimate> error, double level);

}  // namespace popflow

#pragma once

#include <span>
#include <string>
#include <vector>

namespace popflow {

/// An estimate, its standard error, and the error's degrees of freedom (infinite if the error is
/// known).
struct Estimate {
  double value = 0;
  double error = 0;
  double degrees = 0;
};

/// First minus second, with degrees of freedom by Welch and Satterthwaite.
Estimate minus(const Estimate& first, const Estimate& second);

/// Order p of signed errors e = c eta^p (1 + b eta/eta_max), where eta_max is the largest rate: a
/// leading and a next term, whose sum lies between half and twice the leading term. The interval of
/// p is the set where the profile of chi^2 over c and b stays within its quantile of the minimum.
/// If no single power fits, a term of third order is allowed for, of the size that b^2 has at that
/// p; it counts as an additional error. Then (b/0.4)^2 is added to chi^2, because with large terms
/// of second and third order, errors could have any order.
///
/// Standard errors with few degrees of freedom are enlarged by the ratio of Student's quantile to
/// the Gaussian one. Without this, a nominal 95 % interval would have a coverage of 76 to 88 % for
/// four runs each, and 49 to 68 % for two. A standard error of 0 counts as 1e-6 of the largest
/// error.
struct OrderFit {
  enum class Kind {
    fitted,
    no_signal,  ///< no error differs significantly from zero
    no_power,   ///< no power of eta dominates, for example because the errors change sign
    rounding,   ///< an invariant that both rungs keep up to rounding: there is no error to fit
  };
  Kind kind = Kind::no_signal;
  double order = 0;          ///< of a single power if it fits; NaN: only the interval is known
  double low = 0, high = 0;  ///< ends of the interval of p; infinite if the data do not bound it
  double coefficient = 0;    ///< coefficient of the leading term
};
inline const std::vector<std::string> order_words = {"fitted", "no_signal", "no_power", "rounding"};

OrderFit fit_order(std::span<const double> eta, std::span<const Estimate> error, double level);

}  // namespace popflow

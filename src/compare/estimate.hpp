#pragma once

#include <string>
#include <vector>

#include "popflow/system_info.hpp"
#include "statistics/difference.hpp"

namespace popflow {

struct RungNumbers;
struct Judgement;

/// Suffix of an observable that holds the standard error of another one as an estimate.
inline constexpr const char* kStandardError = "_standard_error";

/// Whether the population of a system is estimated: the mean over a fixed set of samples, whereas
/// sampled training draws fresh ones.
bool is_estimated(const SystemInfo& system);

/// Adds the names of observables that have no verdicts because they measure errors of quadrature.
void add_quadrature_errors(std::vector<std::string>& names);

/// Standard errors by observable, rung and time.
using EstimateErrors = std::vector<std::vector<std::vector<double>>>;

/// Standard error of each observable as an estimate of the population's value: the mean over a
/// rung's runs. Empty for an observable whose error is not recorded.
EstimateErrors population_errors(const SystemInfo& system, const RungNumbers& rungs);

/// Sum of two rungs' standard errors: a bound on that of their difference, because both are
/// estimates from the same samples, whose correlation is not known.
std::vector<double> sum_of_errors(const std::vector<double>& first,
                                  const std::vector<double>& second);

/// Adds an independent Gaussian error to the difference of two rungs. One quantile holds for all
/// times, because the samples are the same at all times. Errors add in squares.
void add_error(Difference& difference, const std::vector<double>& error, double level);

/// p-value of the hypothesis that the differences are at most the margin, from z with all errors.
double p_value_of_estimate(const Difference& difference, double margin);

}  // namespace popflow

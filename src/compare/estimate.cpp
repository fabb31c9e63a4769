#include "compare/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "compare/comparison.hpp"
#include "plugin/loaded.hpp"
#include "report/summary.hpp"
#include "statistics/distributions.hpp"
#include "statistics/numbers.hpp"
#include "training/weight_average.hpp"

namespace popflow {

bool is_estimated(const SystemInfo& system) {
  if (std::ranges::find(system.observables, std::string("loss") + kStandardError,
                        &ObservableInfo::name) != system.observables.end())
    return true;
  const std::vector<Attribute> origin = plugin::origin_of(system.name);
  return std::ranges::any_of(origin, [](const Attribute& attribute) {
    const auto* const text = std::get_if<std::string>(&attribute.value);
    return attribute.name == "plugin_population" && text != nullptr && *text == "estimated";
  });
}

void add_quadrature_errors(std::vector<std::string>& names) {
  names.emplace_back(kQuadratureError);
  names.push_back(std::string(kQuadratureError) + kAveraged);
}

EstimateErrors population_errors(const SystemInfo& system, const RungNumbers& rungs) {
  EstimateErrors errors;
  for (const ObservableInfo& info : system.observables) {
    std::string name = info.name;
    // The average's loss is an estimate from the same samples.
    const std::string averaged = kAveraged;
    const bool of_average = name.ends_with(averaged);
    if (of_average) name.resize(name.size() - averaged.size());
    name += kStandardError + (of_average ? averaged : "");
    const auto found = std::ranges::find(system.observables, name, &ObservableInfo::name);
    std::vector<std::vector<double>>& of_rungs = errors.emplace_back();
    if (found == system.observables.end()) continue;
    const auto place = static_cast<std::size_t>(found - system.observables.begin());
    for (const Paths* rung : rungs.paths(place)) of_rungs.push_back(means_of(*rung));
  }
  return errors;
}

std::vector<double> sum_of_errors(const std::vector<double>& first,
                                  const std::vector<double>& second) {
  std::vector<double> sum;
  for (std::size_t t = 0; t < std::min(first.size(), second.size()); ++t)
    sum.push_back(first[t] + second[t]);
  return sum;
}

void add_error(Difference& d, const std::vector<double>& error, double level) {
  const double quantile = student_quantile(level, kUnbounded);
  for (std::size_t t = 0; t < d.difference.size() && t < error.size(); ++t) {
    d.band[t] = std::hypot(d.band[t], quantile * error[t]);
    d.gaussian_band[t] = std::hypot(d.gaussian_band[t], quantile * error[t]);
    d.error[t] = std::hypot(d.error[t], error[t]);
    if (!std::isnan(d.z[t])) d.z[t] = d.difference[t] / d.error[t];
  }
  d.exact = false;
  const double p_value = p_value_of_estimate(d, 0);
  d.p_value = std::isnan(d.p_value) ? p_value : std::max(d.p_value, p_value);
}

double p_value_of_estimate(const Difference& d, double margin) {
  double most = 0;
  for (std::size_t t = 0; t < d.difference.size(); ++t)
    if (std::isfinite(d.z[t]))
      most = std::max(most, (std::abs(d.difference[t]) - margin) / d.error[t]);
  return std::min(1.0, 2 * student_tail(most, kUnbounded));
}

}  // namespace popflow

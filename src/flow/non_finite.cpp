#include "flow/non_finite.hpp"

#include <cmath>
#include <exception>
#include <optional>

#include "popflow/state.hpp"

namespace popflow {

namespace {

// Largest state that is examined: for larger ones memory may not hold three copies.
constexpr std::size_t kMostEntries = 1 << 20;
constexpr int kDoublings = 24;

std::optional<std::size_t> first_non_finite(std::span<const double> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (!std::isfinite(numbers[i])) return i;
  return std::nullopt;
}

std::string blame(const System& system, std::size_t entry, double rate, const char* where) {
  return "; the right-hand side of " + system.shape().name_of_entry(entry) +
         (std::isnan(rate) ? " is NaN " : " is infinite ") + where;
}

}  // namespace

std::string blamed_entry(const System& system, StateView x, double t, double h) {
  if (x.size() > kMostEntries) return "";
  State slope(x.size()), beyond(x.size()), rates(x.size());
  try {
    system.rhs(x, t, slope);
    if (const auto entry = first_non_finite(slope))
      return blame(system, *entry, slope[*entry], "there");
    // Entries that other entries depend on become non-finite first, so look at the shortest step
    // that goes too far.
    for (int doubling = 0; doubling < kDoublings; ++doubling, h *= 2) {
      for (std::size_t i = 0; i < x.size(); ++i) beyond[i] = x[i] + h * slope[i];
      if (first_non_finite(beyond)) return "";
      system.rhs({beyond, x.regime}, t + h, rates);
      if (const auto entry = first_non_finite(rates))
        return blame(system, *entry, rates[*entry], "soon after");
    }
  } catch (const std::exception&) {
    return "";
  }
  return "";
}

}  // namespace popflow

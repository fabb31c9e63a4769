#pragma once

#include <cmath>
#include <cstdint>

#include "noise/crossings.hpp"
#include "popflow/driver.hpp"

namespace popflow {

/// Equal steps of length at most dt that fill a span of time.
struct EqualSteps {
  EqualSteps(double span, double dt)
      : number(static_cast<std::int64_t>(std::ceil(span / dt * (1 - 1e-9)))),
        length(number > 0 ? span / static_cast<double>(number) : 0) {}
  std::int64_t number;
  double length;
};

/// Position of a run of mode sde in its steps.
struct SdePlace {
  double t = 0;
  double begin = 0;         ///< start of the current interval between targets
  std::int64_t inside = 0;  ///< number of steps taken in the interval
  std::int64_t steps = 0;   ///< number of steps in all
  IntervalSteps interval = {};

  /// Checkpoint data of a run, with the same layout for every driver.
  [[nodiscard]] DriverData data(std::int64_t evaluations, std::int64_t samples,
                                const Crossings& crossings) const {
    DriverData data;
    data.add("steps", steps);
    data.add("evaluations", evaluations);
    data.add("samples", samples);
    data.add("begin", begin);
    data.add("inside", inside);
    data.add("interval", interval);
    crossings.remember(data);
    return data;
  }
  static SdePlace of(double t, const DriverData& data) {
    return {t, data.number("begin"), data.count("inside"), data.count("steps"),
            data.interval("interval")};
  }
};

}  // namespace popflow

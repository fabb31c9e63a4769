#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace popflow {

/// What is added to the entries of a stretch: factor * out[j] + offset, with what an Addend wrote
/// to `out`.
struct Scaled {
  double factor = 1;
  double offset = 0;
};

/// Asked once for each stretch of the state, which begins at entry `begin` and has out.size()
/// entries, from several threads. `keeps_sum`: every single sample keeps the sum of these entries,
/// so noise must, too.
using Addend = std::function<Scaled(std::size_t begin, bool keeps_sum, std::span<double> out)>;

/// A System that can take an explicit step in place, for states far larger than the caches: each
/// entry is read and written once, where a derivative that is written out whole costs two and a
/// half times the traffic.
class StepsInPlace {
 public:
  virtual ~StepsInPlace() = default;
  [[nodiscard]] virtual bool can_step_in_place() const = 0;
  /// x <- x + h f(x, t) + the addend.
  virtual void step_in_place(std::span<double> x, double t, double h,
                             const Addend& addend) const = 0;
};

}  // namespace popflow

#pragma once

#include <string>
#include <vector>

#include "verify/subject.hpp"
#include "verify/verify.hpp"

namespace popflow::verification {

/// Largest ratio of a measured value to its allowed value, over many places.
class Worst {
 public:
  void add(double measured, double allowed, const std::string& where) {
    measured = magnitude(measured);
    const double part = allowed > 0 ? measured / allowed : (measured > 0 ? 1e300 : 0);
    if (any_ && !(part > part_)) return;
    any_ = true;
    part_ = part;
    measured_ = measured;
    allowed_ = allowed;
    where_ = where;
  }
  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] const std::string& where() const { return where_; }
  /// The check's result at the worst place.
  [[nodiscard]] Check check(const std::string& name, const std::string& note) const {
    return {name,      part_ <= 1 ? Check::Verdict::ok : Check::Verdict::fails,
            measured_, allowed_,
            false,     note};
  }

 private:
  bool any_ = false;
  double part_ = 0, measured_ = 0, allowed_ = 0;
  std::string where_;
};

inline Check skipped(const std::string& name, const std::string& why) {
  Check check;
  check.name = name;
  check.note = why;
  return check;
}

using Checks = std::vector<Check>;

// Each function returns its rows, or none if the system declares nothing that it could check.
Checks check_finite(const Subject& subject);
Checks check_observables(const Subject& subject);
Checks check_gradient(const Subject& subject);
Checks check_jacobian(const Subject& subject);
Checks check_parts(const Subject& subject);
Checks check_lanes(const Subject& subject);
Checks check_samples(const Subject& subject);
Checks check_covariance(const Subject& subject);
Checks check_projection(const Subject& subject);
Checks check_invariants(const Subject& subject);
Checks check_closed_form(const Subject& subject);
Checks check_methods(const Subject& subject);
Checks check_descent(const Subject& subject);
Checks check_threads(const Subject& subject);
Checks check_resuming(const Subject& subject);
Checks check_problem_file(const Subject& subject);
Checks check_reduction(const Subject& subject);
Checks check_noisy_coordinates(const Subject& subject);

}  // namespace popflow::verification

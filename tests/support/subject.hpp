#pragma once

#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "support/examples.hpp"

namespace popflow::test {

/// A system made from the words after `popflow run NAME`, with access to its results as vectors.
struct Subject : Built {
  using Vector = Eigen::VectorXd;

  Subject(const std::string& name, const std::vector<std::string>& words)
      : Built(Example{name, words}) {}

  static Vector vector(std::span<const double> numbers) {
    return Vector::Map(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
  }
  static std::span<const double> span(const Vector& x) {
    return {x.data(), static_cast<std::size_t>(x.size())};
  }

  [[nodiscard]] Vector start() const { return vector(Built::start()); }
  [[nodiscard]] Vector rhs(const Vector& x) const { return vector(Built::rhs(span(x), 0)); }
  [[nodiscard]] double loss(const Vector& x) const {
    return system->capabilities().gradient_flow->loss(span(x), 0);
  }
  [[nodiscard]] std::map<std::string, double> observe(const Vector& x) const {
    std::map<std::string, double> named;
    const std::vector<double> values = Built::observe(span(x), 0);
    for (std::size_t i = 0; i < values.size(); ++i)
      named[system->info().observables[i].name] = values[i];
    return named;
  }
  [[nodiscard]] Vector field(const std::string& name, const Vector& x) const {
    std::vector<double> numbers;
    system->field(name, span(x), 0, [&](std::size_t, std::span<const double> values) {
      numbers.insert(numbers.end(), values.begin(), values.end());
    });
    return vector(numbers);
  }
  [[nodiscard]] double constant(const std::string& name) const {
    for (const auto& [known, value] : system->shape().constants)
      if (known == name) return value;
    return std::numeric_limits<double>::quiet_NaN();
  }
};

/// Flow of a subject from its start up to `end`.
struct FlowOf {
  FlowOf(Subject& of, double end, double rtol = 1e-11, double atol = 1e-13)
      : driver(*of.system, of.workers, {.rtol = rtol, .atol = atol}),
        outcome(driver.advance(end).kind),
        x(Subject::vector(driver.state())) {}
  FlowDriver driver;
  Outcome::Kind outcome;
  Eigen::VectorXd x;
};

}  // namespace popflow::test

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "dynamics/joma/attention.hpp"
#include "dynamics/joma/coordinates.hpp"
#include "dynamics/joma/problem.hpp"
#include "popflow/capabilities.hpp"
#include "popflow/workers.hpp"

namespace popflow::joma {

/// The reduced flow without interaction between tokens; with softmax this holds in a rescaled time.
/// dx/dt of a token depends on this token alone; neighbours move about equally far. `peak_exponent`
/// is the largest S/(2 tau^2) of any token.
class Parts : public Separable {
 public:
  Parts(const Problem& problem, const Start& start, const Lines& lines, const Attention& attention,
        double peak_exponent, Workers& workers);

  [[nodiscard]] std::span<const std::size_t> part_order() const override { return order_; }
  [[nodiscard]] std::size_t part_size() const override { return part_size_; }
  [[nodiscard]] bool normalised() const override {
    return attention_.kind == Attention::Kind::softmax;
  }
  void part_rhs(std::size_t begin, std::span<const double> x, double t,
                std::span<double> dxdt) const override;
  void part_passages(std::size_t begin, std::span<const double> x, double t,
                     std::span<double> values) const override;

 private:
  bool has_target_;
  Attention attention_;
  std::size_t part_size_;
  std::vector<std::size_t> order_;
  Lines lines_;    ///< in the order of the parts
  Matrix levels_;  ///< in the order of the parts; empty without targets
};

}  // namespace popflow::joma

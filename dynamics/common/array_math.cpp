#include "dynamics/common/array_math.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "popflow/math.hpp"
#include "popflow/widest.hpp"

namespace popflow {

namespace {

constexpr std::size_t kLanesOfRow = 8;
using Row = math::Wide<kLanesOfRow>;

}  // namespace

[[gnu::flatten]] POPFLOW_WIDEST void write_exponentials(const double* x, double shift,
                                                        Eigen::Index n, double* out) {
  const auto size = static_cast<std::size_t>(n);
  for (std::size_t i = 0; i < size; i += kLanesOfRow) {
    const std::size_t count = std::min(kLanesOfRow, size - i);
    Row row;
    std::memcpy(&row.of, x + i, count * sizeof(double));
    row = math::exp_of(Row(row - Row(shift)));
    std::memcpy(out + i, &row.of, count * sizeof(double));
  }
}

double write_relative_weights(const double* x, Eigen::Index n, double* out) {
  const double largest = Eigen::Map<const Eigen::ArrayXd>(x, n).maxCoeff();
  write_exponentials(x, largest, n, out);
  return largest;
}

}  // namespace popflow

#pragma once

#include <algorithm>
#include <cstddef>

#include "popflow/matrices.hpp"

/// Products of large matrices in double precision, for models that see data through few linear
/// forms. Every sum runs in a fixed order, so that all machines give the same bits.
namespace popflow::dense {

using matrices::Strided;

/// Sum of products of contiguous numbers, in kLanes partial sums.
[[gnu::noinline]] inline double dot(std::size_t count, const double* a, const double* b) {
  double part[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) part[l] += a[i + l] * b[i + l];
  for (std::size_t l = 0; i + l < count; ++l) part[l] += a[i + l] * b[i + l];
  double sum = part[0];
  for (std::size_t l = 1; l < kLanes; ++l) sum += part[l];
  return sum;
}

/// Adds a multiple of contiguous numbers.
[[gnu::noinline]] inline void add(std::size_t count, double factor, const double* __restrict a,
                                  double* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) out[i] += factor * a[i];
}

/// Writes the product of `a` (rows x depth) and `b` (depth x columns), row-major; `row` and
/// `column` are the strides of an operand's rows and columns.
inline void multiply(std::size_t rows, std::size_t depth, std::size_t columns, const Strided& a,
                     const Strided& b, double* out) {
  if (a.column == 1 && (b.row == 1 || depth == 1)) {
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        out[i * columns + j] = dot(depth, a.at + i * a.row, b.at + j * b.column);
  } else if (b.column == 1) {
    std::fill_n(out, rows * columns, 0.0);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t k = 0; k < depth; ++k)
        add(columns, a.at[i * a.row + k * a.column], b.at + k * b.row, out + i * columns);
  } else {
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < depth; ++k)
          sum += a.at[i * a.row + k * a.column] * b.at[k * b.row + j * b.column];
        out[i * columns + j] = sum;
      }
  }
}

}  // namespace popflow::dense

#include "dynamics/joma_joint/kernels.hpp"

#include <cstring>
#include <limits>

#include "dynamics/common/exponential.hpp"
#include "popflow/widest.hpp"

#define POPFLOW_INLINE inline __attribute__((always_inline))

namespace popflow::joma_joint::kernels {
namespace {

using std::size_t;

typedef double Two __attribute__((vector_size(16)));
typedef double Four __attribute__((vector_size(32)));
typedef double Eight __attribute__((vector_size(64)));
typedef long long Lanes __attribute__((vector_size(64)));
constexpr size_t kLanes = 8;

/// Calls whole(i) for every eight of n numbers, from number i on. What is then left, if n is not
/// less than eight, are lanes of the last eight: those of `rest(i, left)`. Else all are left.
template <class Whole, class Rest, class Few>
POPFLOW_INLINE void by_eights(size_t n, const Whole& whole, const Rest& rest, const Few& few) {
  if (n < kLanes) {
    for (size_t i = 0; i < n; ++i) few(i);
    return;
  }
  const size_t end = n / kLanes * kLanes;
  for (size_t i = 0; i < end; i += kLanes) whole(i);
  if (end == n) return;
  // Lanes that have had their turn are left out.
  constexpr Lanes kPlaces = {0, 1, 2, 3, 4, 5, 6, 7};
  const Lanes left = kPlaces >= static_cast<long long>(kLanes - (n - end));
  rest(n - kLanes, left);
}

POPFLOW_INLINE double sum_of_lanes(const Eight& x) {
  const Four half =
      __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
  const Two quarter =
      __builtin_shufflevector(half, half, 0, 1) + __builtin_shufflevector(half, half, 2, 3);
  return quarter[0] + quarter[1];
}

/// The sum of all but one. (To set that one to zero first would be slow: eight numbers of which one
/// has just been written cannot be read before it has reached the cache.)
POPFLOW_INLINE double sum_except(size_t n, size_t one, const double* x) {
  constexpr Lanes kPlaces = {0, 1, 2, 3, 4, 5, 6, 7};
  Eight sums = {};
  Eight more;
  const auto load = [&](size_t i) {
    std::memcpy(&more, x + i, sizeof more);
    more = kPlaces == static_cast<long long>(one - i) ? Eight{} : more;
  };
  by_eights(
      n,
      [&](size_t i) {
        load(i);
        sums += more;
      },
      [&](size_t i, const Lanes& left) {
        load(i);
        sums += left ? more : Eight{};
      },
      [&](size_t i) { sums[0] += i == one ? 0 : x[i]; });
  return sum_of_lanes(sums);
}

/// Dot products of some columns, side by side: a sum alone would wait for its own last addition.
/// The columns of a lie `stride` apart, those of b `b_stride`, which may be 0.
template <size_t columns>
POPFLOW_INLINE void dots_of(size_t n, const double* a, size_t stride, const double* b,
                            size_t b_stride, double* out) {
  Eight sums[columns] = {};
  Eight product, factor;
  const auto multiply = [&](size_t i, size_t c) {
    std::memcpy(&product, a + c * stride + i, sizeof product);
    std::memcpy(&factor, b + c * b_stride + i, sizeof factor);
    product *= factor;
  };
  by_eights(
      n,
      [&](size_t i) {
        for (size_t c = 0; c < columns; ++c) {
          multiply(i, c);
          sums[c] += product;
        }
      },
      [&](size_t i, const Lanes& left) {
        for (size_t c = 0; c < columns; ++c) {
          multiply(i, c);
          sums[c] += left ? product : Eight{};
        }
      },
      [&](size_t i) {
        for (size_t c = 0; c < columns; ++c) sums[c][0] += a[c * stride + i] * b[c * b_stride + i];
      });
  for (size_t c = 0; c < columns; ++c) out[c] = sum_of_lanes(sums[c]);
}

/// Sums over columns in as many rows as fit, some eights of them in registers, from `row` on; the
/// first row left.
template <size_t eights>
POPFLOW_INLINE size_t sum_rows(size_t row, size_t rows, size_t columns, const double* x,
                               double* sums) {
  for (; row + eights * kLanes <= rows; row += eights * kLanes) {
    Eight all[eights] = {};
    for (size_t l = 0; l < columns; ++l) {
      Eight more[eights];
      std::memcpy(more, x + l * rows + row, sizeof more);
      for (size_t i = 0; i < eights; ++i) all[i] += more[i];
    }
    std::memcpy(sums + row, all, sizeof all);
  }
  return row;
}

POPFLOW_INLINE double largest_of(size_t n, const double* x) {
  Eight tops = Eight{} - std::numeric_limits<double>::infinity();
  Eight more;
  const auto include = [&](size_t i) {
    std::memcpy(&more, x + i, sizeof more);
    tops = more > tops ? more : tops;
  };
  by_eights(
      n, include, [&](size_t i, const Lanes&) { include(i); },
      [&](size_t i) { tops[0] = x[i] > tops[0] ? x[i] : tops[0]; });
  const Four half_a = __builtin_shufflevector(tops, tops, 0, 1, 2, 3);
  const Four half_b = __builtin_shufflevector(tops, tops, 4, 5, 6, 7);
  const Four half = half_a > half_b ? half_a : half_b;
  const double low = half[0] > half[2] ? half[0] : half[2];
  const double high = half[1] > half[3] ? half[1] : half[3];
  return low > high ? low : high;
}

}  // namespace

POPFLOW_WIDEST void exponentials(size_t number, double top, double temperature,
                                 const double* __restrict__ z, double* __restrict__ out) {
  for (size_t l = 0; l < number; ++l) {
    const double x = (z[l] - top) / temperature;
    const double e = exponential(x);
    out[l] = x < kLowestExponent ? 0.0 : e;
  }
}

POPFLOW_WIDEST void attend(size_t contexts, size_t tokens, const double* __restrict__ gains,
                           const double* __restrict__ x, size_t stride, double* __restrict__ b) {
  for (size_t l = 0; l < tokens; ++l)
    for (size_t c = 0; c < contexts; ++c) b[l * contexts + c] = gains[l] * x[l * stride + c];
}

POPFLOW_WIDEST void sum_columns(size_t rows, size_t columns, const double* x,
                                double* __restrict__ sums) {
  constexpr size_t kTogether = 4;
  size_t row = sum_rows<kTogether>(0, rows, columns, x, sums);
  row = sum_rows<1>(row, rows, columns, x, sums);
  for (; row < rows; ++row) {
    double sum = 0;
    for (size_t l = 0; l < columns; ++l) sum += x[l * rows + row];
    sums[row] = sum;
  }
}

POPFLOW_WIDEST void add(size_t number, const double* __restrict__ x, double* __restrict__ sum) {
  for (size_t i = 0; i < number; ++i) sum[i] += x[i];
}

POPFLOW_WIDEST void add_scaled(size_t number, double factor, const double* __restrict__ x,
                               double* __restrict__ sum) {
  for (size_t i = 0; i < number; ++i) sum[i] += factor * x[i];
}

POPFLOW_WIDEST void scale_columns(size_t nodes, size_t columns, const double* __restrict__ factors,
                                  const double* __restrict__ x, double* __restrict__ out) {
  for (size_t c = 0; c < columns; ++c)
    for (size_t k = 0; k < nodes; ++k) out[c * nodes + k] = factors[c] * x[c * nodes + k];
}

POPFLOW_WIDEST void add_scaled_columns(size_t nodes, size_t columns,
                                       const double* __restrict__ factors,
                                       const double* __restrict__ x, double* __restrict__ sum) {
  for (size_t c = 0; c < columns; ++c)
    for (size_t k = 0; k < nodes; ++k) sum[c * nodes + k] += factors[c] * x[c * nodes + k];
}

POPFLOW_WIDEST void shift_columns(size_t nodes, size_t columns, const double* __restrict__ r,
                                  const double* __restrict__ x, double* __restrict__ out) {
  for (size_t c = 0; c < columns; ++c)
    for (size_t k = 0; k < nodes; ++k) out[c * nodes + k] = x[c * nodes + k] + r[k];
}

POPFLOW_WIDEST void weigh_columns(size_t nodes, size_t columns, const double* __restrict__ weights,
                                  const double* __restrict__ g, const double* __restrict__ slope,
                                  double* __restrict__ w) {
  for (size_t c = 0; c < columns; ++c)
    for (size_t k = 0; k < nodes; ++k)
      w[c * nodes + k] = weights[c] * g[c * nodes + k] * slope[c * nodes + k];
}

POPFLOW_WIDEST double dot(size_t number, const double* a, const double* b) {
  double sum = 0;
  dots_of<1>(number, a, 0, b, 0, &sum);
  return sum;
}

POPFLOW_WIDEST double squared_distance(size_t number, const double* a, const double* b) {
  Eight sums = {};
  Eight off, other;
  const auto subtract = [&](size_t i) {
    std::memcpy(&off, a + i, sizeof off);
    std::memcpy(&other, b + i, sizeof other);
    off -= other;
  };
  by_eights(
      number,
      [&](size_t i) {
        subtract(i);
        sums += off * off;
      },
      [&](size_t i, const Lanes& left) {
        subtract(i);
        sums += left ? off * off : Eight{};
      },
      [&](size_t i) { sums[0] += (a[i] - b[i]) * (a[i] - b[i]); });
  return sum_of_lanes(sums);
}

POPFLOW_WIDEST void dots(size_t nodes, size_t columns, const double* a, size_t stride,
                         const double* b, bool one, double* __restrict__ out) {
  constexpr size_t kTogether = 4;
  const size_t b_stride = one ? 0 : nodes;
  size_t c = 0;
  for (; c + kTogether <= columns; c += kTogether)
    dots_of<kTogether>(nodes, a + c * stride, stride, b + c * b_stride, b_stride, out + c);
  for (; c < columns; ++c) dots_of<1>(nodes, a + c * stride, 0, b + c * b_stride, 0, out + c);
}

POPFLOW_WIDEST void add_columns(size_t nodes, size_t columns, const double* __restrict__ factors,
                                const double* __restrict__ x, size_t stride,
                                double* __restrict__ sum) {
  constexpr size_t kTogether = 4;
  size_t c = 0;
  for (; c + kTogether <= columns; c += kTogether) {
    const double* const column = x + c * stride;
    for (size_t k = 0; k < nodes; ++k) {
      double s = sum[k];
      for (size_t i = 0; i < kTogether; ++i) s += factors[c + i] * column[i * stride + k];
      sum[k] = s;
    }
  }
  for (; c < columns; ++c)
    for (size_t k = 0; k < nodes; ++k) sum[k] += factors[c] * x[c * stride + k];
}

POPFLOW_WIDEST void cross_entropy_gradients(size_t nodes, size_t contexts,
                                            const std::uint32_t* __restrict__ classes,
                                            const double* __restrict__ phi,
                                            double* __restrict__ g) {
  for (size_t i = 0; i < contexts; ++i) {
    const double* const from = phi + i * nodes;
    double* const to = g + i * nodes;
    const double top = largest_of(nodes, from);
    for (size_t k = 0; k < nodes; ++k) to[k] = from[k] - top;
  }
  for (size_t i = 0; i < contexts * nodes; ++i) g[i] = exponential(g[i]);
  for (size_t i = 0; i < contexts; ++i) {
    double* const column = g + i * nodes;
    const size_t own = classes[i];
    // 1 - softmax_c would lose its digits as the class is learned.
    const double others = sum_except(nodes, own, column);
    const double factor = -1 / (column[own] + others);
    for (size_t k = 0; k < nodes; ++k) column[k] *= factor;
    column[own] = -factor * others;
  }
}

}  // namespace popflow::joma_joint::kernels

#include "dynamics/common/products.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Each instruction set has its own vector and tile sizes, so the choice is made here rather than by
// target_clones, whose versions share one body. Every multiplication is fused with the addition of
// its product in all versions, so that all round alike; without an FMA instruction the slow
// function of the C library is used. (Processors with AVX2 have FMA.) The loops are inlined, so
// that they are compiled for their caller's instruction set.
#define POPFLOW_INLINE inline __attribute__((always_inline))

namespace popflow {
namespace {

using std::size_t;

typedef double Two __attribute__((vector_size(16)));
typedef double Four __attribute__((vector_size(32)));
typedef double Eight __attribute__((vector_size(64)));

// Number of columns of the result kept in registers together. Shorter columns need more of them, so
// that enough sums run in parallel to hide latencies.
constexpr size_t kColumns = 4;
constexpr size_t kShortColumns = 12;
constexpr size_t kFewColumns = 8;
constexpr size_t kInner = 128;  // columns of A whose tile fits the first-level cache

/// sums += left * right, rounded once.
template <typename V>
POPFLOW_INLINE void add_fused(const V& left, double right, V& sums) {
  for (size_t i = 0; i < sizeof(V) / sizeof(double); ++i)
    sums[i] = std::fma(left[i], right, sums[i]);
}
// Other compilers make one instruction per vector of the loop above. gcc does not for wide vectors,
// so the instructions are named. (With -ffp-contract=fast, gcc 14 splits the multiply and the add
// in sums carried by a loop, because it considers that faster.)
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"  // calls of instructions pass no arguments
POPFLOW_INLINE void add_fused(const Four& left, double right, Four& sums) {
  const Four all = {right, right, right, right};
  sums = __builtin_ia32_vfmaddpd256(left, all, sums);
}
POPFLOW_INLINE void add_fused(const Eight& left, double right, Eight& sums) {
  const Eight all = {right, right, right, right, right, right, right, right};
  sums = __builtin_ia32_vfmaddpd512_mask(left, all, sums, -1, _MM_FROUND_CUR_DIRECTION);
}
#pragma GCC diagnostic pop
#endif
POPFLOW_INLINE void add_fused(const double& left, double right, double& sum) {
  sum = std::fma(left, right, sum);
}

// Element (k, j) of the right factor lies at data[k * along + j * across].
struct Right {
  const double* data;
  size_t along, across;
};

// Adds `inner` terms to a tile of `vectors` vectors x `columns`, which starts from 0 if it has no
// value yet.
template <typename V, size_t vectors, size_t columns>
POPFLOW_INLINE void tile(bool fresh, size_t inner, Columns a, Right b, double* c, size_t c_stride) {
  constexpr size_t width = sizeof(V) / sizeof(double);
  V sums[columns][vectors] = {};
  if (!fresh)
    for (size_t j = 0; j < columns; ++j)
      for (size_t i = 0; i < vectors; ++i)
        std::memcpy(&sums[j][i], c + j * c_stride + i * width, sizeof(V));
  for (size_t k = 0; k < inner; ++k) {
    V left[vectors];
    for (size_t i = 0; i < vectors; ++i)
      std::memcpy(&left[i], a.data + k * a.stride + i * width, sizeof(V));
    for (size_t j = 0; j < columns; ++j) {
      const double right = b.data[k * b.along + j * b.across];
      for (size_t i = 0; i < vectors; ++i) add_fused(left[i], right, sums[j][i]);
    }
  }
  for (size_t j = 0; j < columns; ++j)
    for (size_t i = 0; i < vectors; ++i)
      std::memcpy(c + j * c_stride + i * width, &sums[j][i], sizeof(V));
}

/// Computes columns from `j` on of a band of rows, several at a time; returns the first column
/// left.
template <typename V, size_t vectors, size_t at_a_time>
POPFLOW_INLINE size_t across(bool fresh, size_t j, size_t columns, size_t inner, Columns left,
                             Right b, double* c, size_t c_stride) {
  for (; j + at_a_time <= columns; j += at_a_time)
    tile<V, vectors, at_a_time>(fresh, inner, left, {b.data + j * b.across, b.along, b.across},
                                c + j * c_stride, c_stride);
  return j;
}

// Computes all tiles of this height that fit from `row` on; returns the first row left.
template <typename V, size_t vectors>
POPFLOW_INLINE size_t bands(bool fresh, size_t row, size_t rows, size_t columns, size_t inner,
                            Columns a, Right b, double* c, size_t c_stride) {
  constexpr size_t height = vectors * sizeof(V) / sizeof(double);
  for (; row + height <= rows; row += height) {
    const Columns left{a.data + row, a.stride};
    size_t j = 0;
    if constexpr (vectors == 1) {
      j = across<V, 1, kShortColumns>(fresh, j, columns, inner, left, b, c + row, c_stride);
      j = across<V, 1, kFewColumns>(fresh, j, columns, inner, left, b, c + row, c_stride);
    }
    j = across<V, vectors, kColumns>(fresh, j, columns, inner, left, b, c + row, c_stride);
    across<V, vectors, 1>(fresh, j, columns, inner, left, b, c + row, c_stride);
  }
  return row;
}

template <typename V, size_t vectors>
POPFLOW_INLINE void multiply(bool anew, size_t rows, size_t columns, size_t inner, Columns a,
                             Right b, double* c, size_t c_stride) {
  if (anew && inner == 0)
    for (size_t j = 0; j < columns; ++j) std::fill_n(c + j * c_stride, rows, 0.0);
  for (size_t first = 0; first < inner; first += kInner) {
    const bool fresh = anew && first == 0;
    const size_t count = inner - first < kInner ? inner - first : kInner;
    const Columns left{a.data + first * a.stride, a.stride};
    const Right right{b.data + first * b.along, b.along, b.across};
    size_t row = bands<V, vectors>(fresh, 0, rows, columns, count, left, right, c, c_stride);
    row = bands<V, 1>(fresh, row, rows, columns, count, left, right, c, c_stride);
    if constexpr (sizeof(V) > sizeof(Four))
      row = bands<Four, 1>(fresh, row, rows, columns, count, left, right, c, c_stride);
    bands<double, 1>(fresh, row, rows, columns, count, left, right, c, c_stride);
  }
}

// Sums columns in as many rows as fit, from `row` on; returns the first row left.
template <typename V, size_t vectors>
POPFLOW_INLINE size_t gather(bool fresh, size_t row, size_t rows, size_t count,
                             const std::uint32_t* columns, const double* factors, Columns a,
                             double* sum) {
  constexpr size_t width = sizeof(V) / sizeof(double);
  for (; row + vectors * width <= rows; row += vectors * width) {
    V sums[vectors] = {};
    if (!fresh) std::memcpy(sums, sum + row, sizeof sums);
    for (size_t j = 0; j < count; ++j) {
      const double* column = a.data + columns[j] * a.stride + row;
      for (size_t i = 0; i < vectors; ++i) {
        V entries;
        std::memcpy(&entries, column + i * width, sizeof(V));
        add_fused(entries, factors[j], sums[i]);
      }
    }
    std::memcpy(sum + row, sums, sizeof sums);
  }
  return row;
}

template <typename V, size_t vectors>
POPFLOW_INLINE void gather_all(bool fresh, size_t rows, size_t count, const std::uint32_t* columns,
                               const double* factors, Columns a, double* sum) {
  size_t row = gather<V, vectors>(fresh, 0, rows, count, columns, factors, a, sum);
  row = gather<V, 1>(fresh, row, rows, count, columns, factors, a, sum);
  if constexpr (sizeof(V) > sizeof(Four))
    row = gather<Four, 1>(fresh, row, rows, count, columns, factors, a, sum);
  gather<double, 1>(fresh, row, rows, count, columns, factors, a, sum);
}

#if defined(__x86_64__)
__attribute__((target("avx512f,fma"))) void gather_avx512(bool fresh, size_t rows, size_t count,
                                                          const std::uint32_t* columns,
                                                          const double* factors, Columns a,
                                                          double* sum) {
  gather_all<Eight, 12>(fresh, rows, count, columns, factors, a, sum);
}

__attribute__((target("avx2,fma"))) void gather_avx2(bool fresh, size_t rows, size_t count,
                                                     const std::uint32_t* columns,
                                                     const double* factors, Columns a,
                                                     double* sum) {
  gather_all<Four, 12>(fresh, rows, count, columns, factors, a, sum);
}

__attribute__((target("avx512f,fma"))) void multiply_avx512(bool anew, size_t rows, size_t columns,
                                                            size_t inner, Columns a, Right b,
                                                            double* c, size_t c_stride) {
  multiply<Eight, 4>(anew, rows, columns, inner, a, b, c, c_stride);
}

__attribute__((target("avx2,fma"))) void multiply_avx2(bool anew, size_t rows, size_t columns,
                                                       size_t inner, Columns a, Right b, double* c,
                                                       size_t c_stride) {
  multiply<Four, 2>(anew, rows, columns, inner, a, b, c, c_stride);
}
#endif

void multiply_widest(bool anew, size_t rows, size_t columns, size_t inner, Columns a, Right b,
                     double* c, size_t c_stride) {
  if (rows == 0 || columns == 0) return;  // an empty C may have no memory
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return multiply_avx512(anew, rows, columns, inner, a, b, c, c_stride);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return multiply_avx2(anew, rows, columns, inner, a, b, c, c_stride);
#endif
  multiply<Two, 2>(anew, rows, columns, inner, a, b, c, c_stride);
}

void gather_widest(bool fresh, size_t rows, size_t count, const std::uint32_t* columns,
                   const double* factors, Columns a, double* sum) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return gather_avx512(fresh, rows, count, columns, factors, a, sum);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return gather_avx2(fresh, rows, count, columns, factors, a, sum);
#endif
  gather_all<Two, 12>(fresh, rows, count, columns, factors, a, sum);
}

}  // namespace

void add_columns(size_t rows, size_t count, const std::uint32_t* columns, const double* factors,
                 Columns a, double* sum) {
  gather_widest(false, rows, count, columns, factors, a, sum);
}

void sum_columns(size_t rows, size_t count, const std::uint32_t* columns, const double* factors,
                 Columns a, double* sum) {
  gather_widest(true, rows, count, columns, factors, a, sum);
}

void product_with_transpose(size_t rows, size_t columns, size_t inner, Columns a, Columns b,
                            double* c, size_t c_stride) {
  multiply_widest(true, rows, columns, inner, a, {b.data, b.stride, 1}, c, c_stride);
}

void add_product_with_transpose(size_t rows, size_t columns, size_t inner, Columns a, Columns b,
                                double* c, size_t c_stride) {
  multiply_widest(false, rows, columns, inner, a, {b.data, b.stride, 1}, c, c_stride);
}

void product(size_t rows, size_t columns, size_t inner, Columns a, Columns b, double* c,
             size_t c_stride) {
  multiply_widest(true, rows, columns, inner, a, {b.data, 1, b.stride}, c, c_stride);
}

}  // namespace popflow

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "popflow/pack.hpp"

/// Kernels of models that keep their matrices. A batch of samples lies in rows of packs: an array
/// of a model has a row for each entry, and a row has a lane for each sample.
///
/// Every sum runs in the order of its terms in each lane, so that all widths give the same bits.
namespace popflow::matrices {

/// Operand of a product: entry (i, k) is at[i * row + k * column].
struct Strided {
  const double* at;
  std::size_t row, column;
};

/// Depth of the blocks of products: a panel of so many packs fits in the first cache.
constexpr std::size_t kDepth = 192;
/// Numbers of `a` that a block of rows has: they fit in the second cache.
constexpr std::size_t kNumbersOfBlock = 1 << 14;

/// Computes `rows` entries of the product of `a` and a column of packs `b`, whose rows are `stride`
/// packs apart. Entry i goes to out[i * packs]; with `goes_on`, its sum begins with what is there.
template <std::size_t rows, class N>
POPFLOW_MATH_INLINE void multiply_rows(std::size_t depth, std::size_t packs, const Strided& a,
                                       const N* b, std::size_t stride, bool goes_on, N* out) {
  N sum[rows];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < rows; ++i) sum[i] = goes_on ? out[i * packs] : N(0.0);
  const double* left = a.at;
  for (std::size_t k = 0; k < depth; ++k, left += a.column, b += stride) {
    const N row = *b;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < rows; ++i) sum[i] += N(left[i * a.row]) * row;
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < rows; ++i) out[i * packs] = sum[i];
}

/// Computes a column of packs of a product, `at_once` rows at a time: as many sums as fit in the
/// registers.
template <std::size_t at_once, class N>
POPFLOW_MATH_INLINE void multiply_column(std::size_t rows, std::size_t depth, std::size_t packs,
                                         Strided a, const N* b, std::size_t stride, bool goes_on,
                                         N* out) {
  std::size_t i = 0;
  for (; i + at_once <= rows; i += at_once, a.at += at_once * a.row, out += at_once * packs)
    multiply_rows<at_once>(depth, packs, a, b, stride, goes_on, out);
  for (; i < rows; ++i, a.at += a.row, out += packs)
    multiply_rows<1>(depth, packs, a, b, stride, goes_on, out);
}

/// Writes the product of `a` (rows x depth) and `b` (depth x packs), in blocks of rows and depth. A
/// column of packs that serves many rows is copied, so that its rows follow each other in memory.
template <std::size_t at_once, class N>
POPFLOW_MATH_INLINE void multiply_by(std::size_t rows, std::size_t depth, std::size_t packs,
                                     const Strided& a, const N* b, N* out) {
  const std::size_t block =
      std::max(kNumbersOfBlock / std::min(depth, kDepth) / at_once, std::size_t{8}) * at_once;
  const bool copies = packs > 1 && rows >= 4 * at_once;
  N panel[kDepth];
  if (depth == 0) std::fill_n(out, rows * packs, N(0.0));
  for (std::size_t k = 0; k < depth; k += kDepth) {
    const std::size_t deep = std::min(kDepth, depth - k);
    for (std::size_t i = 0; i < rows; i += block) {
      const Strided left{a.at + i * a.row + k * a.column, a.row, a.column};
      for (std::size_t j = 0; j < packs; ++j) {
        const N* column = b + k * packs + j;
        if (copies)
          for (std::size_t c = 0; c < deep; ++c) panel[c] = column[c * packs];
        multiply_column<at_once>(std::min(block, rows - i), deep, packs, left,
                                 copies ? panel : column, copies ? 1 : packs, k > 0,
                                 out + i * packs + j);
      }
    }
  }
}

// One function for each instruction set.
[[gnu::noinline, gnu::flatten]] inline void multiply(std::size_t rows, std::size_t depth,
                                                     std::size_t packs, const Strided& a,
                                                     const BasicPack<2>* b, BasicPack<2>* out) {
  multiply_by<1>(rows, depth, packs, a, b, out);
}
[[gnu::noinline, gnu::flatten]] POPFLOW_AVX2 inline void multiply(
    std::size_t rows, std::size_t depth, std::size_t packs, const Strided& a, const BasicPack<4>* b,
    BasicPack<4>* out) {
  multiply_by<3>(rows, depth, packs, a, b, out);
}
/// Uses AVX2, because processors that split AVX-512 instructions in two multiply faster with AVX2.
inline void multiply(std::size_t rows, std::size_t depth, std::size_t packs, const Strided& a,
                     const BasicPack<8>* b, BasicPack<8>* out) {
  multiply(rows, depth, packs, a, reinterpret_cast<const BasicPack<4>*>(b),
           reinterpret_cast<BasicPack<4>*>(out));
}

/// Calls Part::compute in a function that is compiled once for each instruction set: compilers take
/// far longer for one long function than for several short ones.
template <class Part, class... Rest>
[[gnu::noinline, gnu::flatten]] void apart(BasicPack<2>* w, Rest... rest) {
  Part::compute(w, rest...);
}
template <class Part, class... Rest>
[[gnu::noinline, gnu::flatten]] POPFLOW_AVX2 void apart(BasicPack<4>* w, Rest... rest) {
  Part::compute(w, rest...);
}
template <class Part, class... Rest>
[[gnu::noinline, gnu::flatten]] POPFLOW_AVX512 void apart(BasicPack<8>* w, Rest... rest) {
  Part::compute(w, rest...);
}

/// Sum of the lanes.
template <class N>
POPFLOW_MATH_INLINE double total(const N& pack) {
  const double* const lane = reinterpret_cast<const double*>(&pack);
  double sum = lane[0];
  for (std::size_t l = 1; l < kLanes; ++l) sum += lane[l];
  return sum;
}

/// Number of packs that hold `count` numbers.
constexpr std::size_t packs_for(std::size_t count) { return (count + kLanes - 1) / kLanes; }

/// Writes b[c * kLanes + j] = a[j * stride + c] for the rows j of `a` and c below `length`, four
/// rows and columns at a time; `length` is a multiple of 4. Writes 0 for j from `rows` on.
POPFLOW_MATH_INLINE void transpose(std::size_t rows, std::size_t length, std::size_t stride,
                                   const double* a, double* b) {
  typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));
  constexpr std::size_t width = kLanes;
  std::size_t j = 0;
  for (; j + 4 <= rows; j += 4)
    for (std::size_t c = 0; c < length; c += 4) {
      const double* const from = a + j * stride + c;
      const auto row = [&](std::size_t i)
                           POPFLOW_INLINED { return *(const Four*)(from + i * stride); };
      const Four even = __builtin_shufflevector(row(0), row(1), 0, 4, 2, 6);
      const Four even2 = __builtin_shufflevector(row(2), row(3), 0, 4, 2, 6);
      const Four odd = __builtin_shufflevector(row(0), row(1), 1, 5, 3, 7);
      const Four odd2 = __builtin_shufflevector(row(2), row(3), 1, 5, 3, 7);
      double* const to = b + c * width + j;
      *(Four*)to = __builtin_shufflevector(even, even2, 0, 1, 4, 5);
      *(Four*)(to + width) = __builtin_shufflevector(odd, odd2, 0, 1, 4, 5);
      *(Four*)(to + 2 * width) = __builtin_shufflevector(even, even2, 2, 3, 6, 7);
      *(Four*)(to + 3 * width) = __builtin_shufflevector(odd, odd2, 2, 3, 6, 7);
    }
  for (; j < width; ++j)
    for (std::size_t c = 0; c < length; ++c) b[c * width + j] = j < rows ? a[j * stride + c] : 0;
}

/// Writes the product of `a` (rows x depth) and `panel`, or adds to it with `goes_on`.
[[gnu::noinline, gnu::flatten]] inline void add_panel(std::size_t rows, std::size_t depth,
                                                      const Strided& a, const BasicPack<2>* panel,
                                                      bool goes_on, BasicPack<2>* out) {
  multiply_column<1>(rows, depth, 1, a, panel, 1, goes_on, out);
}
[[gnu::noinline, gnu::flatten]] POPFLOW_AVX2 inline void add_panel(
    std::size_t rows, std::size_t depth, const Strided& a, const BasicPack<4>* panel, bool goes_on,
    BasicPack<4>* out) {
  multiply_column<3>(rows, depth, 1, a, panel, 1, goes_on, out);
}
inline void add_panel(std::size_t rows, std::size_t depth, const Strided& a,
                      const BasicPack<8>* panel, bool goes_on, BasicPack<8>* out) {
  add_panel(rows, depth, a, reinterpret_cast<const BasicPack<4>*>(panel), goes_on,
            reinterpret_cast<BasicPack<4>*>(out));
}

struct Contraction {
  template <class N>
  static POPFLOW_MATH_INLINE void compute(N* space, std::size_t rows, std::size_t columns,
                                          std::size_t length, const N* a, const N* b, double* out,
                                          std::size_t row, std::size_t column) {
    if (rows < 4) {  // too few to be worth a transposed copy
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) {
          const N* const left = a + i * (length / kLanes);
          const N* const right = b + j * (length / kLanes);
          N sum(0.0);
          for (std::size_t c = 0; c < length / kLanes; ++c) sum += left[c] * right[c];
          out[i * row + j * column] = total(sum);
        }
      return;
    }
    N panel[kDepth];
    const double* const found = reinterpret_cast<const double*>(space);
    for (std::size_t first = 0; first < columns; first += kLanes) {
      const std::size_t own = std::min(kLanes, columns - first);
      for (std::size_t c = 0; c < length; c += kDepth) {
        const std::size_t deep = std::min(kDepth, length - c);
        transpose(own, deep, length, reinterpret_cast<const double*>(b) + first * length + c,
                  reinterpret_cast<double*>(panel));
        add_panel(rows, deep, {reinterpret_cast<const double*>(a) + c, length, 1},
                  static_cast<const N*>(panel), c > 0, space);
      }
      if (row < column)
        for (std::size_t j = 0; j < own; ++j)
          for (std::size_t i = 0; i < rows; ++i)
            out[i * row + (first + j) * column] = found[i * kLanes + j];
      else
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = 0; j < own; ++j)
            out[i * row + (first + j) * column] = found[i * kLanes + j];
    }
  }
};
/// Writes out[i * row + j * column] = sum over c of a[i, c] b[j, c], where `a` has `rows` rows and
/// `b` `columns` rows of `length` numbers. `space` has room for `rows` packs. The sum runs over
/// c, or over the lanes' sums if there are fewer than four rows.
template <class N>
POPFLOW_MATH_INLINE void contract(std::size_t rows, std::size_t columns, std::size_t length,
                                  const N* a, const N* b, N* space, double* out, std::size_t row,
                                  std::size_t column) {
  apart<Contraction>(space, rows, columns, length, a, b, out, row, column);
}

/// Writes the product of two matrices that are the same for all samples. `space` has room for
/// packs_for(columns) * (depth + rows) packs.
template <class N>
POPFLOW_MATH_INLINE void multiply_shared(std::size_t rows, std::size_t depth, std::size_t columns,
                                         const Strided& a, const Strided& b, N* space,
                                         double* out) {
  const std::size_t packs = packs_for(columns), width = packs * kLanes;
  double* const right = reinterpret_cast<double*>(space);
  std::fill_n(right, depth * width, 0.0);
  for (std::size_t k = 0; k < depth; ++k)
    for (std::size_t j = 0; j < columns; ++j) right[k * width + j] = b.at[k * b.row + j * b.column];
  N* const product = space + depth * packs;
  multiply(rows, depth, packs, a, static_cast<const N*>(space), product);
  const double* const found = reinterpret_cast<const double*>(product);
  for (std::size_t i = 0; i < rows; ++i) std::copy_n(found + i * width, columns, out + i * columns);
}

struct ProductOfSamples {
  /// Writes `at_once` columns of a row.
  template <std::size_t at_once, class N>
  static POPFLOW_MATH_INLINE void columns_of(std::size_t depth, std::size_t packs, const N* a,
                                             std::size_t a_column, const N* b, std::size_t b_row,
                                             std::size_t b_column, N* out) {
    for (std::size_t l = 0; l < packs; ++l) {
      N sum[at_once];
#pragma GCC unroll 8
      for (std::size_t j = 0; j < at_once; ++j) sum[j] = N(0.0);
      const N* left = a + l;
      const N* right = b + l;
      for (std::size_t k = 0; k < depth; ++k, left += a_column * packs, right += b_row * packs) {
        const N factor = *left;
#pragma GCC unroll 8
        for (std::size_t j = 0; j < at_once; ++j) sum[j] += factor * right[j * b_column * packs];
      }
#pragma GCC unroll 8
      for (std::size_t j = 0; j < at_once; ++j) out[j * packs + l] = sum[j];
    }
  }

  template <class N>
  static POPFLOW_MATH_INLINE void compute(N* out, std::size_t rows, std::size_t depth,
                                          std::size_t columns, std::size_t packs, const N* a,
                                          std::size_t a_row, std::size_t a_column, const N* b,
                                          std::size_t b_row, std::size_t b_column) {
    constexpr std::size_t at_once = 3;
    for (std::size_t i = 0; i < rows; ++i, a += a_row * packs) {
      std::size_t j = 0;
      for (; j + at_once <= columns; j += at_once, out += at_once * packs)
        columns_of<at_once>(depth, packs, a, a_column, b + j * b_column * packs, b_row, b_column,
                            out);
      for (; j < columns; ++j, out += packs)
        columns_of<1>(depth, packs, a, a_column, b + j * b_column * packs, b_row, b_column, out);
    }
  }
};
/// Writes the product of two matrices of each sample; entry (i, k) of `a` is row i * a_row + k *
/// a_column of packs.
template <class N>
POPFLOW_MATH_INLINE void multiply_samples(std::size_t rows, std::size_t depth, std::size_t columns,
                                          std::size_t packs, const N* a, std::size_t a_row,
                                          std::size_t a_column, const N* b, std::size_t b_row,
                                          std::size_t b_column, N* out) {
  apart<ProductOfSamples>(out, rows, depth, columns, packs, a, a_row, a_column, b, b_row, b_column);
}

/// The row of a table of `rows` rows that a number names; `rows` if it names none.
POPFLOW_MATH_INLINE std::size_t row_of(double number, std::size_t rows) {
  if (!(number >= 0 && number < static_cast<double>(rows))) return rows;
  const auto row = static_cast<std::size_t>(number);
  return static_cast<double>(row) == number ? row : rows;
}

/// Calls use(row, place) for each of `count` indices of each sample: `row` is the row of the table,
/// and `place` the first entry of the index's own row of `width` entries, in doubles.
template <class N, class Use>
POPFLOW_MATH_INLINE void for_indices(std::size_t count, std::size_t width, std::size_t rows,
                                     std::size_t packs, const N* index, Use use) {
  constexpr std::size_t lanes = sizeof(N) / sizeof(double);
  const auto* const at = reinterpret_cast<const double*>(index);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t l = 0; l < packs * lanes; ++l)
      use(row_of(at[i * packs * lanes + l], rows), i * width * packs * lanes + l);
}

/// Writes, for each of `count` indices of each sample, that row of a table (rows x width); zeros
/// for an index that names no row.
template <class N>
POPFLOW_MATH_INLINE void rows(std::size_t count, std::size_t width, std::size_t rows,
                              std::size_t packs, const double* table, const N* index, N* out) {
  const std::size_t stride = packs * (sizeof(N) / sizeof(double));
  auto* const to = reinterpret_cast<double*>(out);
  for_indices(count, width, rows, packs, index, [&](std::size_t row, std::size_t place) {
    for (std::size_t c = 0; c < width; ++c)
      to[place + c * stride] = row < rows ? table[row * width + c] : 0.0;
  });
}

/// Writes a table (rows x width) of the sums of rows with the same index.
template <class N>
POPFLOW_MATH_INLINE void add_rows(std::size_t count, std::size_t width, std::size_t rows,
                                  std::size_t packs, const N* added, const N* index, double* out) {
  const std::size_t stride = packs * (sizeof(N) / sizeof(double));
  const auto* const from = reinterpret_cast<const double*>(added);
  std::fill_n(out, rows * width, 0.0);
  for_indices(count, width, rows, packs, index, [&](std::size_t row, std::size_t place) {
    if (row < rows)
      for (std::size_t c = 0; c < width; ++c) out[row * width + c] += from[place + c * stride];
  });
}

}  // namespace popflow::matrices

#pragma once

#include <cstddef>
#include <cstdint>

/// Products of column-major matrices in the machine's widest vectors. Every element is a single sum
/// over the inner index, in order and from 0, by fused multiply-adds. The bits are therefore the
/// same for every vector width and every division of the result into blocks.
namespace popflow {

/// A column-major matrix's first element and the distance between its columns.
struct Columns {
  const double* data;
  std::size_t stride;
};

/// C = A B', with A rows x inner, B columns x inner and C rows x columns.
void product_with_transpose(std::size_t rows, std::size_t columns, std::size_t inner, Columns a,
                            Columns b, double* c, std::size_t c_stride);

/// C += A B', in the same order, starting from the old value of C.
void add_product_with_transpose(std::size_t rows, std::size_t columns, std::size_t inner, Columns a,
                                Columns b, double* c, std::size_t c_stride);

/// C = A B, with A rows x inner, B inner x columns and C rows x columns.
void product(std::size_t rows, std::size_t columns, std::size_t inner, Columns a, Columns b,
             double* c, std::size_t c_stride);

/// sum = sum over j < count of factors[j] times column columns[j] of A, in order.
void sum_columns(std::size_t rows, std::size_t count, const std::uint32_t* columns,
                 const double* factors, Columns a, double* sum);

/// sum += sum over j < count of factors[j] times column columns[j] of A, in order, starting from
/// the old value.
void add_columns(std::size_t rows, std::size_t count, const std::uint32_t* columns,
                 const double* factors, Columns a, double* sum);

}  // namespace popflow

#pragma once

#include <cstddef>
#include <cstdint>

/// The inner loops of the joint system, in the widest vectors that the machine has. Their sums are
/// over eight lanes, whatever the width, and nothing is fused: the same bits everywhere.
///
/// A "column" holds a number for each node, and columns lie one after the other.
namespace popflow::joma_joint::kernels {

/// out = e^{(z - top)/temperature}; 0 where that is too small for a normal number.
void exponentials(std::size_t number, double top, double temperature, const double* z, double* out);

/// b = gain x for some tokens, whose entries for some contexts lie `stride` apart in x and together
/// in b.
void attend(std::size_t contexts, std::size_t tokens, const double* gains, const double* x,
            std::size_t stride, double* b);
/// The sums of rows over columns in order.
void sum_columns(std::size_t rows, std::size_t columns, const double* x, double* sums);

/// sum += x
void add(std::size_t number, const double* x, double* sum);
/// sum += factor x
void add_scaled(std::size_t number, double factor, const double* x, double* sum);
/// out = x factor for each column.
void scale_columns(std::size_t nodes, std::size_t columns, const double* factors, const double* x,
                   double* out);
/// sum += x factor for each column.
void add_scaled_columns(std::size_t nodes, std::size_t columns, const double* factors,
                        const double* x, double* sum);
/// out = x + r for each column.
void shift_columns(std::size_t nodes, std::size_t columns, const double* r, const double* x,
                   double* out);
/// w = weight g slope for each column.
void weigh_columns(std::size_t nodes, std::size_t columns, const double* weights, const double* g,
                   const double* slope, double* w);

double dot(std::size_t number, const double* a, const double* b);
/// The sum of squares of a - b.
double squared_distance(std::size_t number, const double* a, const double* b);
/// dots = a' b for each column; the columns of a lie `stride` apart, and b has one column or as
/// many.
void dots(std::size_t nodes, std::size_t columns, const double* a, std::size_t stride,
          const double* b, bool one, double* out);

/// sum += x f for each column of x, which lie `stride` apart, with a factor each.
void add_columns(std::size_t nodes, std::size_t columns, const double* factors, const double* x,
                 std::size_t stride, double* sum);

/// 1{k=c} - softmax(phi)_k for contexts of classes c. Entries near zero are as accurate as others.
void cross_entropy_gradients(std::size_t nodes, std::size_t contexts, const std::uint32_t* classes,
                             const double* phi, double* g);

}  // namespace popflow::joma_joint::kernels

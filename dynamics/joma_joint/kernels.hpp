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
/// Attention for a multiple of eight contexts, contiguous in x too, and the sums of b
/// over tokens in order.
void attend_and_sum(std::size_t contexts, std::size_t tokens, const double* gains, const double* x,
                    double* b, double* sums);
/// The sums of rows over columns in order.
void sum_columns(std::size_t rows, std::size_t columns, const double* x, double* sums);

/// sum += x
void add(std::size_t number, const double* x, double* sum);
/// sum += factor x
void add_scaled(std::size_t number, double factor, const double* x, double* sum);
/// x += h f + more
void step(std::size_t number, double h, const double* f, const double* more, double* x);
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

/// Contexts side by side: number c of an array is context c's, and arrays hold whole eights of
/// them. A column of nodes holds whole eights, too.
struct SideBySide {
  std::size_t nodes, contexts;
  const double* sums;  ///< of each node, `stride` apart: v_k' b_c over the scale
  std::size_t stride;
  const double* scales;  ///< of b_c; 0 beyond the contexts
  const double* r;       ///< of the nodes
  const std::int64_t* classes;
  const double* weights;
  double* work;    ///< 8 numbers a node, 0 beyond the nodes
  double* sum;     ///< of the nodes: to which weight g is added, context by context
  double* scaled;  ///< a column for each context: weight g times the scale
  double* pulls;   ///< sum_k weight g_k v_k' b_c, times the scale
};
/// g of cross_entropy_gradients() at phi = v_k' b_c + r_k, and what follows from it, in the bits
/// that the functions above give one after the other. No sum is across a vector, and nothing
/// between leaves the nearest cache.
void weigh_side_by_side(const SideBySide& of);

}  // namespace popflow::joma_joint::kernels

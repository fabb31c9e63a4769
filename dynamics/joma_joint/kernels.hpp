#pragma once

#include <cstddef>
#include <cstdint>

/// Inner loops of the joint system, in the machine's widest vectors. Sums use eight lanes for every
/// width, and nothing is fused: the same bits everywhere.
///
/// A "column" holds a number for each node; columns are consecutive.
namespace popflow::joma_joint::kernels {

/// out = e^{(z - top)/temperature}; 0 if the result would be subnormal.
void exponentials(std::size_t number, double top, double temperature, const double* z, double* out);

/// b = gain x for some tokens; their entries for the contexts are `stride` apart in x and
/// contiguous in b.
void attend(std::size_t contexts, std::size_t tokens, const double* gains, const double* x,
            std::size_t stride, double* b);
/// Does the work of attend() for a multiple of eight contexts whose entries are contiguous in x,
/// too; adds up b over tokens in order.
void attend_and_sum(std::size_t contexts, std::size_t tokens, const double* gains, const double* x,
                    double* b, double* sums);
/// Sums of rows over columns, in order.
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
/// Sum of squares of a - b.
double squared_distance(std::size_t number, const double* a, const double* b);
/// dots = a' b for each column; the columns of a are `stride` apart, and b has one column or as
/// many as a.
void dots(std::size_t nodes, std::size_t columns, const double* a, std::size_t stride,
          const double* b, bool one, double* out);

/// sum += x f over the columns of x, which are `stride` apart; each column has its own factor f.
void add_columns(std::size_t nodes, std::size_t columns, const double* factors, const double* x,
                 std::size_t stride, double* sum);

/// 1{k=c} - softmax(phi)_k for contexts of classes c. Entries near zero are accurate, too.
void cross_entropy_gradients(std::size_t nodes, std::size_t contexts, const std::uint32_t* classes,
                             const double* phi, double* g);

/// Contexts side by side: element c of an array belongs to context c, and arrays are padded to
/// whole eights. A column of nodes is padded to whole eights, too.
struct SideBySide {
  std::size_t nodes, contexts;
  const double* sums;  ///< for each node, `stride` apart: v_k' b_c divided by the scale
  std::size_t stride;
  const double* scales;  ///< scales of b_c; 0 beyond the contexts
  const double* r;       ///< for the nodes
  const std::int64_t* classes;
  const double* weights;
  double* work;    ///< 8 numbers per node, 0 beyond the nodes
  double* sum;     ///< for the nodes: weight g is added, context by context
  double* scaled;  ///< a column for each context: weight g times the scale
  double* pulls;   ///< sum_k weight g_k v_k' b_c, times the scale
};
/// g of cross_entropy_gradients() at phi = v_k' b_c + r_k, and the results that follow, with the
/// same bits as the functions above called in sequence. No sum runs across a vector, and
/// intermediate results stay in the first-level cache.
void weigh_side_by_side(const SideBySide& of);

}  // namespace popflow::joma_joint::kernels

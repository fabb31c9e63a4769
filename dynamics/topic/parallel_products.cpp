#include "dynamics/topic/parallel_products.hpp"

#include <algorithm>
#include <cstddef>

#include "dynamics/common/products.hpp"

namespace popflow::topic {

namespace {

/// Columns per task of a product. A task has more columns if each pass reads a left factor that
/// exceeds the inner caches.
constexpr Eigen::Index columns_of_task(Eigen::Index columns) { return columns > 512 ? 64 : 16; }

Columns columns_of(const ConstMatrix& m) {
  return {m.data(), static_cast<std::size_t>(m.outerStride())};
}

}  // namespace

void ParallelProducts::by_columns(Eigen::Index columns, Eigen::Index work_each,
                                  const Task& task) const {
  const Eigen::Index most = columns_of_task(columns);
  workers_.run(static_cast<std::size_t>((columns + most - 1) / most),
               static_cast<std::size_t>(columns * work_each), [&](std::size_t number) {
                 const Eigen::Index first = static_cast<Eigen::Index>(number) * most;
                 task(first, std::min(most, columns - first));
               });
}

void ParallelProducts::transpose(const ConstMatrix& a, Eigen::MatrixXd& out) const {
  out.resize(a.cols(), a.rows());
  by_columns(a.rows(), a.cols(), [&](Eigen::Index first, Eigen::Index count) {
    out.middleCols(first, count) = a.middleRows(first, count).transpose();
  });
}

void ParallelProducts::product(const ConstMatrix& a, const ConstMatrix& b, MatrixOut out) const {
  by_columns(b.cols(), a.size(), [&](Eigen::Index first, Eigen::Index count) {
    MatrixOut part = out.middleCols(first, count);
    popflow::product(static_cast<std::size_t>(a.rows()), static_cast<std::size_t>(count),
                     static_cast<std::size_t>(a.cols()), columns_of(a),
                     columns_of(b.middleCols(first, count)), part.data(),
                     static_cast<std::size_t>(part.outerStride()));
  });
}

void ParallelProducts::product_with_transpose(const ConstMatrix& a, const ConstMatrix& b,
                                              MatrixOut out) const {
  by_columns(b.rows(), a.size(), [&](Eigen::Index first, Eigen::Index count) {
    MatrixOut part = out.middleCols(first, count);
    popflow::product_with_transpose(
        static_cast<std::size_t>(a.rows()), static_cast<std::size_t>(count),
        static_cast<std::size_t>(a.cols()), columns_of(a), columns_of(b.middleRows(first, count)),
        part.data(), static_cast<std::size_t>(part.outerStride()));
  });
}

}  // namespace popflow::topic

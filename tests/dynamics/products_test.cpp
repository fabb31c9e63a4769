#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "dynamics/common/products.hpp"
#include "support/catch.hpp"

using namespace popflow;
using Eigen::Index;
using Eigen::MatrixXd;

namespace {

// Extra rows below each column; products must not change them.
constexpr Index kGap = 3;
constexpr double kUntouched = 7;

std::size_t size(Index n) { return static_cast<std::size_t>(n); }

Columns top(const MatrixXd& m) { return {m.data(), size(m.rows())}; }

MatrixXd matrix(Index rows, Index columns, bool integers) {
  const MatrixXd m = MatrixXd::Random(rows + kGap, columns);
  return integers ? MatrixXd((8 * m).array().round()) : m;
}

void check(Index rows, Index columns, Index inner, bool transposed, bool integers) {
  CAPTURE(rows, columns, inner, transposed, integers);
  const MatrixXd a = matrix(rows, inner, integers);
  const MatrixXd b =
      transposed ? matrix(columns, inner, integers) : matrix(inner, columns, integers);
  MatrixXd c = MatrixXd::Constant(rows + kGap, columns, kUntouched);
  const MatrixXd left = a.topRows(rows);
  const MatrixXd right = transposed ? MatrixXd(b.topRows(columns).transpose()) : b.topRows(inner);
  (transposed ? product_with_transpose : product)(size(rows), size(columns), size(inner), top(a),
                                                  top(b), c.data(), size(c.rows()));
  if (columns == 0) return;  // there is nothing to compare; the call must return
  const MatrixXd expected = left * right;
  const double tolerance =
      integers ? 0 : 2 * static_cast<double>(inner) * std::numeric_limits<double>::epsilon();
  CHECK(((c.topRows(rows) - expected).array().abs() <= tolerance).all());
  CHECK((c.bottomRows(kGap).array() == kUntouched).all());
  // Each element is a sum in order, so it has the same bits for every instruction set.
  for (Index j = 0; j < columns; ++j)
    for (Index i = 0; i < rows; ++i) {
      double sum = 0;
      for (Index k = 0; k < inner; ++k) sum = std::fma(left(i, k), right(k, j), sum);
      if (c(i, j) != sum) FAIL("element " << i << ", " << j << ": " << c(i, j) << " != " << sum);
    }
  if (!transposed) return;
  // The product is added to `more`, whose old value is the sum's first term.
  MatrixXd more = matrix(rows, columns, integers);
  const MatrixXd before = more;
  add_product_with_transpose(size(rows), size(columns), size(inner), top(a), top(b), more.data(),
                             size(more.rows()));
  CHECK((more.bottomRows(kGap).array() == before.bottomRows(kGap).array()).all());
  for (Index j = 0; j < columns; ++j)
    for (Index i = 0; i < rows; ++i) {
      double sum = before(i, j);
      for (Index k = 0; k < inner; ++k) sum = std::fma(left(i, k), right(k, j), sum);
      if (more(i, j) != sum) FAIL("with more at " << i << ", " << j << ": " << more(i, j));
    }
}

}  // namespace

TEST_CASE("products of matrices equal Eigen's, and each element is summed in order",
          "[fast][products]") {
  for (const Index rows : {0, 1, 3, 5, 17, 33, 100})
    for (const Index columns : {0, 1, 3, 4, 7, 15, 32})
      for (const Index inner : {0, 1, 2, 127, 129, 300})
        for (const bool transposed : {false, true})
          for (const bool integers : {false, true})
            check(rows, columns, inner, transposed, integers);
}

TEST_CASE("columns are added in order, with the same bits for every vector length",
          "[fast][products]") {
  for (const Index rows : {0, 1, 3, 8, 20, 47, 100, 131}) {
    for (const std::size_t count : {0, 1, 2, 9}) {
      CAPTURE(rows, count);
      const MatrixXd a = matrix(rows, 6, false);
      Eigen::VectorXd sum = Eigen::VectorXd::Random(rows + kGap);
      Eigen::VectorXd expected = sum;
      Eigen::VectorXd alone = expected, expected_alone = expected;
      expected_alone.head(rows).setZero();
      std::vector<std::uint32_t> columns;
      std::vector<double> factors;
      for (std::size_t j = 0; j < count; ++j) {
        columns.push_back(static_cast<std::uint32_t>((5 * j + 2) % 6));
        factors.push_back(0.3 - 0.7 * static_cast<double>(j));
        for (Index i = 0; i < rows; ++i) {
          expected[i] = std::fma(factors[j], a(i, columns[j]), expected[i]);
          expected_alone[i] = std::fma(factors[j], a(i, columns[j]), expected_alone[i]);
        }
      }
      add_columns(size(rows), count, columns.data(), factors.data(), top(a), sum.data());
      CHECK(sum == expected);
      sum_columns(size(rows), count, columns.data(), factors.data(), top(a), alone.data());
      CHECK(alone == expected_alone);
    }
  }
}

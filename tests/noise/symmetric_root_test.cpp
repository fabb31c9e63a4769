#include "noise/symmetric_root.hpp"

#include <Eigen/Eigenvalues>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "popflow/random.hpp"

namespace popflow::test {
namespace {

TEST_CASE("the symmetric root of a covariance is one, singular or not", "[fast][noise]") {
  RandomStream random(1, Purpose::test);
  constexpr double kRounding = std::numeric_limits<double>::epsilon();
  for (int i = 0; i < 1000; ++i) {
    // Eigenvalues with a ratio of 1 to 1e-20, some of them 0, at scales of 1e-60 to 1e60.
    const double angle = 7 * random.uniform(), scale = std::pow(10, 120 * random.uniform() - 60);
    const double ratio = i % 10 == 0 ? 0 : std::pow(10, -20 * random.uniform());
    const Eigen::Vector2d along(std::cos(angle), std::sin(angle)), across(-along[1], along[0]);
    Eigen::Matrix2d C = scale * (along * along.transpose() + ratio * across * across.transpose());
    C(0, 1) = C(1, 0);
    const Eigen::Matrix2d R = symmetric_root(C);
    INFO("C = " << C);
    CHECK((R * R - C).norm() <= 16 * kRounding * C.trace());
    CHECK(R(0, 1) == R(1, 0));
    // Positive semidefinite; by the solver for eigenvalues it is the same root, but for what the
    // rounding of a singular C leaves of its smaller eigenvalue.
    CHECK(R.determinant() >= -16 * kRounding * scale);
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> solver(C);
    const Eigen::Vector2d roots = solver.eigenvalues().cwiseMax(0).cwiseSqrt();
    const Eigen::Matrix2d expected =
        solver.eigenvectors() * roots.asDiagonal() * solver.eigenvectors().transpose();
    CHECK((R - expected).norm() <= 4 * std::sqrt(kRounding * scale));
  }
  CHECK(symmetric_root(Eigen::Matrix2d::Zero()) == Eigen::Matrix2d::Zero());
  CHECK(symmetric_root(Eigen::Vector2d(4, 9).asDiagonal())
            .isApprox(Eigen::Matrix2d(Eigen::Vector2d(2, 3).asDiagonal())));
}

}  // namespace
}  // namespace popflow::test

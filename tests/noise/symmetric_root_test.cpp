#include "noise/symmetric_root.hpp"

#include <Eigen/Eigenvalues>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "lanes/lane_rows.hpp"
#include "noise/lane_step.hpp"
#include "popflow/random.hpp"
#include "support/catch.hpp"

namespace popflow::test {
namespace {

constexpr double kRounding = std::numeric_limits<double>::epsilon();

TEST_CASE("the symmetric root of 2 x 2 covariances is accurate, singular or not", "[fast][noise]") {
  RandomStream random(1, Purpose::test);
  for (int i = 0; i < 1000; ++i) {
    // Eigenvalues with ratios of 1 to 1e-20, some of them 0, at scales of 1e-60 to 1e60.
    const double angle = 7 * random.uniform(), scale = std::pow(10, 120 * random.uniform() - 60);
    const double ratio = i % 10 == 0 ? 0 : std::pow(10, -20 * random.uniform());
    const Eigen::Vector2d along(std::cos(angle), std::sin(angle)), across(-along[1], along[0]);
    Eigen::Matrix2d C = scale * (along * along.transpose() + ratio * across * across.transpose());
    C(0, 1) = C(1, 0);
    const Eigen::Matrix2d R = symmetric_root(C);
    INFO("C = " << C);
    CHECK((R * R - C).norm() <= 16 * kRounding * C.trace());
    CHECK(R(0, 1) == R(1, 0));
    // The root is positive semidefinite. It agrees with the eigenvalue solver's root, up to the
    // effect of rounding on the smaller eigenvalue of a singular C.
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

/// Returns a covariance whose smaller eigenvalues are 0 half of the time, and otherwise 1 to 1e-20
/// times the largest.
Eigen::Matrix3d random_covariance(RandomStream& random, double scale) {
  Eigen::Matrix3d any;
  for (double& entry : any.reshaped()) entry = 2 * random.uniform() - 1;
  const Eigen::Matrix3d axes = any.householderQr().householderQ();
  const auto ratio = [&] {
    return random.uniform() < 0.5 ? 0 : std::pow(10, -20 * random.uniform());
  };
  const Eigen::Vector3d values = scale * Eigen::Vector3d(1, ratio(), ratio());
  const Eigen::Matrix3d C = axes * values.asDiagonal() * axes.transpose();
  return C.selfadjointView<Eigen::Lower>();
}

Eigen::Matrix3d root_of(const Eigen::Matrix3d& C) {
  Eigen::Matrix3d R;
  for (int i = 0; i < 3; ++i) R.col(i) = symmetric_root_times(C, Eigen::Vector3d::Unit(i));
  return R;
}

TEST_CASE("the root of a 2 x 2 covariance is zero along directions without noise",
          "[fast][noise]") {
  RandomStream random(2, Purpose::test);
  for (int i = 0; i < 1000; ++i) {
    // All samples conserve the sum, so the noise along (1, 1) is zero.
    const double a = random.uniform(), b = random.uniform(), c = random.uniform();
    const double variance = 0.1 * a * a + 0.3 * b * b + 0.7 * c * c;
    Eigen::Matrix2d C;
    C << variance, -variance, -variance, variance;
    C(0, 0) *= 1 + kRounding;
    const Eigen::Vector2d kept = symmetric_root(C) * Eigen::Vector2d::Ones();
    CHECK(kept.cwiseAbs().maxCoeff() <= 8 * kRounding);
  }
}

TEST_CASE("the symmetric root of 3 x 3 covariances is accurate, singular or not", "[fast][noise]") {
  RandomStream random(2, Purpose::test);
  for (int i = 0; i < 4000; ++i) {
    const double scale = std::pow(10, 120 * random.uniform() - 60);
    const Eigen::Matrix3d C = random_covariance(random, scale);
    const Eigen::Matrix3d R = root_of(C);
    INFO("C = " << C);
    CHECK((R * R - C).norm() <= 320 * kRounding * C.trace());
    // The root is symmetric, and agrees with the eigenvalue solver's, up to the effect of rounding
    // on the smaller eigenvalues of a singular C.
    const double left = 16 * std::sqrt(kRounding * scale);
    CHECK((R - R.transpose()).norm() <= left);
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(C);
    const Eigen::Vector3d roots = solver.eigenvalues().cwiseMax(0).cwiseSqrt();
    const Eigen::Matrix3d expected =
        solver.eigenvectors() * roots.asDiagonal() * solver.eigenvectors().transpose();
    CHECK((R - expected).norm() <= left);
  }
  // The root is accurate to rounding for a regular covariance.
  const Eigen::Matrix3d regular =
      Eigen::Vector3d(4, 9, 16).asDiagonal().toDenseMatrix() + Eigen::Matrix3d::Ones();
  CHECK((root_of(regular) * root_of(regular) - regular).norm() < 1e-14 * regular.norm());
  CHECK(root_of(Eigen::Matrix3d::Identity()).isApprox(Eigen::Matrix3d::Identity(), 1e-15));
  CHECK(root_of(Eigen::Matrix3d::Zero()) == Eigen::Matrix3d::Zero());
}

TEST_CASE("states of three entries step in lanes as they do alone", "[fast][noise][lanes]") {
  // Bits are equal whether or not the covariances of other lanes are regular.
  RandomStream random(3, Purpose::test);
  for (int i = 0; i < 200; ++i) {
    LaneRows f(3), c(6), z(3), x(3);
    std::vector<Eigen::Vector3d> expected;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const Eigen::Matrix3d C = i % 5 == 0 && lane % 3 == 0
                                    ? Eigen::Matrix3d(Eigen::Matrix3d::Zero())
                                    : random_covariance(random, 1);
      std::array<double, 3> flow{}, normals{}, from{};
      for (std::size_t j = 0; j < 3; ++j) {
        flow[j] = random.uniform() - 0.5;
        normals[j] = 2 * random.uniform() - 1;
        from[j] = random.uniform();
      }
      f.write(lane, flow);
      c.write(lane, std::array{C(0, 0), C(1, 0), C(1, 1), C(2, 0), C(2, 1), C(2, 2)});
      z.write(lane, normals);
      x.write(lane, from);
      SymmetricRoot3 root =
          SymmetricRoot3::of(C(0, 0), C(1, 0), C(1, 1), C(2, 0), C(2, 1), C(2, 2));
      if (root.i3 > 0) root.complete();
      const auto [x0, x1, x2] = root.times(0.3, normals[0], normals[1], normals[2]);
      expected.emplace_back(from[0] + (0.1 * flow[0] + x0), from[1] + (0.1 * flow[1] + x1),
                            from[2] + (0.1 * flow[2] + x2));
    }
    REQUIRE(step_lanes(3, 0.1, 0.3, f.data(), c.data(), z.data(), x.data()));
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      for (std::size_t j = 0; j < 3; ++j)
        CHECK(x.at(j, lane) == expected[lane][static_cast<Eigen::Index>(j)]);
    // A non-finite covariance makes the step fail.
    c.at(static_cast<std::size_t>(i) % 6, 4) = i % 2 == 0 ? NAN : INFINITY;
    CHECK_FALSE(step_lanes(3, 0.1, 0.3, f.data(), c.data(), z.data(), x.data()));
  }
}

}  // namespace
}  // namespace popflow::test

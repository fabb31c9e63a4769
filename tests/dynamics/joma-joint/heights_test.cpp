// Event heights in noisy runs: cheap bounds and approximations against the exact heights.

#include <Eigen/SVD>
#include <cmath>

#include "dynamics/joma_joint/rank_bracket.hpp"
#include "dynamics/joma_joint/spectrum.hpp"
#include "popflow/random.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/joma_joint_fixture.hpp"

namespace popflow::joma_joint::test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd normals(RandomStream& random, Index rows, Index columns, double size) {
  MatrixXd x(rows, columns);
  for (double& entry : x.reshaped()) entry = size * random.normal();
  return x;
}

Attention::Matrix view(const MatrixXd& V) { return {V.data(), V.rows(), V.cols()}; }

TEST_CASE("bounds of the stable rank hold however V moves", "[fast][joma-joint]") {
  RandomStream random(21, Purpose::test);
  for (const auto& [nodes, tokens] :
       {std::pair<Index, Index>(9, 72), {30, 500}, {100, 811}, {140, 150}}) {
    const MatrixXd start = normals(random, nodes, tokens, 0.01);
    CHECK(RankBracket::pays(view(start)));
    const Eigen::BDCSVD<MatrixXd> svd(start, Eigen::ComputeThinU | Eigen::ComputeThinV);
    const auto direction = [&](Index i) {
      return MatrixXd(svd.matrixU().col(i) * svd.matrixV().col(i).transpose());
    };
    const double first = svd.singularValues()[0];
    RankBracket bracket;
    CHECK(!bracket.seems_near(view(start)));
    CHECK(!bracket.at(view(start), pool()));
    bracket.make_reference(view(start), pool());
    int answers = 0;
    // V moves at random, or so that another singular direction overtakes the first one. That
    // direction is among the known ones (1, 3, 4) or beyond them (8).
    for (const Index towards : {-1, 1, 3, 4, 8}) {
      for (const double size : {0.0, 1e-6, 1e-4, 1e-2, 0.1, 1.0}) {
        INFO(nodes << " x " << tokens << ", towards " << towards << ", " << size);
        MatrixXd V = start + normals(random, nodes, tokens, size * first / 1e3);
        if (towards >= 0) V += size * first * direction(towards);
        const auto bounds = bracket.at(view(V), pool());
        if (!bounds) continue;
        ++answers;
        const double rank = stable_rank(view(V), pool());
        CHECK(bounds->low <= rank);
        CHECK(rank <= bounds->high);
        if (size < 1e-3) CHECK(bounds->high < bounds->low * (1 + 1e-4));
      }
    }
    CHECK(answers >= 15);
    CHECK(!bracket.at(view(MatrixXd(start + 10 * direction(8))), pool()));
    // The renewed reference contains the overtaking direction.
    const MatrixXd elsewhere = start + first * direction(8);
    bracket.make_reference(view(elsewhere), pool());
    const auto bounds = bracket.at(view(elsewhere), pool());
    REQUIRE(bounds);
    CHECK(bounds->low <= stable_rank(view(elsewhere), pool()));
    CHECK(bounds->high < bounds->low * (1 + 1e-9));
  }
}

TEST_CASE("references that serve too few states are renewed at growing intervals",
          "[fast][joma-joint]") {
  RandomStream random(22, Purpose::test);
  RankBracket bracket;
  int made = 0;
  for (int question = 0; question < 1000; ++question) {
    const MatrixXd V = normals(random, 12, 100, 1);  // far from all previous ones
    CHECK(!bracket.at(view(V), pool()));
    bracket.make_reference(view(V), pool());
    made += bracket.seems_near(view(V)) ? 1 : 0;
  }
  CHECK((made >= 3 && made <= 10));
}

/// System that always computes exact heights.
struct ByHeights : JomaJoint {
  using JomaJoint::JomaJoint;
  [[nodiscard]] double rough_event_height(std::size_t event, StateView x, double t, double /*low*/,
                                          double /*high*/) const override {
    return event_height(event, x, t);
  }
};

Problem wide_problem() { return uneven_problem(200, 12, 12, 0.1, 1.2, 3); }

Variant noisy(AttentionKind kind) {
  Variant variant;
  variant.attention = kind;
  variant.temperature = 0.7;
  variant.noisy = true;
  return variant;
}

TEST_CASE("an approximate height is below, within or above a range exactly if the true height is",
          "[fast][joma-joint]") {
  for (const AttentionKind kind :
       {AttentionKind::softmax, AttentionKind::exponential, AttentionKind::linear}) {
    const Problem problem = wide_problem();
    const auto system = make_system(problem, noisy(kind));
    const VectorXd x = state_at(*system, start_of(problem));
    const StateView view(std::span<const double>(x.data(), static_cast<std::size_t>(x.size())), {});
    for (std::size_t event = 0; event < 4; ++event) {
      const double height = system->event_height(event, view, 0);
      INFO(static_cast<int>(kind) << ", event " << event << ", height " << height);
      for (const double off : {1e-3, 1e-6, 1e-9, 1e-15}) {
        const double within =
            system->rough_event_height(event, view, 0, height - off, height + off);
        CHECK((height - off < within && within < height + off));
        CHECK(system->rough_event_height(event, view, 0, height + off, height + 2 * off) == height);
        CHECK(system->rough_event_height(event, view, 0, height - 2 * off, height - off) == height);
      }
    }
  }
}

TEST_CASE("noisy runs find the same events with approximate heights as with exact ones",
          "[slow][joma-joint]") {
  std::size_t found = 0;
  for (const AttentionKind kind :
       {AttentionKind::softmax, AttentionKind::exponential, AttentionKind::linear}) {
    const JomaJoint quick(wide_problem(), noisy(kind), pool());
    const ByHeights exact(wide_problem(), noisy(kind), pool());
    SgdDriver::Options options;
    options.learning_rate = 0.05;
    options.batch_size = 8;
    options.seed = 4;
    SgdDriver one(quick, pool(), options);
    SgdDriver other(exact, pool(), options);
    for (SgdDriver* driver : {&one, &other})
      REQUIRE(driver->advance(100).kind == Outcome::Kind::reached);
    REQUIRE(one.events().size() == other.events().size());
    for (std::size_t i = 0; i < one.events().size(); ++i) {
      CHECK(one.events()[i].event == other.events()[i].event);
      CHECK(one.events()[i].time == other.events()[i].time);
    }
    found += one.events().size();
  }
  CHECK(found >= 6);
}

}  // namespace
}  // namespace popflow::joma_joint::test

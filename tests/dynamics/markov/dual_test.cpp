#include "popflow/dual.hpp"

#include "dynamics/markov/formulas.hpp"
#include "support/catch.hpp"
#include "support/markov_fixture.hpp"

// The analytic Jacobian compared with that of the flow's formula in dual numbers.

using namespace popflow;
using namespace popflow::markov;
using namespace popflow::markov::test;

namespace {

using Number = Dual<3>;

template <template <class> class Numbers>
Numbers<Number> constants(const Numbers<double>& of) {
  Numbers<Number> result;
  const auto* from = reinterpret_cast<const double*>(&of);
  auto* to = reinterpret_cast<Number*>(&result);
  std::copy_n(from, sizeof of / sizeof(double), to);
  return result;
}

/// Returns d(dx_i/dt)/dx_j at a state of two or three entries.
Eigen::MatrixXd jacobian_by_duals(const Chain& chain, const Eigen::VectorXd& x) {
  const Number e = Number::variable(x[0], 0), w = Number::variable(x[1], 1);
  const auto by = [&] {
    if (x.size() == 2) return by_logits(constants(pair_numbers(chain)), slope(e, w));
    const Number f0 = Number::variable(x[2], 2) - e * e / 2;
    return by_logits(constants(coin_numbers(chain)), f0, Number(f0 + slope(e, w)));
  }();
  const ByState<Number> loss = gradient(by, e, w);
  Eigen::MatrixXd j(x.size(), x.size());
  const Number rows[] = {-loss.e, -loss.w, -loss.b};
  for (Eigen::Index i = 0; i < x.size(); ++i)
    for (Eigen::Index k = 0; k < x.size(); ++k) j(i, k) = rows[i].by[static_cast<std::size_t>(k)];
  return j;
}

}  // namespace

TEST_CASE("markov: the Jacobian agrees with dual numbers", "[fast][markov]") {
  const std::vector<Eigen::Vector3d> states = {
      {0.5, 0.3, 0.2}, {-1.3, 0.6, -0.7}, {0.9, -0.4, 1.1}, {1.7, -0.9, 0.4},
      {0.2, -1.6, 0},  {2.5, 0.1, 2},     {-0.6, -0.72, -3}};
  for (const PQ& of : kChains)
    for (const Eigen::Vector3d& state : states)
      for (const bool free : {false, true}) {
        INFO("p = " << of.p << ", q = " << of.q << ", at " << state.transpose());
        const Eigen::VectorXd x = state.head(free ? 3 : 2);
        const Markov system = free ? free_bias(of, x[0], x[1], x[2]) : optimal(of, x[0], x[1]);
        Eigen::MatrixXd j(x.size(), x.size());
        std::vector<double> by_time(static_cast<std::size_t>(x.size()));
        system.jacobian(numbers_of(x), 0, j, by_time);
        const Eigen::MatrixXd expected = jacobian_by_duals(system.chain(), x);
        CHECK((j - expected).cwiseAbs().maxCoeff() <= 1e-12 * expected.cwiseAbs().maxCoeff());
      }
}

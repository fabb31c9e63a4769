// Checks that each system has the properties that it declares, in every variant of its examples.txt
// and noisy.txt, as `popflow verify` does.

#include <map>

#include "popflow/systems.hpp"
#include "support/catch.hpp"
#include "support/examples.hpp"
#include "support/make_system.hpp"
#include "verify/verify.hpp"

namespace popflow::test {
namespace {

/// Number of passed checks by the first word of their names.
using Counts = std::map<std::string, int>;

Counts check_all(const std::vector<Example>& examples, const std::vector<std::string>& only,
                 bool thorough = false) {
  Counts held;
  Workers workers(1);
  for (const Example& example : examples) {
    VerifyOptions options;
    options.only = only;
    options.thorough = thorough;
    const std::vector<Check> checks =
        verify(parse(example.system, example.words), systems(), workers, options);
    INFO(example.text() << "\n" << verification_table(checks));
    CHECK(holds(checks));
    for (const Check& check : checks)
      if (check.verdict == Check::Verdict::ok) ++held[check.name.substr(0, check.name.find(' '))];
  }
  return held;
}

// The tests compare the number of passed checks: a system that stops declaring a property would
// otherwise skip its check silently.

TEST_CASE("any number of threads gives the same bits", "[slow][numbers][properties]") {
  const std::vector<Example> cases = some(examples());
  CHECK(check_all(cases, {"threads"})["threads"] == static_cast<int>(cases.size()));
}

TEST_CASE("any number of threads gives the same noisy run", "[fast][properties][noise]") {
  REQUIRE(noisy_examples().size() > 20);
  CHECK(check_all(noisy_examples(), {"threads"})["threads"] ==
        static_cast<int>(noisy_examples().size()));
}

TEST_CASE("all values stay finite along the flow and under noise", "[fast][properties]") {
  CHECK(check_all(examples(), {"finite"})["finite"] == static_cast<int>(examples().size()));
  CHECK(check_all(noisy_examples(), {"finite"})["finite"] ==
        static_cast<int>(noisy_examples().size()));
}

TEST_CASE("a system has as many observables as it describes, and none is infinite",
          "[fast][properties]") {
  CHECK(check_all(examples(), {"observables"})["observables"] ==
        static_cast<int>(examples().size()));
  CHECK(check_all(noisy_examples(), {"observables"})["observables"] ==
        static_cast<int>(noisy_examples().size()));
}

TEST_CASE("a stated Jacobian is the derivative of the right-hand side", "[fast][properties]") {
  CHECK(check_all(examples(), {"Jacobian"})["Jacobian"] > 30);
}

TEST_CASE("the right-hand side of every gradient flow is minus its loss's gradient",
          "[fast][properties]") {
  CHECK(check_all(examples(), {"gradient"})["gradient"] > 30);
}

TEST_CASE("formulas in lanes equal those of single trajectories", "[fast][lanes][properties]") {
  CHECK(check_all(examples(), {"lanes"})["lanes"] > 20);
  CHECK(check_all(noisy_examples(), {"lanes"})["lanes"] > 10);
}

TEST_CASE("samples keep the invariants that noise is projected onto", "[fast][properties][noise]") {
  CHECK(check_all(noisy_examples(), {"noise projection"})["noise"] > 10);
}

TEST_CASE("stated invariants are conserved to the integrator's tolerance",
          "[fast][numbers][properties]") {
  CHECK(check_all(examples(), {"invariants"})["invariant"] > 40);
}

TEST_CASE("a method converges to a stated closed form at its order",
          "[fast][numbers][properties]") {
  CHECK(check_all(examples(), {"closed form"})["closed"] > 5);
}

TEST_CASE("an interrupted run resumes bit for bit", "[fast][numbers][properties]") {
  CHECK(check_all(examples(), {"resuming"})["resuming"] == static_cast<int>(examples().size()));
}

TEST_CASE("an interrupted noisy run of any system resumes bit for bit",
          "[fast][properties][noise]") {
  CHECK(check_all(noisy_examples(), {"resuming"})["resuming"] ==
        static_cast<int>(noisy_examples().size()));
}

TEST_CASE("samples of every model have the right-hand side as their mean",
          "[fast][properties][noise]") {
  Counts held = check_all(noisy_examples(), {"mean of samples", "covariance"});
  CHECK(held["mean"] > 15);
  CHECK(held["covariance"] > 5);
}

TEST_CASE("a problem file reproduces its problem", "[fast][properties]") {
  int with_one = 0;  // systems that are defined by their parameters have no problem file
  for (const Example& example : examples())
    with_one += systems().info(example.system).problem.empty() ? 0 : 1;
  CHECK(with_one > 50);
  CHECK(check_all(examples(), {"problem file"})["problem"] == with_one);
}

TEST_CASE("the flow is the same in reduced coordinates and in those for noise",
          "[slow][properties]") {
  Counts held = check_all(examples(), {"reduction", "noisy coordinates"});
  CHECK(held["reduction"] > 5);
  CHECK(held["noisy"] > 30);
}

TEST_CASE("methods converge to every system's flow at their orders", "[slow][properties]") {
  Counts held = check_all(some(examples()), {"methods"});
  CHECK(held["order"] > (all_cases() ? 80 : 25));
  CHECK(held["error"] > (all_cases() ? 120 : 40));
}

TEST_CASE(
    "gradient descent converges to the flow at order 1 and to the second modified equation at 2",
    "[slow][properties][noise]") {
  CHECK(check_all(noisy_examples(), {"gradient descent"})["gradient"] > 20);
}

}  // namespace
}  // namespace popflow::test

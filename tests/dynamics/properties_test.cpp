// Every system's declarations hold, in every variant that its examples.txt and noisy.txt
// name: the checks of `popflow verify`.

#include <map>

#include "popflow/systems.hpp"
#include "support/catch.hpp"
#include "support/examples.hpp"
#include "support/make_system.hpp"
#include "verify/verify.hpp"

namespace popflow::test {
namespace {

/// How often each check held, by its first word.
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

// The counts say that a check still checks: a system that no longer declares a thing loses a row
// without a word.

TEST_CASE("any number of threads gives the same bits", "[fast][numbers][properties]") {
  CHECK(check_all(examples(), {"threads"})["threads"] == static_cast<int>(examples().size()));
}

TEST_CASE("any number of threads gives the same noisy run", "[fast][properties][noise]") {
  REQUIRE(noisy_examples().size() > 20);
  CHECK(check_all(noisy_examples(), {"threads"})["threads"] ==
        static_cast<int>(noisy_examples().size()));
}

TEST_CASE("the flow and noise lead through states at which all is finite", "[fast][properties]") {
  CHECK(check_all(examples(), {"finite"})["finite"] == static_cast<int>(examples().size()));
  CHECK(check_all(noisy_examples(), {"finite"})["finite"] ==
        static_cast<int>(noisy_examples().size()));
}

TEST_CASE("observables are as many as described, and never infinite", "[fast][properties]") {
  CHECK(check_all(examples(), {"observables"})["observables"] ==
        static_cast<int>(examples().size()));
  CHECK(check_all(noisy_examples(), {"observables"})["observables"] ==
        static_cast<int>(noisy_examples().size()));
}

TEST_CASE("a stated Jacobian is the derivative of the right-hand side", "[fast][properties]") {
  CHECK(check_all(examples(), {"Jacobian"})["Jacobian"] > 30);
}

TEST_CASE("the right-hand side of every gradient flow is that of its loss", "[fast][properties]") {
  CHECK(check_all(examples(), {"gradient"})["gradient"] > 30);
}

TEST_CASE("formulas in lanes are those of each trajectory alone", "[fast][lanes][properties]") {
  CHECK(check_all(examples(), {"lanes"})["lanes"] > 20);
  CHECK(check_all(noisy_examples(), {"lanes"})["lanes"] > 10);
}

TEST_CASE("samples keep the invariants that noise is projected onto", "[fast][properties][noise]") {
  CHECK(check_all(noisy_examples(), {"noise projection"})["noise"] > 10);
}

TEST_CASE("stated invariants are kept to the integrator's tolerance",
          "[fast][numbers][properties]") {
  CHECK(check_all(examples(), {"invariants"})["invariant"] > 40);
}

TEST_CASE("a stated closed form is the solution, at the method's order",
          "[fast][numbers][properties]") {
  CHECK(check_all(examples(), {"closed form"})["closed"] > 5);
}

TEST_CASE("a run that is cut resumes bit for bit", "[fast][numbers][properties]") {
  CHECK(check_all(examples(), {"resuming"})["resuming"] == static_cast<int>(examples().size()));
}

TEST_CASE("a noisy run of any system that is cut resumes bit for bit",
          "[fast][properties][noise]") {
  CHECK(check_all(noisy_examples(), {"resuming"})["resuming"] ==
        static_cast<int>(noisy_examples().size()));
}

TEST_CASE("every sampled model has the right-hand side for its mean", "[fast][properties][noise]") {
  Counts held = check_all(noisy_examples(), {"mean of samples", "covariance"});
  CHECK(held["mean"] > 15);
  CHECK(held["covariance"] > 5);
}

TEST_CASE("a problem file gives its problem again", "[fast][properties]") {
  int with_one = 0;  // systems that are defined by their parameters have no problem file
  for (const Example& example : examples())
    with_one += systems().info(example.system).problem.empty() ? 0 : 1;
  CHECK(with_one > 50);
  CHECK(check_all(examples(), {"problem file"})["problem"] == with_one);
}

TEST_CASE("coordinates that are reduced, or that noise moves, follow the same flow",
          "[slow][properties]") {
  Counts held = check_all(examples(), {"reduction", "noisy coordinates"});
  CHECK(held["reduction"] > 5);
  CHECK(held["noisy"] > 30);
}

TEST_CASE("methods converge to every system's flow at their orders", "[slow][properties]") {
  Counts held = check_all(examples(), {"methods"});
  CHECK(held["order"] > 80);
  CHECK(held["error"] > 120);
}

TEST_CASE("gradient descent goes to the flow at order 1 and to the second modified equation at 2",
          "[slow][properties][noise]") {
  CHECK(check_all(noisy_examples(), {"gradient descent"})["gradient"] > 20);
}

}  // namespace
}  // namespace popflow::test

// Combines the endings of an ensemble's runs into the ending of the ensemble.

#include <cmath>

#include "engine/ending.hpp"
#include "support/catch.hpp"

using namespace popflow;

namespace {

Ending ending(Outcome::Kind kind, const std::string& where, double diverged_at = std::nan(""),
              const std::string& message = "") {
  return {{kind, 0, message, diverged_at}, where};
}

Ending together(const std::vector<Ending>& runs) {
  EnsembleEnding all;
  for (const Ending& run : runs) all.add(run);
  return all.ending();
}

using How = Outcome::Kind;

}  // namespace

TEST_CASE("An ensemble has an outcome if all its runs have the same one", "[fast][run]") {
  CHECK(together({ending(How::reached, "global"), ending(How::reached, "global")}).where ==
        "global");
  CHECK(together({ending(How::reached, "global"), ending(How::reached, "local")}).where ==
        "undecided");
}

TEST_CASE("Diverged runs do not affect the ensemble's outcome", "[fast][run]") {
  const Ending some =
      together({ending(How::diverged, "undecided", 3), ending(How::reached, "global"),
                ending(How::diverged, "local", 2), ending(How::reached, "global")});
  CHECK(some.where == "global");
  CHECK(some.outcome.kind == How::reached);
  CHECK(some.outcome.message == "2 of 4 runs diverged; see 'status' and 'stop_time'");
  CHECK(std::isnan(some.outcome.diverged_at));
}

TEST_CASE("An ensemble diverges if all its runs do, at the earliest time", "[fast][run]") {
  const Ending all =
      together({ending(How::diverged, "local", 3), ending(How::diverged, "local", 2)});
  CHECK(all.outcome.kind == How::diverged);
  CHECK(all.outcome.diverged_at == 2);
  CHECK(all.where == "undecided");
}

TEST_CASE("An ensemble ends at a limit if any of its runs does", "[fast][run]") {
  const Ending good = ending(How::reached, "global");
  const Ending limited = ending(How::step_limit, "global", std::nan(""), "--max-steps is 20");
  for (const auto& runs : {std::vector{good, limited, good}, std::vector{limited, good, good}}) {
    const Ending some = together(runs);
    CHECK(some.outcome.kind == How::step_limit);
    CHECK(some.outcome.message == "1 of 3 runs ended at a limit; see 'status' and 'stop_time'");
  }
  const Ending beside = together({ending(How::diverged, "local", 3), good, limited, limited});
  CHECK(beside.outcome.kind == How::step_limit);
  CHECK(beside.outcome.message ==
        "2 of 4 runs ended at a limit, 1 diverged; see 'status' and 'stop_time'");
  CHECK(together({limited, limited}).outcome.message == "--max-steps is 20");
}

TEST_CASE("An ensemble is interrupted if any of its runs is", "[fast][run]") {
  const Ending cut = together({ending(How::diverged, "local", 3), ending(How::reached, "local"),
                               ending(How::interrupted, "local", std::nan(""), "the first"),
                               ending(How::interrupted, "local", std::nan(""), "the second")});
  CHECK(cut.outcome.kind == How::interrupted);
  CHECK(cut.outcome.message == "the first");
}

TEST_CASE("A single run's ending is passed on in full", "[fast][run]") {
  const Ending one = together({ending(How::diverged, "local", 3, "it blew up")});
  CHECK(one.outcome.message == "it blew up");
  CHECK(one.outcome.diverged_at == 3);
  CHECK(one.where == "local");
}

TEST_CASE("An ensemble is stopped if a condition stopped all its runs", "[fast][run]") {
  const auto stopped = [](double t) {
    return Ending{{How::stopped, t, "stopped at t = 1: loss < 0.1"}, "global"};
  };
  const Ending one = together({stopped(1)});
  CHECK(one.outcome.kind == How::stopped);
  CHECK(one.outcome.message == "stopped at t = 1: loss < 0.1");
  const Ending all = together({stopped(1), stopped(2)});
  CHECK(all.outcome.kind == How::stopped);
  CHECK(all.outcome.message ==
        "2 of 2 runs stopped by the condition of --stop-when; see 'stop_time'");
  const Ending some = together({ending(How::reached, "global"), stopped(2)});
  CHECK(some.outcome.kind == How::reached);
  CHECK(some.outcome.message ==
        "1 of 2 runs stopped by the condition of --stop-when; see 'stop_time'");
  CHECK(exit_code(How::stopped) == ExitCode::success);
  CHECK(together({ending(How::diverged, "", 3), stopped(2)})
            .outcome.message.find("1 of 2 runs "
                                  "diverged") == 0);
}

#include "text/screen.hpp"

#include <sstream>

#include "support/catch.hpp"

namespace popflow {
namespace {

using Catch::Contains;

struct Fixture {
  std::ostringstream out, err;
  double time = 0;

  Screen screen(Screen::Options options) {
    options.clock = [this] { return time; };
    return {out, err, options};
  }
};

TEST_CASE("a default Screen writes nothing", "[fast][cli]") {
  Screen screen;
  screen.message("m");
  screen.warning("w");
  screen.result("r");
  screen.progress(0.5, "");
  screen.progress_done();
  CHECK_FALSE(screen.quiet());
}

TEST_CASE("results and messages go to separate streams", "[fast][cli]") {
  Fixture fixture;
  Screen screen = fixture.screen({});
  screen.result("a table");
  screen.message("a remark");
  screen.warning("a warning");
  CHECK(fixture.out.str() == "a table\n");
  CHECK(fixture.err.str() == "a remark\nwarning: a warning\n");
}

TEST_CASE("empty messages and warnings are not shown", "[fast][cli]") {
  Fixture fixture;
  Screen screen = fixture.screen({});
  screen.message("");
  screen.warning("");
  screen.warning("a.h5", "");
  screen.warning("a.h5", "a warning");
  CHECK(fixture.err.str() == "warning: a.h5: a warning\n");
}

TEST_CASE("the option --quiet suppresses everything except warnings", "[fast][cli]") {
  Fixture fixture;
  Screen screen = fixture.screen({.quiet = true, .terminal = true});
  screen.result("a table");
  screen.message("a remark");
  screen.warning("a warning");
  for (fixture.time = 0; fixture.time < 100; ++fixture.time) screen.progress(0.5, "");
  CHECK(fixture.out.str().empty());
  CHECK(fixture.err.str() == "warning: a warning\n");
}

TEST_CASE("without a terminal progress is a plain line at long intervals", "[fast][cli]") {
  Fixture fixture;
  Screen screen = fixture.screen({});
  for (int i = 0; i <= 1300; ++i) {
    fixture.time = 0.1 * i;
    screen.progress(fixture.time / 200, "t = 7");
  }
  // Lines appear after 10 s, 70 s and 130 s.
  CHECK(fixture.err.str() ==
        "  5% done, elapsed 0:10, left 3:10, t = 7\n"
        " 35% done, elapsed 1:10, left 2:10, t = 7\n"
        " 65% done, elapsed 2:10, left 1:10, t = 7\n");
}

TEST_CASE("short work shows no progress", "[fast][cli]") {
  for (const bool terminal : {false, true}) {
    Fixture fixture;
    Screen screen = fixture.screen({.terminal = terminal});
    screen.progress(0, "");
    fixture.time = 0.4;
    screen.progress(0.9, "");
    screen.progress_done();
    CHECK(fixture.err.str().empty());
  }
}

TEST_CASE("on a terminal a progress bar is drawn, and erased before other lines", "[fast][cli]") {
  Fixture fixture;
  Screen screen = fixture.screen({.terminal = true});
  screen.progress(0, "");
  fixture.time = 60;
  screen.progress(0.5, "t = 3");
  CHECK_THAT(fixture.err.str(), Contains("[###############---------------]  50%") &&
                                    Contains("elapsed 1:00, left 1:00, t = 3"));
  screen.message("by the way");
  CHECK_THAT(fixture.err.str(), Catch::EndsWith("\r\033[Kby the way\n"));
}

TEST_CASE("work done before the start does not affect the estimate of the time left",
          "[fast][cli]") {
  Fixture fixture;
  Screen screen = fixture.screen({.terminal = true});
  screen.progress(0.5, "");
  fixture.time = 60;
  screen.progress(0.75, "");
  CHECK_THAT(fixture.err.str(), Contains("elapsed 1:00, left 1:00"));
}

TEST_CASE("invalid fractions are drawn without an error", "[fast][cli]") {
  Fixture fixture;
  Screen screen = fixture.screen({.progress = Screen::Progress::always, .terminal = true});
  for (const double fraction : {-1.0, 2.0, 0.0 / 0.0, 1e300, 1e-300}) {
    fixture.time += 1;
    CHECK_NOTHROW(screen.progress(fraction, ""));
  }
  screen.progress_done();
  CHECK_THAT(fixture.err.str(), Contains("100%") && Contains("very long"));
}

}  // namespace
}  // namespace popflow

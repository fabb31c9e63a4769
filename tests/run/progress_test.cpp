#include <nlohmann/json.hpp>
#include <sstream>

#include "run/experiment.hpp"
#include "support/catch.hpp"

namespace popflow {
namespace {

TEST_CASE("progress weights runs by their work", "[fast][run]") {
  // Returns the progress of all runs when one run is at its end.
  const auto done = [](const std::vector<double>& work, std::size_t run) {
    std::ostringstream out, err;
    Screen screen(out, err, {.progress = Screen::Progress::json});
    Progress progress(screen, work);
    const auto tell = progress.of(run, 10);
    for (int call = 0; call < 16; ++call) tell(10);  // the clock is read at every sixteenth call
    return nlohmann::json::parse(err.str()).at("done").get<double>();
  };
  CHECK(done({0, 1, 1}, 0) == 0);
  CHECK(done({0, 1, 1}, 2) == 0.5);
  CHECK(done({1, 3}, 1) == 0.75);
}

}  // namespace
}  // namespace popflow

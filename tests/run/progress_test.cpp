#include <nlohmann/json.hpp>
#include <sstream>

#include "run/experiment.hpp"
#include "support/catch.hpp"

namespace popflow {
namespace {

TEST_CASE("runs count for progress by the work that they take", "[fast][run]") {
  // How far all are, once one of them is at its end.
  const auto done = [](const std::vector<double>& work, std::size_t run) {
    std::ostringstream out, err;
    Screen screen(out, err, {.progress = Screen::Progress::json});
    Progress progress(screen, work);
    const auto tell = progress.of(run, 10);
    for (int call = 0; call < 16; ++call) tell(10);  // it looks at the clock at every sixteenth
    return nlohmann::json::parse(err.str()).at("done").get<double>();
  };
  CHECK(done({0, 1, 1}, 0) == 0);
  CHECK(done({0, 1, 1}, 2) == 0.5);
  CHECK(done({1, 3}, 1) == 0.75);
}

}  // namespace
}  // namespace popflow

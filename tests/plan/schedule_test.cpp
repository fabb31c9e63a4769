// Schedules of save times, and how they continue beyond the end.

#include "plan/schedule.hpp"

#include <cmath>

#include "options/run_config.hpp"
#include "plan/course.hpp"
#include "popflow/error.hpp"
#include "support/catch.hpp"

namespace popflow::test {
namespace {

Parameters options(const std::vector<std::pair<std::string, std::string>>& given) {
  Parameters parameters(run_options());
  for (const auto& [name, text] : given) parameters.set(name, text, Origin::command_line);
  return parameters;
}

Schedule schedule(const std::vector<std::pair<std::string, std::string>>& given, double end) {
  return make_schedule(options(given), end, 0);
}

TEST_CASE("schedules follow the options", "[fast][plan]") {
  CHECK(schedule({{"saves", "1"}}, 3) == Schedule{3});
  CHECK(schedule({{"saves", "4"}}, 3) == Schedule{0, 1, 2, 3});
  CHECK(schedule({}, 50).size() == 201);
  CHECK(schedule({}, 50).back() == 50);
  CHECK(schedule({{"save-at", "0.5,2"}}, 3) == Schedule{0.5, 2, 3});
  CHECK(schedule({{"save-at", "0,3"}}, 3) == Schedule{0, 3});
  const auto log = [](const std::string& saves, const std::string& first) {
    return std::vector<std::pair<std::string, std::string>>{
        {"save-spacing", "log"}, {"saves", saves}, {"save-first", first}};
  };
  CHECK(schedule(log("5", "0.01"), 10) == Schedule{0, 0.01, 0.1, 1, 10});
  CHECK(schedule(log("2", "0.01"), 10) == Schedule{0, 10});
  CHECK(schedule(log("1", "0.01"), 10) == Schedule{10});
  CHECK(schedule({{"save-spacing", "log"}, {"saves", "3"}}, 10) == Schedule{0, 1e-5, 10});
  CHECK_THROWS_AS(schedule(log("5", "10"), 10), UsageError);
  CHECK_THROWS_AS(schedule({{"save-at", "1,4"}}, 3), UsageError);
}

TEST_CASE("save times are logarithmic by default only if the end is far beyond the first stage",
          "[fast][plan]") {
  const auto settled = [](std::vector<std::pair<std::string, std::string>> given, double end,
                          double first_stage) {
    Times asked = options(given);
    settle_spacing(asked, end, first_stage);
    CHECK(asked.spacing != "auto");
    return make_schedule(asked, end, 0);
  };
  const Schedule spaced = settled({{"saves", "5"}}, 1000, 10);
  const Schedule expected = {0, 0.1, 2.15443469003, 46.4158883361, 1000};
  REQUIRE(spaced.size() == expected.size());
  for (std::size_t i = 0; i < spaced.size(); ++i)
    CHECK(spaced[i] == Approx(expected[i]).epsilon(1e-11));
  CHECK(settled({{"saves", "5"}, {"save-first", "1"}}, 1000, 10) == Schedule{0, 1, 10, 100, 1000});
  const Schedule even = {0, 250, 500, 750, 1000};
  CHECK(settled({{"saves", "5"}}, 1000, 0) == even);
  // the end is less than 30 times the first stage
  CHECK(settled({{"saves", "5"}}, 1000, 34) == even);
  CHECK(settled({{"saves", "5"}, {"save-spacing", "linear"}}, 1000, 10) == even);
  CHECK(settled({{"save-at", "1,2"}}, 1000, 10) == Schedule{1, 2, 1000});
  CHECK(schedule({{"saves", "5"}}, 1000) == even);  // without a system the default is linear
}

TEST_CASE("save times are rounded to whole steps, up to the end", "[fast][plan]") {
  const auto of_steps = [](const std::string& rate, const std::string& saves,
                           const std::string& end) {
    Parameters parameters =
        options({{"mode", "sgd"}, {"learning-rate", rate}, {"save-at", saves}, {"t-end", end}});
    const auto no_default = [] { return 0.0; };
    const Course course = course_of(parameters, mode_plan(parameters), no_default);
    // The recorded options give the same schedule.
    parameters.resolve("save-at", course.save_at);
    parameters.resolve("t-end", course.end);
    CHECK(course_of(parameters, mode_plan(parameters), no_default).schedule == course.schedule);
    return course.schedule;
  };
  CHECK(of_steps("0.3", "0.3,0.9", "0.9") == Schedule{0.3, 3 * 0.3});
  CHECK(of_steps("0.3", "0.5,1", "1") == Schedule{2 * 0.3, 3 * 0.3});
  CHECK(of_steps("0.25", "0.3,0.35", "1") == Schedule{0.25, 1});
  CHECK_THROWS_WITH(of_steps("0.3", "0.5,0.95", "0.9"),
                    Catch::Contains("--save-at has 0.95") && Catch::Contains("end at 0.9"));
  for (int steps = 1; steps <= 40; ++steps) {
    for (const char* rate : {"0.1", "0.3", "0.7", "0.05", "0.15"}) {
      const std::string end = shortest(std::round(100 * steps * std::stod(rate)) / 100);
      INFO(rate << " to " << end);
      CHECK(of_steps(rate, end, end) == Schedule{steps * std::stod(rate)});
    }
  }
}

TEST_CASE("an extended schedule of steps has the planned spacing", "[fast][plan]") {
  for (const char* spacing : {"linear", "log"}) {
    const auto planned = [&](const char* saves, double end) {
      Parameters parameters = options(
          {{"mode", "sgd"}, {"learning-rate", "0.3"}, {"saves", saves}, {"save-spacing", spacing}});
      if (spacing == std::string("log")) parameters.resolve("save-first", 0.5);
      const Schedule times = make_schedule(parameters, end, 0.3);
      return std::pair(times, spacing_of(parameters, end, 0.3));
    };
    const bool linear = spacing == std::string("linear");
    const auto [first, step] = linear ? planned("11", 4.5) : planned("6", 4.5);
    const double longer = linear ? 9 : 40.5;
    INFO(spacing << " " << step.step);
    CHECK(extend_schedule(first, step, longer, 0.3) ==
          (linear ? planned("21", longer) : planned("10", longer)).first);
  }
}

TEST_CASE("every schedule increases and ends at the end time", "[fast][plan]") {
  for (const double end : {0.1, 1.0 / 3, 83.0, 1e9}) {
    for (const char* saves : {"2", "3", "7", "201", "1000"}) {
      for (const char* spacing : {"linear", "log"}) {
        const Schedule times = schedule({{"saves", saves}, {"save-spacing", spacing}}, end);
        INFO(end << " " << saves << " " << spacing);
        CHECK(times.size() == std::stoul(saves));
        CHECK(times.front() == 0);
        CHECK(times.back() == end);
        CHECK(std::adjacent_find(times.begin(), times.end(), std::greater_equal<>()) ==
              times.end());
      }
    }
  }
}

/// Returns the schedule of `given` up to `end`, extended to each of `ends` in turn.
Schedule extended(const std::vector<std::pair<std::string, std::string>>& given, double end,
                  const std::vector<double>& ends) {
  const Parameters parameters = options(given);
  Schedule times = make_schedule(parameters, end, 0);
  const Spacing spacing = spacing_of(parameters, end, 0);
  for (const double next : ends) times = extend_schedule(times, spacing, next);
  return times;
}

TEST_CASE("a longer schedule continues at the same spacing", "[fast][plan]") {
  CHECK(extended({{"saves", "3"}}, 4, {8}) == Schedule{0, 2, 4, 6, 8});
  CHECK(extended({{"saves", "3"}}, 4, {7}) == Schedule{0, 2, 4, 6, 7});
  CHECK(extended({{"saves", "3"}}, 4, {7, 10}) == Schedule{0, 2, 4, 6, 7, 9, 10});
  CHECK(extended({{"saves", "3"}}, 4, {4.5}) == Schedule{0, 2, 4, 4.5});
  CHECK(extended({{"saves", "1"}}, 4, {8}) == Schedule{4, 8});
  CHECK(extended({{"save-at", "1,2"}}, 4, {8, 9}) == Schedule{1, 2, 4, 8, 9});
  CHECK(extended({{"save-spacing", "log"}, {"saves", "4"}, {"save-first", "1"}}, 100, {5000}) ==
        Schedule{0, 1, 10, 100, 1000, 5000});
  CHECK(extended({{"save-spacing", "log"}, {"saves", "2"}}, 4, {8}) == Schedule{0, 4, 8});
}

TEST_CASE("an extended schedule equals the longer schedule bit for bit", "[fast][plan]") {
  for (const double end : {10.0, 50.0, 83.0, 1e9}) {
    const auto times = extended({{"saves", "201"}}, end, {2 * end, 3 * end});
    CHECK(times == schedule({{"saves", "601"}}, 3 * end));
  }
  const std::vector<std::pair<std::string, std::string>> log = {
      {"save-spacing", "log"}, {"saves", "17"}, {"save-first", "0.001"}};
  auto longer = log;
  longer[1].second = "29";
  CHECK(extended(log, 100, {1000, 1e6}) == schedule(longer, 1e6));
}

TEST_CASE("every schedule can be expressed by options", "[fast][plan]") {
  const auto [given, end, next] =
      GENERATE(table<std::string, double, double>({{"saves=3", 4, 8},
                                                   {"saves=3", 4, 7},
                                                   {"saves=1", 4, 8},
                                                   {"save-at=1,2", 4, 8},
                                                   {"save-spacing=log", 4, 8},
                                                   {"save-spacing=log", 4, 4e6}}));
  const std::size_t equals = given.find('=');
  Parameters parameters = options({{given.substr(0, equals), given.substr(equals + 1)}});
  const Schedule first = make_schedule(parameters, end, 0);
  const Schedule times = extend_schedule(first, spacing_of(parameters, end, 0), next);
  describe_schedule(times, 0, parameters);
  CHECK(parameters.real("t-end") == next);
  CHECK(make_schedule(parameters, next, 0) == times);
}

}  // namespace
}  // namespace popflow::test

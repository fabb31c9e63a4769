#include "plot/chart.hpp"

#include <cmath>
#include <sstream>

#include "plot/heat_map.hpp"
#include "support/catch.hpp"
#include "text/text.hpp"

namespace popflow {
namespace {

constexpr Look kPlain{60, false, false};
constexpr Look kBraille{60, true, false};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Chart rising() {
  std::vector<double> x, y;
  for (int i = 0; i <= 20; ++i) {
    x.push_back(i);
    y.push_back(i * 0.5);
  }
  return {"title", "t", {{"up", x, y}}, {}, Scale(0, 20, false), Scale(0, 10, false), 8};
}

TEST_CASE("a rising line goes from the lower left to the upper right", "[plot][fast]") {
  const std::vector<std::string> lines = lines_of(drawn(rising(), kPlain));
  REQUIRE(lines.size() >= 10);
  CHECK(lines[0] == "title");
  // Higher rows have their point further right.
  std::size_t before = std::string::npos;
  for (std::size_t row = 1; row <= 8; ++row) {
    const std::size_t at = lines[row].find('*');
    REQUIRE(at != std::string::npos);
    if (before != std::string::npos) CHECK(at < before);
    before = at;
  }
  CHECK(lines[1].find("10 +") != std::string::npos);
  CHECK(lines[8].find(" 0 +*") != std::string::npos);
  CHECK(lines[1].back() == '*');
}

TEST_CASE("no chart is wider than the terminal", "[plot][fast]") {
  Chart chart = rising();
  chart.marks = {{"half-way", 10}, {"end", 20}};
  for (const std::size_t columns : {40, 80, 133})
    for (const bool unicode : {false, true})
      for (const std::string& line : lines_of(drawn(chart, {columns, unicode, false}))) {
        CAPTURE(line);
        CHECK(text::display_width(line) <= columns);
      }
}

TEST_CASE("a terminal with few rows has a lower chart", "[plot][fast]") {
  Chart chart = rising();
  chart.rows = 14;
  const std::size_t high = lines_of(drawn(chart, kPlain)).size();
  Look low = kPlain;
  low.rows = 16;
  CHECK(lines_of(drawn(chart, low)).size() == high - 5);
  low.rows = 3;  // a chart keeps enough rows to show a line
  CHECK(lines_of(drawn(chart, low)).size() == high - 8);
}

TEST_CASE("a legend is split into rows that fit the width", "[plot][fast]") {
  Chart chart = rising();
  for (int i = 0; i < 6; ++i) chart.lines.push_back({"parameter = 0." + std::to_string(i), {}, {}});
  for (const std::string& line : lines_of(drawn(chart, kPlain))) CHECK(line.size() <= 60);
}

TEST_CASE("events are listed with their times", "[plot][fast]") {
  Chart chart = rising();
  chart.marks = {{"half-way", 10}};
  const std::string text = drawn(chart, kBraille);
  CHECK(text.find("half-way 10") != std::string::npos);
}

TEST_CASE("non-finite numbers leave gaps", "[plot][fast]") {
  Chart chart = rising();
  chart.lines[0].y[10] = NAN;
  chart.lines[0].y[15] = INFINITY;
  CHECK(drawn(chart, kBraille).find("title") == 0);
}

TEST_CASE("a start at a rounding error of zero does not distort the chart", "[plot][fast]") {
  Chart chart = rising();
  std::vector<double>& y = chart.lines[0].y;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::pow(10, static_cast<double>(i) / 4);
  chart.y = scale_of(y, true);
  const std::string from_data = drawn(chart, kPlain);
  y[0] = 6e-33;
  chart.y = scale_of(y, true);
  const std::string from_rounding = drawn(chart, kPlain);
  // The line is the same as without the first value, whose column has no point.
  y.erase(y.begin());
  chart.lines[0].x.erase(chart.lines[0].x.begin());
  CHECK(drawn(chart, kPlain) == from_rounding);
  CHECK(from_data != from_rounding);
  CHECK(sparkline({6e-33, 1e-4, 1}, 8, kBraille) == " ▁█");
}

TEST_CASE("a map of numbers has no shade for rounding errors", "[plot][fast]") {
  const HeatMap map{"loss", {"y", {"0"}}, {"x", {"0", "1", "2"}}, {6e-33, 1e-4, 1}, {}, true};
  const std::vector<std::string> lines = lines_of(drawn(map, {60, true, false}));
  CHECK(lines[2] == "0   ··██");
  CHECK(lines.back().find("0.0001 ") != std::string::npos);
  const HeatMap zero{"loss", {"y", {"0"}}, {"x", {"0", "1"}}, {0, 0}, {}, true};
  CHECK(lines_of(drawn(zero, kPlain)).back().find("(log)") == std::string::npos);
}

TEST_CASE("a sparkline shows values from the lowest to the highest block", "[plot][fast]") {
  CHECK(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 8, kBraille) == "▁▂▃▄▅▆▇█");
  CHECK(sparkline({7, 0}, 8, kBraille) == "█▁");
  CHECK(sparkline({0, NAN, 7}, 8, kPlain) == "_ @");
}

TEST_CASE("a map of words shows their initials", "[plot][fast]") {
  const HeatMap map{"outcome",
                    {"y", {"0", "1"}},
                    {"x", {"0", "1", "2"}},
                    {0, 0, 1, 1, 1, 1},
                    {"local", "global"}};
  const std::vector<std::string> lines = lines_of(drawn(map, kPlain));
  // The y axis points upwards.
  CHECK(lines[2] == "1 gggggg");
  CHECK(lines[3] == "0 llllgg");
  CHECK(lines.back().find("l local 33.3333%") != std::string::npos);
  CHECK(lines.back().find("g global 66.6667%") != std::string::npos);
}

TEST_CASE("a map of numbers shows values from light to dark", "[plot][fast]") {
  const HeatMap map{"loss", {"y", {"0", "1"}}, {"x", {"0", "1"}}, {0, 1, 2, NAN}, {}};
  const std::vector<std::string> lines = lines_of(drawn(map, {60, true, false}));
  CHECK(lines[2] == "1 ██  ");
  CHECK(lines[3] == "0 ··▒▒");
}

TEST_CASE("words with the same initial get other letters", "[plot][fast]") {
  const HeatMap map{"outcome", {"y", {"0"}}, {"x", {"0", "1"}}, {0, 1}, {"saddle", "steady"}};
  CHECK(lines_of(drawn(map, kPlain))[2] == "0 ssBB");
}

}  // namespace
}  // namespace popflow

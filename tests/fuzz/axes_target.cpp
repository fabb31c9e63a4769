// Parses axes of sweeps: the first line names the system, and others are axes or, from "--" on,
// options.

#include "fuzz/support.hpp"
#include "popflow/systems.hpp"
#include "sweep/cells.hpp"
#include "text/text.hpp"

namespace popflow::fuzz {
namespace {

/// Returns the words that name a cell by its values on all axes.
std::string selector(const Cells& cells, std::uint64_t number) {
  const std::vector<std::size_t> places = cells.places(number);
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Axis& axis = cells.axes()[i];
    const SweptParameter& swept = axis.parameters.front();
    pairs.push_back(axis.indexed ? axis.dimension + "=" + std::to_string(places[i])
                                 : swept.name() + "=" + text::escaped(swept.text(places[i]), ','));
  }
  return text::join(pairs, ",");
}

void run(std::string_view input) {
  const auto [name, rest] = first_line(input);
  const SystemInfo* system = systems().find(name);
  if (system == nullptr) return;
  Lines words;
  for (const std::string& line : lines(rest)) {
    if (!line.starts_with("--")) words.emplace_back("--over");
    words.push_back(line);
  }
  (void)done_or_refused([&] {
    const Cells cells(parse_sweep(*system, words));
    expect(cells.whole() > 0, "a sweep without cells");
    for (const std::uint64_t number : {std::uint64_t{0}, cells.whole() / 2, cells.whole() - 1}) {
      const std::string words_of_cell = selector(cells, number);
      if (!cells.axes().empty())
        expect(cells.find(words_of_cell) == number, "not found: --cell " + words_of_cell);
      (void)cells.describe(number);
      (void)cells.seed(number);
      (void)done_or_refused([&] { (void)cells.config(number); });
    }
    if (cells.size() > 0) (void)cells.number(cells.size() - 1);
    (void)cells.hash();
  });
}

std::string suggest(Random& random, const Lines& lines, std::size_t at) {
  if (at == 0) return some_system(random);
  const Parameter& option = some_option(random, run_options(), lines.front());
  const auto value = [&] { return some_value(random, option); };
  const std::string label =
      random() % 4 == 0 ? any_of(random, Lines{"a:", "b:", "sample:", "w0:"}) : "";
  const std::string start = label + option.name + "=" + value();
  switch (random() % 8) {
    case 0:
      return start + ".." + value();
    case 1:
      return start + ":" + value() + ":" + std::to_string(random() % 9);
    case 2:
      return start + ":" + value() + ":" + std::to_string(random() % 9) + ":log";
    case 3:
      return start + ":" + value();
    case 4: {
      const Parameter& other = some_option(random, sweep_options(), lines.front());
      return "--" + other.name + (other.kind == Kind::flag ? "" : "=" + some_value(random, other));
    }
    case 5:
      return "--shard=" + std::to_string(random() % 4) + "/" + std::to_string(random() % 4);
    case 6:
      return start;
    default:
      return start + "," + value() + "," + value();
  }
}

}  // namespace

Target axes() { return {"axes", run, suggest}; }

}  // namespace popflow::fuzz

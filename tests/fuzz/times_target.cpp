// Parses the options of save times: each line is OPTION=VALUE.

#include <algorithm>
#include <array>

#include "fuzz/support.hpp"
#include "plan/schedule.hpp"
#include "popflow/error.hpp"

namespace popflow::fuzz {
namespace {

constexpr std::array kOptions = {"save-at", "saves", "save-spacing", "save-first", "t-end"};

void run(std::string_view input) {
  (void)done_or_refused([&] {
    Parameters options(run_options());
    options.set("t-end", "100", Origin::defaults);
    for (const std::string& line : lines(input)) {
      const std::size_t equals = std::min(line.find('='), line.size());
      const std::string name = line.substr(0, equals);
      if (std::find(kOptions.begin(), kOptions.end(), name) == kOptions.end()) continue;
      options.set(name, line.substr(std::min(equals + 1, line.size())), Origin::command_line);
    }
    if (options.has("saves") && options.integer("saves") > 100000) return;
    complete_run(options);
    const double end = options.real("t-end");
    const Schedule schedule = make_schedule(options, end, 0);
    expect(!schedule.empty() && schedule.back() == end, "a schedule that does not end at the end");
    expect(std::adjacent_find(schedule.begin(), schedule.end(), std::greater_equal<>()) ==
               schedule.end(),
           "times that do not increase");
    const Spacing spacing = spacing_of(options, end, 0);
    (void)done_or_refused([&] {
      const double later =
          end + (schedule.size() > 1 ? 3 * (end - schedule[schedule.size() - 2]) : 1);
      const Schedule longer = extend_schedule(schedule, spacing, later);
      expect(longer.size() >= schedule.size() &&
                 std::equal(schedule.begin(), schedule.end(), longer.begin()),
             "an extension that changes earlier times");
    });
    Parameters described = options;
    describe_schedule(schedule, 0, described);
    expect(make_schedule(described, described.real("t-end"), 0) == schedule,
           "a schedule that its description does not give");
  });
}

std::string suggest(Random& random, const Lines& /*lines*/, std::size_t /*at*/) {
  const std::string name = any_of(random, kOptions);
  return name + "=" + some_value(random, *Parameters(run_options()).find(name));
}

}  // namespace

Target times() { return {"times", run, suggest}; }

}  // namespace popflow::fuzz

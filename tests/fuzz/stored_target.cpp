// Reads configurations as files store them: the first line names the system.

#include "fuzz/support.hpp"
#include "popflow/systems.hpp"

namespace popflow::fuzz {
namespace {

void run(std::string_view input) {
  const auto [name, text] = first_line(input);
  const SystemInfo* system = systems().find(name);
  if (system == nullptr) return;
  for (const auto read : {from_config_text, compare_from_config_text, sweep_from_config_text})
    (void)done_or_refused([&, &text = text] {
      const std::string once = config_text(read(*system, text, "x.h5"));
      std::string again;
      expect(done_or_refused([&] { again = config_text(read(*system, once, "x.h5")); }) &&
                 again == once,
             "this configuration is not read back:\n" + once + "but as:\n" + again);
    });
}

std::string suggest(Random& random, const Lines& lines, std::size_t at) {
  if (at == 0) return some_system(random);
  const Parameter& option =
      some_option(random, random() % 2 == 0 ? run_options() : sweep_options(), lines.front());
  return option.name + " = " + some_value(random, option);
}

}  // namespace

Target stored() { return {"stored", run, suggest}; }

}  // namespace popflow::fuzz

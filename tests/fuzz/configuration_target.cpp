// Reads configuration files for every command that takes one.

#include "fuzz/support.hpp"
#include "options/config_file.hpp"
#include "popflow/systems.hpp"

namespace popflow::fuzz {
namespace {

constexpr const char* kPath = "input.cfg";

/// Checks that a configuration stays the same if it is written as files store it and read again.
template <class Parse, class Read>
void same_again(const SystemInfo& system, Parse parse, Read read) {
  (void)done_or_refused([&] {
    const std::string text = config_text(parse(system, {"--config", kPath}));
    std::string again;
    expect(
        done_or_refused([&] { again = config_text(read(system, text, kPath)); }) && again == text,
        "this configuration is not read back:\n" + text + "but as:\n" + again);
  });
}

void run(std::string_view input) {
  const std::string text(input);
  (void)done_or_refused([&] { (void)options::config_lines(text, kPath); });
  // Any value without newlines can be written into a configuration.
  const std::string line = "key = " + options::config_quoted(text);
  Lines values;
  (void)done_or_refused([&] {
    for (const auto& option : options::config_lines(line, kPath)) values.push_back(option.value);
  });
  expect(values == Lines{text}, "a quoted value is not read back");
  put(kPath, input);
  std::string named;
  (void)done_or_refused([&] { named = options::system_in_config(kPath); });
  const SystemInfo* found = systems().find(named);
  const SystemInfo& system = found == nullptr ? systems().info("markov") : *found;
  same_again(system, parse_run, from_config_text);
  same_again(system, parse_compare, compare_from_config_text);
  same_again(system, parse_sweep, sweep_from_config_text);
  (void)done_or_refused([&] { (void)parse_verify(system, {"--config", kPath}); });
}

std::string suggest(Random& random, const Lines& lines, std::size_t /*at*/) {
  std::string system = "markov";
  for (const std::string& line : lines)
    if (line.starts_with("system = ")) system = line.substr(9);
  if (random() % 8 == 0) return "system = " + some_system(random);
  const ParameterTable& table = random() % 3 != 0   ? run_options()
                                : random() % 2 == 0 ? sweep_options()
                                                    : compare_options();
  const Parameter& option = some_option(random, table, system);
  const std::string value = some_value(random, option);
  return option.name + " = " + (random() % 4 == 0 ? options::config_quoted(value) : value);
}

}  // namespace

Target configuration() { return {"configuration", run, suggest}; }

}  // namespace popflow::fuzz

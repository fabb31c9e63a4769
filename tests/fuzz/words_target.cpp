// Parses command lines, one word per line. Nothing is computed, since computing commands get
// --dry-run.

#include <algorithm>

#include "cli/commands.hpp"
#include "fuzz/support.hpp"
#include "popflow/systems.hpp"
#include "sweep/cells.hpp"

namespace popflow::fuzz {
namespace {

/// Commands that have a dry run.
bool has_dry_run(const std::string& command) {
  return command == "run" || command == "sweep" || command == "compare";
}

RunConfig parse(const Lines& words) {
  const SystemInfo& system = systems().info(words.at(1));
  const Lines options(words.begin() + 2, words.end());
  if (words[0] == "sweep") return parse_sweep(system, options);
  if (words[0] == "compare") return parse_compare(system, options);
  return words[0] == "verify" ? parse_verify(system, options) : parse_run(system, options);
}

/// Returns whether all problems of a sweep are small, including those with the axes' values.
bool is_small_sweep(const RunConfig& config) {
  const Cells sweep(config);
  if (sweep.whole() > 1000) return false;
  for (std::uint64_t cell = 0; cell < sweep.whole(); ++cell) {
    RunConfig one = sweep.base();
    sweep.set(one, cell);
    if (!is_small(one)) return false;
  }
  return true;
}

void run(std::string_view input) {
  Lines all = lines(input);
  if (all.empty() || all.size() > 60) return;
  // Devices and system files may be endless.
  for (const std::string& word : all)
    for (const char* place : {"/dev", "/proc", "/sys"})
      if (word.find(place) != std::string::npos) return;
  for (std::string& word : all) word = word.substr(0, word.find('\0'));
  const std::string command = all.front();
  if (command == "verify" || has_dry_run(command)) {
    bool goes_on = true;
    if (all.size() > 1 && systems().find(all[1]) != nullptr)
      (void)done_or_refused([&] {
        const RunConfig config = parse(all);
        goes_on = command != "verify" && is_small(config) &&
                  (command != "sweep" || is_small_sweep(config));
      });
    if (!goes_on) return;
    if (command != "verify" && std::find(all.begin(), all.end(), "--dry-run") == all.end())
      all.emplace_back("--dry-run");
  }
  (void)popflow(all);
}

std::string suggest(Random& random, const Lines& lines, std::size_t at) {
  if (at == 0) return any_of(random, cli::commands()).name;
  const auto command = std::find_if(cli::commands().begin(), cli::commands().end(),
                                    [&](const auto& row) { return row.name == lines.front(); });
  if (command == cli::commands().end() || (at == 1 && command->takes_system))
    return some_system(random);
  if (at == 1 && command->takes_file) return "input";
  const std::string system = lines.size() > 1 ? lines[1] : "";
  if (lines.front() == "sweep" && random() % 4 == 0) {
    const Parameter& swept = some_option(random, command->options(), system);
    return "--over=" + swept.name + "=" + some_value(random, swept) + "," +
           some_value(random, swept);
  }
  if (command->options().empty() && system.empty()) return "--json";
  const Parameter& option = command->options().empty()
                                ? some_option(random, run_options(), system)
                                : some_option(random, command->options(), system);
  if (option.kind == Kind::flag) return "--" + option.name;
  return "--" + option.name + "=" + some_value(random, option);
}

}  // namespace

Target words() { return {"words", run, suggest}; }

}  // namespace popflow::fuzz

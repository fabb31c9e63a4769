#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/target.hpp"
#include "options/run_config.hpp"

/// Helpers that all targets share.
namespace popflow::fuzz {

/// Aborts with the sentence unless a promise is kept.
void expect(bool kept, const std::string& sentence);

/// Does `work`, which may refuse its input only with a popflow::Error that has a sentence for the
/// user. Returns whether `work` was done.
bool done_or_refused(const std::function<void()>& work);

/// Lines of a text, without their ends.
Lines lines(std::string_view text);

/// The first line, and what follows it.
std::pair<std::string, std::string> first_line(std::string_view text);

/// Makes an empty folder this process's own and its working folder, once. It is removed when the
/// process exits.
void enter_scratch_folder();

/// Writes a file into the scratch folder.
void put(const std::string& name, std::string_view contents);

/// How the program ended, which ran inside this process.
struct Finished {
  int code = 0;
  std::string out, err;
};

/// Runs the program in the scratch folder. Aborts if it ends with an internal error or an exit code
/// that is none of its own, or if what it says could not go to a terminal.
Finished popflow(const Lines& words);

/// Is the problem that a configuration describes small enough to be made thousands of times?
bool is_small(const RunConfig& config);

/// A value that may be at an edge of what the parameter allows, as a user would type it.
std::string some_value(Random& random, const Parameter& parameter);
/// Any number, as a user might type it.
std::string some_number(Random& random);
template <class List>
const auto& any_of(Random& random, const List& list) {
  return list[random() % std::size(list)];
}
/// A row of the options of all systems for a command.
const Parameter& some_option(Random& random, const ParameterTable& command,
                             const std::string& system);
/// The name of a system.
std::string some_system(Random& random);

}  // namespace popflow::fuzz

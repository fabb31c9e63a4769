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

/// Does `work`, which may only throw a popflow::Error with a sentence for the user. Returns whether
/// `work` succeeded.
bool done_or_refused(const std::function<void()>& work);

/// Returns the lines of a text without their ends.
Lines lines(std::string_view text);

/// Returns the first line, and the text after it.
std::pair<std::string, std::string> first_line(std::string_view text);

/// Makes an empty folder the working folder of this process, once. The folder is removed when the
/// process exits.
void enter_scratch_folder();

/// Writes a file into the scratch folder.
void put(const std::string& name, std::string_view contents);

/// Exit code and output of the program, which ran inside this process.
struct Finished {
  int code = 0;
  std::string out, err;
};

/// Runs the program in the scratch folder. Aborts on an internal error, on an undocumented exit
/// code, or if the output contains control characters.
Finished popflow(const Lines& words);

/// Returns whether a configuration's problem is so small that it can be made thousands of times.
bool is_small(const RunConfig& config);

/// Returns a value that may be at an edge of the parameter's range, as a user would type it.
std::string some_value(Random& random, const Parameter& parameter);
/// Returns any number, as a user might type it.
std::string some_number(Random& random);
template <class List>
const auto& any_of(Random& random, const List& list) {
  return list[random() % std::size(list)];
}
/// Returns a row of the options of all systems for a command.
const Parameter& some_option(Random& random, const ParameterTable& command,
                             const std::string& system);
/// Returns the name of a system.
std::string some_system(Random& random);

}  // namespace popflow::fuzz

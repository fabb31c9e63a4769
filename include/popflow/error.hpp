#pragma once

#include <stdexcept>
#include <string>

namespace popflow {

/// Exit codes of the program, one for each kind of ending.
enum class ExitCode : int {
  success = 0,
  failed_check = 1,  ///< a system violates its own declarations (verify) or threw an exception
  usage = 2,         ///< wrong command line: a word, a range, a conflict, a size beyond the machine
  input = 3,         ///< an input file is missing or wrong
  diverged = 4,      ///< the trajectory became non-finite
  output = 5,        ///< a file could not be written
  limit = 6,         ///< step limit, stuck, or step-size underflow without a blow-up
  hung_up = 129,     ///< the terminal was closed
  interrupted = 130,
  terminated = 143,
};

/// An error with a message for the user: what() names the object, its value and what is allowed.
/// main() returns the exit code that the error carries; no other code needs to know exit codes.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Error on the command line: a word, a range, a conflict between options, or a size.
struct UsageError : Error {
  explicit UsageError(const std::string& sentence) : Error(ExitCode::usage, sentence) {}
};

/// An input file is missing, unreadable or wrong.
struct InputError : Error {
  explicit InputError(const std::string& sentence) : Error(ExitCode::input, sentence) {}
};

/// A function of a system threw an exception.
struct SystemError : Error {
  explicit SystemError(const std::string& sentence) : Error(ExitCode::failed_check, sentence) {}
};

/// A file could not be written.
struct OutputError : Error {
  explicit OutputError(const std::string& sentence) : Error(ExitCode::output, sentence) {}
};

}  // namespace popflow

#pragma once

#include <stdexcept>
#include <string>

namespace popflow {

/// Exit codes, one for each way in which a run can end badly or well.
enum class ExitCode : int {
  success = 0,
  failed_check = 1,  ///< a system does not hold what it declares (verify), or failed itself
  usage = 2,         ///< the command line: a word, a range, a conflict, a size beyond the machine
  input = 3,         ///< a file to be read is missing or wrong
  diverged = 4,      ///< the trajectory became non-finite
  output = 5,        ///< a file could not be written
  limit = 6,         ///< step limit, stuck, or step-size underflow without growth
  hung_up = 129,     ///< the terminal was closed
  interrupted = 130,
  terminated = 143,
};

/// An error with a message for the user: what() names the object, its value and what is allowed.
/// main() turns it into the exit code it carries; nothing else needs to know exit codes.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// A word, a range, a conflict between options or a size on the command line.
struct UsageError : Error {
  explicit UsageError(const std::string& sentence) : Error(ExitCode::usage, sentence) {}
};

/// A file to be read that is missing, unreadable or wrong.
struct InputError : Error {
  explicit InputError(const std::string& sentence) : Error(ExitCode::input, sentence) {}
};

/// A function of a system that ended with an exception of its own.
struct SystemError : Error {
  explicit SystemError(const std::string& sentence) : Error(ExitCode::failed_check, sentence) {}
};

/// A file that could not be written.
struct OutputError : Error {
  explicit OutputError(const std::string& sentence) : Error(ExitCode::output, sentence) {}
};

}  // namespace popflow

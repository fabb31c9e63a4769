#pragma once

#include <functional>
#include <string>
#include <vector>

namespace popflow::options {

/// A line `key = value` of a configuration file.
struct ConfigLine {
  std::string key;
  std::string value;
  std::string place;  ///< "run.cfg, line 3", as an error names it
};

/// The contents of a configuration file. Throws InputError if it is missing, a directory,
/// unreadable, not text or too large to be meant.
std::string read_config_file(const std::string& path);

/// Splits the text of a configuration file, called `name` in errors, into its keys and values.
/// A value in double quotes may hold the escapes \\ \" and \xNN, and so a '#', which otherwise
/// starts a comment. Throws InputError for a line of another form and for a repeated key that
/// `may_repeat` does not allow.
std::vector<ConfigLine> config_lines(
    const std::string& text, const std::string& name,
    const std::function<bool(const std::string&)>& may_repeat = {});

/// The key by which a configuration says what system it is for.
inline constexpr const char* system_key = "system";

/// The system that a configuration file is for; empty if it doesn't say.
std::string system_in_config(const std::string& path);

/// A value as config_lines() reads it back: quoted where it must be.
std::string config_quoted(const std::string& value);

}  // namespace popflow::options

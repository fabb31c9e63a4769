#pragma once

#include <functional>
#include <string>
#include <vector>

namespace popflow::options {

/// A line `key = value` of a configuration file.
struct ConfigLine {
  std::string key;
  std::string value;
  std::string place;  ///< place in error messages: "run.cfg, line 3"
};

/// Reads a configuration file. Throws InputError if the file is missing, a directory, unreadable,
/// not text, or implausibly large.
std::string read_config_file(const std::string& path);

/// Splits the text of a configuration file, called `name` in errors, into its keys and values.
/// A value in double quotes may hold the escapes \\ \" and \xNN, and so a '#', which otherwise
/// starts a comment. Throws InputError for a line of another form and for a repeated key that
/// `may_repeat` does not allow.
std::vector<ConfigLine> config_lines(
    const std::string& text, const std::string& name,
    const std::function<bool(const std::string&)>& may_repeat = {});

/// Key that names the system of a configuration.
inline constexpr const char* system_key = "system";

/// Returns the system that a configuration file names; empty if it names none.
std::string system_in_config(const std::string& path);

/// Returns the system that the configuration `path` asks for: a name, or the path of a plug-in,
/// which is relative to the configuration's folder.
std::string system_word(const std::string& path, const std::string& value);

/// Formats a value so that config_lines() reads it back: quoted if necessary.
std::string config_quoted(const std::string& value);

}  // namespace popflow::options

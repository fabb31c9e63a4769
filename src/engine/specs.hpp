#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "file/trajectory_file.hpp"
#include "options/run_config.hpp"
#include "popflow/system.hpp"

namespace popflow {

// Parts of the layouts of files. All quantities are dimensionless.

/// Attributes of every dataset.
std::vector<Attribute> described(const std::string& long_name);
VariableSpec variable(std::string name, std::vector<std::string> dimensions,
                      const std::string& long_name, NumberType type = NumberType::float64);
/// Dimension with values.
DimensionSpec axis(std::string name, std::vector<double> values, const std::string& long_name);
/// Dimension whose coordinate is an index.
DimensionSpec places(std::string name, std::size_t size, const std::string& long_name,
                     DimensionSpec::Coordinate coordinate = DimensionSpec::Coordinate::index);
/// Variable of small integers that stand for words, counted from `first`. Throws SystemError if the
/// System has too many words.
VariableSpec flags(const std::string& name, std::vector<std::string> dimensions,
                   const std::string& long_name, const std::vector<std::string>& words,
                   std::int8_t first = 0);
/// Largest number of words that an int8 can count.
inline constexpr std::size_t kMostSmallFlags = 127;
/// Attributes in which readers find the words of an integer variable.
std::vector<Attribute> flag_attributes(const std::vector<std::string>& words, std::int8_t first = 0,
                                       NumberType type = NumberType::int8);
/// Names, separated by blanks.
std::string joined(const std::vector<std::string>& names);

/// Root attributes of a file that is being written.
std::vector<Attribute> file_attributes(const SystemInfo& info, const std::string& title,
                                       const std::string& mode, const RunConfig& config);
/// Resolved values of all options, also as the text of a configuration file.
GroupSpec parameters_group(const RunConfig& config);
/// Author, place and time of the file, and the plug-in of its system.
GroupSpec provenance_group(unsigned threads, const SystemInfo& info);
/// Current time, as ISO 8601 in UTC.
std::string timestamp();

}  // namespace popflow

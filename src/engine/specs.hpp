#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "file/trajectory_file.hpp"
#include "options/run_config.hpp"
#include "popflow/system.hpp"

namespace popflow {

// Pieces that the layouts of files are made of. All quantities are dimensionless.

/// The attributes that every dataset has.
std::vector<Attribute> described(const std::string& long_name);
VariableSpec variable(std::string name, std::vector<std::string> dimensions,
                      const std::string& long_name, NumberType type = NumberType::float64);
/// A dimension with values.
DimensionSpec axis(std::string name, std::vector<double> values, const std::string& long_name);
/// A dimension whose places are counted.
DimensionSpec places(std::string name, std::size_t size, const std::string& long_name,
                     DimensionSpec::Coordinate coordinate = DimensionSpec::Coordinate::index);
/// Small whole numbers that stand for words, from `first` on. SystemError for too many words, which
/// are a System's.
VariableSpec flags(const std::string& name, std::vector<std::string> dimensions,
                   const std::string& long_name, const std::vector<std::string>& words,
                   std::int8_t first = 0);
/// Words that an int8 counts.
inline constexpr std::size_t kMostSmallFlags = 127;
/// The attributes by which readers find the words of a variable of whole numbers.
std::vector<Attribute> flag_attributes(const std::vector<std::string>& words, std::int8_t first = 0,
                                       NumberType type = NumberType::int8);
/// The names with blanks between them.
std::string joined(const std::vector<std::string>& names);

/// The root attributes of every file, while it is being written.
std::vector<Attribute> file_attributes(const SystemInfo& info, const std::string& title,
                                       const std::string& mode, const RunConfig& config);
/// Every option as resolved, and all of them as the text of a configuration file.
GroupSpec parameters_group(const RunConfig& config);
/// Author, place and time of the file, and the plug-in of its system.
GroupSpec provenance_group(unsigned threads, const SystemInfo& info);
/// Now, as ISO 8601 in UTC.
std::string timestamp();

}  // namespace popflow

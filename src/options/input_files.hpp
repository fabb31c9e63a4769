#pragma once

#include <string>
#include <vector>

#include "options/run_config.hpp"

namespace popflow {

/// A file that a command reads, and what reads it, as the user knows it: "--init-from".
struct InputFile {
  std::string path, reader;
};

/// Input files that options name.
std::vector<InputFile> input_files(const RunConfig& config);

/// Throws UsageError where a file that is to be written to is read: even with --force, since what
/// has been replaced cannot be read again. `option` names what is written.
void refuse_input_as_output(const std::string& output, const std::vector<InputFile>& inputs,
                            const std::string& option = "--output");

}  // namespace popflow

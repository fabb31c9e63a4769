#pragma once

#include <string>
#include <vector>

#include "options/run_config.hpp"

namespace popflow {

/// File that a command reads, with its source in the user's words: "--init-from".
struct InputFile {
  std::string path, reader;
};

/// Returns the input files that options name.
std::vector<InputFile> input_files(const RunConfig& config);

/// Throws UsageError, even with --force, if an input file is also the output: the input would be
/// lost. `option` names the output.
void refuse_input_as_output(const std::string& output, const std::vector<InputFile>& inputs,
                            const std::string& option = "--output");

}  // namespace popflow

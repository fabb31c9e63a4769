#pragma once

#include <string>
#include <vector>

#include "options/run_config.hpp"

namespace popflow {

/// A file that a command reads, with its source as the user knows it: "--init-from".
struct InputFile {
  std::string path, reader;
};

/// Input files named by options.
std::vector<InputFile> input_files(const RunConfig& config);

/// Throws UsageError if an input file would also be the output, even with --force: once replaced,
/// the input is lost. `option` names the output.
void refuse_input_as_output(const std::string& output, const std::vector<InputFile>& inputs,
                            const std::string& option = "--output");

}  // namespace popflow

#include "options/input_files.hpp"

#include <filesystem>

#include "options/experiments.hpp"
#include "popflow/error.hpp"

namespace popflow {

std::vector<InputFile> input_files(const RunConfig& config) {
  std::vector<InputFile> files;
  for (const Parameters* table : {&config.options, &config.own})
    for (const Parameter& row : table->table()) {
      if (row.kind != Kind::path || row.name == "output" || !table->has(row.name)) continue;
      const std::string& named = table->word(row.name);
      files.push_back(
          {row.name == "config" ? options::config_path(named) : named, "--" + row.name});
    }
  return files;
}

void refuse_input_as_output(const std::string& output, const std::vector<InputFile>& inputs,
                            const std::string& option) {
  std::error_code unknown;  // a missing file is not read
  for (const InputFile& input : inputs)
    if (std::filesystem::equivalent(input.path, output, unknown))
      throw UsageError("the output " + output + " is also an input: " + input.reader +
                       " reads it, so not even --force replaces it; give " + option +
                       " another name");
}

}  // namespace popflow

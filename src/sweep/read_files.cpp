#include "sweep/read_files.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "options/input_files.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Sixteen digits; "missing" for a file that cannot be read.
std::string hash_of(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return "missing";
  std::ifstream file(path, std::ios::binary);
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<char> piece(std::size_t{1} << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0)
    XXH3_64bits_update(state.get(), piece.data(), static_cast<std::size_t>(file.gcount()));
  return text::hexadecimal(XXH3_64bits_digest(state.get()));
}

/// Of the options and of the axes.
std::vector<InputFile> files_of(const Cells& cells) {
  std::vector<InputFile> files;
  for (InputFile& file : input_files(cells.sweep()))
    if (!cells.sweeps(file.reader.substr(2))) files.push_back(std::move(file));
  for (const Axis& axis : cells.axes())
    for (const SweptParameter& swept : axis.parameters)
      if (swept.parameter->kind == Kind::path)
        for (const std::string& path : swept.words)
          files.push_back({path, "--over " + swept.parameter->name});
  return files;
}

/// Of those that decide the cells' numbers, each once.
std::vector<std::string> paths_of(const Cells& cells) {
  std::vector<std::string> paths;
  for (const InputFile& file : files_of(cells)) {
    if (file.reader == "--config") continue;  // what it says is known
    const std::string full = std::filesystem::absolute(file.path).lexically_normal().string();
    if (std::find(paths.begin(), paths.end(), full) == paths.end()) paths.push_back(full);
  }
  return paths;
}

/// Hashes by path.
std::map<std::string, std::string> parsed(const std::string& contents) {
  std::map<std::string, std::string> hashes;
  std::istringstream lines(contents);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    if (blank != std::string::npos) hashes[line.substr(blank + 1)] = line.substr(0, blank);
  }
  return hashes;
}

}  // namespace

std::string contents_of_files(const Cells& cells) {
  std::string contents;
  for (const std::string& path : paths_of(cells))
    contents += (contents.empty() ? "" : "\n") + hash_of(path) + " " + path;
  return contents;
}

void refuse_output_among_read(const std::string& output, const Cells& cells) {
  refuse_input_as_output(output, files_of(cells));
}

void require_same_contents(const std::string& contents, const std::string& first,
                           const std::string& other, const std::string& second) {
  const std::map<std::string, std::string> ours = parsed(contents), its = parsed(other);
  for (const auto& [path, hash] : ours)
    if (const auto found = its.find(path); found != its.end() && found->second != hash)
      throw InputError("the file '" + path + "' has other contents " + second + " than " + first +
                       "; the cells of a sweep read the same");
}

std::string joined_contents(const std::vector<std::string>& lists) {
  std::vector<std::string> all;
  for (const std::string& list : lists) {
    std::istringstream lines(list);
    for (std::string line; std::getline(lines, line);)
      if (std::find(all.begin(), all.end(), line) == all.end()) all.push_back(line);
  }
  std::string text;
  for (const std::string& line : all) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace popflow

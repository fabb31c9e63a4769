#include "cli/plugins.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>

#include "options/config_file.hpp"
#include "options/experiments.hpp"
#include "plugin/loaded.hpp"
#include "plugin/plugin.hpp"
#include "popflow/data_file.hpp"
#include "text/text.hpp"
#include "text/utf8.hpp"

namespace popflow::cli {
namespace {

constexpr const char* kSuffix = ".so";
constexpr const char* kFolders = "POPFLOW_SYSTEMS";

/// Returns whether a word is the path of a shared library, not the name of a system.
bool is_path(const std::string& word) {
  return word.find('/') != std::string::npos || word.ends_with(kSuffix);
}

std::vector<std::string> folders() {
  const char* const listed = std::getenv(kFolders);
  return listed == nullptr || *listed == 0 ? std::vector<std::string>() : text::split(listed, ':');
}

/// Returns the path of the plug-in called `name` in the folders of POPFLOW_SYSTEMS; empty if there
/// is none.
std::string find_in_folders(const std::string& name) {
  for (const std::string& folder : folders()) {
    if (folder.empty()) continue;
    const std::filesystem::path path = std::filesystem::path(folder) / (name + kSuffix);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return path.string();
  }
  return "";
}

void add(Catalogue& catalogue, const std::string& path) {
  CatalogueRow row = plugin::load(path);
  const std::string& name = row.info().name;
  if (catalogue.find(name) != nullptr)
    throw UsageError("the plug-in " + path + " is called '" + name +
                     "', but another system already has this name; rename the plug-in's system");
  catalogue.add(std::move(row));
}

void add_called(Catalogue& catalogue, const std::string& word) {
  if (is_path(word)) return add(catalogue, word);
  if (catalogue.find(word) != nullptr) return;
  if (const std::string path = find_in_folders(word); !path.empty()) add(catalogue, path);
}

/// Adds all plug-ins in the folders of POPFLOW_SYSTEMS, and warns of those that cannot be loaded.
void add_all(Catalogue& catalogue) {
  for (const std::string& folder : folders()) {
    std::error_code ignored;
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
      if (entry.path().extension() == kSuffix) paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) {
      try {
        add(catalogue, path);
      } catch (const Error& error) {
        std::cerr << "warning: " << text::printable(error.what()) << '\n';
      }
    }
  }
}

const Command* command_called(const std::string& name) {
  for (const Command& command : commands())
    if (command.name == name) return &command;
  return nullptr;
}

}  // namespace

Catalogue with_plugins(const Catalogue& catalogue, const std::vector<std::string>& words) {
  Catalogue all = catalogue;
  const std::size_t first = !words.empty() && words.front() == "help" ? 1 : 0;
  if (words.size() <= first) return all;
  const Command* const command = command_called(words[first]);
  if (command == nullptr) return all;
  const std::vector<std::string> args(words.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                                      words.end());
  if (const std::string path = value_of(args, "--system");
      !path.empty() && Parameters(command->options()).find("system") != nullptr)
    add(all, path);
  if (!command->takes_system) return all;
  if (!args.empty() && !args.front().starts_with('-')) {
    add_called(all, args.front());
    return all;
  }
  if (command->name == "systems") {
    add_all(all);
    return all;
  }
  if (const std::string config = value_of(args, "--config"); !config.empty()) {
    const std::string path = options::config_path(config);
    const std::string named = options::system_in_config(path);
    if (!named.empty()) add_called(all, options::system_word(path, named));
  }
  return all;
}

Catalogue with_described(const Catalogue& catalogue, const std::vector<std::string>& files) {
  Catalogue all = catalogue;
  for (const std::string& path : files) {
    std::optional<DataFile> file;
    try {
      file.emplace(path);
    } catch (const Error&) {
      continue;  // the command itself reports the file
    }
    const std::string system = file->text_attribute("", "system").value_or("");
    const std::string description = plugin::description_in(*file);
    if (system.empty() || description.empty() || all.find(system) != nullptr) continue;
    plugin::note_described(system, *file);
    all.add(plugin::described(description, path,
                              path + " was made by the plug-in " + system +
                                  ", which was not given, so nothing can be computed"));
  }
  return all;
}

namespace {

/// Returns the name of the system that a word gives, by its name or by the path of its plug-in.
std::string system_of(const std::string& word) {
  return is_path(word) ? plugin::system_at(word) : word;
}

}  // namespace

const SystemInfo& system_called(const Catalogue& catalogue, const std::string& word) {
  return catalogue.info(system_of(word));
}

const SystemInfo* named_system(const Catalogue& catalogue, const std::vector<std::string>& words) {
  if (words.size() < 2) return nullptr;
  return catalogue.find(system_of(words[1]));
}

void require_plugin(const Catalogue& catalogue, const std::string& file) {
  const DataFile made(file);
  const std::string system = made.text_attribute("", "system").value_or("");
  if (plugin::description_in(made).empty() || catalogue.find(system) != nullptr) return;
  const std::string library =
      made.text_attribute("provenance", "plugin").value_or(system + kSuffix);
  throw UsageError(file + " was made by the plug-in " + library +
                   "; give it by --system, for example --system ./" + library +
                   " (code is never loaded because a file asks for it)");
}

std::string value_of(const std::vector<std::string>& args, const std::string& option) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == option && i + 1 < args.size()) return args[i + 1];
    if (args[i].starts_with(option + "=")) return args[i].substr(option.size() + 1);
  }
  return "";
}

}  // namespace popflow::cli

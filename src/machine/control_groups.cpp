#include "machine/control_groups.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

namespace popflow {

namespace {

/// Whether a comma-separated list contains `word`.
bool lists(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

/// A mounted hierarchy of control groups with a controller.
struct Hierarchy {
  bool second_version = false;
  std::string root;   ///< group that the mount point shows
  std::string point;  ///< mount point
};

/// Unescapes a path of /proc/self/mountinfo, which writes blanks and similar characters as octal
/// numbers.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && i + 3 < text.size() && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<Hierarchy> mounted(const std::string& controller, const std::string& root) {
  std::vector<Hierarchy> found;
  std::ifstream lines(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(lines, line);) {
    // ID PARENT DEVICE ROOT POINT OPTIONS [OPTIONAL...] - TYPE SOURCE SUPER_OPTIONS
    const std::size_t dash = line.find(" - cgroup");  // few lines match; parsing takes time
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string skipped, group, point, type, options;
    before >> skipped >> skipped >> skipped >> group >> point;
    after >> type >> skipped >> options;
    if (type == "cgroup2" || (type == "cgroup" && lists(options, controller)))
      found.push_back({type == "cgroup2", unescaped(group), unescaped(point)});
  }
  return found;
}

/// Path of this process's group in a hierarchy.
std::optional<std::string> own_group(const std::string& controller, const std::string& root,
                                     const Hierarchy& hierarchy) {
  std::ifstream lines(root + "/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    // ID:CONTROLLERS:PATH
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool its =
        hierarchy.second_version ? line.starts_with("0::") : lists(controllers, controller);
    if (its) return line.substr(second + 1);
  }
  return std::nullopt;
}

}  // namespace

double control_group_limit(const std::string& controller, const GroupLimit& limit,
                           const std::string& root) {
  double least = std::numeric_limits<double>::infinity();
  for (const Hierarchy& hierarchy : mounted(controller, root)) {
    const std::optional<std::string> group = own_group(controller, root, hierarchy);
    if (!group) continue;
    // The mount may show only a part of the hierarchy. If a container sees only itself, its own
    // group is outside this part and is shown as the root.
    const std::string shown = hierarchy.root == "/" ? "" : hierarchy.root;
    const bool inside = *group == shown || group->starts_with(shown + "/");
    std::string below = inside ? group->substr(shown.size()) : "";
    if (below.find("..") != std::string::npos || below == "/") below.clear();
    for (;;) {
      least = std::min(least, limit(root + hierarchy.point + below, hierarchy.second_version));
      if (below.empty()) break;
      below.erase(below.rfind('/'));
    }
  }
  return least;
}

}  // namespace popflow

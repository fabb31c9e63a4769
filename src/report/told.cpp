#include "report/told.hpp"

#include <algorithm>
#include <numeric>

#include "file/text.hpp"
#include "text/text.hpp"

namespace popflow::told {
namespace {

constexpr std::size_t kShown = 2000;

}  // namespace

std::string shown(const std::string& text) {
  if (text.size() <= kShown) return text;
  return std::string(hdf5::cut_utf8(text, kShown)) + "...";
}

std::string attribute(const DataFile& file, const std::string& object, const std::string& name) {
  const std::string text = file.text_attribute(object, name).value_or("");
  return name == "config" ? text : shown(text);
}

std::optional<std::int64_t> whole_number(const DataFile& file, const std::string& name) {
  if (!file.has_dataset(name)) return std::nullopt;
  const auto counts = file.read(name).integers;
  if (counts.empty()) return std::nullopt;
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

std::size_t saves_done(const DataFile& file, std::size_t saves) {
  const std::vector<std::int64_t> done = file.read("saves_done").integers;
  const std::int64_t least = done.empty() ? 0 : *std::min_element(done.begin(), done.end());
  return static_cast<std::size_t>(std::clamp<std::int64_t>(least, 0, saves));
}

std::size_t ensemble(const DataFile& file) {
  return file.has_dataset("run") ? file.read("run").values.size() : 0;
}

std::vector<std::string> observables(const DataFile& file) {
  return text::split_words(attribute(file, "", "observables"));
}

}  // namespace popflow::told

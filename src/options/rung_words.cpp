#include "options/rung_words.hpp"

#include <algorithm>
#include <charconv>

#include "noise/samples.hpp"

namespace popflow {

namespace {

constexpr std::string_view kSvag = "svag:";

/// Returns L of "svag:L"; 0 for another word.
std::int64_t svag_of(const std::string& word) {
  if (!word.starts_with(kSvag)) return 0;
  std::int64_t l = 0;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data() + kSvag.size(), end, l);
  return error == std::errc() && rest == end && l >= 1 && l <= kMostSvag ? l : 0;
}

bool holds(const Parameters& of, const OptionSetting& setting) {
  return of.text(setting.option) == setting.word;
}

}  // namespace

bool RungModel::is_descent() const {
  return std::ranges::any_of(options,
                             [](const OptionSetting& one) { return one.option == "method"; });
}

bool RungModel::fits(const RunConfig& config, const SystemInfo& system) const {
  const auto set = [&](const OptionSetting& setting) { return holds(config.options, setting); };
  if (!std::ranges::all_of(options, set)) return false;
  if (is_flow()) {
    const RungInfo* const its = own_rung_of(config, system);
    return its == nullptr ? own.empty() : its->word == word;
  }
  const auto descends = [&](const RungModel& model) {
    return model.is_descent() && std::ranges::all_of(model.options, set);
  };
  return is_descent() || std::ranges::none_of(rung_models(), descends);
}

const std::vector<RungModel>& rung_models() {
  static const std::vector<RungModel> models = {
      {"flow", {{"mode", "flow"}}},
      {"sde", {{"mode", "sde"}, {"modified-equation", "1"}}},
      {.word = "sde2", .options = {{"mode", "sde"}, {"modified-equation", "2"}}, .stream = 1},
      {.word = "gd", .options = {{"mode", "sde"}, {"method", "gradient_descent"}}, .stream = 2},
      {"sgd", {{"mode", "sgd"}, {"svag", "1"}}}};
  return models;
}

std::vector<std::string> words_of_rungs(const SystemInfo& system) {
  std::vector<std::string> words;
  for (const RungModel& model : rung_models()) words.push_back(model.word);
  words.push_back(std::string(kSvag) + "L");
  for (const RungInfo& rung : system.rungs) words.push_back(rung.word);
  return words;
}

std::optional<RungModel> rung_model(const std::string& word, const SystemInfo& system) {
  for (const RungModel& model : rung_models())
    if (model.word == word) return model;
  for (const RungInfo& rung : system.rungs)
    if (rung.word == word) return RungModel{word, rung_models().front().options, rung.settings, 0};
  const std::int64_t l = svag_of(word);
  if (l == 0) return std::nullopt;
  return RungModel{
      word, {{"mode", "sgd"}, {"svag", std::to_string(l)}}, {}, 2 + static_cast<std::uint64_t>(l)};
}

bool is_common_rung(const std::string& word) {
  return word.starts_with("svag") ||
         std::ranges::any_of(rung_models(), [&](const RungModel& of) { return of.word == word; });
}

const RungInfo* own_rung_of(const RunConfig& config, const SystemInfo& system) {
  if (config.options.word("mode") != "flow") return nullptr;
  const auto set = [&](const OptionSetting& setting) { return holds(config.own, setting); };
  const auto found = std::ranges::find_if(
      system.rungs, [&](const RungInfo& rung) { return std::ranges::all_of(rung.settings, set); });
  return found == system.rungs.end() ? nullptr : &*found;
}

}  // namespace popflow

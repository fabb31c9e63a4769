#include "compare/rungs.hpp"

#include <algorithm>
#include <charconv>

#include "popflow/registry.hpp"
#include "run/modes.hpp"
#include "run/schedule.hpp"

namespace popflow {

namespace {

const std::vector<std::string> known = {"flow", "sde", "sde2", "gd", "sgd", "svag:L", "integrated"};

// Seeds are far enough apart for those that people give.
constexpr std::int64_t kMostSvag = 1000000;
constexpr std::int64_t kRungSeeds = std::int64_t{1} << 32;
constexpr std::int64_t kSettingSeeds = std::int64_t{1} << 53;
constexpr std::size_t kMostSettings = 512;

/// L of "svag:L", or 0.
std::int64_t svag_of(const std::string& word) {
  if (!word.starts_with("svag:")) return 0;
  std::int64_t l = 0;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data() + 5, end, l);
  return error == std::errc() && rest == end && l >= 1 && l <= kMostSvag ? l : 0;
}

bool has_word(const Parameters& own, const char* name, const char* word) {
  const Parameter* row = own.find(name);
  return row != nullptr &&
         std::find(row->words.begin(), row->words.end(), word) != row->words.end();
}

/// Which seeds a rung has, relative to those of sde and sgd.
std::int64_t stream_of(const std::string& word) {
  if (word == "sde2") return 1;
  if (word == "gd") return 2;
  return 2 + svag_of(word);
}

RunConfig rung_config(const RunConfig& base, const std::string& word, double learning_rate,
                      std::int64_t setting, const Schedule& schedule) {
  RunConfig config{base.system, Parameters(run_options()), base.own, base.command_line};
  Parameters& options = config.options;
  for (const Parameter& row : base.options.table()) {
    if (options.find(row.name) == nullptr || !describes_run(row.name)) continue;
    if (base.options.has(row.name))
      options.set(row.name, base.options.text(row.name),
                  base.options.given(row.name) ? Origin::config : Origin::defaults);
  }
  options.unset("steps");
  options.resolve("learning-rate", learning_rate);
  describe_schedule(schedule, options);
  const bool flow = word == "flow" || word == "integrated";
  const bool sde = word == "sde" || word == "sde2" || word == "gd";
  options.resolve("mode", std::string(flow ? "flow" : sde ? "sde" : "sgd"));
  if (word == "gd") {
    options.unset("dt");
    options.resolve("method", std::string("gradient_descent"));
  } else if (flow || sde) {
    options.resolve("method", std::string(flow ? "dopri5" : "euler_maruyama"));
  }
  if (word == "sde2") options.resolve("modified-equation", std::int64_t{2});
  if (svag_of(word) > 0) options.resolve("svag", svag_of(word));
  if (flow) options.resolve("runs", std::int64_t{1});
  const bool own_seed = word != "sde" && word != "sgd" && !flow;
  options.resolve("seed", options.integer("seed") + setting * kSettingSeeds +
                              (own_seed ? stream_of(word) * kRungSeeds : 0));
  // Noise is exact in full coordinates only; the flow takes those that were asked for.
  if (word == "integrated") config.own.resolve("coordinates", std::string("integrated"));
  if (!flow && has_word(config.own, "coordinates", "full"))
    config.own.set("coordinates", "full", Origin::config);
  return config;
}

/// The save times, rounded to steps of sgd, to the end, rounded too.
Schedule common_schedule(const RunConfig& base, double learning_rate, const System& system) {
  Parameters options(run_options());
  for (const char* name : {"saves", "save-spacing", "save-first", "save-at", "t-end", "steps"})
    if (base.options.has(name))
      options.set(name, base.options.text(name),
                  base.options.given(name) ? Origin::config : Origin::defaults);
  options.resolve("mode", std::string("sgd"));
  options.resolve("learning-rate", learning_rate);
  settle_mode(options, system);
  return make_schedule(options, options.real("t-end"));
}

}  // namespace

std::vector<std::string> rung_words(const RunConfig& config) {
  const std::string& text = config.options.word("rungs");
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool plain =
        word != "svag:L" && std::find(known.begin(), known.end(), word) != known.end();
    if (!plain && svag_of(word) == 0) {
      const std::string near = nearest(word, known);
      throw UsageError("--rungs has '" + word +
                       "'; allowed are flow, sde, sde2, gd, sgd, svag:L (L at least 1) and, for "
                       "joma-joint, integrated" +
                       (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    if (std::find(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i), word) !=
        words.begin() + static_cast<std::ptrdiff_t>(i))
      throw UsageError("--rungs names " + word + " twice");
    if (word == "integrated" && !has_word(config.own, "coordinates", "integrated"))
      throw UsageError("--rungs has integrated, which is for joma-joint; " + config.system +
                       " has no integrated coordinates");
  }
  if (words.size() < 2) throw UsageError("--rungs names " + text + " alone; give at least two");
  return words;
}

std::vector<Setting> make_settings(const RunConfig& config, Workers& workers) {
  const std::vector<std::string> words = rung_words(config);
  const bool several = config.options.has("learning-rates");
  std::vector<double> rates = {config.options.real("learning-rate")};
  if (several) {
    rates = config.options.reals("learning-rates");
    if (std::find(words.begin(), words.end(), "sgd") == words.end())
      throw UsageError("--learning-rates measures errors against sgd; --rungs " +
                       config.options.word("rungs") + " lacks it");
    for (std::size_t i = 0; i < rates.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (rates[i] == rates[j])
          throw UsageError("--learning-rates has " + shortest(rates[i]) + " twice");
    if (rates.size() < 2 || rates.size() > kMostSettings)
      throw UsageError("--learning-rates has " + std::to_string(rates.size()) +
                       " values; an order needs from 2 to " + std::to_string(kMostSettings));
  }
  RunConfig as_flow = rung_config(config, "flow", rates.front(), 0, Schedule(1, 1.0));
  const auto probe = find_system(config.system).make({as_flow.own, as_flow.options, workers});
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    Setting setting{rates[i], several ? "learning_rate_" + std::to_string(i + 1) : "", {}};
    const Schedule schedule = common_schedule(config, rates[i], *probe);
    for (const std::string& word : words) {
      Rung rung{word, word, nullptr};
      std::replace(rung.group.begin(), rung.group.end(), ':', '_');
      rung.experiment = std::make_unique<Experiment>(
          rung_config(config, word, rates[i], static_cast<std::int64_t>(i), schedule), workers);
      setting.rungs.push_back(std::move(rung));
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

}  // namespace popflow

#include "compare/rungs.hpp"

#include <algorithm>
#include <charconv>

#include "noise/noise_models.hpp"
#include "noise/samples.hpp"
#include "observed/observed_info.hpp"
#include "options/methods.hpp"
#include "plan/course.hpp"
#include "popflow/math.hpp"
#include "run/last_state.hpp"
#include "text/text.hpp"
#include "training/trained.hpp"

namespace popflow {

namespace {

const std::vector<std::string> kEverySystem = {"flow", "sde", "sde2", "gd", "sgd", "svag:L"};

/// Returns the offset of a rung's seeds relative to those of flow, sde and sgd.
std::uint64_t stream_of(const std::string& word, const RungInfo* own) {
  if (word == "flow" || word == "sde" || word == "sgd" || own != nullptr) return 0;
  if (word == "sde2") return 1;
  if (word == "gd") return 2;
  return 2 + static_cast<std::uint64_t>(svag_of(word));
}

/// Returns a seed far from those that users choose, and in the range of --seed.
std::int64_t seed_of_rung(std::int64_t given, std::uint64_t ladder, std::uint64_t stream) {
  constexpr int kBits = 53;                              // --seed is at most 2^53
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  const std::uint64_t seed =
      static_cast<std::uint64_t>(given) + (ladder * kSpread >> (64 - kBits)) + (stream << 32);
  return static_cast<std::int64_t>(seed % ((std::uint64_t{1} << kBits) + 1));
}

/// Adapts beta1 and beta2, which are given for the first learning rate, to another one:
/// beta^(eta/first). The moments then keep their time scales in flow time, so that errors have an
/// order. The beta of momentum, by which steps grow as 1/(1 - beta), stays.
void keep_time_scales(const Parameters& base, double learning_rate, Parameters& options) {
  if (!base.has("learning-rates") || base.flag("fixed-betas")) return;
  const double power = learning_rate / base.reals("learning-rates").front();
  if (power != 1 && continues_moments(base) && update_rule(base.word("optimizer")).corrects_bias)
    throw UsageError(
        "--init-optimizer file: moments of one beta can't be corrected for the beta of another "
        "learning rate; give --fixed-betas, or a single learning rate");
  if (!options.has("beta2"))
    options.resolve("beta2", update_rule(options.word("optimizer")).default_beta2);
  for (const char* beta : {"beta1", "beta2"})
    options.resolve(beta, math::pow(options.real(beta), power));
}

RunConfig rung_config(const RunConfig& base, const SystemInfo& system, const std::string& word,
                      double learning_rate, std::uint64_t ladder, const Schedule& schedule) {
  RunConfig config{base.system, Parameters(run_options()), base.own, base.command_line};
  Parameters& options = config.options;
  for (const Parameter& row : base.options.table()) {
    if (options.find(row.name) == nullptr || !describes_run(row.name)) continue;
    if (base.options.has(row.name))
      options.set(row.name, base.options.text(row.name),
                  base.options.given(row.name) ? Origin::config : Origin::defaults);
  }
  options.unset("steps");
  keep_time_scales(base.options, learning_rate, options);
  options.resolve("learning-rate", learning_rate);
  describe_schedule(schedule, 0, options);
  const RungInfo* own = own_rung(system, word);
  const bool flow = word == "flow" || own != nullptr;
  const bool sde = word == "sde" || word == "sde2" || word == "gd";
  options.resolve("mode", std::string(flow ? "flow" : sde ? "sde" : "sgd"));
  if (word == "gd") {
    options.unset("dt");
    options.resolve("method", std::string("gradient_descent"));
  } else if (flow || sde) {
    options.resolve("method", default_method(flow ? "flow" : "sde"));
  }
  if (word == "sde2") options.resolve("modified-equation", std::int64_t{2});
  if (svag_of(word) > 0) options.resolve("svag", svag_of(word));
  if (flow) options.resolve("runs", std::int64_t{1});
  options.resolve("seed", seed_of_rung(options.integer("seed"), ladder, stream_of(word, own)));
  // Noise is exact in unreduced coordinates only, but the flow uses the requested coordinates.
  if (own != nullptr)
    for (const OptionSetting& setting : own->settings)
      config.own.resolve(setting.option, setting.word);
  if (!flow)
    for (const OptionSetting& setting : system.unreduced)
      config.own.set(setting.option, setting.word, Origin::config);
  return config;
}

/// Returns the save times and the end, with `whole_steps` rounded to steps of sgd. The start is
/// always included, because ranges over the flow and drifts are relative to it.
Schedule common_schedule(const RunConfig& base, double learning_rate, const System& system,
                         bool whole_steps) {
  Parameters options(run_options());
  for (const char* name : {"saves", "save-spacing", "save-first", "save-at", "t-end", "steps"})
    if (base.options.has(name))
      options.set(name, base.options.text(name),
                  base.options.given(name) ? Origin::config : Origin::defaults);
  SgdPlan steps;
  steps.driver.learning_rate = learning_rate;
  const ModePlan mode = whole_steps ? ModePlan(steps) : ModePlan(FlowPlan());
  Schedule times = course_of(options, mode, [&] { return default_end(system); }).schedule;
  if (times.front() > 0) times.insert(times.begin(), 0.0);
  return times;
}

/// Throws UsageError if rungs need samples that the system does not have. The message names the
/// rungs that need no samples and all requirements of the other rungs, so that the user does not
/// get one error after another.
void require_samples(const RunConfig& config, const std::vector<std::string>& words,
                     const System& flow, const Catalogue& catalogue, Workers& workers) {
  if (source_of_gradients(flow).capabilities().sampled) return;
  const SystemInfo& info = flow.info();
  const bool drawn = noise_kind(config.options.word("noise")).of_gradients;
  for (const std::string& word : words) {
    const bool noise_model = word == "sde" || word == "sde2" || word == "gd";
    if (word == "flow" || own_rung(info, word) != nullptr || (noise_model && !drawn)) continue;
    // Unreduced coordinates may have samples.
    const RunConfig noisy =
        rung_config(config, info, word, config.options.real("learning-rate"), 0, Schedule(1, 1.0));
    const auto system = make_system(noisy, catalogue, workers).system;
    const System& source = source_of_gradients(*system);
    // A model by equations may give the covariance of its noise.
    if (noise_model && source.capabilities().covariance) continue;
    if (!source.capabilities().sampled)
      throw UsageError("rung " + word + ": " + why_no_samples(source) +
                       "; '--rungs flow,sde --noise isotropic' needs none");
    return;
  }
}

}  // namespace

std::int64_t svag_of(const std::string& word) {
  if (!word.starts_with("svag:")) return 0;
  std::int64_t l = 0;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data() + 5, end, l);
  return error == std::errc() && rest == end && l >= 1 && l <= kMostSvag ? l : 0;
}

const RungInfo* own_rung(const SystemInfo& system, const std::string& word) {
  for (const RungInfo& rung : system.rungs)
    if (rung.word == word) return &rung;
  return nullptr;
}

std::string settings_of(const RungInfo& rung) {
  std::vector<std::string> words;
  words.reserve(rung.settings.size());
  for (const OptionSetting& setting : rung.settings)
    words.push_back("--" + setting.option + " " + setting.word);
  return text::join(words, " ");
}

std::string rung_of_its_own(const RunConfig& config, const SystemInfo& system) {
  if (config.options.word("mode") != "flow") return "";
  const auto own =
      std::find_if(system.rungs.begin(), system.rungs.end(), [&](const RungInfo& rung) {
        return std::all_of(rung.settings.begin(), rung.settings.end(),
                           [&](const OptionSetting& setting) {
                             return config.own.text(setting.option) == setting.word;
                           });
      });
  return own == system.rungs.end() ? "" : own->word;
}

std::string rung_group(std::string word) {
  std::replace(word.begin(), word.end(), ':', '_');
  return word;
}

std::vector<std::string> rung_words(const RunConfig& config, const SystemInfo& system,
                                    std::size_t least) {
  const std::string& text = config.options.word("rungs");
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  check_rungs(words, "--rungs", system, least);
  return words;
}

void check_rungs(const std::vector<std::string>& words, const std::string& option,
                 const SystemInfo& system, std::size_t least) {
  std::vector<std::string> known = kEverySystem;
  for (const RungInfo& rung : system.rungs) known.push_back(rung.word);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool plain =
        word != "svag:L" && std::find(known.begin(), known.end(), word) != known.end();
    if (!plain && svag_of(word) == 0) {
      const std::string near = nearest(word, known);
      throw UsageError(option + " has '" + word + "'; the rungs of " + system.name + " are " +
                       text::join(known, ", ") + " (L from 1 to " + std::to_string(kMostSvag) +
                       ")" + (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    if (std::find(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i), word) !=
        words.begin() + static_cast<std::ptrdiff_t>(i))
      throw UsageError(option + " names " + word + " twice");
  }
  if (words.size() < least)
    throw UsageError(option + " names " + text::join(words, ",") +
                     " only; give at least two rungs");
}

namespace {

/// Throws UsageError if the rungs compute the sharpness in different coordinates.
void require_one_sharpness(const Ladder& ladder, const SystemInfo& system) {
  const auto reduced = [&](const Rung& rung) {
    return is_reduced(system, rung.experiment->config.own);
  };
  const Rung& first = ladder.rungs.front();
  for (const Rung& other : ladder.rungs) {
    if (reduced(other) == reduced(first)) continue;
    const Rung& narrow = reduced(first) ? first : other;
    throw UsageError(
        "--sharpness: the rung " + narrow.word +
        " would have the sharpness of its reduced coordinates, which the other rungs do not have; "
        "give" +
        words_of(system.unreduced));
  }
}

}  // namespace

std::vector<Ladder> make_ladders(const RunConfig& config, const Catalogue& catalogue,
                                 Workers& workers, bool with_external) {
  const SystemInfo& system = catalogue.info(config.system);
  const std::vector<std::string> words = rung_words(config, system, with_external ? 1 : 2);
  const bool whole_steps =
      !with_external || std::any_of(words.begin(), words.end(), [](const std::string& word) {
        return word == "sgd" || word == "gd" || svag_of(word) > 0;
      });
  const bool several = config.options.has("learning-rates");
  std::vector<double> rates = {config.options.real("learning-rate")};
  if (several) {
    rates = config.options.reals("learning-rates");
    if (std::find(words.begin(), words.end(), "sgd") == words.end())
      throw UsageError("--learning-rates measures errors against sgd; --rungs " +
                       config.options.word("rungs") + " lacks sgd");
    for (std::size_t i = 0; i < rates.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (rates[i] == rates[j])
          throw UsageError("--learning-rates has " + shortest(rates[i]) + " twice");
    if (rates.size() < 2)
      throw UsageError("--learning-rates has 1 value; give at least 2, since an order is fitted");
  }
  const RunConfig as_flow = rung_config(config, system, "flow", rates.front(), 0, Schedule(1, 1.0));
  const auto probe = make_system(as_flow, catalogue, workers).system;
  require_samples(config, words, *probe, catalogue, workers);
  std::vector<Ladder> ladders;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    Ladder ladder{rates[i], several ? "learning_rate_" + std::to_string(i + 1) : "", {}};
    const Schedule schedule = common_schedule(config, rates[i], *probe, whole_steps);
    for (const std::string& word : words) {
      Rung rung{word, rung_group(word), nullptr};
      rung.experiment = std::make_unique<Experiment>(
          rung_config(config, system, word, rates[i], i, schedule), catalogue, workers);
      const Experiment& made = *rung.experiment;
      const std::string own = rung_of_its_own(made.config, system);
      const std::string& approximation = made.system->shape().approximation;
      if (word == "flow" && !own.empty() && !approximation.empty())
        throw UsageError("rung flow: " + approximation + "; leave out " +
                         settings_of(*own_rung(system, own)) + ". --rungs flow," + own +
                         " compares the two");
      ladder.rungs.push_back(std::move(rung));
    }
    if (records_sharpness(config.options)) require_one_sharpness(ladder, system);
    ladders.push_back(std::move(ladder));
  }
  return ladders;
}

}  // namespace popflow

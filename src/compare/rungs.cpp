#include "compare/rungs.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "file/structure.hpp"
#include "noise/noise_models.hpp"
#include "noise/samples.hpp"
#include "observed/observed_info.hpp"
#include "options/methods.hpp"
#include "options/rung_words.hpp"
#include "plan/course.hpp"
#include "plan/plan.hpp"
#include "popflow/math.hpp"
#include "run/last_state.hpp"
#include "text/text.hpp"
#include "training/sampled_gradients.hpp"
#include "training/trained.hpp"

namespace popflow {

namespace {

/// Returns a seed far from those that users choose, and in the range of --seed.
std::int64_t seed_of_rung(std::int64_t given, std::uint64_t ladder, std::uint64_t stream) {
  constexpr int kBits = 53;                              // --seed is at most 2^53
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  const std::uint64_t seed =
      static_cast<std::uint64_t>(given) + (ladder * kSpread >> (64 - kBits)) + (stream << 32);
  return static_cast<std::int64_t>(seed % ((std::uint64_t{1} << kBits) + 1));
}

/// Adapts beta1, beta2 and the share of the average, which are given for the first learning rate,
/// to another one: beta^(eta/first). The moments and the average then keep their time scales in
/// flow time, so that errors have an order. The beta of momentum, by which steps grow as 1/(1 -
/// beta), stays.
void keep_time_scales(const Parameters& base, double learning_rate, Parameters& options) {
  if (!base.has("learning-rates") || base.flag("fixed-betas")) return;
  const double power = learning_rate / base.reals("learning-rates").front();
  const bool continues = base.has("init-optimizer") && base.word("init-optimizer") == "file";
  if (power != 1 && continues && update_rule(base.word("optimizer")).corrects_bias)
    throw UsageError(
        "--init-optimizer file: moments of one beta can't be corrected for the beta of another "
        "learning rate; give --fixed-betas, or a single learning rate");
  if (!options.has("beta2"))
    options.resolve("beta2", update_rule(options.word("optimizer")).default_beta2);
  for (const char* beta : {"beta1", "beta2"})
    options.resolve(beta, math::pow(options.real(beta), power));
  if (options.has("average")) options.resolve("average", math::pow(options.real("average"), power));
}

RunConfig rung_config(const RunConfig& base, const SystemInfo& system, const RungModel& model,
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
  for (const auto& [option, word] : model.options)
    options.resolve(option, parse_value(*options.find(option), word));
  if (model.is_descent())
    options.unset("dt");
  else if (model.is_flow() || model.is_sde())
    options.resolve("method", default_method(model.mode()));
  if (model.is_flow()) options.resolve("runs", std::int64_t{1});
  options.resolve("seed", seed_of_rung(options.integer("seed"), ladder, model.stream));
  // Noise is exact in unreduced coordinates only, but the flow uses the requested coordinates.
  for (const auto& [option, word] : model.own) config.own.resolve(option, word);
  if (!model.is_flow())
    for (const OptionSetting& setting : system.unreduced)
      config.own.set(setting.option, setting.word, Origin::config);
  return config;
}

/// Returns the save times and the end, with `whole_steps` rounded to steps of sgd. If no option
/// gives the end, it is `default_end`. The start is always included, because ranges over the flow
/// and drifts are relative to it.
Schedule common_schedule(const RunConfig& base, double learning_rate,
                         const std::function<double()>& default_end, bool whole_steps) {
  SgdPlan steps;
  steps.driver.learning_rate = learning_rate;
  const ModePlan mode = whole_steps ? ModePlan(steps) : ModePlan(FlowPlan());
  Schedule times = course_of(base.options, mode, default_end).schedule;
  if (times.front() > 0) times.insert(times.begin(), 0.0);
  return times;
}

/// Throws UsageError if rungs need samples that the system does not have. The message names the
/// rungs that need no samples and all requirements of the other rungs, so that the user does not
/// get one error after another.
void require_samples(const RunConfig& config, const std::vector<RungModel>& models,
                     const System& flow, const Catalogue& catalogue, Workers& workers) {
  if (source_of_gradients(flow).capabilities().sampled) return;
  const SystemInfo& info = flow.info();
  const bool drawn = noise_kind(config.options.word("noise")).of_gradients;
  for (const RungModel& model : models) {
    if (model.is_flow() || (model.is_sde() && !drawn)) continue;
    // Unreduced coordinates may have samples.
    const RunConfig noisy =
        rung_config(config, info, model, config.options.real("learning-rate"), 0, Schedule(1, 1.0));
    const auto system = make_system(noisy, catalogue, workers).system;
    const System& source = source_of_gradients(*system);
    // A model by equations may give the covariance of its noise.
    if (model.is_sde() && source.capabilities().covariance) continue;
    if (!source.capabilities().sampled)
      throw UsageError("rung " + model.word + ": " + why_no_samples(source) +
                       "; '--rungs flow,sde --noise isotropic' needs none");
    return;
  }
}

}  // namespace

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
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!rung_model(word, system)) {
      const std::vector<std::string> known = words_of_rungs(system);
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
  std::vector<RungModel> models;
  for (const std::string& word : rung_words(config, system, with_external ? 1 : 2))
    models.push_back(rung_model(word, system).value());
  const bool whole_steps =
      !with_external ||
      std::ranges::any_of(models, [](const RungModel& model) { return model.counts_steps(); });
  const bool noisy =
      std::ranges::any_of(models, [](const RungModel& model) { return !model.is_flow(); });
  const bool several = config.options.has("learning-rates");
  std::vector<double> rates = {config.options.real("learning-rate")};
  if (several) {
    rates = config.options.reals("learning-rates");
    if (std::ranges::find(models, "sgd", &RungModel::word) == models.end())
      throw UsageError("--learning-rates measures errors against sgd; --rungs " +
                       config.options.word("rungs") + " lacks sgd");
    for (std::size_t i = 0; i < rates.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (rates[i] == rates[j])
          throw UsageError("--learning-rates has " + shortest(rates[i]) + " twice");
    if (rates.size() < 2)
      throw UsageError("--learning-rates has 1 value; give at least 2, since an order is fitted");
  }
  const RunConfig as_flow =
      rung_config(config, system, rung_models().front(), rates.front(), 0, Schedule(1, 1.0));
  const auto probe = make_system(as_flow, catalogue, workers).system;
  require_samples(config, models, *probe, catalogue, workers);
  std::optional<double> found;
  const auto end = [&] {
    if (!found) found = default_end(*probe, plan_of(as_flow.options).training, noisy);
    return *found;
  };
  std::vector<Ladder> ladders;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    Ladder ladder{rates[i], several ? "learning_rate_" + std::to_string(i + 1) : "", {}};
    const Schedule schedule = common_schedule(config, rates[i], end, whole_steps);
    for (const RungModel& model : models) {
      const std::string group = rung_group(model.word);
      Rung rung{model.word, group, join(ladder.group, group), nullptr};
      rung.experiment = std::make_unique<Experiment>(
          rung_config(config, system, model, rates[i], i, schedule), catalogue, workers);
      const Experiment& made = *rung.experiment;
      const RungInfo* const own = own_rung_of(made.config, system);
      const std::string& approximation = made.system->shape().approximation;
      if (model.is_flow() && model.own.empty() && own != nullptr && !approximation.empty())
        throw UsageError("rung flow: " + approximation + "; leave out" + words_of(own->settings) +
                         ". --rungs flow," + own->word + " compares the two");
      ladder.rungs.push_back(std::move(rung));
    }
    if (observation_of(config.options).sharpness) require_one_sharpness(ladder, system);
    ladders.push_back(std::move(ladder));
  }
  return ladders;
}

}  // namespace popflow

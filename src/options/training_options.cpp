#include "options/training_options.hpp"

#include <algorithm>

#include "text/text.hpp"
#include "training/update_rules.hpp"

namespace popflow {
namespace {

constexpr Range above_none{.low = 0, .low_open = true};
constexpr Range none_or_more{.low = 0};
constexpr Range between_none_and_all{.low = 0, .high = 1, .low_open = true, .high_open = true};

std::vector<std::string> rules_of_momentum() {
  return names_of_rules([](const UpdateRule& rule) { return rule.takes_momentum; });
}
std::vector<std::string> rules_of_beta1() {
  return names_of_rules([](const UpdateRule& rule) { return rule.takes_beta1; });
}
std::vector<std::string> rules_of_beta2() {
  return names_of_rules([](const UpdateRule& rule) { return rule.takes_beta2; });
}
std::vector<std::string> rules_of_correction() {
  return names_of_rules([](const UpdateRule& rule) { return rule.corrects_bias; });
}
std::vector<std::string> orthogonal_rules() {
  return names_of_rules(
      [](const UpdateRule& rule) { return rule.whole == UpdateRule::Whole::orthogonal; });
}
std::vector<std::string> adaptive_rules() {
  return names_of_rules([](const UpdateRule& rule) { return rule.is_adaptive(); });
}
std::vector<std::string> rules_of_squares() {
  return names_of_rules([](const UpdateRule& rule) { return rule.has_u || rule.has_norm(); });
}

std::string meanings_of_rules() {
  std::vector<std::string> meanings;
  for (const UpdateRule& rule : update_rules())
    meanings.push_back(std::string(rule.name) + ": " + std::string(rule.meaning));
  return text::join(meanings, "; ");
}

}  // namespace

std::vector<std::string> rules_with_memory() {
  return names_of_rules([](const UpdateRule& rule) { return rule.has_memory(); });
}

const ParameterTable& training_options() {
  static const ParameterTable table = {
      {.name = "optimizer",
       .kind = Kind::word,
       .default_text = std::string(update_rules().front().name),
       .meaning = "training rule, in all modes: " + meanings_of_rules(),
       .words = names_of_rules([](const UpdateRule&) { return true; })},
      {.name = "momentum",
       .kind = Kind::real,
       .default_text = "0.9",
       .meaning = "share of the last step that the next step keeps",
       .symbol = "beta",
       .range = between_none_and_all,
       .where = {{"optimizer", rules_of_momentum()}}},
      {.name = "beta1",
       .kind = Kind::real,
       .default_text = "0.9",
       .meaning = "decay rate of the mean of gradients",
       .symbol = "beta_1",
       .range = between_none_and_all,
       .where = {{"optimizer", rules_of_beta1()}}},
      {.name = "beta2",
       .kind = Kind::real,
       .default_text = "",
       .meaning = "decay rate of the mean of squared gradients",
       .symbol = "beta_2",
       .range = between_none_and_all,
       .default_note = "0.999; rmsprop, lion: 0.99",
       .where = {{"optimizer", rules_of_beta2()}}},
      {.name = "epsilon",
       .kind = Kind::real,
       .default_text = "1e-8",
       .meaning = "number added to the root of the mean of squared gradients",
       .range = none_or_more,
       .where = {{"optimizer", rules_of_squares()}}},
      {.name = "orthogonalise",
       .kind = Kind::word,
       .default_text = "exact",
       .meaning = "how muon orthogonalises: by the exact polar factor, or by five steps of Newton "
                  "and Schulz",
       .words = {"exact", "newton-schulz"},
       .where = {{"optimizer", orthogonal_rules()}}},
      {.name = "clip-norm",
       .kind = Kind::real,
       .default_text = "",
       .meaning = "largest norm of the gradient, before the training rule: longer gradients are "
                  "scaled down",
       .symbol = "C",
       .range = above_none,
       .default_note = "none"},
      {.name = "average",
       .kind = Kind::real,
       .default_text = "",
       .meaning = "record an exponential average of the weights, of which each step keeps this "
                  "share: fields A_FIELD, and observables of the average as NAME_averaged",
       .symbol = "A",
       .range = between_none_and_all,
       .default_note = "none"},
      {.name = "weight-decay",
       .kind = Kind::real,
       .default_text = "",
       .meaning = "strength of the weight decay",
       .symbol = "lambda",
       .range = none_or_more,
       .default_note = "0"},
      {.name = "decay",
       .kind = Kind::word,
       .default_text = "",
       .meaning = "form of the weight decay: coupled (part of the gradient, like an l2 penalty) or "
                  "decoupled (separate from the training rule)",
       .words = {"coupled", "decoupled"},
       .default_note = "coupled; adamw, muon, lion: decoupled",
       .where = {{.option = "weight-decay"}}},
      {.name = "batch-noise-in-variance",
       .kind = Kind::flag,
       .default_text = "",
       .meaning = "flow: the mean of squared gradients of adaptive rules includes the noise of a "
                  "minibatch of --batch-size samples",
       .modes = {"flow"},
       .where = {{"optimizer", adaptive_rules()}}},
      {.name = "variance-samples",
       .kind = Kind::integer,
       .default_text = "",
       .meaning =
           "number of sampled gradients from which adaptive rules estimate the variance of a "
           "minibatch, if the system does not know its covariance",
       .range = {.low = 2},
       .default_note = "--noise-samples if given, otherwise 1000",
       .modes = {"flow", "sde"},
       .where = {{"optimizer", adaptive_rules()}}},
      {.name = "learning-rate-schedule",
       .kind = Kind::text,
       .default_text = "constant",
       .meaning =
           "factor on the learning rate over flow time, after the warm-up: constant, linear, "
           "cosine, inverse-sqrt:X (the root of X/t from time X on), or "
           "step:T1,T2,...:FACTOR"},
      {.name = "final-rate",
       .kind = Kind::real,
       .default_text = "0",
       .meaning = "final factor of linear and cosine schedules",
       .range = none_or_more,
       .where = {{"learning-rate-schedule", {"linear", "cosine"}}}},
      {.name = "schedule-length",
       .kind = Kind::real,
       .default_text = "",
       .meaning = "flow time at which linear and cosine schedules end",
       .range = above_none,
       .default_note = "the run's end",
       .where = {{"learning-rate-schedule", {"linear", "cosine"}}}},
      {.name = "warmup",
       .kind = Kind::real,
       .default_text = "",
       .meaning = "flow time over which the factor rises from 0 to 1",
       .range = above_none,
       .default_note = "none"},
      {.name = "warmup-steps",
       .kind = Kind::integer,
       .default_text = "",
       .meaning = "length of the warm-up in steps of size --learning-rate",
       .range = {.low = 1},
       .default_note = "none"},
      {.name = "rates",
       .kind = Kind::text,
       .default_text = "",
       .meaning = "factors on the learning rates of fields, FIELD=FACTOR,... (layer-wise rates)",
       .default_note = "1"},
      {.name = "init-optimizer",
       .kind = Kind::word,
       .default_text = "zero",
       .meaning = "moments at the start: zero, or those in the file of --init-from, with that "
                  "file's state of the bias correction",
       .words = {"zero", "file"},
       .where = {{"optimizer", rules_with_memory()}, {.option = "init-from"}}},
      {.name = "optimizer-steps",
       .kind = Kind::real,
       .default_text = "0",
       .meaning = "number of training steps behind the moments at the start, for the correction of "
                  "their bias",
       .range = none_or_more,
       .default_note = "0; --init-optimizer file: those of the file",
       .where = {{"optimizer", rules_of_correction()}}},
  };
  return table;
}

bool is_of_training(const std::string& option) {
  return std::ranges::any_of(training_options(),
                             [&](const Parameter& row) { return row.name == option; });
}

}  // namespace popflow

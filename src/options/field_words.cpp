#include "options/field_words.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "options/tokens.hpp"

namespace popflow::options {

namespace {

struct FieldWord {
  std::initializer_list<std::string_view> words;
  std::initializer_list<std::string_view> options;  ///< options that the answer names
  const char* answer;
};

// Option of every command that makes a system: run, compare, sweep and verify.
constexpr std::string_view kOfSystems = "problem-seed";

constexpr const char* kSizes =
    "each system has its own parameters for sizes; 'popflow systems NAME' lists them";

// For a word with several rows, the first row whose options the command offers is the answer.
const FieldWord kFieldWords[] = {
    {{"lr", "eta", "step-size", "stepsize", "alpha"},
     {"learning-rate"},
     "the learning rate is --learning-rate"},
    {{"epochs", "epoch", "num-epochs", "n-epochs"},
     {"steps", "t-end"},
     "every step draws fresh data, so there are no epochs; --steps or --t-end say how long "
     "(t = learning rate x step)"},
    {{"iterations", "iters", "n-iters", "max-iters", "num-steps", "n-steps", "nsteps"},
     {"steps", "t-end"},
     "the number of sampled steps is --steps, and flow time is --t-end"},
    {{"tmax", "t-max", "t-final", "time", "duration", "horizon"},
     {"t-end"},
     "flow time ends at --t-end"},
    {{"nesterov", "adam", "adamw", "rmsprop", "optimiser", "opt"},
     {"optimizer"},
     "the training rule is --optimizer"},
    {{"beta", "betas"},
     {"beta1", "beta2"},
     "the decay rates are --momentum, or --beta1 and --beta2"},
    {{"sgd", "gd", "sde", "flow", "ode"}, {"mode"}, "modes are chosen by --mode flow, sde or sgd"},
    {{"sgd", "gd", "sde", "flow", "ode"},
     {"rungs"},
     "models are chosen by --rungs flow,sde,gd,sgd"},
    {{"weight-decay", "wd", "l2", "decay"},
     {kOfSystems},
     "a penalty on the weights is part of a system if its paper has one; 'popflow systems NAME' "
     "lists its options"},
    {{"scheduler", "lr-schedule", "lr-scheduler"},
     {"learning-rate-schedule"},
     "the schedule of the learning rate is --learning-rate-schedule"},
    {{"batch", "bs", "batchsize", "minibatch", "B"},
     {"batch-size"},
     "the batch size is --batch-size"},
    {{"width", "hidden", "hidden-size", "hidden-dim", "d-model", "dim", "embed-dim", "n-embd",
      "vocab", "seq-len", "context"},
     {kOfSystems},
     kSizes},
    {{"depth", "layers", "n-layers", "num-layers", "n-layer"},
     {kOfSystems},
     "the depth is fixed: each system has that of its paper's model ('popflow systems' lists the "
     "systems)"},
    {{"heads", "n-heads", "num-heads", "n-head"},
     {kOfSystems},
     "every system has one head ('popflow systems' lists the systems)"},
    {{"tol", "tolerance", "eps", "reltol", "abstol"},
     {"rtol", "atol"},
     "tolerances are --rtol and --atol"},
    {{"solver", "integrator", "stepper"}, {"method"}, "the integrator is --method"},
    {{"samples", "trials", "repeats", "n-runs", "num-runs", "ensemble"},
     {"runs"},
     "the number of runs is --runs"},
    {{"random-seed", "random-state", "rng"},
     {"seed", "problem-seed"},
     "--seed is the seed of the noise, --problem-seed the seed of the problem"},
    {{"out", "outfile", "out-file", "save", "save-to"}, {"output"}, "the output file is -o FILE"},
    {{"observable", "observables", "against", "log", "script", "style"},
     {"figure"},
     "only 'plot' has this option; here --figure chooses what 'plot' will draw of the file"},
    {{"save-every", "log-every", "eval-every"},
     {"saves", "save-at"},
     "--saves is the number of records, and --save-at lists their times"},
    {{"device", "gpu", "cuda"},
     {"threads"},
     "popflow computes on CPUs only; --threads is the number of threads"},
    {{"jobs", "workers", "n-jobs", "num-workers", "cores", "cpus"},
     {"threads"},
     "the number of threads is --threads"},
};

}  // namespace

std::string hint_for(const std::string& word, const std::vector<std::string>& offered,
                     const std::string& prefix) {
  const auto has = [](const auto& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  bool known = false;
  for (const FieldWord& row : kFieldWords) {
    if (!has(row.words, word)) continue;
    known = true;
    if (std::all_of(row.options.begin(), row.options.end(),
                    [&](std::string_view name) { return has(offered, name); }))
      return std::string(": ") + row.answer;
  }
  // No suggestion by spelling: the option nearest to a word of the field (--l1 for --lr) means
  // something else.
  return known ? "" : suggestion(word, offered, prefix);
}

}  // namespace popflow::options

#include "options/field_words.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace popflow::options {

namespace {

struct FieldWord {
  std::initializer_list<std::string_view> words;
  const char* answer;
};

constexpr const char* kSizes =
    "sizes are the system's own parameters; 'popflow systems NAME' lists them";
constexpr const char* kPlainSgd =
    "training is plain SGD, x <- x + eta g: --mode sgd samples it, --mode sde follows it with "
    "Gaussian noise, and --mode flow is its mean";

const FieldWord kFieldWords[] = {
    {{"lr", "eta", "step-size", "stepsize", "alpha"}, "the learning rate is --learning-rate"},
    {{"epochs", "epoch", "num-epochs", "n-epochs"},
     "every step draws fresh data, so there are no epochs; --steps or --t-end say how long "
     "(t = learning rate x step)"},
    {{"iterations", "iters", "n-iters", "max-iters", "num-steps", "n-steps", "nsteps"},
     "the number of sampled steps is --steps, and flow time is --t-end"},
    {{"tmax", "t-max", "t-final", "time", "duration", "horizon"}, "flow time ends at --t-end"},
    {{"momentum", "nesterov", "beta", "beta1", "beta2", "betas", "adam", "adamw", "rmsprop",
      "optimizer", "optimiser", "opt"},
     kPlainSgd},
    {{"sgd", "gd", "sde", "flow", "ode"}, "that is a mode: --mode flow, sde or sgd"},
    {{"weight-decay", "wd", "l2", "decay"},
     "a penalty on the weights is part of a system where its paper has one; 'popflow systems "
     "NAME' lists its options"},
    {{"schedule", "scheduler", "lr-schedule", "warmup", "warmup-steps"},
     "the learning rate is constant; a later phase starts from a run's end by --init-from"},
    {{"batch", "bs", "batchsize", "minibatch", "B"}, "the batch size is --batch-size"},
    {{"width", "hidden", "hidden-size", "hidden-dim", "d-model", "dim", "embed-dim", "n-embd",
      "vocab", "seq-len", "context"},
     kSizes},
    {{"depth", "layers", "n-layers", "num-layers", "n-layer"},
     "a system has the depth of its paper's model; 'popflow systems' lists them"},
    {{"heads", "n-heads", "num-heads", "n-head"},
     "the systems have one head; 'popflow systems' lists them"},
    {{"tol", "tolerance", "eps", "reltol", "abstol"}, "tolerances are --rtol and --atol"},
    {{"solver", "integrator", "stepper"}, "the integrator is --method"},
    {{"samples", "trials", "repeats", "n-runs", "num-runs", "ensemble"},
     "the number of runs is --runs"},
    {{"random-seed", "random-state", "rng"},
     "--seed is that of the noise, and --problem-seed that of the problem"},
    {{"out", "outfile", "out-file", "save", "save-to"}, "the file is named by -o FILE"},
    {{"observable", "observables", "against", "log", "script", "style"},
     "'plot' has it, this command has not; --figure chooses what 'plot' draws of the file"},
    {{"save-every", "log-every", "eval-every"},
     "--saves is the number of records, and --save-at lists their times"},
    {{"device", "gpu", "cuda"}, "popflow computes on processors; --threads says how many"},
    {{"jobs", "workers", "n-jobs", "num-workers", "cores", "cpus"},
     "the number of threads is --threads"},
};

}  // namespace

std::string answer_to(const std::string& word) {
  for (const FieldWord& row : kFieldWords)
    if (std::find(row.words.begin(), row.words.end(), word) != row.words.end()) return row.answer;
  return "";
}

}  // namespace popflow::options

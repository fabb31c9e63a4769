#include <algorithm>
#include <array>

#include "popflow/run_config.hpp"

namespace popflow {
namespace {

constexpr Range above_zero{.low = 0, .low_open = true};
constexpr Range at_least_zero{.low = 0};
constexpr Range at_least_one{.low = 1};
constexpr Range tolerance{.low = 0, .high = 1, .low_open = true, .high_open = true};
constexpr Range thread_count{.low = 1, .high = 1024};

}  // namespace

const ParameterTable& run_options() {
  static const ParameterTable table = {
      {.name = "mode",
       .kind = Kind::word,
       .default_text = "flow",
       .meaning = "what moves the state: the population flow; the flow with Gaussian noise like "
                  "that of minibatches; sampled gradient steps",
       .words = {"flow", "sde", "sgd"}},
      {.name = "t-end",
       .kind = Kind::real,
       .default_text = "",
       .meaning = "flow time to reach; sgd and gradient_descent: the nearest whole number of steps",
       .symbol = "t",
       .range = above_zero,
       .default_note = "the system's own"},
      {.name = "steps",
       .kind = Kind::integer,
       .default_text = "",
       .meaning = "sgd and gradient_descent: number of steps, instead of --t-end",
       .range = at_least_one,
       .default_note = "as many as --t-end takes"},
      {.name = "method",
       .kind = Kind::word,
       .default_text = "",
       .meaning = "integrator; rk4 and euler take fixed steps and need --dt; the last four are for "
                  "sde (gradient_descent: noisy steps of the learning rate)",
       .words = {"dopri5", "fehlberg78", "bulirsch_stoer", "rosenbrock4", "rk4", "euler",
                 "euler_maruyama", "heun", "srk", "gradient_descent"},
       .default_note = "dopri5; sde: euler_maruyama"},
      {.name = "rtol",
       .kind = Kind::real,
       .default_text = "1e-8",
       .meaning = "relative tolerance of a step",
       .range = tolerance},
      {.name = "atol",
       .kind = Kind::real,
       .default_text = "1e-10",
       .meaning = "absolute tolerance of a step, times a field's own scale",
       .range = above_zero},
      {.name = "dt",
       .kind = Kind::real,
       .default_text = "",
       .meaning = "step of rk4, euler and sde methods, first step of adaptive methods",
       .range = above_zero,
       .default_note = "chosen by adaptive methods; sde: a tenth of the learning rate"},
      {.name = "max-steps",
       .kind = Kind::integer,
       .default_text = "1e8",
       .meaning = "steps after which the run ends, unfinished",
       .range = at_least_one},
      {.name = "saves",
       .kind = Kind::integer,
       .default_text = "201",
       .meaning = "number of records, start and end included; 1 is the end alone",
       .range = at_least_one},
      {.name = "save-spacing",
       .kind = Kind::word,
       .default_text = "linear",
       .meaning = "spacing of the records; log: 0, then equally spaced in log t",
       .words = {"linear", "log"}},
      {.name = "save-first",
       .kind = Kind::real,
       .default_text = "",
       .meaning = "first time after 0 of log spacing",
       .range = above_zero,
       .default_note = "1e-6 of the end"},
      {.name = "save-at",
       .kind = Kind::reals,
       .default_text = "",
       .meaning = "increasing times to record at, instead of --saves; the end is recorded too",
       .range = at_least_zero},
      {.name = "state",
       .kind = Kind::word,
       .default_text = "",
       .meaning = "which records carry the full state; observables are always recorded",
       .words = {"all", "ends", "none"},
       .default_note = "all, or ends where all would exceed 1 GiB"},
      {.name = "stop-when",
       .kind = Kind::word,
       .default_text = "",
       .meaning = "end early: steady once the right-hand side's norm has stayed below "
                  "--steady-tolerance while t grew by half of itself and by at least 10",
       .words = {"steady"},
       .default_note = "off"},
      {.name = "steady-tolerance",
       .kind = Kind::real,
       .default_text = "1e-9",
       .meaning = "norm of the right-hand side below which the state counts as steady",
       .range = above_zero},
      {.name = "learning-rate",
       .kind = Kind::real,
       .default_text = "0.01",
       .meaning = "step of sgd and gradient_descent; with the batch size the scale of the noise",
       .symbol = "eta",
       .range = above_zero},
      {.name = "batch-size",
       .kind = Kind::integer,
       .default_text = "128",
       .meaning = "samples of a minibatch; sde divides the noise's variance by it",
       .symbol = "B",
       .range = at_least_one},
      {.name = "noise",
       .kind = Kind::word,
       .default_text = "batch",
       .meaning = "covariance of sde's noise: of sampled gradients; their variances alone; "
                  "noise-scale^2 times the identity",
       .words = {"batch", "diagonal", "isotropic"}},
      {.name = "noise-scale",
       .kind = Kind::real,
       .default_text = "1",
       .meaning = "standard deviation of isotropic noise of one sample",
       .range = at_least_zero},
      {.name = "noise-samples",
       .kind = Kind::integer,
       .default_text = "",
       .meaning = "sampled gradients that batch and diagonal noise are made from",
       .symbol = "M",
       .range = {.low = 2},
       .default_note = "the batch size, at least 2"},
      {.name = "modified-equation",
       .kind = Kind::integer,
       .default_text = "1",
       .meaning = "order of sde's model of the discrete steps; 2 corrects drift and covariance",
       .range = {.low = 1, .high = 2}},
      {.name = "svag",
       .kind = Kind::integer,
       .default_text = "1",
       .meaning = "sgd: steps of eta/l that interpolate between SGD (1) and its SDE (large)",
       .symbol = "l",
       .range = at_least_one},
      {.name = "runs",
       .kind = Kind::integer,
       .default_text = "1",
       .meaning = "number of runs of sde and sgd, each with noise of its own",
       .range = {.low = 1, .high = 4294967295.0}},
      {.name = "threads",
       .kind = Kind::integer,
       .default_text = "",
       .meaning = "worker threads; never changes the numbers",
       .range = thread_count,
       .default_note = "all cores"},
      {.name = "seed",
       .kind = Kind::integer,
       .default_text = "1",
       .meaning = "seed of noise and samples",
       .range = at_least_zero},
      {.name = "problem",
       .kind = Kind::path,
       .default_text = "",
       .meaning = "read the problem's matrices from this file",
       .default_note = "drawn"},
      {.name = "problem-seed",
       .kind = Kind::integer,
       .default_text = "1",
       .meaning = "seed of a drawn problem and of random starts",
       .range = at_least_zero},
      {.name = "init-from",
       .kind = Kind::path,
       .default_text = "",
       .meaning = "start from the last state in this file",
       .default_note = "the system's own start"},
      {.name = "output",
       .kind = Kind::path,
       .default_text = "",
       .meaning = "file to write",
       .default_note = "NAME-MODE.h5",
       .letter = 'o'},
      {.name = "force",
       .kind = Kind::flag,
       .default_text = "",
       .meaning = "replace the output file if it exists"},
      {.name = "checkpoint-every",
       .kind = Kind::real,
       .default_text = "30",
       .meaning = "seconds after which a record also writes restart data; never changes the "
                  "numbers",
       .range = at_least_zero},
      {.name = "config",
       .kind = Kind::path,
       .default_text = "",
       .meaning = "read options from this file, one 'key = value' a line; the command line "
                  "overrides it",
       .default_note = "none"},
      {.name = "dry-run",
       .kind = Kind::flag,
       .default_text = "",
       .meaning = "show resolved parameters, memory and file size, and run nothing"},
      {.name = "quiet",
       .kind = Kind::flag,
       .default_text = "",
       .meaning = "show warnings and errors only"},
      {.name = "progress",
       .kind = Kind::word,
       .default_text = "auto",
       .meaning = "progress on standard error: auto waits until the work proves long",
       .words = {"auto", "always", "never"}},
  };
  return table;
}

const ParameterTable& compare_options() {
  static const ParameterTable table = [] {
    // What the rungs themselves say.
    constexpr std::array<std::string_view, 6> of_rungs = {"mode", "method",    "modified-equation",
                                                          "svag", "stop-when", "steady-tolerance"};
    ParameterTable rows = {
        {.name = "rungs",
         .kind = Kind::text,
         .default_text = "flow,sde,sgd",
         .meaning = "what is compared, separated by commas: flow, sde, sde2 (second modified "
                    "equation), gd (gradient descent with Gaussian noise), sgd, svag:L, and for "
                    "joma-joint integrated (its flow in integrated coordinates)"},
        {.name = "learning-rates",
         .kind = Kind::reals,
         .default_text = "",
         .meaning = "compare at each of these learning rates, and fit the order at which every "
                    "rung's error against sgd vanishes",
         .range = above_zero,
         .default_note = "--learning-rate alone"},
        {.name = "check-noise",
         .kind = Kind::flag,
         .default_text = "",
         .meaning = "compare the noise model with the sampler along the flow: trace, largest "
                    "eigenvalues, fourth moment"},
        {.name = "delta",
         .kind = Kind::real,
         .default_text = "0.05",
         .meaning = "difference that counts as none, relative to an observable's range over the "
                    "flow",
         .range = above_zero},
        {.name = "level",
         .kind = Kind::real,
         .default_text = "0.95",
         .meaning = "level of intervals, bands and tests",
         .range = {.low = 0.5, .high = 1, .high_open = true}}};
    for (Parameter row : run_options()) {
      if (std::find(of_rungs.begin(), of_rungs.end(), row.name) != of_rungs.end()) continue;
      if (row.name == "runs") {
        row.default_text = "32";
        row.meaning = "number of runs of every rung that has noise";
      }
      if (row.name == "steps") row.meaning = "number of steps of sgd, instead of --t-end";
      if (row.name == "t-end")
        row.meaning = "flow time to reach; rounded to a whole number of steps of sgd";
      if (row.name == "dt") row.meaning = "step of the sde rungs";
      if (row.name == "dt") row.default_note = "a tenth of the learning rate";
      if (row.name == "output") row.default_note = "NAME-compare.h5";
      if (row.name == "problem") row.meaning = "read the problem's matrices from this file";
      rows.push_back(std::move(row));
    }
    return rows;
  }();
  return table;
}

bool describes_run(std::string_view option) {
  constexpr std::array<std::string_view, 6> others = {"output",  "force", "config",
                                                      "dry-run", "quiet", "progress"};
  return std::find(others.begin(), others.end(), option) == others.end();
}

}  // namespace popflow

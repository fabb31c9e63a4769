#include <algorithm>
#include <array>

#include "noise/noise_models.hpp"
#include "noise/samples.hpp"
#include "options/methods.hpp"
#include "options/run_config.hpp"
#include "options/training_options.hpp"
#include "text/text.hpp"
#include "training/update_rules.hpp"

namespace popflow {
namespace {

constexpr Range above_zero{.low = 0, .low_open = true};
constexpr Range at_least_zero{.low = 0};
constexpr Range at_least_one{.low = 1};
constexpr Range tolerance{.low = 0, .high = 1, .low_open = true, .high_open = true};
constexpr Range thread_count{.low = 1, .high = 1024};

const std::vector<std::string> kFlow = {"flow"};
const std::vector<std::string> kSde = {"sde"};
const std::vector<std::string> kSgd = {"sgd"};
const std::vector<std::string> kNoisy = {"sde", "sgd"};
const std::vector<std::string> kWithMethods = {"flow", "sde"};

std::vector<std::string> methods_with(StepRule steps) {
  return method_names([&](const Method& method) { return method.steps == steps; });
}

std::vector<std::string> all_methods() {
  return method_names([](const Method&) { return true; });
}

/// Words for modes in other programs of the field.
std::vector<OtherWord> other_modes() {
  const std::string descent =
      "gradient descent on the population loss is --mode flow --method euler --dt ETA";
  const std::string trained = "sampled training is --mode sgd, with the rule --optimizer";
  return {{"gd", descent},
          {"gradient_descent", descent},
          {"full-batch", descent},
          {"adam", trained},
          {"adamw", trained},
          {"momentum", trained},
          {"ode", "the population flow is --mode flow"},
          {"gradient_flow", "the population flow is --mode flow"},
          {"langevin", "the flow with minibatch-like noise is --mode sde"}};
}

/// Methods of other programs, each with the nearest method here.
std::vector<OtherWord> other_methods() {
  const std::string fifth = "an adaptive pair of order five is dopri5";
  const std::string high = "an adaptive pair of order eight is verner8";
  const std::string stiff = "the method for stiff flows is rosenbrock4";
  return {{"rk45", fifth},
          {"RK45", fifth},
          {"tsit5", fifth},
          {"ode45", fifth},
          {"dopri853", high},
          {"DOP853", high},
          {"dop853", high},
          {"dopri8", high},
          {"vern8", high},
          {"radau", stiff},
          {"Radau", stiff},
          {"bdf", stiff},
          {"BDF", stiff},
          {"lsoda", stiff},
          {"LSODA", stiff},
          {"ode15s", stiff},
          {"em", "the Euler-Maruyama method is euler_maruyama"}};
}

std::vector<std::string> names_of_noises() {
  std::vector<std::string> names;
  for (const NoiseKind& kind : noise_kinds()) names.emplace_back(kind.name);
  return names;
}

std::vector<std::string> meanings_of_noises() {
  std::vector<std::string> meanings;
  for (const NoiseKind& kind : noise_kinds()) meanings.emplace_back(kind.meaning);
  return meanings;
}

/// Changes that `compare` makes to an option of `run`.
struct InCompare {
  bool offered = true;            ///< false: the rungs determine it
  std::string default_text = {};  ///< replaces run's, if not empty
  std::string meaning = {};       ///< likewise
  std::string default_note = {};  ///< likewise
};

/// Option that every system shares.
struct Row {
  Parameter of_run;
  InCompare in_compare = {};
};

std::vector<Row> own_rows() {
  return {
      {{.name = "mode",
        .kind = Kind::word,
        .default_text = "flow",
        .meaning = "model of training: the population flow; the flow with Gaussian noise like that "
                   "of minibatches; sampled gradient steps",
        .words = {"flow", "sde", "sgd"},
        .other_words = other_modes()},
       {.offered = false}},
      {{.name = "t-end",
        .kind = Kind::real,
        .default_text = "",
        .meaning = "flow time to reach; 0 evaluates the start only; sgd and gradient_descent round "
                   "it to a whole number of steps",
        .symbol = "t",
        .range = at_least_zero,
        .default_note = "that of the system; earlier with noise or under a training rule"},
       {.meaning = "flow time to reach; rounded to a whole number of steps of sgd"}},
      {{.name = "steps",
        .kind = Kind::integer,
        .default_text = "",
        .meaning = "number of steps of sgd and gradient_descent, instead of --t-end (with --svag "
                   "l: steps of size eta/l)",
        .range = at_least_one,
        .default_note = "from --t-end"},
       {.meaning = "number of steps of sgd, instead of --t-end"}},
      {{.name = "method",
        .kind = Kind::word,
        .default_text = "",
        .meaning = "integrator; " + text::join(methods_with(StepRule::fixed), " and ") +
                   " take fixed steps and need --dt; for sde: " + text::one_of(methods_of("sde")) +
                   " (" + text::join(methods_with(StepRule::learning_rate), ", ") +
                   ": noisy steps of size --learning-rate)",
        .words = all_methods(),
        .default_note = default_method("flow") + "; sde: " + default_method("sde"),
        .modes = kWithMethods,
        .other_words = other_methods()},
       {.offered = false}},
      {{.name = "rtol",
        .kind = Kind::real,
        .default_text = "1e-8",
        .meaning = "relative tolerance of each step",
        .range = tolerance,
        .modes = kFlow,
        .methods = methods_with(StepRule::adaptive)}},
      {{.name = "atol",
        .kind = Kind::real,
        .default_text = "1e-10",
        .meaning = "absolute tolerance of each step, in units of a field's natural scale",
        .range = above_zero,
        .modes = kFlow,
        .methods = methods_with(StepRule::adaptive)}},
      {{.name = "error-norm",
        .kind = Kind::word,
        .default_text = "largest",
        .meaning = "norm of a step's errors, each in units of its tolerance: largest, so that "
                   "every entry keeps its tolerance; or rms (root mean square, as in SciPy, Julia "
                   "and diffrax), where a few entries may exceed theirs",
        .words = {"largest", "rms"},
        .modes = kFlow,
        .methods = methods_with(StepRule::adaptive)}},
      {{.name = "dt",
        .kind = Kind::real,
        .default_text = "",
        .meaning = "step of rk4, euler and sde methods; first step of adaptive methods",
        .range = above_zero,
        .default_note = "chosen by adaptive methods; sde: a tenth of the learning rate",
        .modes = kWithMethods},
       {.meaning = "step of the sde rungs", .default_note = "a tenth of the learning rate"}},
      {{.name = "max-step",
        .kind = Kind::real,
        .default_text = "",
        .meaning = "longest step of adaptive methods, which may miss whatever lasts a shorter time",
        .range = above_zero,
        .default_note = "no limit, or the system's own",
        .modes = kFlow,
        .methods = methods_with(StepRule::adaptive)}},
      {{.name = "kernel",
        .kind = Kind::word,
        .default_text = "auto",
        .meaning = "lanes: several trajectories side by side in SIMD registers, for small states "
                   "that support it; scalar: one by one; auto: lanes if possible, but a single "
                   "flow by Odeint's steppers; noisy runs have the same bits either way",
        .words = {"auto", "scalar", "lanes"},
        .modes = kWithMethods}},
      {{.name = "max-steps",
        .kind = Kind::integer,
        .default_text = "1e8",
        .meaning = "maximum number of steps; a run that reaches it ends unfinished (sde and sgd: "
                   "no limit unless given)",
        .range = at_least_one}},
      {{.name = "saves",
        .kind = Kind::integer,
        .default_text = "201",
        .meaning = "number of records, start and end included; 1 records the end only",
        .range = at_least_one}},
      {{.name = "save-spacing",
        .kind = Kind::word,
        .default_text = "auto",
        .meaning = "spacing of the records; linear: equally spaced in t; log: 0, then equally "
                   "spaced in log t; auto: log if the run's first stage takes less than a "
                   "thirtieth of the run (by its system's estimate), otherwise linear",
        .words = {"auto", "linear", "log"}},
       {.meaning = "spacing of the records; log: 0, then equally spaced in log t; auto: linear"}},
      {{.name = "save-first",
        .kind = Kind::real,
        .default_text = "",
        .meaning = "first time after 0 with log spacing",
        .range = above_zero,
        .default_note = "1e-6 of the end; if auto chooses log, 0.01 of the first stage",
        .where = {{"save-spacing", {"log"}}}}},
      {{.name = "save-at",
        .kind = Kind::reals,
        .default_text = "",
        .meaning = "increasing times of the records, instead of --saves; the end is recorded too",
        .range = at_least_zero}},
      {{.name = "state",
        .kind = Kind::word,
        .default_text = "",
        .meaning = "records that have the full state; all records have the observables",
        .words = {"all", "ends", "none"},
        .default_note = "all, or ends if all would exceed 1 GiB"}},
      {{.name = "state-of-optimizer",
        .kind = Kind::flag,
        .default_text = "",
        .meaning = "record the moments of the optimizer beside the state, as m_FIELD and u_FIELD",
        .where = {{"optimizer", rules_with_memory()}}},
       {.offered = false}},
      {{.name = "record-observables",
        .kind = Kind::text,
        .default_text = "all",
        .meaning = "observables to keep in the file, separated by commas"}},
      {{.name = "sharpness",
        .kind = Kind::flag,
        .default_text = "",
        .meaning =
            "record the largest eigenvalue of the loss's Hessian as the observable sharpness, and "
            "sharpness_threshold, above which steps of the training rule are unstable"}},
      {{.name = "stop-when",
        .kind = Kind::text,
        .default_text = "",
        .meaning =
            "end early. A condition on an observable, such as \"loss < 0.1\" (<, <=, > or >= and a "
            "number), ends a flow at the time at which it begins to hold. A noisy run ends after "
            "the first step that fulfils the condition. Flows also have steady: the norm of the "
            "right-hand "
            "side has stayed below --steady-tolerance while t grew by half of itself and by at "
            "least 10; stuck: at the pace of the last 100000 steps, the end would take more than "
            "1e8 steps (or --max-steps, if larger); and either",
        .words = {"steady", "stuck", "either"},
        .default_note = "off",
        .modes = kFlow},
       {.meaning = "end every run early by a condition on an observable, such as \"loss < 0.1\" "
                   "(<, <=, > or >= and a number): a flow at the time at which it begins to hold, "
                   "a noisy run after the first step that fulfils it"}},
      {{.name = "steady-tolerance",
        .kind = Kind::real,
        .default_text = "1e-9",
        .meaning = "norm of the right-hand side below which the state counts as steady",
        .range = above_zero,
        .modes = kFlow,
        .where = {{"stop-when", {"steady", "either"}}}},
       {.offered = false}},
      {{.name = "learning-rate",
        .kind = Kind::real,
        .default_text = "0.01",
        .meaning = "learning rate: the step of sgd and gradient_descent; with the batch size it "
                   "sets the scale of the noise",
        .symbol = "eta",
        .range = above_zero,
        .modes = kNoisy,
        .every_mode_if = {{"optimizer", rules_with_memory()}, {.option = "average"}}}},
      {{.name = "batch-size",
        .kind = Kind::integer,
        .default_text = "128",
        .meaning = "samples per minibatch; sde divides the variance of the noise by it",
        .symbol = "B",
        .range = at_least_one,
        .modes = kNoisy,
        .every_mode_if = {{"batch-noise-in-variance", {"true"}}}}},
      {{.name = "noise",
        .kind = Kind::word,
        .default_text = std::string(noise_kinds().front().name),
        .meaning = "covariance of the noise of sde: " + text::join(meanings_of_noises(), "; "),
        .words = names_of_noises(),
        .modes = kSde}},
      {{.name = "noise-scale",
        .kind = Kind::real,
        .default_text = "1",
        .meaning = "standard deviation of isotropic noise, for one sample",
        .range = at_least_zero,
        .modes = kSde,
        .where = {{"noise", noises_of_gradients(false)}}}},
      {{.name = "noise-samples",
        .kind = Kind::integer,
        .default_text = "",
        .meaning = "number of sampled gradients that make up batch and diagonal noise",
        .symbol = "M",
        .range = {.low = 2},
        .default_note = "the batch size, at least 2",
        .modes = kSde,
        .where = {{"noise", noises_of_gradients(true)}}}},
      {{.name = "modified-equation",
        .kind = Kind::integer,
        .default_text = "1",
        .meaning = "order at which sde models the discrete steps; 2 corrects drift and covariance",
        .range = {.low = 1, .high = 2},
        .modes = kSde},
       {.offered = false}},
      {{.name = "svag",
        .kind = Kind::integer,
        .default_text = "1",
        .meaning = "sgd: steps of eta/l that interpolate between SGD (1) and its SDE (large)",
        .symbol = "l",
        .range = {.low = 1, .high = kMostSvag},
        .modes = kSgd},
       {.offered = false}},
      {{.name = "runs",
        .kind = Kind::integer,
        .default_text = "1",
        .meaning = "number of runs of sde and sgd, each with its own noise",
        .range = {.low = 1, .high = 4294967295.0},
        .modes = kNoisy},
       {.default_text = "32", .meaning = "number of runs of each rung that has noise"}},
      {{.name = "first-run",
        .kind = Kind::integer,
        .default_text = "0",
        .meaning = "number of the first run: computes a part of a larger ensemble, which 'merge' "
                   "joins to the others; each run is bit-identical to that of the whole ensemble",
        .range = {.low = 0, .high = 4294967294.0},
        .modes = kNoisy},
       {.offered = false}},
      {{.name = "threads",
        .kind = Kind::integer,
        .default_text = "",
        .meaning = "worker threads; the numbers do not depend on them",
        .range = thread_count,
        .default_note = "the cores this process may use (affinity and control group)"}},
      {{.name = "seed",
        .kind = Kind::integer,
        .default_text = "1",
        .meaning = "seed of noise and samples",
        .range = at_least_zero,
        .modes = kNoisy}},
      {{.name = "problem",
        .kind = Kind::path,
        .default_text = "",
        .meaning = "read the problem's matrices from this file",
        .default_note = "drawn"}},
      {{.name = "problem-seed",
        .kind = Kind::integer,
        .default_text = "1",
        .meaning = "seed of a drawn problem and of random starts",
        .range = at_least_zero}},
      {{.name = "init-from",
        .kind = Kind::path,
        .default_text = "",
        .meaning = "start from the last state in this file",
        .default_note = "the system's own start"}},
      {{.name = "figure",
        .kind = Kind::text,
        .default_text = "",
        .meaning =
            "panels of the figure that 'plot' makes of the file, separated by semicolons: names of "
            "observables, fields or passages, or \"Y over X\"; for sweeps, names only",
        .default_note = "the system's own"},
       {.meaning =
            "observables of the figure that 'plot' makes of the file; it shows the first two"}},
      {{.name = "output",
        .kind = Kind::path,
        .default_text = "",
        .meaning = "file to write",
        .default_note = "NAME-MODE.h5",
        .letter = 'o'},
       {.default_note = "NAME-compare.h5"}},
      {{.name = "force",
        .kind = Kind::flag,
        .default_text = "",
        .meaning = "replace the output file if it exists"}},
      {{.name = "checkpoint-every",
        .kind = Kind::real,
        .default_text = "30",
        .meaning = "seconds after which a record also writes a checkpoint; never changes the "
                   "numbers",
        .range = at_least_zero}},
      {{.name = "config",
        .kind = Kind::path,
        .default_text = "",
        .meaning = "read options from this file, or from the experiment of this name: one 'key = "
                   "value' per line, with 'system = NAME' for NAME; the command line overrides it",
        .default_note = "none"}},
      {{.name = "dry-run",
        .kind = Kind::flag,
        .default_text = "",
        .meaning = "run nothing; show resolved parameters, memory and file size"}},
      {{.name = "plot",
        .kind = Kind::flag,
        .default_text = "",
        .meaning = "draw the result in the terminal at the end, as 'plot' does"}},
      {{.name = "quiet",
        .kind = Kind::flag,
        .default_text = "",
        .meaning = "show warnings and errors only"}},
      {{.name = "progress",
        .kind = Kind::word,
        .default_text = "auto",
        .meaning = "progress on standard error; auto: for long work only; json: one JSON object "
                   "per line, also for notes and warnings, for other programs",
        .words = {"auto", "always", "never", "json"}}},
  };
}

/// Rows of `run`; the options of training stand before those of ensembles.
const std::vector<Row>& rows() {
  static const std::vector<Row> table = [] {
    std::vector<Row> all = own_rows();
    const auto ensembles =
        std::ranges::find_if(all, [](const Row& row) { return row.of_run.name == "runs"; });
    std::vector<Row> training;
    for (const Parameter& option : training_options()) training.push_back({option});
    all.insert(ensembles, training.begin(), training.end());
    return all;
  }();
  return table;
}

}  // namespace

Parameter json_option(const std::string& meaning) {
  return {.name = "json", .kind = Kind::flag, .default_text = "", .meaning = meaning};
}

const ParameterTable& run_options() {
  static const ParameterTable table = [] {
    ParameterTable options;
    for (const Row& row : rows()) {
      options.push_back(row.of_run);
      if (row.of_run.name == "dry-run")
        options.push_back(
            json_option("with --dry-run: print its output as JSON, for other programs"));
    }
    return options;
  }();
  return table;
}

const ParameterTable& compare_options() {
  static const ParameterTable table = [] {
    ParameterTable options = {
        {.name = "rungs",
         .kind = Kind::text,
         .default_text = "flow,sde,sgd",
         .meaning =
             "rungs to compare, separated by commas: flow, sde, sde2 (second modified equation), "
             "gd (gradient descent with Gaussian noise), sgd, svag:L, and the system's own rungs"},
        {.name = "from",
         .kind = Kind::text,
         .default_text = "",
         .meaning =
             "compare finished files instead of running: RUNG=FILE, separated by commas, all of "
             "one problem, one start and the same times (NAME may be left out). A netCDF-4 or HDF5 "
             "file of another program's training may be given under a new name: mine=FILE. The "
             "file holds 'time' and observables along (run, time). With NAME and only such files, "
             "--rungs are computed at the times of the files",
         .default_note = "none"},
        {.name = "learning-rates",
         .kind = Kind::reals,
         .default_text = "",
         .meaning = "compare at each of these learning rates, and fit the order at which each "
                    "rung's error against sgd converges",
         .range = above_zero,
         .default_note = "only --learning-rate"},
        {.name = "fixed-betas",
         .kind = Kind::flag,
         .default_text = "",
         .meaning = "keep --beta1 and --beta2 at all --learning-rates. By default they hold at the "
                    "first rate and become beta^(eta/first) at the others. This keeps the moments' "
                    "time scales in flow time, without which errors have no order"},
        {.name = "check-noise",
         .kind = Kind::flag,
         .default_text = "",
         .meaning = "compare the noise model with the sampler along the flow: trace, largest "
                    "eigenvalues, fourth moment"},
        {.name = "delta",
         .kind = Kind::real,
         .default_text = "0.05",
         .meaning = "equivalence margin, relative to an observable's range over the flow (without "
                    "a flow: to the mean of the first rung)",
         .range = above_zero},
        {.name = "delta-time",
         .kind = Kind::real,
         .default_text = "0.05",
         .meaning =
             "equivalence margin of the median time of an event, relative to the flow's time",
         .range = above_zero},
        {.name = "delta-share",
         .kind = Kind::real,
         .default_text = "0.1",
         .meaning = "equivalence margin of the share of runs that have an event by the end",
         .range = {.low = 0, .high = 1, .low_open = true, .high_open = true}},
        {.name = "delta-factor",
         .kind = Kind::real,
         .default_text = "1.5",
         .meaning = "equivalence margin of the ratio of geometric means of positive observables",
         .range = {.low = 1, .low_open = true}},
        {.name = "level",
         .kind = Kind::real,
         .default_text = "0.95",
         .meaning = "level of intervals, bands and tests (p-values are multiples of 0.001)",
         // At a higher level no permutation test (statistics/resampling.hpp) could reject anything.
         .range = {.low = 0.5, .high = 0.999}}};
    for (const auto& [of_run, here] : rows()) {
      if (!here.offered) continue;
      Parameter option = of_run;
      if (!here.default_text.empty()) option.default_text = here.default_text;
      if (!here.meaning.empty()) option.meaning = here.meaning;
      if (!here.default_note.empty()) option.default_note = here.default_note;
      if (option.name == "t-end") option.range = above_zero;  // a comparison needs a trajectory
      if (option.name == "learning-rate")
        option.where = {{.option = "learning-rates", .absent = true}};
      options.push_back(std::move(option));
    }
    return options;
  }();
  return table;
}

const ParameterTable& verify_options() {
  static const ParameterTable table = [] {
    ParameterTable options = {{.name = "thorough",
                               .kind = Kind::flag,
                               .default_text = "",
                               .meaning = "check thoroughly: more states, more samples, all "
                                          "methods, and the order of gradient descent"},
                              {.name = "within",
                               .kind = Kind::real,
                               .default_text = "",
                               .meaning = "seconds that the checks may take: if all would take "
                                          "longer, only brief ones are made",
                               .range = above_zero,
                               .default_note = "no limit"},
                              json_option("print the checks as JSON, for other programs")};
    constexpr std::array<std::string_view, 11> of_run = {
        "t-end",        "method",    "dt",     "threads", "seed",    "problem",
        "problem-seed", "init-from", "config", "quiet",   "progress"};
    for (const Row& row : rows()) {
      if (std::find(of_run.begin(), of_run.end(), row.of_run.name) == of_run.end()) continue;
      Parameter option = row.of_run;
      option.modes.clear();
      if (option.name == "t-end") {
        option.range = above_zero;
        option.meaning = "follow the flow up to this time, or until a limit on steps is reached";
      }
      if (option.name == "method") {
        option.meaning = "integrator of the flow";
        option.default_note = default_method("flow");
        option.words = methods_of("flow");
      }
      if (option.name == "dt") {
        option.meaning = "step of methods with fixed steps";
        option.default_note = "chosen";
      }
      if (option.name == "seed") option.meaning = "seed of samples and random directions";
      options.push_back(std::move(option));
    }
    return options;
  }();
  return table;
}

const ParameterTable& sweep_options() {
  static const ParameterTable table = [] {
    ParameterTable options = {
        {.name = "over",
         .kind = Kind::text,
         .default_text = "",
         .meaning =
             "an axis, [LABEL:]PARAMETER=VALUES; may be given several times. VALUES: a,b,c; LO..HI "
             "(whole numbers); LO:HI:N or LO:HI:N:log (N equally spaced numbers); LO:HI or "
             "LO:HI:log (sampled at --samples points). Parameters with one LABEL change together",
         .default_note = "none: one cell",
         .repeats = true},
        {.name = "samples",
         .kind = Kind::integer,
         .default_text = "",
         .meaning = "number of points of sampled axes, from a Sobol sequence",
         .range = {.low = 1, .high = 1e8},
         .default_note = "required if an axis is sampled"},
        {.name = "sample-seed",
         .kind = Kind::integer,
         .default_text = "1",
         .meaning = "seed of the sampled points",
         .range = at_least_zero,
         .where = {{.option = "samples"}}},
        {.name = "record",
         .kind = Kind::word,
         .default_text = "end",
         .meaning =
             "data that the file keeps of each run: its end (then the run has a single save, the "
             "end), or also its observables at all save times",
         .words = {"end", "series"}},
        {.name = "reduce",
         .kind = Kind::word,
         .default_text = "",
         .meaning = "runs: keep means, spreads, fractions and medians over a cell's runs, instead "
                    "of each run",
         .words = {"runs"},
         .default_note = "every run is kept",
         .modes = kNoisy},
        {.name = "same-seed",
         .kind = Kind::flag,
         .default_text = "",
         .meaning = "give all cells the same seed, --seed, and so the same random numbers",
         .modes = kNoisy},
        {.name = "keep-going",
         .kind = Kind::flag,
         .default_text = "",
         .meaning =
             "mark cells that the system refuses or in which it fails, and go on with the others"},
        {.name = "shard",
         .kind = Kind::text,
         .default_text = "",
         .meaning = "I/N: compute the I-th of N equal parts of the cells, into a file of its own; "
                    "'merge' joins the files",
         .default_note = "all cells"}};
    for (const Row& row : rows()) {
      Parameter option = row.of_run;
      if (option.name == "first-run") continue;  // --shard divides the work
      if (option.name == "state-of-optimizer") continue;
      if (option.name == "saves") option.meaning += "; with --record series";
      if (option.name == "runs") option.meaning = "number of runs of each cell in sde and sgd";
      if (option.name == "seed")
        option.meaning = "seed; each cell's seed is made from it and the cell's values";
      if (option.name == "output") option.default_note = "NAME-sweep.h5";
      if (option.name == "figure")
        option.meaning =
            "observables, passages and events, separated by blanks, that 'plot' shows of each "
            "cell; or the word 'outcome'";
      if (option.name == "state") {
        option.meaning = "whether the last state of each run is kept";
        option.words = {"ends", "none"};
        option.default_note = "ends, if it is small and has the same size in all cells";
      }
      if (option.name == "checkpoint-every")
        option.meaning = "seconds after which the results so far are synchronised to the disk";
      if (option.name == "dry-run")
        option.meaning = "run nothing; show cells, memory, file size and an estimate of the time";
      options.push_back(std::move(option));
    }
    return options;
  }();
  return table;
}

bool can_be_swept(std::string_view option) {
  constexpr std::array<std::string_view, 14> others = {"mode",
                                                       "saves",
                                                       "save-spacing",
                                                       "save-first",
                                                       "save-at",
                                                       "state",
                                                       "runs",
                                                       "first-run",
                                                       "threads",
                                                       "shard",
                                                       "figure",
                                                       "checkpoint-every",
                                                       "record-observables",
                                                       "sharpness"};
  return describes_run(option) && std::find(others.begin(), others.end(), option) == others.end();
}

bool describes_run(std::string_view option) {
  constexpr std::array<std::string_view, 8> others = {"output", "force", "config", "dry-run",
                                                      "json",   "plot",  "quiet",  "progress"};
  return std::find(others.begin(), others.end(), option) == others.end();
}

bool decides_numbers(std::string_view option) {
  constexpr std::array<std::string_view, 5> others = {"threads", "checkpoint-every", "shard",
                                                      "keep-going", "figure"};
  return describes_run(option) && std::find(others.begin(), others.end(), option) == others.end();
}

CommandOption option_of_commands(const std::string& name) {
  const std::pair<const char*, const ParameterTable*> commands[] = {{"run", &run_options()},
                                                                    {"sweep", &sweep_options()},
                                                                    {"compare", &compare_options()},
                                                                    {"verify", &verify_options()}};
  for (const auto& [command, table] : commands)
    for (const Parameter& row : *table)
      if (row.name == name) return {command, &row};
  return {};
}

}  // namespace popflow

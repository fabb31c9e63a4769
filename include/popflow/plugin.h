#ifndef POPFLOW_PLUGIN_H
#define POPFLOW_PLUGIN_H

/* Interface of plug-ins: systems in shared libraries, written in any language that has C functions.
 *
 * A plug-in exports popflow_plugin(), which returns a table. The table holds a description in JSON
 * (docs/models.md lists its keys) and functions. A null pointer stands for a function that the
 * system lacks; create, destroy, start and rate are required.
 *
 * A state is an array of doubles: the fields of the description, one after the other, row-major.
 * Functions return 0 if they succeed and any other number if they fail. No exception and no
 * longjmp may leave a function: the program has a C++ runtime of its own, which aborts when that of
 * a plug-in unwinds it. Functions in C++ are therefore noexcept; popflow/plugin.hpp makes them of
 * functions that throw. Functions are called from several threads at once, so they must not change
 * the problem.
 *
 * Plug-ins must be compiled without -ffast-math, which changes the arithmetic of the whole program;
 * with -ffp-contract=off they give the same bits on every machine. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define POPFLOW_NOEXCEPT noexcept
extern "C" {
#else
#define POPFLOW_NOEXCEPT
#endif

/* Version of this interface. Tables of version 1, which end before "finals", and of version 2, which
 * end before "use_threads", are served, too; tables of other versions are refused. */
#define POPFLOW_PLUGIN_ABI 3

/* Number of trajectories side by side in the functions of lanes. */
#define POPFLOW_PLUGIN_LANES 16

/* Random numbers of one sample. They depend on the seed, the run and the sample only. */
typedef struct popflow_random {
  void* stream;
  uint64_t (*word)(void* stream) POPFLOW_NOEXCEPT;  /* 64 random bits */
  double (*uniform)(void* stream) POPFLOW_NOEXCEPT; /* uniform on the open interval (0, 1) */
  double (*normal)(void* stream) POPFLOW_NOEXCEPT;  /* standard normal */
} popflow_random;

/* Step of training to which samples belong. The step number is 0, the rate 0 and the batch size 1
 * for samples outside of a training. */
typedef struct popflow_training_step {
  uint64_t step;  /* steps taken before */
  uint64_t first; /* samples drawn before, over the whole run */
  uint64_t batch_size;
  double learning_rate; /* base rate, without its schedule */
} popflow_training_step;

/* The problem to make. */
typedef struct popflow_request {
  /* Values of the parameters, in the description's order: numbers as they are, a flag as 0 or 1, a
   * word as its place in the list of words. */
  const double* parameters;
  /* Arrays of the problem, in the description's order, row-major: those of a problem file. A null
   * pointer stands for the plug-in's own array. */
  const double* const* arrays;
} popflow_request;

/* Sizes of the arrays of lanes, in rows. */
typedef struct popflow_lane_sizes {
  size_t parameters;
  size_t entries;
} popflow_lane_sizes;

/* Threads of the program. */
typedef struct popflow_threads {
  void* pool;
  /* Calls task(context, i) for each i below `count`, in any order on any thread, and returns when
   * all are done. Does so on the calling thread alone if `work`, the numbers that all tasks touch,
   * is small, or if the threads are busy. The number of threads differs from run to run: results
   * must not depend on it. */
  void (*run)(void* pool, size_t count, size_t work,
              void (*task)(void* context, size_t i) POPFLOW_NOEXCEPT,
              void* context) POPFLOW_NOEXCEPT;
} popflow_threads;

/* Formula for 16 trajectories side by side. Arrays consist of rows of double[16], aligned to 64
 * bytes: a row for each parameter of lanes, entry of the state or result. Number l of every row
 * belongs to trajectory l. The result of a lane must not depend on the other lanes. */
typedef void (*popflow_lane_formula)(const popflow_lane_sizes* sizes, const double* parameters,
                                     const double* x, double* out);
/* Writes dx/dt, and the lower triangle of the covariance of a sample, row by row. */
typedef void (*popflow_lane_covariance)(const double* parameters, const double* x, double* dxdt,
                                        double* covariance);

typedef struct popflow_table {
  uint32_t abi;            /* POPFLOW_PLUGIN_ABI */
  uint32_t bytes;          /* sizeof(popflow_table) */
  const char* description; /* JSON, in UTF-8 */

  /* Makes a problem; returns NULL if it refuses the parameters, and writes a sentence for the user
   * to `message`, which has room for `room` bytes. */
  void* (*create)(const popflow_request* request, char* message, size_t room) POPFLOW_NOEXCEPT;
  void (*destroy)(void* problem) POPFLOW_NOEXCEPT;
  /* Writes the start. */
  int (*start)(const void* problem, double* x) POPFLOW_NOEXCEPT;
  /* Writes dx/dt. */
  int (*rate)(const void* problem, const double* x, double t, double* dxdt) POPFLOW_NOEXCEPT;

  /* The loss: dx/dt = -grad loss, or -M grad loss with `precondition`. */
  int (*loss)(const void* problem, const double* x, double t, double* value) POPFLOW_NOEXCEPT;
  /* Applies M(x) to v in place. */
  int (*precondition)(const void* problem, const double* x, double* v) POPFLOW_NOEXCEPT;
  /* Writes the values of observables, then of invariants. */
  int (*observe)(const void* problem, const double* x, double t, double* values) POPFLOW_NOEXCEPT;
  /* Writes functions whose first upward zero crossings are the events. */
  int (*events)(const void* problem, const double* x, double t, double* values) POPFLOW_NOEXCEPT;
  /* Writes the functions of passage number `which`, one for each item. */
  int (*passages)(const void* problem, size_t which, const double* x, double t, double* values)
      POPFLOW_NOEXCEPT;
  /* Writes derived field number `which`. */
  int (*derived)(const void* problem, size_t which, const double* x, double t, double* values)
      POPFLOW_NOEXCEPT;
  /* Writes the values of all constants. */
  int (*constants)(const void* problem, double* values) POPFLOW_NOEXCEPT;
  /* Writes array number `which` of the problem. */
  int (*array)(const void* problem, size_t which, double* values) POPFLOW_NOEXCEPT;
  /* Writes d(dx_i/dt)/dx_j, row-major; for rates that do not depend on t. */
  int (*jacobian)(const void* problem, const double* x, double* j) POPFLOW_NOEXCEPT;
  /* Writes the exact state at time t of a run from the start. */
  int (*solution)(const void* problem, double t, double* x) POPFLOW_NOEXCEPT;
  /* Adds sum_i weights[i] v_i to `out`, where v_i is minus the gradient of the loss of sample i.
   * The mean of v_i must be the rate. Sample i is drawn from random[i]. `out` does not overlap x.
   */
  int (*add_samples)(const void* problem, const double* x, double t, size_t count,
                     const popflow_random* random, const double* weights, double* out)
      POPFLOW_NOEXCEPT;
  /* Writes the covariance of v_i, row-major. */
  int (*covariance)(const void* problem, const double* x, double* c) POPFLOW_NOEXCEPT;

  /* Lanes: the parameters that formulas know of a problem, as many as the description's
   * "lane_parameters", and the formulas. They must agree with the functions above to rounding, and
   * must not depend on t. */
  int (*lane_parameters)(const void* problem, double* values) POPFLOW_NOEXCEPT;
  popflow_lane_formula lane_rate;
  popflow_lane_formula lane_events;
  popflow_lane_formula lane_passages;
  popflow_lane_covariance lane_rate_and_covariance;

  /* Since version 2. */

  /* Writes final values: scalars of a run's last state. */
  int (*finals)(const void* problem, const double* x, double t, double* values) POPFLOW_NOEXCEPT;
  /* Writes the place of the outcome in the description's list; its length: undecided. */
  int (*outcome)(const void* problem, const double* x, double t, size_t* which) POPFLOW_NOEXCEPT;
  /* Projects noise at x onto the directions in which it may act, in place. */
  int (*project_noise)(const void* problem, const double* x, double* v) POPFLOW_NOEXCEPT;
  /* Like add_samples, for samples that depend on the step of training. Used in its place. */
  int (*add_training_samples)(const void* problem, const double* x, double t,
                              const popflow_training_step* step, size_t count,
                              const popflow_random* random, const double* weights, double* out)
      POPFLOW_NOEXCEPT;
  /* Adds sum_i weights[i] v_i to `out` for the samples which[i] of a finite set, whose size is the
   * description's "samples". Needed for "sampling": "epochs", where training visits every sample
   * once in each pass. */
  int (*add_chosen)(const void* problem, const double* x, double t,
                    const popflow_training_step* step, size_t count, const size_t* which,
                    const double* weights, double* out) POPFLOW_NOEXCEPT;
  /* Table of the system that noise and sampled training move, if its state is another; the
   * description's "training" describes that state. A null pointer stands for this table. */
  const struct popflow_table* training;

  /* Since version 3. */

  /* Lends the problem threads, which live as long as the problem is used. Called at most once, after
   * `create` and before any call from several threads. `threads` is valid during the call only. */
  void (*use_threads)(void* problem, const popflow_threads* threads) POPFLOW_NOEXCEPT;
} popflow_table;

/* Entry point of a plug-in. */
const popflow_table* popflow_plugin(void);

#ifdef __cplusplus
}
#endif

#endif

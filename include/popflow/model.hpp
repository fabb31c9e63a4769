#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

#include "popflow/dense.hpp"
#include "popflow/hermite.hpp"
#include "popflow/matrices.hpp"
#include "popflow/pack.hpp"
#include "popflow/plugin.h"
#include "popflow/stored_samples.hpp"
#ifdef POPFLOW_OWN_RUNTIME
#include "popflow/own_runtime.hpp"
#endif

/// Makes a plug-in of formulas that are generic in their number type. The Python package writes
/// such formulas from a loss and a distribution of the data; they may also be written by hand.
///
/// `Formulas` is a struct that derives from Defaults, with static members:
///
///     static const char* const description;                  // JSON, see docs/models.md
///     static constexpr std::size_t parameters, entries;      // of the state
///     static constexpr std::size_t inputs;                   // numbers of a sample
///     static constexpr std::size_t nodes;         // samples of the population's sum; 0: no sum
///     static constexpr std::size_t observed, events, constants, derived;  // numbers of values
///     static constexpr bool has_loss, is_sampled, has_covariance, has_jacobian;
///     static constexpr bool has_lanes, in_packs;
///     static const double node[nodes * inputs];              // the samples, row-major
///     static constexpr std::size_t arrays, array_begin[], array_width[];  // columns of the nodes
///     static constexpr std::size_t derived_begin[];          // begin of each derived field
///
/// and functions, templates over the number N, of the parameters p, the state x, a sample s, and
/// l = {loss at x, loss at the start, means}:
///
///     start(p, x);
///     weights(p, q);          // of the nodes, to be normalised
///     sample(p, x, s, out);   // minus the gradient of the sample's loss, then the loss
///     population(p, x, out);  // if nodes is 0: minus the gradient of the population loss, then
///                             // the loss; without a loss: dx/dt
///     observe(p, x, l, out);
///     event(p, x, l, out);
///     constant(p, l, out);
///     derive(p, x, l, out);
///     draw(p, random, s);     // draws a sample, if the nodes are not the population
///     jacobian(p, x, s, out); // derivative of sample() or population() by the state, row-major
namespace popflow::model {

/// Applies a function of doubles to each lane.
template <class N, class Compute>
POPFLOW_MATH_INLINE N each_lane(const N& a, Compute compute) {
  if constexpr (std::is_same_v<N, double>) {
    return compute(a);
  } else {
    alignas(64) double lane[kLanes];
    std::memcpy(lane, &a, sizeof(lane));
    for (double& one : lane) one = compute(one);
    N result;
    std::memcpy(&result, lane, sizeof(lane));
    return result;
  }
}
template <class N, class Compute>
POPFLOW_MATH_INLINE N each_lane(const N& a, const N& b, Compute compute) {
  if constexpr (std::is_same_v<N, double>) {
    return compute(a, b);
  } else {
    alignas(64) double first[kLanes];
    alignas(64) double second[kLanes];
    std::memcpy(first, &a, sizeof(first));
    std::memcpy(second, &b, sizeof(second));
    for (std::size_t l = 0; l < kLanes; ++l) first[l] = compute(first[l], second[l]);
    N result;
    std::memcpy(&result, first, sizeof(first));
    return result;
  }
}

// Functions of generated formulas that math.hpp does not have for every number.
template <class N>
POPFLOW_MATH_INLINE N power(const N& x, const N& y) {
  return each_lane(x, y, [](double a, double b) { return math::pow(a, b); });
}
template <class N>
POPFLOW_MATH_INLINE N hypotenuse(const N& x, const N& y) {
  return each_lane(x, y, [](double a, double b) { return math::hypot(a, b); });
}
template <class N>
POPFLOW_MATH_INLINE N rest(const N& x, const N& y) {
  return each_lane(x, y, [](double a, double b) { return std::fmod(a, b); });
}
// Larger and smaller of two numbers; NaN if one of them is NaN, as in NumPy.
template <class N>
POPFLOW_MATH_INLINE N largest(const N& x, const N& y) {
  return math::select(x < y || y != y, y, x);
}
template <class N>
POPFLOW_MATH_INLINE N least(const N& x, const N& y) {
  return math::select(y < x || y != y, y, x);
}
inline double cosine_of(double x) { return std::cos(x); }
inline double sine_of(double x) { return std::sin(x); }
template <class N>
POPFLOW_MATH_INLINE N cosine(const N& x) {
  return each_lane(x, cosine_of);
}
template <class N>
POPFLOW_MATH_INLINE N sine(const N& x) {
  return each_lane(x, sine_of);
}
#define POPFLOW_MODEL_FUNCTION(name, call)                        \
  template <class N>                                              \
  POPFLOW_MATH_INLINE N name(const N& x) {                        \
    return each_lane(x, [](double a) -> double { return call; }); \
  }
POPFLOW_MODEL_FUNCTION(arc_sine, std::asin(a))
POPFLOW_MODEL_FUNCTION(arc_cosine, std::acos(a))
POPFLOW_MODEL_FUNCTION(arc_tangent, std::atan(a))
POPFLOW_MODEL_FUNCTION(hyperbolic_sine, math::sinh(a))
POPFLOW_MODEL_FUNCTION(hyperbolic_cosine, math::cosh(a))
POPFLOW_MODEL_FUNCTION(area_hyperbolic_sine, math::asinh(a))
POPFLOW_MODEL_FUNCTION(round_down, std::floor(a))
POPFLOW_MODEL_FUNCTION(round_up, std::ceil(a))
#undef POPFLOW_MODEL_FUNCTION
template <class N>
POPFLOW_MATH_INLINE N sign(const N& x) {
  return math::select(x < N(0.0), N(-1.0), math::select(N(0.0) < x, N(1.0), x));
}
/// 1 where a condition holds, else 0.
template <class N, class Condition>
POPFLOW_MATH_INLINE N truth(const Condition& condition) {
  return math::select(condition, N(1.0), N(0.0));
}

// Runs a part of a formula, compiled once for each number type and its instruction set: gcc takes
// far longer for one long function than for several short ones.
template <class Part, class... Rest>
[[gnu::noinline, gnu::flatten]] void isolated(const double* p, Rest... rest) {
  Part::compute(p, rest...);
}
template <class Part, class... Rest>
[[gnu::noinline, gnu::flatten]] POPFLOW_AVX2 void isolated(const BasicPack<4>* p, Rest... rest) {
  Part::compute(p, rest...);
}
template <class Part, class... Rest>
[[gnu::noinline, gnu::flatten]] POPFLOW_AVX512 void isolated(const BasicPack<8>* p, Rest... rest) {
  Part::compute(p, rest...);
}

/// Members of Formulas that most models lack.
struct Defaults {
  static constexpr std::size_t passing = 0;            ///< number of values of all passages
  static constexpr std::size_t passage_begin[] = {0};  ///< begin of each passage's values
  static constexpr std::size_t finals = 0, outcomes = 0;
  /// Noise by equations: noise(p, x, out) writes a factor of the covariance with noise_columns
  /// columns or, if noise_columns is 0, the covariance itself.
  static constexpr bool has_noise = false;
  static constexpr std::size_t noise_columns = 0;
  static constexpr bool has_solution = false;      ///< solve(p, t, out)
  static constexpr bool has_precondition = false;  ///< precondition(p, x, v, out)
  static constexpr bool has_projection = false;    ///< project(p, x, v, out)
  static constexpr bool passages_need_loss = false, ends_need_loss = false;
  static constexpr bool derived_need_loss = true;
  /// Number of samples in the finite set from which training draws, if these are not the nodes. The
  /// samples are in drawn_node, their probabilities come from chances(p, q).
  static constexpr std::size_t drawn = 0;
  static constexpr double drawn_node[] = {0};
  /// Columns of the nodes that are labels or indices in arrays of the problem: the name of the
  /// array, the column, and the number of places.
  static constexpr std::size_t places = 0, place_column[] = {0}, place_count[] = {0};
  static constexpr const char* place_array[] = {""};
  static constexpr bool draws_numbers = false;  ///< draw(p, random, s)
  static constexpr std::size_t chosen = 0;  ///< size of a finite set whose samples can be chosen
  /// Whether s ends with the training step, the epoch, the learning rate and the batch size.
  static constexpr bool uses_step = false;
  /// Whether the formulas keep matrices. If so, Batch::compute(space, p, x, s, q, packs, out, loss)
  /// adds the directions of `packs` packs of samples, with the weights q. `space` has room for
  /// Batch::beside + packs * Batch::each packs. The population is summed batch_packs packs at a
  /// time.
  static constexpr bool in_matrices = false;
  static constexpr std::size_t batch_packs = 1;
  /// Least packs of a part of the samples that a thread computes, and operations of a sample.
  static constexpr std::size_t part_packs = 1, operations = 1;
  /// Whether the nodes lie in the file stored_name.samples: `nodes` rows of `columns` numbers,
  /// then `tested` rows of a test set. The last column has the weights if the nodes are weighted.
  /// The means are then sums that MeanBatch and TestBatch add to.
  static constexpr bool is_stored = false, weighted = false;
  /// Whether the nodes estimate a population. Training draws fresh samples, and everything else
  /// draws nodes.
  static constexpr bool is_estimated = false;
  static constexpr std::size_t columns = 0, tested = 0;
  static constexpr std::uint64_t checksum = 0;
  static constexpr const char* stored_name = "";
  static constexpr bool has_means = false;  ///< mean(p, x, s, out) replaces sample() in sums
  /// Number of means over the population that formulas use beside the losses, in l from l[2] on:
  /// sums over the nodes of mean_of(p, x, s, out).
  static constexpr std::size_t means = 0;
  static constexpr bool observed_need_means = false, events_need_means = false;
  static constexpr bool passages_need_means = false, ends_need_means = false;
  static constexpr bool derived_need_means = false;
};

/// A row of numbers, one for each lane.
struct alignas(64) Row {
  double lane[kLanes];
};

/// Samples in rows of packs, as Formulas::batch takes them: `inputs` numbers, then the weight.
class SampleRows {
 public:
  SampleRows(Row* rows, std::size_t inputs, std::size_t packs)
      : rows_(rows), inputs_(inputs), packs_(packs) {}
  void set(std::size_t sample, const double* numbers, double weight) {
    for (std::size_t i = 0; i < inputs_; ++i) at(i, sample) = numbers[i];
    at(inputs_, sample) = weight;
  }
  /// Fills the lanes from `count` on with copies of the last sample, of weight 0.
  void fill(std::size_t count) {
    for (std::size_t sample = count; sample < packs_ * kLanes; ++sample) {
      for (std::size_t i = 0; i < inputs_; ++i) at(i, sample) = at(i, count - 1);
      at(inputs_, sample) = 0;
    }
  }

 private:
  double& at(std::size_t i, std::size_t sample) {
    return rows_[i * packs_ + sample / kLanes].lane[sample % kLanes];
  }
  Row* rows_;
  std::size_t inputs_, packs_;
};

/// Calls Call::compute with packs of the machine's width.
template <class Call, class... Arguments>
void in_widest(Arguments... arguments) {
  using Function = void (*)(Arguments...);
  static const Function function = [] {
    if (has_avx512()) return static_cast<Function>(lanes::compute_by_8<Call, Arguments...>);
    if (has_avx2()) return static_cast<Function>(lanes::compute_by_4<Call, Arguments...>);
    return static_cast<Function>(lanes::compute_anywhere<Call, 2, Arguments...>);
  }();
  function(arguments...);
}
/// Writes the mean of an integrand and its derivatives by a Gauss-Hermite rule, see hermite.hpp.
template <class Integrand>
void mean_by_rule(const hermite::Rule& rule, const double* given, double* out) {
  using Mean = hermite::MeanOf<Integrand>;
  if (has_avx2())
    lanes::compute_by_4<Mean, const hermite::Rule*, const double*, double*>(&rule, given, out);
  else
    Mean::template in_rows<double, kLanes>(&rule, given, out);
}
/// Working space of a thread.
inline Row* space_of(std::size_t rows) {
  thread_local std::vector<Row> space;
  if (space.size() < rows) space.resize(rows);
  return space.data();
}

/// A function of a batch of samples in packs of a width. `rows`: SampleRows of `inputs` numbers.
template <class Batch>
struct BatchInMatrices {
  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const double* p, const double* x, std::size_t inputs,
                                          const Row* rows, std::size_t packs, Row* space,
                                          double* out, double* loss) {
    using N = BasicPack<width>;
    const N* const s = reinterpret_cast<const N*>(rows);
    Batch::compute(reinterpret_cast<N*>(space), p, x, s, s + inputs * packs, packs, out, loss);
  }
};
template <class Batch>
void add_batch(const double* p, const double* x, std::size_t inputs, const Row* rows,
               std::size_t packs, double* out, double* loss) {
  in_widest<BatchInMatrices<Batch>>(p, x, inputs, rows, packs,
                                    space_of(Batch::beside + Batch::each * packs), out, loss);
}

/// A function that keeps its matrices and depends on no sample, in packs of a width.
template <class Formula>
struct FormulaInMatrices {
  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const double* p, const double* x, const double* l,
                                          const double* t, const double* v, Row* space,
                                          double* out) {
    Formula::compute(reinterpret_cast<BasicPack<width>*>(space), p, x, l, t, v, out);
  }
};
template <class Formula>
void in_loops(const double* p, const double* x, const double* l, const double* t, const double* v,
              double* out) {
  in_widest<FormulaInMatrices<Formula>>(p, x, l, t, v, space_of(Formula::beside), out);
}

/// Calls task(i) for each i below `count`, on the threads that a problem was lent.
template <class Task>
void in_threads(const popflow_threads& threads, std::size_t count, std::size_t work, Task task) {
  if (threads.run == nullptr || count < 2) {
    for (std::size_t i = 0; i < count; ++i) task(i);
    return;
  }
  threads.run(
      threads.pool, count, work,
      [](void* context, std::size_t i) noexcept { (*static_cast<Task*>(context))(i); }, &task);
}

inline std::uint64_t next_number() {
  static std::uint64_t count = 0;
  return __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
}

/// A problem: its parameters, and what follows from them alone.
template <class Formulas>
struct Problem {
  static constexpr std::size_t kOf = Formulas::parameters + Formulas::nodes + 1;

  std::array<double, Formulas::parameters + 1> p{};
  std::vector<double> weight;      ///< weights of the nodes
  std::vector<double> chance;      ///< probabilities of the samples of a finite set
  std::vector<double> cumulative;  ///< their sums, for draws
  std::vector<double> start;
  double start_loss = 0;
  std::vector<double> own_nodes;   ///< if arrays of a problem file replace the formulas' own
  const double* stored = nullptr;  ///< rows of a file of samples
  [[nodiscard]] const double* node() const {
    if constexpr (Formulas::is_stored) return stored;
    return own_nodes.empty() ? Formulas::node : own_nodes.data();
  }
  std::uint64_t number = next_number();  ///< differs from that of every other problem
  std::vector<double> of;                ///< parameters of lanes: p, weight, start_loss
  std::vector<Row> batches;   ///< with matrices: the nodes and their weights, in rows of packs
  popflow_threads threads{};  ///< null: the calling thread alone
};

// Chooses the version of a formula in packs for the machine's instruction set. Compiling a version
// takes seconds, so there is none for machines without AVX2: they compute lane after lane, with the
// same bits.
template <class Call, class... Arguments>
auto chosen() -> void (*)(Arguments...) {
  if constexpr (Call::kInAvx512)
    if (has_avx512()) return lanes::compute_by_8<Call, Arguments...>;
  if (has_avx2()) return lanes::compute_by_4<Call, Arguments...>;
  return Call::one_by_one;
}

/// Writes minus the gradient of the loss at a node, then the loss. Both are those of one sample or,
/// with has_means, means over the random numbers of a sample.
template <class Formulas, class N>
POPFLOW_MATH_INLINE void of_node(const N* p, const N* x, const N* s, N* out) {
  if constexpr (Formulas::has_means)
    Formulas::mean(p, x, s, out);
  else
    Formulas::sample(p, x, s, out);
}

// Sums over the nodes for packs of samples: lane l is node 16 k + l.
template <class Formulas>
struct PopulationInPacks {
  static constexpr bool kInAvx512 = Formulas::in_avx512;
  static constexpr std::size_t kOut = Formulas::entries + 1;

  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const double* p, const double* x, const double* weight,
                                          const double* node_rows, double* out) {
    using N = BasicPack<width>;
    N packed_p[Formulas::parameters + 1];
    N packed_x[Formulas::entries];
    for (std::size_t i = 0; i < Formulas::parameters; ++i) packed_p[i] = N(p[i]);
    for (std::size_t i = 0; i < Formulas::entries; ++i) packed_x[i] = N(x[i]);
    N sum[kOut];
    for (N& one : sum) one = N(0.0);
    for (std::size_t begin = 0; begin < Formulas::nodes; begin += kLanes) {
      alignas(64) double rows[(Formulas::inputs + 1) * kLanes];
      alignas(64) double weights[kLanes];
      for (std::size_t l = 0; l < kLanes; ++l) {
        // Lanes beyond the last node repeat it, with weight 0.
        const std::size_t node = std::min(begin + l, Formulas::nodes - 1);
        weights[l] = begin + l < Formulas::nodes ? weight[node] : 0;
        for (std::size_t i = 0; i < Formulas::inputs; ++i)
          rows[i * kLanes + l] = node_rows[node * Formulas::inputs + i];
      }
      N s[Formulas::inputs + 1];
      std::memcpy(static_cast<void*>(s), rows, Formulas::inputs * sizeof(N));
      N q;
      std::memcpy(static_cast<void*>(&q), weights, sizeof(q));
      N value[kOut];
      of_node<Formulas>(packed_p, packed_x, s, value);
      for (std::size_t i = 0; i < kOut; ++i) sum[i] += q * value[i];
    }
    for (std::size_t i = 0; i < kOut; ++i) {
      alignas(64) double lane[kLanes];
      std::memcpy(lane, &sum[i], sizeof(lane));
      double total = 0;
      for (const double one : lane) total += one;
      out[i] = total;
    }
  }
  /// Computes the sums node by node, in the order of the packs and so with the same bits.
  static void one_by_one(const double* p, const double* x, const double* weight,
                         const double* node_rows, double* out) {
    std::vector<double> sum(kOut * kLanes);
    std::vector<double> value(kOut);
    for (std::size_t node = 0; node < Formulas::nodes; ++node) {
      of_node<Formulas>(p, x, node_rows + node * Formulas::inputs, value.data());
      for (std::size_t i = 0; i < kOut; ++i)
        sum[i * kLanes + node % kLanes] += weight[node] * value[i];
    }
    for (std::size_t i = 0; i < kOut; ++i) {
      out[i] = 0;
      for (std::size_t l = 0; l < kLanes; ++l) out[i] += sum[i * kLanes + l];
    }
  }
};

/// Copies the numbers of a node of the population to `s`, for any number.
template <class Formulas, class N>
POPFLOW_MATH_INLINE void take_node(const double* node_rows, std::size_t node, N* s) {
  for (std::size_t i = 0; i < Formulas::inputs; ++i)
    s[i] = N(node_rows[node * Formulas::inputs + i]);
}

/// Rate and loss of the population, for any number. `weight`: of the nodes. Sums in the order of
/// `PopulationInPacks`, so that lanes have the bits of a single run.
template <class Formulas, class N>
POPFLOW_MATH_INLINE void population(const N* p, const N* x, const N* weight,
                                    [[maybe_unused]] const double* node_rows, N* out) {
  if constexpr (Formulas::nodes == 0) {
    Formulas::population(p, x, out);
  } else {
    constexpr std::size_t kOut = Formulas::entries + 1;
    constexpr std::size_t kParts = std::min(Formulas::nodes, kLanes);
    N part[kParts * kOut];
    for (N& one : part) one = N(0.0);
    for (std::size_t node = 0; node < Formulas::nodes; ++node) {
      N s[Formulas::inputs + 1];
      take_node<Formulas>(node_rows, node, s);
      N value[kOut];
      of_node<Formulas>(p, x, s, value);
      N* const sum = part + node % kParts * kOut;
      for (std::size_t i = 0; i < kOut; ++i) sum[i] += weight[node] * value[i];
    }
    for (std::size_t i = 0; i < kOut; ++i) {
      out[i] = part[i];
      for (std::size_t l = 1; l < kParts; ++l) out[i] += part[l * kOut + i];
    }
  }
}

/// Copies one lane out of rows, and back.
inline std::vector<double> lane_of(const double* rows, std::size_t count, std::size_t lane) {
  std::vector<double> numbers(count + 1);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = rows[i * kLanes + lane];
  return numbers;
}
inline void to_lane(const std::vector<double>& numbers, std::size_t count, std::size_t lane,
                    double* rows) {
  for (std::size_t i = 0; i < count; ++i) rows[i * kLanes + lane] = numbers[i];
}

/// Formulas of the rate and of the events, as functions of the parameters of lanes and the state,
/// for any number type.
template <class Formulas>
struct RateFormula {
  static constexpr std::size_t results = Formulas::entries;
  template <class N>
  static POPFLOW_MATH_INLINE void compute(const N* of, const N* x, N* out) {
    N value[Formulas::entries + 1];
    population<Formulas>(of, x, of + Formulas::parameters, Formulas::node, value);
    for (std::size_t i = 0; i < Formulas::entries; ++i) out[i] = value[i];
  }
};
/// Computes Formulas::means means over the population.
template <class Formulas, class N>
POPFLOW_MATH_INLINE void means(const N* p, const N* x, const N* weight, const double* node_rows,
                               N* out) {
  for (std::size_t i = 0; i < Formulas::means; ++i) out[i] = N(0.0);
  for (std::size_t node = 0; node < Formulas::nodes; ++node) {
    N s[Formulas::inputs + 1];
    N value[Formulas::means + 1];
    take_node<Formulas>(node_rows, node, s);
    Formulas::mean_of(p, x, s, value);
    for (std::size_t i = 0; i < Formulas::means; ++i) out[i] += weight[node] * value[i];
  }
}

/// Losses that a formula of an event or a passage may use: the population's at x (0 unless needed),
/// the one at the start, and the means.
template <class Formulas, class N>
struct Losses {
  N at[2 + Formulas::means];
};

template <class Formulas, bool is_needed, bool means_are_needed, class N>
POPFLOW_MATH_INLINE Losses<Formulas, N> losses_at(const N* of, const N* x) {
  N value[Formulas::entries + 1];
  value[Formulas::entries] = N(0.0);
  if constexpr (is_needed)
    population<Formulas>(of, x, of + Formulas::parameters, Formulas::node, value);
  Losses<Formulas, N> losses;
  losses.at[0] = value[Formulas::entries];
  losses.at[1] = of[Formulas::parameters + Formulas::nodes];
  if constexpr (means_are_needed)
    means<Formulas>(of, x, of + Formulas::parameters, Formulas::node, losses.at + 2);
  return losses;
}

template <class Formulas>
struct EventFormula {
  static constexpr std::size_t results = Formulas::events;
  template <class N>
  static POPFLOW_MATH_INLINE void compute(const N* of, const N* x, N* out) {
    const auto losses =
        losses_at<Formulas, Formulas::events_need_loss, Formulas::events_need_means>(of, x);
    Formulas::event(of, x, losses.at, out);
  }
};

template <class Formulas>
struct PassageFormula {
  static constexpr std::size_t results = Formulas::passing;
  template <class N>
  static POPFLOW_MATH_INLINE void compute(const N* of, const N* x, N* out) {
    const auto losses =
        losses_at<Formulas, Formulas::passages_need_loss, Formulas::passages_need_means>(of, x);
    Formulas::pass(of, x, losses.at, out);
  }
};

/// Formula of the rate, the events or the passages in lanes.
template <class Formulas, class Formula>
struct InLanesOf {
  static constexpr bool kInAvx512 = Formulas::in_avx512;
  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const popflow_lane_sizes*, const double* of,
                                          const double* x, double* out) {
    using N = BasicPack<width>;
    Formula::compute(reinterpret_cast<const N*>(of), reinterpret_cast<const N*>(x),
                     reinterpret_cast<N*>(out));
  }
  static void one_by_one(const popflow_lane_sizes*, const double* of, const double* x,
                         double* out) {
    std::vector<double> result(Formula::results + 1);
    for (std::size_t l = 0; l < kLanes; ++l) {
      Formula::compute(lane_of(of, Problem<Formulas>::kOf, l).data(),
                       lane_of(x, Formulas::entries, l).data(), result.data());
      to_lane(result, Formula::results, l, out);
    }
  }
};

/// Rate, and lower triangle of the covariance of a sample, row by row, for any number.
template <class Formulas, class N>
POPFLOW_MATH_INLINE void rate_and_covariance(const N* of, const N* x, N* dxdt, N* covariance) {
  constexpr std::size_t n = Formulas::entries;
  const N* weight = of + Formulas::parameters;
  N mean[n + 1];
  population<Formulas>(of, x, weight, Formulas::node, mean);
  for (std::size_t i = 0; i < n; ++i) dxdt[i] = mean[i];
  for (std::size_t i = 0; i < n * (n + 1) / 2; ++i) covariance[i] = N(0.0);
  for (std::size_t node = 0; node < Formulas::nodes; ++node) {
    N s[Formulas::inputs + 1];
    for (std::size_t i = 0; i < Formulas::inputs; ++i)
      s[i] = N(Formulas::node[node * Formulas::inputs + i]);
    N value[n + 1];
    Formulas::sample(of, x, s, value);
    for (std::size_t i = 0; i < n; ++i) value[i] = value[i] - mean[i];
    for (std::size_t i = 0, at = 0; i < n; ++i) {
      const N scaled = weight[node] * value[i];
      for (std::size_t j = 0; j <= i; ++j) covariance[at++] += scaled * value[j];
    }
  }
}

template <class Formulas>
struct CovarianceInLanes {
  static constexpr bool kInAvx512 = Formulas::in_avx512;
  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const double* of, const double* x, double* dxdt,
                                          double* covariance) {
    using N = BasicPack<width>;
    rate_and_covariance<Formulas>(reinterpret_cast<const N*>(of), reinterpret_cast<const N*>(x),
                                  reinterpret_cast<N*>(dxdt), reinterpret_cast<N*>(covariance));
  }
  static void one_by_one(const double* of, const double* x, double* dxdt, double* covariance) {
    constexpr std::size_t n = Formulas::entries;
    std::vector<double> rate(n + 1);
    std::vector<double> triangle(n * (n + 1) / 2);
    for (std::size_t l = 0; l < kLanes; ++l) {
      rate_and_covariance<Formulas>(lane_of(of, Problem<Formulas>::kOf, l).data(),
                                    lane_of(x, n, l).data(), rate.data(), triangle.data());
      to_lane(rate, n, l, dxdt);
      to_lane(triangle, triangle.size(), l, covariance);
    }
  }
};

/// The functions of a plug-in's table.
template <class Formulas>
class Functions {
 public:
  static const popflow_table& table() {
    static const popflow_table made = make();
    return made;
  }

 private:
  using Made = Problem<Formulas>;
  static constexpr std::size_t n = Formulas::entries;
  static constexpr bool kHasCovariance = Formulas::has_covariance;
  /// Whether training draws its samples from the nodes.
  static constexpr bool kDrawsNodes = Formulas::nodes > 0 && Formulas::draws_nodes;
  static constexpr std::size_t kDrawn = kDrawsNodes ? Formulas::nodes : Formulas::drawn;
  /// Numbers of a node's row.
  static constexpr std::size_t kRow = Formulas::is_stored ? Formulas::columns : Formulas::inputs;
  static constexpr bool kInPacks = Formulas::in_packs && Formulas::nodes >= 8;
  static constexpr bool kSumsInMatrices = Formulas::in_matrices && Formulas::nodes > 0;

  static const Made& of(const void* problem) { return *static_cast<const Made*>(problem); }

  /// Working space of a thread, so that large states need no stack.
  static double* scratch(std::size_t size) {
    thread_local std::vector<double> numbers;
    if (numbers.size() < size) numbers.resize(size);
    return numbers.data();
  }

  template <class Formula>
  static popflow_lane_formula in_lanes_of() {
    return chosen<InLanesOf<Formulas, Formula>, const popflow_lane_sizes*, const double*,
                  const double*, double*>();
  }

  static popflow_table make() {
    popflow_table t{};
    t.abi = POPFLOW_PLUGIN_ABI;
    t.bytes = sizeof(popflow_table);
    t.description = Formulas::description;
    t.create = create;
    t.destroy = [](void* problem) noexcept { delete static_cast<Made*>(problem); };
    t.start = [](const void* problem, double* x) noexcept {
      std::copy(of(problem).start.begin(), of(problem).start.end(), x);
      return 0;
    };
    t.rate = rate;
    if constexpr (Formulas::in_matrices)
      t.use_threads = [](void* problem, const popflow_threads* threads) noexcept {
        static_cast<Made*>(problem)->threads = *threads;
      };
    if constexpr (Formulas::has_loss) t.loss = loss;
    if constexpr (Formulas::observed > 0) t.observe = observe;
    if constexpr (Formulas::events > 0) t.events = events;
    if constexpr (Formulas::derived > 0) t.derived = derived;
    if constexpr (Formulas::arrays > 0) t.array = array;
    if constexpr (Formulas::constants > 0) t.constants = constants;
    if constexpr (Formulas::is_sampled && !Formulas::uses_step) t.add_samples = add_samples;
    if constexpr (kHasCovariance) t.covariance = covariance;
    if constexpr (Formulas::has_noise) t.covariance = noise;
    if constexpr (Formulas::uses_step || Formulas::is_estimated)
      t.add_training_samples = add_training_samples;
    if constexpr (Formulas::chosen > 0) t.add_chosen = add_chosen;
    if constexpr (Formulas::passing > 0) t.passages = passages;
    if constexpr (Formulas::finals > 0) t.finals = finals;
    if constexpr (Formulas::outcomes > 0) t.outcome = outcome;
    if constexpr (Formulas::has_solution) t.solution = solution;
    if constexpr (Formulas::has_precondition) t.precondition = precondition;
    if constexpr (Formulas::has_projection) t.project_noise = project_noise;
    if constexpr (requires { typename Formulas::Training; })
      t.training = &Functions<typename Formulas::Training>::table();
    if constexpr (Formulas::has_jacobian) t.jacobian = jacobian;
    if constexpr (Formulas::has_lanes) {
      t.lane_parameters = [](const void* problem, double* values) noexcept {
        std::copy(of(problem).of.begin(), of(problem).of.end(), values);
        return 0;
      };
      t.lane_rate = in_lanes_of<RateFormula<Formulas>>();
      if constexpr (Formulas::events > 0) t.lane_events = in_lanes_of<EventFormula<Formulas>>();
      if constexpr (Formulas::passing > 0)
        t.lane_passages = in_lanes_of<PassageFormula<Formulas>>();
      if constexpr (kHasCovariance && kDrawsNodes && n <= 16)
        t.lane_rate_and_covariance =
            chosen<CovarianceInLanes<Formulas>, const double*, const double*, double*, double*>();
    }
    return t;
  }

  static void* create(const popflow_request* request, char* message, std::size_t room) noexcept {
    Made* made = nullptr;
#ifdef __cpp_exceptions
    try {
      made = new Made();
      if (fill(*made, request, message, room)) return made;
    } catch (const std::exception& error) {
      (void)std::snprintf(message, room, "%s", error.what());
    }
#else
    made = new Made();
    if (fill(*made, request, message, room)) return made;
#endif
    delete made;
    return nullptr;
  }
  /// Makes a problem; returns false, with a message, if that is not possible.
  static bool fill(Made& made, const popflow_request* request, char* message, std::size_t room) {
    std::copy_n(request->parameters, Formulas::parameters, made.p.begin());
    const double* p = made.p.data();
    made.start.resize(n);
    Formulas::start(p, made.start.data());
    for (std::size_t i = 0; i < n; ++i)
      if (!std::isfinite(made.start[i])) {
        (void)std::snprintf(message, room, "number %zu of the start is %g; it must be finite", i,
                            made.start[i]);
        return false;
      }
    if constexpr (Formulas::arrays > 0)
      if (request->arrays != nullptr) {
        take_arrays(made, request->arrays);
        if (!has_places(made.own_nodes, message, room)) return false;
      }
    if constexpr (Formulas::is_stored) {
      static const StoredSamples samples(Formulas::stored_name, Formulas::nodes, Formulas::tested,
                                         Formulas::columns, Formulas::checksum);
      if (samples.rows() == nullptr) {
        (void)std::snprintf(message, room, "%s", samples.problem());
        return false;
      }
      made.stored = samples.rows();
    } else if constexpr (Formulas::nodes > 0) {
      made.weight.resize(Formulas::nodes);
      Formulas::weights(p, made.weight.data());
      if (!normalise(made.weight, Formulas::signed_weights, message, room)) return false;
      if constexpr (kDrawsNodes) made.chance = made.weight;
    }
    if constexpr (Formulas::drawn > 0) {
      made.chance.resize(Formulas::drawn);
      Formulas::chances(p, made.chance.data());
      if (!normalise(made.chance, false, message, room)) return false;
    }
    double total = 0;
    for (const double q : made.chance) made.cumulative.push_back(total += q);
    if constexpr (Formulas::is_stored && Formulas::weighted)
      for (std::size_t i = 0; i < Formulas::nodes; ++i)
        made.cumulative.push_back(total += weight_of(made, i));
    if constexpr (kSumsInMatrices && !Formulas::is_stored) make_batches(made);
    double* value = scratch(n + 1);
    population_alone(made, made.start.data(), value);
    if constexpr (Formulas::has_loss) {
      made.start_loss = value[n];
      if (!std::isfinite(value[n])) {
        (void)std::snprintf(message, room, "the loss at the start is %g", value[n]);
        return false;
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      if (!std::isfinite(value[i])) {
        (void)std::snprintf(message, room, "the rate of entry %zu at the start is %g", i, value[i]);
        return false;
      }
    if constexpr (Formulas::is_stored) return true;
    made.of.assign(made.p.begin(), made.p.begin() + Formulas::parameters);
    made.of.insert(made.of.end(), made.weight.begin(), made.weight.end());
    made.of.push_back(made.start_loss);
    return true;
  }

  /// Divides weights by their sum; returns false, with a message, if that is not possible.
  static bool normalise(std::vector<double>& weights, bool may_be_negative, char* message,
                        std::size_t room) {
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double q = weights[i];
      if (!(q >= 0 || may_be_negative) || !std::isfinite(q)) {
        (void)std::snprintf(message, room,
                            "the probability of sample %zu is %g; it must be finite and not "
                            "negative",
                            i, q);
        return false;
      }
      sum += q;
    }
    if (!(sum > 0) || !std::isfinite(sum)) {
      (void)std::snprintf(message, room,
                          "the probabilities of the samples sum to %g; the sum must be positive "
                          "and finite",
                          sum);
      return false;
    }
    for (double& q : weights) q /= sum;
    return true;
  }

  /// Columns of the nodes that an array of the problem fills.
  template <class Copy>
  static void for_entries(std::size_t which, Copy copy) {
    const std::size_t width = Formulas::array_width[which];
    for (std::size_t node = 0; node < Formulas::nodes; ++node)
      for (std::size_t i = 0; i < width; ++i)
        copy(node * width + i, node * Formulas::inputs + Formulas::array_begin[which] + i);
  }
  static void take_arrays(Made& made, const double* const* arrays) {
    made.own_nodes.assign(Formulas::node, Formulas::node + Formulas::nodes * Formulas::inputs);
    for (std::size_t which = 0; which < Formulas::arrays; ++which)
      for_entries(which, [&](std::size_t from, std::size_t to) {
        made.own_nodes[to] = arrays[which][from];
      });
  }
  /// Returns whether labels and indices are places; if not, writes a message.
  static bool has_places(const std::vector<double>& nodes, char* message, std::size_t room) {
    for (std::size_t which = 0; which < Formulas::places; ++which)
      for (std::size_t node = 0; node < Formulas::nodes; ++node) {
        const double value = nodes[node * Formulas::inputs + Formulas::place_column[which]];
        const std::size_t count = Formulas::place_count[which];
        if (value >= 0 && value < static_cast<double>(count) && value == std::floor(value))
          continue;
        (void)std::snprintf(message, room,
                            "the label or index of sample %zu in the array %s is %g; it must be a "
                            "whole number from 0 to %zu",
                            node, Formulas::place_array[which], value, count - 1);
        return false;
      }
    return true;
  }
  static int array(const void* problem, std::size_t which, double* values) noexcept {
    const double* const node = of(problem).node();
    for_entries(which, [&](std::size_t to, std::size_t from) { values[to] = node[from]; });
    return 0;
  }

  /// Most parts of a sum over samples. The first part adds to the result, each other one to a sum
  /// of its own, and these are added in order: the result does not depend on the number of threads.
  static constexpr std::size_t kMostParts = 16;

  /// Adds a sum over `batches` batches to `out`, in parts on several threads: add(from, to, sum)
  /// adds the batches `from` to `to`. `work`: of all batches.
  template <class Add>
  static void add_parts(const Made& made, std::size_t batches, std::size_t most, double work,
                        std::size_t size, double* out, Add add) {
    const std::size_t parts = std::min(batches, most);
    if (parts < 2) {
      add(std::size_t{0}, batches, out);
      return;
    }
    thread_local std::vector<double> numbers;
    if (numbers.size() < (parts - 1) * size) numbers.resize((parts - 1) * size);
    double* const sums = numbers.data();
    in_threads(made.threads, parts, static_cast<std::size_t>(work), [&](std::size_t part) {
      double* const sum = part == 0 ? out : sums + (part - 1) * size;
      if (part > 0) std::fill_n(sum, size, 0.0);
      add(batches * part / parts, batches * (part + 1) / parts, sum);
    });
    constexpr std::size_t at_once = 4096;  // entries that stay in the first cache
    in_threads(made.threads, (size + at_once - 1) / at_once, parts * size, [&](std::size_t block) {
      const std::size_t end = std::min(size, (block + 1) * at_once);
      for (std::size_t part = 0; part < parts - 1; ++part)
        for (std::size_t i = block * at_once; i < end; ++i) out[i] += sums[part * size + i];
    });
  }

  static constexpr std::size_t kBatch = Formulas::batch_packs * kLanes;  ///< samples
  /// Calls use(first node, packs, rows) for batches `from` to `to` of the population.
  template <class AnyMade, class Use>
  static void for_batches(AnyMade& made, std::size_t from, std::size_t to, Use use) {
    for (std::size_t batch = from; batch < to; ++batch) {
      const std::size_t begin = batch * kBatch;
      use(begin,
          std::min<std::size_t>(Formulas::batch_packs,
                                matrices::packs_for(Formulas::nodes - begin)),
          made.batches.data() + (Formulas::inputs + 1) * Formulas::batch_packs * batch);
    }
  }
  static constexpr std::size_t batches_of(std::size_t samples) {
    return (samples + kBatch - 1) / kBatch;
  }
  /// Operations of `samples` samples, of which threads do many in the time of a number of memory.
  static constexpr double work_of(std::size_t samples) {
    return static_cast<double>(samples) * static_cast<double>(Formulas::operations) / 8;
  }
  static void make_batches(Made& made) {
    made.batches.resize((Formulas::inputs + 1) * matrices::packs_for(Formulas::nodes));
    for_batches(
        made, 0, batches_of(Formulas::nodes), [&](std::size_t begin, std::size_t packs, Row* rows) {
          SampleRows samples(rows, Formulas::inputs, packs);
          const std::size_t count = std::min(packs * kLanes, Formulas::nodes - begin);
          for (std::size_t i = 0; i < count; ++i)
            samples.set(i, made.node() + (begin + i) * Formulas::inputs, made.weight[begin + i]);
          samples.fill(count);
        });
  }

  /// Weight of a node in the population.
  static double weight_of(const Made& made, std::size_t node) {
    if constexpr (!Formulas::is_stored)
      return made.weight[node];
    else if constexpr (Formulas::weighted)
      return made.stored[(node + 1) * Formulas::columns - 1];
    else
      return 1.0 / static_cast<double>(Formulas::nodes);
  }
  /// Adds the weighted results of `count` stored samples from number `first` on.
  /// Results are `size` numbers, the last of which is the loss of a Batch that has one.
  template <class Batch>
  static void add_stored(const Made& made, const double* x, std::size_t first, std::size_t count,
                         std::size_t size, double* out, bool has_loss) {
    add_parts(made, batches_of(count), kMostParts, work_of(count), size, out,
              [&](std::size_t from, std::size_t to, double* sum) {
                add_stored_batches<Batch>(made, x, first, count, from * kBatch,
                                          std::min(count, to * kBatch), sum,
                                          has_loss ? sum + size - 1 : nullptr);
              });
  }
  template <class Batch>
  static void add_stored_batches(const Made& made, const double* x, std::size_t first,
                                 std::size_t count, std::size_t from_sample, std::size_t to_sample,
                                 double* out, double* loss) {
    constexpr std::size_t inputs = Formulas::inputs;
    thread_local std::vector<Row> rows((inputs + 1) * Formulas::batch_packs);
    for (std::size_t begin = from_sample; begin < to_sample; begin += kBatch) {
      const std::size_t packs =
          std::min<std::size_t>(Formulas::batch_packs, matrices::packs_for(count - begin));
      for (std::size_t pack = 0; pack < packs; ++pack) {
        const double* from[kLanes];
        for (std::size_t l = 0; l < kLanes; ++l) {
          const std::size_t sample = begin + pack * kLanes + l;
          from[l] = made.stored + (first + std::min(sample, count - 1)) * Formulas::columns;
          rows[inputs * packs + pack].lane[l] = sample >= count ? 0
                                                : Formulas::weighted
                                                    ? from[l][Formulas::columns - 1]
                                                    : 1.0 / static_cast<double>(count);
        }
        for (std::size_t i = 0; i < inputs; ++i)
          for (std::size_t l = 0; l < kLanes; ++l) rows[i * packs + pack].lane[l] = from[l][i];
      }
      add_batch<Batch>(made.p.data(), x, inputs, rows.data(), packs, out, loss);
    }
  }
  /// Means over the training and the test set, for stored samples.
  static void stored_means(const Made& made, const double* x, double* out) {
    std::fill_n(out, Formulas::means, 0.0);
    if constexpr (requires { typename Formulas::MeanBatch; })
      add_stored<typename Formulas::MeanBatch>(made, x, 0, Formulas::nodes, Formulas::means, out,
                                               false);
    if constexpr (requires { typename Formulas::TestBatch; })
      add_stored<typename Formulas::TestBatch>(made, x, Formulas::nodes, Formulas::tested,
                                               Formulas::means, out, false);
  }

  static void population_alone(const Made& made, const double* x, double* out) {
    if constexpr (Formulas::is_stored) {
      std::fill_n(out, n + 1, 0.0);
      add_stored<typename Formulas::Batch>(made, x, 0, Formulas::nodes, n + 1, out, true);
      to_directions(made, x, out);
    } else if constexpr (kSumsInMatrices) {
      std::fill_n(out, n + 1, 0.0);
      add_parts(made, batches_of(Formulas::nodes), kMostParts, work_of(Formulas::nodes), n + 1, out,
                [&](std::size_t from, std::size_t to, double* sum) {
                  for_batches(made, from, to, [&](std::size_t, std::size_t packs, const Row* rows) {
                    add_batch<typename Formulas::Batch>(made.p.data(), x, Formulas::inputs, rows,
                                                        packs, sum, sum + n);
                  });
                });
    } else if constexpr (kInPacks) {
      static const auto sum = chosen<PopulationInPacks<Formulas>, const double*, const double*,
                                     const double*, const double*, double*>();
      sum(made.p.data(), x, made.weight.data(), made.node(), out);
    } else {
      population<Formulas>(made.p.data(), x, made.weight.data(), made.node(), out);
    }
  }

  static int rate(const void* problem, const double* x, double /*t*/, double* dxdt) noexcept {
    double* value = scratch(n + 1);
    population_alone(of(problem), x, value);
    std::copy_n(value, n, dxdt);
    return 0;
  }
  /// Values that a thread has computed at one state. Records ask for the loss, and for several
  /// values that use it, at one state after the other.
  struct Known {
    std::uint64_t problem = 0;
    std::vector<double> x = std::vector<double>(n);
    bool has_loss = false, has_means = false;
    double loss = 0, means[Formulas::means + 1] = {};
    std::vector<double> derived = {}, passed = {};  ///< empty: not computed yet
  };
  static Known& known_at(const Made& made, const double* x) {
    thread_local Known known;
    if (known.problem != made.number || std::memcmp(known.x.data(), x, n * sizeof(double)) != 0) {
      known.problem = made.number;
      std::copy_n(x, n, known.x.begin());
      known.has_loss = known.has_means = false;
      known.derived.clear();
      known.passed.clear();
    }
    return known;
  }
  static int loss(const void* problem, const double* x, double /*t*/, double* out) noexcept {
    const Made& made = of(problem);
    Known& known = known_at(made, x);
    if (!known.has_loss) {
      double* value = scratch(n + 1);
      population_alone(made, x, value);
      known.loss = value[n];
      known.has_loss = true;
    }
    *out = known.loss;
    return 0;
  }
  template <bool is_needed, bool means_are_needed>
  static Losses<Formulas, double> losses(const void* problem, const double* x) {
    const Made& made = of(problem);
    Losses<Formulas, double> found{};
    if constexpr (is_needed && Formulas::has_loss) loss(problem, x, 0, found.at);
    found.at[1] = made.start_loss;
    if constexpr (means_are_needed) {
      Known& known = known_at(made, x);
      if (!known.has_means) {
        if constexpr (Formulas::is_stored)
          stored_means(made, x, known.means);
        else
          means<Formulas>(made.p.data(), x, made.weight.data(), made.node(), known.means);
      }
      known.has_means = true;
      std::copy_n(known.means, Formulas::means, found.at + 2);
    }
    return found;
  }
  static int observe(const void* problem, const double* x, double /*t*/, double* values) noexcept {
    const auto l = losses<Formulas::observed_need_loss, Formulas::observed_need_means>(problem, x);
    Formulas::observe(of(problem).p.data(), x, l.at, values);
    return 0;
  }
  static int events(const void* problem, const double* x, double /*t*/, double* values) noexcept {
    const auto l = losses<Formulas::events_need_loss, Formulas::events_need_means>(problem, x);
    Formulas::event(of(problem).p.data(), x, l.at, values);
    return 0;
  }
  static int derived(const void* problem, std::size_t which, const double* x, double /*t*/,
                     double* values) noexcept {
    std::vector<double>& all = known_at(of(problem), x).derived;
    if (all.empty()) {
      const auto l = losses<Formulas::derived_need_loss, Formulas::derived_need_means>(problem, x);
      all.resize(Formulas::derived);
      Formulas::derive(of(problem).p.data(), x, l.at, all.data());
    }
    std::copy(all.begin() + static_cast<std::ptrdiff_t>(Formulas::derived_begin[which]),
              all.begin() + static_cast<std::ptrdiff_t>(Formulas::derived_begin[which + 1]),
              values);
    return 0;
  }
  static int constants(const void* problem, double* values) noexcept {
    const double l[2] = {of(problem).start_loss, of(problem).start_loss};
    Formulas::constant(of(problem).p.data(), l, values);
    return 0;
  }

  static double chance_of(const Made& made, std::size_t sample) {
    if constexpr (Formulas::is_stored)
      return weight_of(made, sample);
    else
      return made.chance[sample];
  }
  /// Applies the preconditioner and the projection to a sum over stored samples.
  static void to_directions([[maybe_unused]] const Made& made, [[maybe_unused]] const double* x,
                            [[maybe_unused]] double* v) {
    if constexpr (Formulas::is_stored && Formulas::has_precondition) {
      std::vector<double> moved(n);
      Formulas::precondition(made.p.data(), x, v, moved.data());
      std::copy_n(moved.data(), n, v);
    }
  }

  /// Numbers of a sample of the finite set.
  static const double* row_of(const Made& made, std::size_t sample) {
    if constexpr (kDrawsNodes)
      return made.node() + sample * kRow;
    else
      return Formulas::drawn_node + sample * Formulas::inputs;
  }
  static void draw(const Made& made, const popflow_random& random, double* s) {
    if constexpr (kDrawn > 0) {
      const double u = random.uniform(random.stream);
      std::size_t sample = 0;
      if constexpr (kDrawsNodes && Formulas::is_stored && !Formulas::weighted) {
        sample = std::min(static_cast<std::size_t>(u * static_cast<double>(kDrawn)), kDrawn - 1);
      } else {
        const auto found = std::upper_bound(made.cumulative.begin(), made.cumulative.end() - 1, u);
        sample = static_cast<std::size_t>(found - made.cumulative.begin());
      }
      std::copy_n(row_of(made, sample), Formulas::inputs, s);
    }
    if constexpr (Formulas::draws_numbers) Formulas::draw(made.p.data(), random, s);
  }
  static void write_step(const popflow_training_step& step, std::uint64_t sample, double* s) {
    if constexpr (Formulas::uses_step) {
      s[Formulas::inputs] = static_cast<double>(step.step);
      s[Formulas::inputs + 1] =
          kDrawn > 0 ? static_cast<double>((step.first + sample) / std::max<std::size_t>(kDrawn, 1))
                     : 0.0;
      s[Formulas::inputs + 2] = step.learning_rate;
      s[Formulas::inputs + 3] = static_cast<double>(step.batch_size);
    }
  }

  /// Adds weighted directions of the samples `from` to `to`, in batches.
  template <class Take>
  static void add_packs(const Made& made, const double* x, std::size_t from, std::size_t to,
                        const double* weights, double* out, Take take) {
    constexpr std::size_t most = std::max(Formulas::batch_packs, Formulas::part_packs) * kLanes;
    double s[Formulas::inputs + 5];
    double loss = 0;
    thread_local std::vector<Row> rows;
    for (std::size_t begin = from; begin < to; begin += most) {
      const std::size_t own = std::min(most, to - begin), packs = matrices::packs_for(own);
      if (rows.size() < (Formulas::inputs + 1) * packs) rows.resize((Formulas::inputs + 1) * packs);
      SampleRows samples(rows.data(), Formulas::inputs, packs);
      for (std::size_t i = 0; i < own; ++i) {
        take(begin + i, s);
        samples.set(i, s, weights[begin + i]);
      }
      samples.fill(own);
      add_batch<typename Formulas::Batch>(made.p.data(), x, Formulas::inputs, rows.data(), packs,
                                          out, &loss);
    }
  }
  /// Adds weighted directions of samples: take(i, s) writes the numbers of sample i.
  template <class Take>
  static void add_each(const Made& made, const double* x, std::size_t count, const double* weights,
                       double* out, Take take) {
    if constexpr (Formulas::in_matrices) {
      constexpr bool mapped = Formulas::is_stored && Formulas::has_precondition;
      thread_local std::vector<double> mapped_sum(mapped ? n : 0);
      std::fill(mapped_sum.begin(), mapped_sum.end(), 0.0);
      const std::size_t packs = matrices::packs_for(count);
      add_parts(
          made, packs, std::min(kMostParts, std::max(packs / Formulas::part_packs, std::size_t{1})),
          work_of(count), n, mapped ? mapped_sum.data() : out,
          [&](std::size_t from, std::size_t to, double* sum) {
            add_packs(made, x, from * kLanes, std::min(count, to * kLanes), weights, sum, take);
          });
      if (mapped) {
        to_directions(made, x, mapped_sum.data());
        for (std::size_t i = 0; i < n; ++i) out[i] += mapped_sum[i];
      }
    } else {
      double s[Formulas::inputs + 5];
      double* value = scratch(n + 1);
      for (std::size_t i = 0; i < count; ++i) {
        take(i, s);
        Formulas::sample(made.p.data(), x, s, value);
        for (std::size_t k = 0; k < n; ++k) out[k] += weights[i] * value[k];
      }
    }
  }

  static int add_training_samples(const void* problem, const double* x, double /*t*/,
                                  const popflow_training_step* step, std::size_t count,
                                  const popflow_random* random, const double* weights,
                                  double* out) noexcept {
    const Made& made = of(problem);
    add_each(made, x, count, weights, out, [&](std::size_t i, double* s) {
      if constexpr (Formulas::is_estimated) {
        if (step->learning_rate == 0) {
          const double place = random[i].uniform(random[i].stream);
          constexpr std::size_t last = Formulas::nodes - 1;
          const auto node = static_cast<std::size_t>(place * static_cast<double>(last + 1));
          std::copy_n(made.node() + std::min(node, last) * kRow, Formulas::inputs, s);
          return;
        }
      }
      draw(made, random[i], s);
      write_step(*step, i, s);
    });
    return 0;
  }
  static int add_chosen(const void* problem, const double* x, double /*t*/,
                        const popflow_training_step* step, std::size_t count,
                        const std::size_t* which, const double* weights, double* out) noexcept {
    const Made& made = of(problem);
    add_each(made, x, count, weights, out, [&](std::size_t i, double* s) {
      std::copy_n(row_of(made, which[i]), Formulas::inputs, s);
      write_step(*step, i, s);
    });
    return 0;
  }

  static int add_samples(const void* problem, const double* x, double /*t*/, std::size_t count,
                         const popflow_random* random, const double* weights,
                         double* out) noexcept {
    const Made& made = of(problem);
    add_each(made, x, count, weights, out,
             [&](std::size_t i, double* s) { draw(made, random[i], s); });
    return 0;
  }

  static int covariance(const void* problem, const double* x, double* c) noexcept {
    const Made& made = of(problem);
    std::vector<double> mean(n + 1);
    std::vector<double> value(n + 1);
    population_alone(made, x, mean.data());
    std::fill_n(c, n * n, 0.0);
    const double one = 1;
    for (std::size_t sample = 0; sample < kDrawn; ++sample) {
      std::fill(value.begin(), value.end(), 0.0);
      add_each(made, x, 1, &one, value.data(), [&](std::size_t, double* s) {
        std::copy_n(row_of(made, sample), Formulas::inputs, s);
      });
      for (std::size_t i = 0; i < n; ++i) value[i] -= mean[i];
      for (std::size_t i = 0; i < n; ++i) {
        const double scaled = chance_of(made, sample) * value[i];
        for (std::size_t j = 0; j <= i; ++j) c[i * n + j] += scaled * value[j];
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j) c[j * n + i] = c[i * n + j];
    return 0;
  }

  static int noise(const void* problem, const double* x, double* c) noexcept {
    constexpr std::size_t columns = Formulas::noise_columns;
    if constexpr (columns == 0) {
      Formulas::noise(of(problem).p.data(), x, c);
    } else {
      std::vector<double> factor(n * columns);
      Formulas::noise(of(problem).p.data(), x, factor.data());
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          c[i * n + j] = 0;
          for (std::size_t k = 0; k < columns; ++k)
            c[i * n + j] += factor[i * columns + k] * factor[j * columns + k];
        }
    }
    return 0;
  }
  static int passages(const void* problem, std::size_t which, const double* x, double /*t*/,
                      double* values) noexcept {
    std::vector<double>& all = known_at(of(problem), x).passed;
    if (all.empty()) {
      const auto l =
          losses<Formulas::passages_need_loss, Formulas::passages_need_means>(problem, x);
      all.resize(Formulas::passing);
      Formulas::pass(of(problem).p.data(), x, l.at, all.data());
    }
    std::copy(all.begin() + static_cast<std::ptrdiff_t>(Formulas::passage_begin[which]),
              all.begin() + static_cast<std::ptrdiff_t>(Formulas::passage_begin[which + 1]),
              values);
    return 0;
  }
  static int finals(const void* problem, const double* x, double /*t*/, double* values) noexcept {
    const auto l = losses<Formulas::ends_need_loss, Formulas::ends_need_means>(problem, x);
    Formulas::finish(of(problem).p.data(), x, l.at, values);
    return 0;
  }
  static int outcome(const void* problem, const double* x, double /*t*/,
                     std::size_t* which) noexcept {
    const auto l = losses<Formulas::ends_need_loss, Formulas::ends_need_means>(problem, x);
    double holds[Formulas::outcomes + 1];
    Formulas::outcome_holds(of(problem).p.data(), x, l.at, holds);
    for (*which = 0; *which < Formulas::outcomes; ++*which)
      if (holds[*which] != 0) break;
    return 0;
  }
  static int solution(const void* problem, double t, double* x) noexcept {
    Formulas::solve(of(problem).p.data(), &t, x);
    return 0;
  }
  static int precondition(const void* problem, const double* x, double* v) noexcept {
    double* const out = scratch(n + 1);
    Formulas::precondition(of(problem).p.data(), x, v, out);
    std::copy_n(out, n, v);
    return 0;
  }
  static int project_noise(const void* problem, const double* x, double* v) noexcept {
    double* const out = scratch(n + 1);
    Formulas::project(of(problem).p.data(), x, v, out);
    std::copy_n(out, n, v);
    return 0;
  }

  static int jacobian(const void* problem, const double* x, double* j) noexcept {
    const Made& made = of(problem);
    if constexpr (Formulas::nodes == 0) {
      Formulas::jacobian(made.p.data(), x, static_cast<const double*>(nullptr), j);
    } else {
      std::vector<double> value(n * n);
      std::fill_n(j, n * n, 0.0);
      for (std::size_t node = 0; node < Formulas::nodes; ++node) {
        Formulas::jacobian(made.p.data(), x, made.node() + node * kRow, value.data());
        for (std::size_t i = 0; i < n * n; ++i) j[i] += weight_of(made, node) * value[i];
      }
    }
    return 0;
  }
};

}  // namespace popflow::model

#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "machine/streaming.hpp"
#include "popflow/state.hpp"
#include "steppers/odeint_algebra.hpp"
#include "steppers/tolerance.hpp"

namespace popflow {

/// Replaces odeint's array of error estimates. The pass over memory that computes the errors also
/// reduces them to their norm, in units of the tolerance, so that no error is stored and read
/// again.
struct StepError {
  const Tolerance& tolerance;
  const State& x;
  const State& x_new;
  double value = 0;  ///< error norm: accepted if at most 1; NaN or infinite if not finite
};

/// odeint's algebra over States, on all threads. Its operations are entry-wise, so the result does
/// not depend on the number of threads.
class ThreadedAlgebra : public OdeintAlgebra<ThreadedAlgebra> {
 public:
  explicit ThreadedAlgebra(Workers& workers) : workers_(&workers) {}

  /// Computes op(s1, ..., sN) for all entries; `all` refers to s1, ..., sN and op.
  template <class... A>
  void each(std::tuple<A...> all) const {
    constexpr std::size_t inputs = sizeof...(A) - 2;  // all but the output and the operation
    auto& out = std::get<0>(all);
    const auto& op = std::get<sizeof...(A) - 1>(all);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(out)>, StepError>)
        judge(out, op, std::get<I + 1>(all).data()...);
      else
        combine(out, op, std::get<I + 1>(all).data()...);
    }
    (std::make_index_sequence<inputs>{});
  }

 private:
  template <class Op, class... In>
  void combine(State& out, const Op& op, const In*... in) const {
    const bool stream = out.size() >= kStreamFrom;
    in_stretches(*workers_, out.size(), [&](std::size_t begin, std::size_t end, std::size_t) {
      if (stream)
        stretch_streaming(op, out.data(), begin, end, in...);
      else
        stretch(op, out.data(), begin, end, in...);
    });
  }

  // Writes through a buffer in the first-level cache and past the other caches, so that the
  // processor need not read the output's cache lines before it overwrites them.
  template <class Op, class... In>
  static void stretch_streaming(Op op, double* out, std::size_t begin, std::size_t end,
                                const In*... in) {
    constexpr std::size_t kPiece = 512;
    alignas(64) double piece[kPiece];
    for (std::size_t from = begin; from < end; from += kPiece) {
      const std::size_t count = std::min(kPiece, end - from);
      stretch(op, piece, 0, count, (in + from)...);
      store_past_caches(piece, out + from, count);
    }
    finish_stores();
  }

  // A separate function with plain pointers, which the compiler vectorises. `out` may be one of
  // `in`.
  template <class Op, class... In>
  static void stretch(Op op, double* out, std::size_t begin, std::size_t end, const In*... in) {
#ifndef __clang__  // clang does not know this hint and may warn about one that it cannot follow
#pragma GCC ivdep
#endif
    for (std::size_t i = begin; i < end; ++i) op(out[i], in[i]...);
  }

  template <class Op, class... In>
  void judge(StepError& step, const Op& op, const In*... in) const {
    step.value =
        error_of_step(*workers_, step.tolerance, step.x, step.x_new, [op, in...](std::size_t i) {
          double error;
          op(error, in[i]...);
          return error;
        });
  }

  Workers* workers_;
};

}  // namespace popflow

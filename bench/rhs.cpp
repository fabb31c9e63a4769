// One right-hand side of scb in full coordinates at the paper's largest size, against the machine:
// a plain y = c x over the same arrays in the same run, on the same threads, with streaming stores.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "bench/cases.hpp"

namespace {

using namespace popflow;

using bench::Case;
using bench::paper_size;

Case& paper_size_softmax() {
  static Case instance({"--vocab-size", "500", "--context-length", "100000", "--sparsity", "3",
                        "--attention", "softmax"});
  return instance;
}

void scale(double c, const double* x, double* y, std::size_t n) {
  std::size_t i = 0;
#if defined(__SSE2__)
  const __m128d factor = _mm_set1_pd(c);
  for (; i + 8 <= n; i += 8)
    for (std::size_t j = 0; j < 8; j += 2)
      _mm_stream_pd(y + i + j, _mm_mul_pd(factor, _mm_loadu_pd(x + i + j)));
  _mm_sfence();
#endif
  for (; i < n; ++i) y[i] = c * x[i];
}

void per_weight(benchmark::State& state, const Case& c) {
  // Read once, written once: the traffic that cannot be avoided.
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(2 * sizeof(double) * c.x.size()));
}

void BM_scale(benchmark::State& state) {
  Case& c = paper_size();
  constexpr std::size_t kStretch = std::size_t{1} << 17;
  const std::size_t n = c.x.size();
  for (auto _ : state) {
    c.workers.run((n + kStretch - 1) / kStretch, [&](std::size_t task) {
      const std::size_t begin = task * kStretch;
      scale(1.0000001, c.x.data() + begin, c.dxdt.data() + begin,
            std::min(n, begin + kStretch) - begin);
    });
  }
  per_weight(state, c);
}

void BM_rhs(benchmark::State& state) {
  Case& c = paper_size();
  for (auto _ : state) c.system->rhs(c.x, 0, c.dxdt);
  per_weight(state, c);
}

void BM_rhs_softmax(benchmark::State& state) {
  Case& c = paper_size_softmax();
  for (auto _ : state) c.system->rhs(c.x, 0, c.dxdt);
  per_weight(state, c);
}

void BM_rhs_coordinates(benchmark::State& state, const char* coordinates) {
  Case c({"--vocab-size", "500", "--context-length", "100000", "--sparsity", "3", "--coordinates",
          coordinates});
  for (auto _ : state) c.system->rhs(c.x, 0, c.dxdt);
}

BENCHMARK(BM_scale)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_rhs)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_rhs_softmax)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_rhs_coordinates, support, "support")->UseRealTime();
BENCHMARK_CAPTURE(BM_rhs_coordinates, signal, "signal")->UseRealTime();

}  // namespace

// One right-hand side of scb in full coordinates at the paper's largest size, compared with its
// unavoidable memory traffic: a plain y = c x over the same arrays, on the same threads, with
// streaming stores.

#include <benchmark/benchmark.h>

#include <cstdint>

#include "bench/cases.hpp"
#include "bench/scale.hpp"

namespace {

using namespace popflow;

using bench::Case;
using bench::paper_size;

Case& paper_size_softmax() {
  static Case instance({"--vocab-size", "500", "--context-length", "100000", "--sparsity", "3",
                        "--attention", "softmax"});
  return instance;
}

void per_weight(benchmark::State& state, const Case& c) {
  // Each weight must be read once, and its derivative written once.
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(2 * sizeof(double) * c.x.size()));
}

void BM_scale(benchmark::State& state) {
  Case& c = paper_size();
  for (auto _ : state) bench::scale(c.workers, 1.0000001, c.x.data(), c.dxdt.data(), c.x.size());
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

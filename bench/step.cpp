// One dopri5 step of scb in full coordinates, compared with the memory traffic of its tableau.

#include <benchmark/benchmark.h>

#include <cstdint>

#include "bench/cases.hpp"
#include "popflow/flow_driver.hpp"
#include "steppers/flow_methods.hpp"

namespace {

using namespace popflow;

// Numbers moved per entry of the state: six stage sums with 2, 3, 4, 5, 6, 6 inputs and one output,
// six right-hand sides that read and write once, and an error norm that reads six derivatives and
// two states.
constexpr int kTableau = (2 + 3 + 4 + 5 + 6 + 6) + 6 + 2 * 6 + 8;

void BM_dopri5_step(benchmark::State& state) {
  bench::Case& c = bench::paper_size();
  const Regime regime;
  Rhs rhs(*c.system, regime);
  const Tolerance tolerance(c.system->shape().blocks, 1e-8, 1e-10);
  const auto stepper = flow_method("dopri5").make(rhs, tolerance, c.workers);
  // The first attempt evaluates the first slope, which later attempts reuse.
  (void)stepper->attempt(c.x, 0, 1e-3, c.dxdt);
  for (auto _ : state) benchmark::DoNotOptimize(stepper->attempt(c.x, 0, 1e-3, c.dxdt));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kTableau * sizeof(double) * c.x.size()));
}

void BM_dopri5_step_in(benchmark::State& state, const char* coordinates) {
  bench::Case c({"--vocab-size", "500", "--context-length", "100000", "--sparsity", "3",
                 "--coordinates", coordinates});
  const Regime regime;
  Rhs rhs(*c.system, regime);
  const Tolerance tolerance(c.system->shape().blocks, 1e-8, 1e-10);
  const auto stepper = flow_method("dopri5").make(rhs, tolerance, c.workers);
  (void)stepper->attempt(c.x, 0, 1e-3, c.dxdt);
  for (auto _ : state) benchmark::DoNotOptimize(stepper->attempt(c.x, 0, 1e-3, c.dxdt));
}

BENCHMARK(BM_dopri5_step)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_dopri5_step_in, support, "support")
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_dopri5_step_in, signal, "signal")
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace

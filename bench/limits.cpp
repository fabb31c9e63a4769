// Peak rates of the machine on one thread and on two, as references for measured times:
//
// - BM_registers: multiply-adds in registers
// - BM_memory: y = c x over arrays larger than the caches
//
// BM_product measures which part of the first rate joma-joint's products of matrices reach.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench/scale.hpp"
#include "dynamics/common/products.hpp"
#include "popflow/state.hpp"
#include "popflow/widest.hpp"
#include "popflow/workers.hpp"

namespace {

using namespace popflow;

constexpr std::size_t kNumbers = 64;  // fill eight of the widest registers
constexpr std::size_t kRounds = 1 << 18;

/// Does one multiplication and one addition per number and round; bench/CMakeLists.txt lets the
/// compiler fuse the two if the machine has an instruction for that.
POPFLOW_VERSIONS("avx512f", "arch=haswell", "default")
void multiply_in_registers(double* numbers, double by, double plus) {
  double held[kNumbers];
  for (std::size_t i = 0; i < kNumbers; ++i) held[i] = numbers[i];
  for (std::size_t round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < kNumbers; ++i) held[i] = held[i] * by + plus;
  for (std::size_t i = 0; i < kNumbers; ++i) numbers[i] = held[i];
}

void BM_registers(benchmark::State& state) {
  const auto threads = static_cast<unsigned>(state.range(0));
  Workers workers(threads);
  std::vector<double> numbers(kNumbers * threads, 1.0);
  for (auto _ : state)
    workers.run(threads, [&](std::size_t thread) {
      multiply_in_registers(numbers.data() + thread * kNumbers, 0.999999, 1e-6);
    });
  state.counters["flops"] = benchmark::Counter(2.0 * kNumbers * kRounds * threads,
                                               benchmark::Counter::kIsIterationInvariantRate);
}

/// Product of V (K x tokens) and the attended contexts (tokens x classes), K = `size`: one task of
/// the forward product of joma-joint.
void BM_product(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  constexpr std::size_t kContexts = 32, kTokens = 512;
  const std::vector<double> a(size * kTokens, 0.3), b(kContexts * kTokens, 0.7);
  std::vector<double> c(size * kContexts);
  for (auto _ : state) {
    product_with_transpose(size, kContexts, kTokens, {a.data(), size}, {b.data(), kContexts},
                           c.data(), size);
    benchmark::DoNotOptimize(c.data());
  }
  state.counters["flops"] =
      benchmark::Counter(2.0 * static_cast<double>(size * kContexts * kTokens),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void BM_memory(benchmark::State& state) {
  const auto threads = static_cast<unsigned>(state.range(0));
  constexpr std::size_t kSize = std::size_t{1} << 25;  // 256 MB in each array
  Workers workers(threads);
  State x(kSize), y(kSize);
  std::fill(x.begin(), x.end(), 1.5);
  std::fill(y.begin(), y.end(), 0.0);
  for (auto _ : state) bench::scale(workers, 1.0000001, x.data(), y.data(), kSize);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(2 * sizeof(double) * kSize));
}

BENCHMARK(BM_registers)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_product)->Arg(20)->Arg(100)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_memory)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

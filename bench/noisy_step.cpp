// Steps of the noisy modes of scb in full coordinates. Sampled SGD is compared with the draws and
// memory traffic of its batch, and isotropic noise with its normals and a pass over the state.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "bench/cases.hpp"
#include "dynamics/scb/sampler.hpp"
#include "noise/normals.hpp"
#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "random/bits.hpp"

namespace {

using namespace popflow;

struct Size {
  std::size_t N, T, B;
};
constexpr Size kPaper{20, 5000, 256};
constexpr Size kLarge{500, 100000, 64};

bench::Case& paper_run() {
  static bench::Case instance({"--vocab-size", "20", "--context-length", "5000"});
  return instance;
}
bench::Case& case_of(const Size& size) {
  return size.N == kPaper.N ? paper_run() : bench::paper_size();
}

// Steps of the driver, including its checks between steps.
void BM_sgd(benchmark::State& state, const Size& size) {
  bench::Case& c = case_of(size);
  SgdDriver driver(*c.system, c.workers,
                   {.learning_rate = 1e-3, .batch_size = static_cast<std::int64_t>(size.B)});
  double t = 0;
  constexpr double steps = 64;
  for (auto _ : state) driver.advance(t += 1e-3 * steps);
  state.counters["steps"] =
      benchmark::Counter(steps, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["tokens"] = benchmark::Counter(steps * static_cast<double>(size.B * size.T),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

// Unavoidable work of a step: draws the tokens of a batch without storing them; reads the columns
// that the batch changes twice, and writes them once.
void BM_sgd_limit(benchmark::State& state, const Size& size) {
  bench::Case& c = case_of(size);
  const Eigen::VectorXd mu =
      Eigen::VectorXd::LinSpaced(static_cast<Eigen::Index>(size.N), 1, 3).normalized();
  const scb::AliasTable table(mu);
  double* A = c.x.data() + size.N * size.N;
  for (auto _ : state) {
    std::vector<std::uint64_t> sums(size.B);
    std::vector<double> read(size.B);
    c.workers.run(size.B, [&](std::size_t i) {
      const PhiloxKey key(1, Purpose::test, 0, i);
      std::uint32_t words[1024];
      std::uint16_t tokens[1024];
      double* column = A + i * 7 % size.N * size.T;
      for (std::size_t begin = 0; begin < size.T; begin += 1024) {
        const std::size_t count = std::min<std::size_t>(1024, size.T - begin);
        stream_words(key, begin / 4, (count + 3) / 4, words);
        std::uint64_t sum = 0;
        table.draw(count, words, tokens);
        for (std::size_t t = 0; t < count; ++t) sum += tokens[t];
        sums[i] += sum;
        double lanes[8] = {};
        for (std::size_t t = 0; t + 8 <= count; t += 8)
          for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += column[begin + t + lane];
        for (const double lane : lanes) read[i] += lane;
      }
    });
    c.workers.run(std::min(size.B, size.N), [&](std::size_t i) {
      double* column = A + i * 7 % size.N * size.T;
      for (std::size_t t = 0; t < size.T; ++t) column[t] += 1e-300;
    });
    benchmark::DoNotOptimize(sums);
    benchmark::DoNotOptimize(read);
  }
}

void BM_sde_isotropic(benchmark::State& state) {
  bench::Case& c = bench::paper_size();
  SdeDriver driver(*c.system, c.workers,
                   {.learning_rate = 1e-3, .dt = 1e-3, .noise = "isotropic", .noise_scale = 1e-6});
  double t = 0;
  constexpr double steps = 64;
  for (auto _ : state) driver.advance(t += 1e-3 * steps);
  state.counters["steps"] =
      benchmark::Counter(steps, benchmark::Counter::kIsIterationInvariantRate);
}

void BM_normals(benchmark::State& state) {
  bench::Case& c = bench::paper_size();
  std::uint64_t number = 0;
  for (auto _ : state) {
    const NormalPart part(1, 0, number++);
    constexpr std::size_t kPiece = std::size_t{1} << 11;
    c.workers.run(c.x.size() / kPiece, [&](std::size_t task) {
      double piece[kPiece];
      part.write(task * kPiece, piece);
      benchmark::DoNotOptimize(piece);
    });
  }
}

BENCHMARK_CAPTURE(BM_sgd, paper, kPaper)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_sgd_limit, paper, kPaper)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_sgd, large, kLarge)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_sgd_limit, large, kLarge)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_sde_isotropic)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_normals)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

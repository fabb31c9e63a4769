// One right-hand side of joma at a million tokens, compared with its unavoidable work over the same
// array, on the same threads: the exponentials (of the C library, and popflow's own) and the memory
// traffic (a plain y = c x).

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "dynamics/joma/attention.hpp"
#include "dynamics/joma/kernels.hpp"
#include "options/run_config.hpp"
#include "popflow/state.hpp"
#include "popflow/systems.hpp"
#include "run/last_state.hpp"

namespace {

using namespace popflow;

struct Million {
  Workers workers;
  RunConfig config;
  std::unique_ptr<System> system;
  State x, dxdt;

  explicit Million(std::vector<std::string> words)
      : config(parse_run(systems().info("joma"), with_size(words))) {
    system = make_system(config, systems(), workers).system;
    x.resize(system->shape().state_size());
    dxdt.resize(x.size());
    system->start(x);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += 1e-3 * static_cast<double>(i % 1009);
    std::fill(dxdt.begin(), dxdt.end(), 0.0);
  }

  static std::vector<std::string> with_size(std::vector<std::string> words) {
    words.insert(words.end(), {"--tokens", "1000000"});
    return words;
  }

  template <class Function>
  void each(Function&& function) {
    joma::in_pieces(workers, x.size(), [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = begin; i < end; ++i) dxdt[i] = function(x[i]);
    });
  }
};

void per_token(benchmark::State& state) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * 1'000'000);
}

void BM_joma_scale(benchmark::State& state) {
  Million m({});
  for (auto _ : state) m.each([](double x) { return 1.0000001 * x; });
  per_token(state);
}

void BM_joma_library_exp(benchmark::State& state) {
  Million m({});
  for (auto _ : state) m.each([](double x) { return std::exp(-x); });
  per_token(state);
}

void BM_joma_own_exp(benchmark::State& state) {
  Million m({});
  for (auto _ : state) {
    joma::in_pieces(m.workers, m.x.size(), [&](std::size_t begin, std::size_t end, std::size_t) {
      std::copy(m.x.begin() + begin, m.x.begin() + end, m.dxdt.begin() + begin);
      joma::exponentials(end - begin, -1, 700, 0, m.dxdt.data() + begin);
    });
  }
  per_token(state);
}

void BM_joma_rhs(benchmark::State& state, std::vector<std::string> words) {
  Million m(words);
  for (auto _ : state) m.system->rhs(m.x, 0, m.dxdt);
  per_token(state);
}

void BM_joma_observe(benchmark::State& state, std::vector<std::string> words) {
  Million m(words);
  std::vector<double> values(m.system->info().observables.size());
  for (auto _ : state) m.system->observe(m.x, 0, values);
  per_token(state);
}

void BM_joma_events(benchmark::State& state, std::vector<std::string> words) {
  Million m(words);
  std::vector<double> values(m.system->shape().events.size());
  const Capability<Events> events = m.system->capabilities().events;
  for (auto _ : state) events->event_functions(m.x, 0, values);
  per_token(state);
}

using Words = std::vector<std::string>;

BENCHMARK(BM_joma_scale)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_joma_library_exp)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_joma_own_exp)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_joma_rhs, drive_exp, Words{})->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_joma_rhs, target_exp, Words{"--activation", "nonlinear"})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_joma_rhs, target_softmax,
                  Words{"--activation", "nonlinear", "--attention", "softmax"})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_joma_rhs, target_linear,
                  Words{"--activation", "nonlinear", "--attention", "linear"})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_joma_rhs, target_exp_full,
                  Words{"--activation", "nonlinear", "--coordinates", "full"})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_joma_observe, target_exp, Words{"--activation", "nonlinear"})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_joma_events, target_exp, Words{"--activation", "nonlinear"})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

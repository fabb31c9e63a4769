// Recording full states against a plain sequential write of the same bytes, both into a file whose
// blocks exist already (as a run's do) and both followed by fdatasync.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/cases.hpp"
#include "popflow/trajectory_file.hpp"
#include "run/layout.hpp"

namespace {

using namespace popflow;

constexpr std::size_t kSaves = 16;

bench::Case& medium() {
  static bench::Case instance({"--vocab-size", "200", "--context-length", "20000"});
  return instance;
}

std::string scratch(const char* name) {
  return (std::filesystem::temp_directory_path() / (std::string("popflow-bench-") + name)).string();
}

std::size_t state_numbers() {
  return static_cast<std::size_t>(state_bytes(*medium().system)) / sizeof(double);
}

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kSaves * sizeof(double) * state_numbers()));
}

void BM_plain_write(benchmark::State& state) {
  const std::string path = scratch("plain");
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  const std::vector<double> data(state_numbers(), 1.5);
  const auto write_all = [&] {
    for (std::size_t save = 0; save < kSaves; ++save) {
      const char* from = reinterpret_cast<const char*>(data.data());
      std::size_t left = data.size() * sizeof(double);
      while (left > 0) {
        const ssize_t done = write(file, from, left);
        if (done <= 0) return;
        from += done;
        left -= static_cast<std::size_t>(done);
      }
    }
    (void)fdatasync(file);
  };
  write_all();
  for (auto _ : state) {
    (void)lseek(file, 0, SEEK_SET);
    write_all();
  }
  close(file);
  std::filesystem::remove(path);
  count_bytes(state);
}

void BM_record_states(benchmark::State& state) {
  bench::Case& c = medium();
  const std::string path = scratch("states.h5");
  Schedule schedule;
  for (std::size_t i = 0; i < kSaves; ++i) schedule.push_back(static_cast<double>(i));
  c.config.options.resolve("t-end", schedule.back());
  const GroupSpec layout = run_layout(*c.system, c.config, schedule,
                                      spacing_of(schedule, c.config.options), StateSaves::all, 1);
  TrajectoryFile file = TrajectoryFile::create(path, layout, true);
  std::vector<std::size_t> sizes;
  for (const std::string& name : c.system->shape().fields)
    sizes.push_back(field_size(*c.system, field_info(*c.system, name)));
  for (auto _ : state) {
    for (std::size_t save = 0; save < kSaves; ++save) {
      for (std::size_t field = 0; field < sizes.size(); ++field) {
        const std::string& name = c.system->shape().fields[field];
        c.system->field(field, c.x, 0, [&](std::size_t first, std::span<const double> values) {
          file.write(name, save * sizes[field] + first, values);
        });
      }
    }
    file.sync();
  }
  std::filesystem::remove(path);
  count_bytes(state);
}

/// A run's whole writing, from no file to the last state: what is not recorded yet must read as
/// NaN at every moment, so each byte is written twice.
void BM_create_and_record(benchmark::State& state) {
  for (auto _ : state) {
    bench::Case& c = medium();
    const std::string path = scratch("whole.h5");
    Schedule schedule;
    for (std::size_t i = 0; i < kSaves; ++i) schedule.push_back(static_cast<double>(i));
    c.config.options.resolve("t-end", schedule.back());
    const GroupSpec layout = run_layout(*c.system, c.config, schedule,
                                        spacing_of(schedule, c.config.options), StateSaves::all, 1);
    TrajectoryFile file = TrajectoryFile::create(path, layout, true);
    for (std::size_t save = 0; save < kSaves; ++save) {
      for (std::size_t field = 0; field < c.system->shape().fields.size(); ++field) {
        const std::string& name = c.system->shape().fields[field];
        const std::size_t size = field_size(*c.system, field_info(*c.system, name));
        c.system->field(field, c.x, 0, [&](std::size_t first, std::span<const double> values) {
          file.write(name, save * size + first, values);
        });
      }
    }
    file.sync();
    std::filesystem::remove(path);
  }
  count_bytes(state);
}

BENCHMARK(BM_plain_write)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_record_states)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_create_and_record)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

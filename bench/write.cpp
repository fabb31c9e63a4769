// Recording of full states, compared with a plain sequential write of the same number of bytes.
// Both write to a file whose blocks are already allocated, as those of a run are, and end with
// fdatasync.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/cases.hpp"
#include "engine/described.hpp"
#include "file/trajectory_file.hpp"
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

Plan planned() {
  Plan plan;
  plan.mode = mode_plan(medium().config.options);
  Schedule& schedule = plan.course.schedule;
  for (std::size_t i = 0; i < kSaves; ++i) schedule.push_back(static_cast<double>(i));
  plan.course.end = schedule.back();
  plan.course.spacing = {"linear", 1};
  return plan;
}

/// Number of doubles of the state in one save.
std::size_t state_numbers() {
  return static_cast<std::size_t>(bytes_of_states(planned(), *medium().system)) /
         (kSaves * sizeof(double));
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

TrajectoryFile create_file(const std::string& path) {
  bench::Case& c = medium();
  const Plan plan = planned();
  record(plan, c.config.options);
  DriverData driver_data;
  driver_data.add("dt", 0.0);
  const GroupSpec layout = run_layout(*c.system, c.config, plan, driver_data, 1);
  return TrajectoryFile::create(path, layout, true);
}

void record_all(TrajectoryFile& file) {
  const bench::Case& c = medium();
  const std::vector<std::string>& fields = c.system->shape().fields;
  for (std::size_t save = 0; save < kSaves; ++save) {
    for (const std::string& field : fields) {
      const std::size_t begin = save * field_size(*c.system, field_info(*c.system, field));
      c.system->field(field, c.x, 0, [&](std::size_t first, std::span<const double> values) {
        file.write(field, begin + first, values);
      });
    }
  }
  file.sync();
}

void BM_record_states(benchmark::State& state) {
  const std::string path = scratch("states.h5");
  TrajectoryFile file = create_file(path);
  for (auto _ : state) record_all(file);
  std::filesystem::remove(path);
  count_bytes(state);
}

/// Creates a file and records all states. Each byte is written twice, because saves that are not
/// recorded yet must read as NaN at any time.
void BM_create_and_record(benchmark::State& state) {
  const std::string path = scratch("whole.h5");
  for (auto _ : state) {
    TrajectoryFile file = create_file(path);
    record_all(file);
    std::filesystem::remove(path);
  }
  count_bytes(state);
}

BENCHMARK(BM_plain_write)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_record_states)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_create_and_record)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

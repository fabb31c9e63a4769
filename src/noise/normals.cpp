#include "noise/normals.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace popflow {

namespace {
constexpr std::size_t kGroup = 64;
constexpr std::size_t kFirst = 16;  ///< normals of a group that have blocks of their own
constexpr std::uint64_t kBlocksOfGroup = 16;

// Minimax polynomials: 4 artanh(sqrt z) / sqrt z for z up to tan(pi/8)^4, and for z up to 1/4
// sin(pi sqrt z) / sqrt z and cos(pi sqrt z). Their errors change a normal by less than 1e-11.
constexpr double kLog[] = {4,
                           1.3333333333475017,
                           0.7999999759467517,
                           0.5714350907183098,
                           0.44382801660490273,
                           0.38725307430866457};
constexpr double kMinusTwoLogTwo = -1.3862943611198906;
constexpr double kSine[] = {3.141592653589635,    -5.167712779987959,  2.550164035906745,
                            -0.5992644339357286,  0.08214479467064854, -0.007364005472115722,
                            0.0004474920849077101};
constexpr double kCosine[] = {0.9999999999992479,   -4.93480220024985,  4.0587121075374375,
                              -1.33526231526157,    0.2353254365877112, -0.02577631642731586,
                              0.0018399894372694043};
}  // namespace

#define POPFLOW_WIDTH 2
namespace baseline {
namespace {
#include "noise/normals_lanes.inc"
}  // namespace
}  // namespace baseline
#undef POPFLOW_WIDTH

#if POPFLOW_HAS_AVX
POPFLOW_BEGIN_AVX2
#define POPFLOW_WIDTH 4
namespace avx2 {
namespace {
#include "noise/normals_lanes.inc"
}  // namespace
}  // namespace avx2
#undef POPFLOW_WIDTH
POPFLOW_END_VERSION
POPFLOW_BEGIN_AVX512
#define POPFLOW_WIDTH 8
namespace avx512 {
namespace {
#include "noise/normals_lanes.inc"
}  // namespace
}  // namespace avx512
#undef POPFLOW_WIDTH
POPFLOW_END_VERSION
#endif

namespace {

void write_groups(const PhiloxKey& key, std::uint64_t first, std::size_t groups, double* out,
                  InstructionSet set) {
#if POPFLOW_HAS_AVX
  if (use_avx512(set)) return avx512::normals_of_groups(key, first, groups, out);
  if (use_avx2(set)) return avx2::normals_of_groups(key, first, groups, out);
#else
  (void)set;
#endif
  baseline::normals_of_groups(key, first, groups, out);
}

void write_first(const PhiloxKey& key, std::uint64_t group, double* out, InstructionSet set) {
#if POPFLOW_HAS_AVX
  if (use_avx512(set)) return avx512::first_normals_of_group(key, group, out);
  if (use_avx2(set)) return avx2::first_normals_of_group(key, group, out);
#else
  (void)set;
#endif
  baseline::first_normals_of_group(key, group, out);
}

}  // namespace

void NormalPart::write(std::size_t first, std::span<double> out, InstructionSet set) const {
  if (out.empty()) return;
  if ((first + out.size() - 1) / kGroup >= kBlocksOfStream / kBlocksOfGroup)
    throw std::length_error("a part of a Brownian path holds 1.7e10 normals; more were requested");
  std::size_t done = 0;
  double group[kGroup];
  const auto piece = [&] {
    const std::size_t within = (first + done) % kGroup;
    const std::size_t count = std::min(kGroup - within, out.size() - done);
    const std::uint64_t number = (first + done) / kGroup;
    if (within + count <= kFirst)
      write_first(key_, number, group, set);
    else
      write_groups(key_, number, 1, group, set);
    std::copy_n(group + within, count, out.data() + done);
    done += count;
  };
  if (first % kGroup != 0) piece();
  const std::size_t groups = (out.size() - done) / kGroup;
  write_groups(key_, (first + done) / kGroup, groups, out.data() + done, set);
  done += groups * kGroup;
  if (done < out.size()) piece();
}

void write_lane_normals(std::uint64_t seed, Purpose purpose,
                        std::span<const std::uint64_t, kLanes> runs, std::uint64_t number,
                        std::size_t variables, double* out, InstructionSet set) {
  const PhiloxKey key(seed, purpose, 0, number);
#if POPFLOW_HAS_AVX
  if (use_avx512(set)) return avx512::first_normals_of_runs(key, runs.data(), variables, out);
  if (use_avx2(set)) return avx2::first_normals_of_runs(key, runs.data(), variables, out);
#else
  (void)set;
#endif
  baseline::first_normals_of_runs(key, runs.data(), variables, out);
}

void fill_normals(Workers& workers, std::uint64_t seed, std::uint32_t run, std::uint64_t number,
                  std::span<double> out) {
  const NormalPart part(seed, run, number);
  constexpr std::size_t kTask = std::size_t{1} << 14;
  if (out.size() <= kTask) return part.write(0, out);
  workers.run((out.size() + kTask - 1) / kTask, 4 * out.size(), [&](std::size_t task) {
    const std::size_t begin = task * kTask;
    part.write(begin, out.subspan(begin, std::min(kTask, out.size() - begin)));
  });
}

}  // namespace popflow

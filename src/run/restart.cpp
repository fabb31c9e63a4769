#include "run/restart.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "popflow/error.hpp"

namespace popflow {

namespace {

constexpr std::size_t kSlots = 2;  // of a run

std::int64_t checksum(const double* x, std::size_t size, const std::vector<double>& memory,
                      double t, std::int64_t saves, std::int64_t ended, std::int64_t sequence) {
  XXH3_state_t hash;
  XXH3_64bits_reset(&hash);
  XXH3_64bits_update(&hash, x, size * sizeof(double));
  XXH3_64bits_update(&hash, memory.data(), memory.size() * sizeof(double));
  XXH3_64bits_update(&hash, &t, sizeof t);
  XXH3_64bits_update(&hash, &saves, sizeof saves);
  XXH3_64bits_update(&hash, &ended, sizeof ended);
  XXH3_64bits_update(&hash, &sequence, sizeof sequence);
  return static_cast<std::int64_t>(XXH3_64bits_digest(&hash));
}

VariableSpec slot_variable(const std::string& name, const std::vector<std::string>& rest,
                           const std::string& long_name, NumberType type = NumberType::float64) {
  VariableSpec v;
  v.name = name;
  v.dimensions = {"restart_slot"};
  v.dimensions.insert(v.dimensions.end(), rest.begin(), rest.end());
  v.type = type;
  v.attributes = {{"long_name", long_name}, {"units", std::string("1")}};
  return v;
}

}  // namespace

GroupSpec restart_group(const System& system, const Spacing& spacing, std::size_t driver_memory,
                        std::size_t runs) {
  GroupSpec group;
  group.name = "restart";
  group.attributes = {{"spacing", spacing.kind}, {"spacing_step", spacing.step}};
  const auto dimension = [&](const char* name, std::size_t size, const char* long_name) {
    DimensionSpec d;
    d.name = name;
    d.size = size;
    d.coordinate = DimensionSpec::Coordinate::none;  // as long as the state: must take no space
    d.attributes = {{"long_name", std::string(long_name)}, {"units", std::string("1")}};
    group.dimensions.push_back(std::move(d));
  };
  dimension("restart_slot", kSlots * runs, "two slots a run, written in turn");
  dimension("state_element", system.shape().state_size(), "number of the integration state");
  dimension("driver_value", driver_memory, "number of the driver's memory");
  group.variables = {
      slot_variable("state", {"state_element"}, "integration state"),
      slot_variable("driver", {"driver_value"},
                    "step size, counts, events as the driver keeps them"),
      slot_variable("slot_time", {}, "flow time"),
      slot_variable("saves", {}, "saves that precede it", NumberType::int64),
      slot_variable("ended", {}, "1: the run stopped there before its end", NumberType::int64),
      slot_variable("sequence", {}, "number of the writing; -1: empty", NumberType::int64),
      slot_variable("checksum", {}, "XXH3 of all of a slot", NumberType::int64)};
  return group;
}

void RestartWriter::write(const ResumePoint& point, std::int64_t saves, bool ended) {
  const State& x = *point.x;
  const std::size_t slot = run_ * kSlots + static_cast<std::size_t>(sequence_) % kSlots;
  file_.write("restart/state", slot * x.size(), std::span<const double>(x));
  file_.write("restart/driver", slot * point.memory.size(), std::span<const double>(point.memory));
  file_.write("restart/slot_time", slot, point.t);
  file_.write("restart/saves", slot, saves);
  file_.write("restart/ended", slot, std::int64_t{ended});
  file_.write("restart/checksum", slot,
              checksum(x.data(), x.size(), point.memory, point.t, saves, ended, sequence_));
  file_.write("restart/sequence", slot, sequence_);
  ++sequence_;
}

std::optional<Restart> find_restart(const DataFile& file, const System& system, std::size_t run,
                                    Slots which) {
  const std::size_t size = system.shape().state_size();
  if (!file.has_dataset("restart/state")) throw InputError(file.path() + " holds no restart data");
  const std::vector<std::size_t> states = file.shape("restart/state");
  const std::vector<std::size_t> drivers = file.shape("restart/driver");
  if (states.size() != 2 || states[0] < (run + 1) * kSlots || states[1] != size ||
      drivers.size() != 2 || drivers[0] != states[0])
    throw InputError(file.path() + " was written by a program whose state of " +
                     system.info().name + " is laid out differently");
  const DataArray times = file.read("restart/slot_time");
  const DataArray saves = file.read("restart/saves");
  const DataArray ended = file.read("restart/ended");
  const DataArray sequence = file.read("restart/sequence");
  const DataArray sums = file.read("restart/checksum");
  if (times.values.size() != states[0])
    throw InputError(file.path() + " is damaged: 'restart/slot_time' has another shape");
  for (const DataArray* whole : {&saves, &ended, &sequence, &sums})
    if (whole->integers.size() != states[0])
      throw InputError(file.path() + " is damaged: group 'restart' has other shapes");

  const std::size_t first = run * kSlots;
  std::array<std::size_t, kSlots> newest_first = {first, first + 1};
  if (sequence.integers[first + 1] > sequence.integers[first])
    std::swap(newest_first[0], newest_first[1]);
  for (const std::size_t slot : newest_first) {
    if (sequence.integers[slot] < 0) continue;
    if (which == Slots::going_on && ended.integers[slot] != 0) continue;
    Restart restart;
    restart.x.resize(size);
    file.read_rows("restart/state", {slot}, 0, size, restart.x.data());
    restart.memory = file.read_slab("restart/driver", {slot});
    restart.t = times.values[slot];
    restart.saves = saves.integers[slot];
    restart.ended = ended.integers[slot] != 0;
    restart.sequence = sequence.integers[slot];
    if (checksum(restart.x.data(), size, restart.memory, restart.t, restart.saves, restart.ended,
                 restart.sequence) == sums.integers[slot])
      return restart;
  }
  return std::nullopt;
}

Restart read_restart(const DataFile& file, const System& system, std::size_t run, Slots which) {
  std::optional<Restart> restart = find_restart(file, system, run, which);
  if (!restart) throw InputError(file.path() + " holds no whole restart data");
  return std::move(*restart);
}

Spacing read_spacing(const DataFile& file) {
  const std::optional<std::string> kind = file.text_attribute("restart", "spacing");
  const std::optional<double> step = file.number_attribute("restart", "spacing_step");
  if (!kind || !step)
    throw InputError(file.path() +
                     " does not say how its times are spaced (attributes 'spacing' "
                     "and 'spacing_step' of group 'restart')");
  return {*kind, *step};
}

}  // namespace popflow

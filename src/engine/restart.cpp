#include "engine/restart.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <span>

#include "popflow/error.hpp"

namespace popflow {

namespace {

constexpr std::size_t kSlots = 2;  // per run

std::int64_t checksum(std::span<const double> x, std::span<const double> regime,
                      std::span<const double> data, double t, std::int64_t saves,
                      std::int64_t ended, std::int64_t sequence) {
  XXH3_state_t hash;
  XXH3_64bits_reset(&hash);
  for (const std::span<const double> numbers : {x, regime, data})
    XXH3_64bits_update(&hash, numbers.data(), numbers.size_bytes());
  XXH3_64bits_update(&hash, &t, sizeof t);
  XXH3_64bits_update(&hash, &saves, sizeof saves);
  XXH3_64bits_update(&hash, &ended, sizeof ended);
  XXH3_64bits_update(&hash, &sequence, sizeof sequence);
  return static_cast<std::int64_t>(XXH3_64bits_digest(&hash));
}

/// "V:100 A:500": the blocks of a state with their sizes.
std::string blocks_of(const System& system) {
  std::string text;
  for (const StateBlock& block : system.shape().blocks)
    text += (text.empty() ? "" : " ") + block.name + ":" + std::to_string(block.size);
  return text;
}

std::size_t regime_size(const System& system) {
  const Capability<Switching> switching = system.capabilities().switching;
  return switching ? switching->first_regime().size() : 0;
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

GroupSpec restart_group(const System& system, const Spacing& spacing, const DriverData& data,
                        std::size_t runs) {
  GroupSpec group;
  group.name = "restart";
  group.attributes = {{"spacing", spacing.kind},
                      {"spacing_step", spacing.step},
                      {"state_layout", blocks_of(system)},
                      {"driver_layout", data.layout()}};
  const auto dimension = [&](const char* name, std::size_t size, const char* long_name) {
    DimensionSpec d;
    d.name = name;
    d.size = size;
    // A coordinate variable would be as large as the state.
    d.coordinate = DimensionSpec::Coordinate::none;
    d.attributes = {{"long_name", std::string(long_name)}, {"units", std::string("1")}};
    group.dimensions.push_back(std::move(d));
  };
  const std::size_t regime = regime_size(system);
  dimension("restart_slot", kSlots * runs, "two slots per run, written alternately");
  dimension("state_element", system.shape().state_size(), "entry of the integration state");
  if (regime > 0) dimension("regime_value", regime, "entry of the regime");
  dimension("driver_value", data.values().size(), "entry of the driver's data");
  group.variables = {
      slot_variable("state", {"state_element"}, "integration state"),
      slot_variable(
          "driver", {"driver_value"},
          "step size, counts, events as the driver keeps them (driver_layout names them)"),
      slot_variable("slot_time", {}, "flow time"),
      slot_variable("saves", {}, "number of saves before it", NumberType::int64),
      slot_variable("ended", {}, "1: the run stopped here before its end", NumberType::int64),
      slot_variable("sequence", {}, "sequence number of the slot; -1: empty", NumberType::int64),
      slot_variable("checksum", {}, "XXH3 of the slot's contents", NumberType::int64)};
  if (regime > 0)
    group.variables.push_back(slot_variable(
        "regime", {"regime_value"}, "regime: which smooth piece of the right-hand side holds"));
  return group;
}

void RestartWriter::write(const ResumePoint& point, std::int64_t saves, bool ended) {
  const State& x = *point.x;
  const Regime& regime = *point.regime;
  const std::vector<double>& data = point.data.values();
  const std::size_t slot = run_ * kSlots + static_cast<std::size_t>(sequence_) % kSlots;
  file_.write("restart/state", slot * x.size(), std::span<const double>(x));
  if (!regime.empty())
    file_.write("restart/regime", slot * regime.size(), std::span<const double>(regime));
  file_.write("restart/driver", slot * data.size(), std::span<const double>(data));
  file_.write("restart/slot_time", slot, point.t);
  file_.write("restart/saves", slot, saves);
  file_.write("restart/ended", slot, std::int64_t{ended});
  file_.write("restart/checksum", slot,
              checksum(x, regime, data, point.t, saves, ended, sequence_));
  file_.write("restart/sequence", slot, sequence_);
  ++sequence_;
}

RestartReader::RestartReader(const DataFile& file, const System& system)
    : file_(file), system_(system), regime_(regime_size(system)) {
  if (!file.has_dataset("restart/state")) throw InputError(file.path() + " holds no checkpoint");
  const std::vector<std::size_t> states = file.shape("restart/state");
  const std::vector<std::size_t> drivers = file.shape("restart/driver");
  const bool regimes_fit = regime_ == 0 || (file.has_dataset("restart/regime") && !states.empty() &&
                                            file.shape("restart/regime") ==
                                                std::vector<std::size_t>{states[0], regime_});
  if (states.size() != 2 || states[1] != system.shape().state_size() || !regimes_fit ||
      drivers.size() != 2 || drivers[0] != states[0] ||
      file.text_attribute("restart", "state_layout") != blocks_of(system))
    throw other_layout();
  times_ = file.reals("restart/slot_time", states[0]);
  saves_ = file.integers("restart/saves", states[0]);
  ended_ = file.integers("restart/ended", states[0]);
  sequence_ = file.integers("restart/sequence", states[0]);
  sums_ = file.integers("restart/checksum", states[0]);
}

InputError RestartReader::other_layout() const {
  return InputError(file_.path() +
                    " was written by another version of the program, whose state of " +
                    system_.info().name + " is laid out differently");
}

std::optional<RestartReader::Slot> RestartReader::find_slot(std::size_t run, Slots which) const {
  const std::size_t first = run * kSlots;
  if (times_.size() < first + kSlots) throw other_layout();
  std::array<std::size_t, kSlots> newest_first = {first, first + 1};
  if (sequence_[first + 1] > sequence_[first]) std::swap(newest_first[0], newest_first[1]);
  for (const std::size_t slot : newest_first) {
    if (sequence_[slot] < 0) continue;
    if (which == Slots::resumable && ended_[slot] != 0) continue;
    Slot found;
    Restart& restart = found.restart;
    restart.x.resize(system_.shape().state_size());
    file_.read_rows("restart/state", {slot}, 0, restart.x.size(), restart.x.data());
    if (regime_ > 0) restart.regime = file_.read_slab("restart/regime", {slot});
    found.data = file_.read_slab("restart/driver", {slot});
    restart.t = times_[slot];
    restart.saves = saves_[slot];
    restart.ended = ended_[slot] != 0;
    restart.sequence = sequence_[slot];
    if (checksum(restart.x, restart.regime, found.data, restart.t, restart.saves, restart.ended,
                 restart.sequence) == sums_[slot])
      return found;
  }
  return std::nullopt;
}

void RestartReader::require(const DriverData& data) const {
  if (file_.text_attribute("restart", "driver_layout") != data.layout())
    throw InputError(file_.path() +
                     " was written by another version of the program, whose integrator stores "
                     "other data in checkpoints");
}

std::optional<Restart> RestartReader::find(const DriverData& data, std::size_t run,
                                           Slots which) const {
  require(data);
  std::optional<Slot> slot = find_slot(run, which);
  if (!slot) return std::nullopt;
  slot->restart.data = data.with(std::move(slot->data));
  return std::move(slot->restart);
}

Restart RestartReader::read(const DriverData& data, std::size_t run, Slots which) const {
  std::optional<Restart> restart = find(data, run, which);
  if (!restart)
    throw InputError(file_.path() +
                     " holds no intact checkpoint; the run must be begun anew (--force)");
  return std::move(*restart);
}

Restart RestartReader::read_state(std::size_t run, Slots which) const {
  std::optional<Slot> slot = find_slot(run, which);
  if (!slot) throw InputError(file_.path() + " holds no intact checkpoint");
  return std::move(slot->restart);
}

void require_intact_slots(const StoredFile& file) {
  if (find_group(file.layout(), "restart") == nullptr) return;
  const std::size_t slots = file.size("restart/checksum");
  const std::vector<double> times = file.reals("restart/slot_time", slots);
  const auto integers = [&](const char* name) { return file.integers(name, slots); };
  const std::vector<std::int64_t> saves = integers("restart/saves"),
                                  ended = integers("restart/ended"),
                                  sequence = integers("restart/sequence"),
                                  sums = integers("restart/checksum");
  const auto numbers = [&](const char* name, std::size_t slot) {
    std::vector<double> of_slot(file.size(name) / slots);
    file.read(name, slot * of_slot.size(), of_slot.size(), of_slot.data());
    return of_slot;
  };
  const GroupSpec& restart = *find_group(file.layout(), "restart");
  const bool has_regime =
      std::any_of(restart.variables.begin(), restart.variables.end(),
                  [](const VariableSpec& variable) { return variable.name == "regime"; });
  const auto is_intact = [&](std::size_t slot) {
    const std::vector<double> regime =
        has_regime ? numbers("restart/regime", slot) : std::vector<double>();
    return checksum(numbers("restart/state", slot), regime, numbers("restart/driver", slot),
                    times[slot], saves[slot], ended[slot], sequence[slot]) == sums[slot];
  };
  for (std::size_t first = 0; first + kSlots <= slots; first += kSlots) {
    bool any = false, intact = false;
    for (std::size_t slot = first; slot < first + kSlots && !intact; ++slot) {
      if (sequence[slot] < 0) continue;
      any = true;
      intact = is_intact(slot);
    }
    if (any && !intact)
      throw InputError("'" + file.path() + "' is damaged: run " + std::to_string(first / kSlots) +
                       " has no checkpoint with a correct checksum");
  }
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

// Checkpoints in restart slots: the newest intact slot counts.

#include "engine/restart.hpp"

#include "file/trajectory_file.hpp"
#include "popflow/error.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

constexpr std::size_t kNumbers = 13;

DriverData driver_data() {
  DriverData data;
  data.add("numbers", std::vector<double>(kNumbers, 0.5));
  return data;
}

/// A file that contains only restart slots.
struct SlotFile {
  explicit SlotFile(const System& of)
      : system(of), file(TrajectoryFile::create(folder.file("run.h5"), layout(), false)) {}

  [[nodiscard]] GroupSpec layout() const {
    GroupSpec root;
    root.attributes = {{"format", std::string("popflow")}};
    root.groups = {restart_group(system, {"linear", 0.25}, driver_data(), 1)};
    return root;
  }
  /// Writes the slot of save `saves`, at time `saves`, with `saves` as every entry of the state.
  void write(RestartWriter& writer, std::int64_t saves, bool ended = false) {
    State x(system.shape().state_size());
    std::fill(x.begin(), x.end(), static_cast<double>(saves));
    const Regime regime;
    writer.write({&x, &regime, static_cast<double>(saves), driver_data()}, saves, ended);
  }
  [[nodiscard]] Restart read(Slots which = Slots::all) const {
    const DataFile as_it_is(folder.file("run.h5"));
    return RestartReader(as_it_is, system).read(driver_data(), 0, which);
  }

  const System& system;
  ScratchFolder folder;
  TrajectoryFile file;
};

TEST_CASE("the newest slot is read", "[fast][run]") {
  const ToySystem system(oscillator());
  SlotFile slots(system);
  CHECK_THROWS_AS(slots.read(), InputError);
  RestartWriter writer(slots.file, 0, 0);
  for (std::int64_t saves = 1; saves < 6; ++saves) {
    slots.write(writer, saves);
    const Restart restart = slots.read();
    CHECK(restart.saves == saves);
    CHECK(restart.sequence == saves - 1);
    CHECK(restart.t == static_cast<double>(saves));
    CHECK(restart.x[1] == static_cast<double>(saves));
    CHECK(restart.data.numbers("numbers").size() == kNumbers);
    CHECK_FALSE(restart.ended);
  }
}

TEST_CASE("a damaged slot is skipped", "[fast][run]") {
  const ToySystem system(oscillator());
  const std::string part =
      GENERATE("state", "driver", "slot_time", "saves", "ended", "checksum", "sequence");
  INFO(part);
  SlotFile slots(system);
  RestartWriter writer(slots.file, 0, 0);
  slots.write(writer, 1);
  slots.write(writer, 2);  // the second slot of the file
  const std::size_t second = slots.file.size("restart/" + part) / 2;
  if (part == "state" || part == "driver" || part == "slot_time")
    slots.file.write("restart/" + part, second, 0.125);
  else
    slots.file.write("restart/" + part, second, std::int64_t{7});
  CHECK(slots.read().saves == 1);
}

TEST_CASE("a stopped run is resumed from the checkpoint before its stop", "[fast][run]") {
  const ToySystem system(oscillator());
  SlotFile slots(system);
  RestartWriter writer(slots.file, 0, 0);
  slots.write(writer, 1);
  slots.write(writer, 2);
  slots.write(writer, 3, true);
  CHECK(slots.read(Slots::all).saves == 3);
  CHECK(slots.read(Slots::all).ended);
  CHECK(slots.read(Slots::resumable).saves == 2);
  // The next slot replaces the stop's.
  RestartWriter again(slots.file, 0, slots.read(Slots::resumable).sequence + 1);
  slots.write(again, 3);
  CHECK(slots.read(Slots::resumable).saves == 3);
}

TEST_CASE("checkpoints of another system are refused", "[fast][run]") {
  const ToySystem system(oscillator());
  SlotFile slots(system);
  RestartWriter writer(slots.file, 0, 0);
  slots.write(writer, 1);
  const ToySystem other(decay());
  const DataFile file(slots.folder.file("run.h5"));
  CHECK_THROWS_AS(RestartReader(file, other), InputError);
}

TEST_CASE("checkpoints of equal size with other names are refused", "[fast][run]") {
  const ToySystem system(oscillator());
  SlotFile slots(system);
  RestartWriter writer(slots.file, 0, 0);
  slots.write(writer, 1);
  const DataFile file(slots.folder.file("run.h5"));
  DriverData reordered;
  reordered.add("other", std::vector<double>(kNumbers, 0.5));
  const RestartReader reader(file, system);
  CHECK_THROWS_AS(reader.read(reordered, 0, Slots::all), InputError);

  class Renamed : public ToySystem {
   public:
    Renamed() : ToySystem(oscillator()) { renamed_.blocks = {{"y", 2, 1}}; }
    [[nodiscard]] const Shape& shape() const override { return renamed_; }

   private:
    Shape renamed_;
  };
  CHECK_THROWS_AS(RestartReader(file, Renamed()), InputError);
  CHECK(reader.read_state(0, Slots::all).saves == 1);
}

TEST_CASE("the file stores the spacing of save times", "[fast][run]") {
  const ToySystem system(oscillator());
  const SlotFile slots(system);
  const Spacing spacing = read_spacing(DataFile(slots.folder.file("run.h5")));
  CHECK(spacing.kind == "linear");
  CHECK(spacing.step == 0.25);
}

TEST_CASE("a second process cannot open a file for writing", "[fast][run]") {
  const ToySystem system(oscillator());
  const SlotFile slots(system);
  const std::string path = slots.folder.file("run.h5");
  CHECK_THROWS_WITH(TrajectoryFile::open(path), Catch::Contains("another process"));
  CHECK(DataFile(path).has_dataset("restart/state"));  // reading needs no lock
}

TEST_CASE("a file must have all datasets that its run writes", "[fast][run]") {
  const ToySystem system(oscillator());
  const SlotFile slots(system);
  GroupSpec layout = slots.layout();
  CHECK_NOTHROW(slots.file.require(layout));
  GroupSpec longer = layout;
  longer.groups[0].dimensions[1].size += 1;
  CHECK_THROWS_AS(slots.file.require(longer), InputError);
  GroupSpec other = layout;
  other.groups[0].variables[0].type = NumberType::int64;
  CHECK_THROWS_AS(slots.file.require(other), InputError);
  GroupSpec more = layout;
  more.groups[0].variables.push_back({"more", {}, NumberType::float64, {}, {}});
  CHECK_THROWS_AS(slots.file.require(more), InputError);
}

}  // namespace
}  // namespace popflow::test

// Records that are held in memory reach the file complete, and their count after them.

#include "engine/held_records.hpp"

#include <chrono>
#include <map>
#include <thread>

#include "support/catch.hpp"

namespace popflow::test {
namespace {

/// Writer that keeps the numbers of each variable by their places, and the names in their order.
class Kept final : public TrajectoryWriter {
 public:
  using TrajectoryWriter::write;
  void write(const std::string& variable, std::size_t first,
             std::span<const double> values) override {
    keep(variable, first, values);
  }
  void write(const std::string& variable, std::size_t first,
             std::span<const std::int64_t> values) override {
    keep(variable, first, values);
  }
  void write(const std::string& variable, std::size_t first,
             std::span<const std::int8_t> values) override {
    keep(variable, first, values);
  }
  void sync() override {}
  void set_attributes(const std::vector<AttributeChange>& /*changes*/) override {}

  std::vector<std::string> order;
  std::map<std::string, std::map<std::size_t, double>> numbers;

 private:
  template <class Number>
  void keep(const std::string& variable, std::size_t first, std::span<const Number> values) {
    order.push_back(variable);
    for (std::size_t i = 0; i < values.size(); ++i)
      numbers[variable][first + i] = static_cast<double>(values[i]);
  }
};

void hold_record(HeldRecords& held, std::size_t i) {
  const auto number = static_cast<double>(i);
  held.hold("loss", i, number);
  held.hold("zeros", 2 * i, std::vector<double>{number, -number});
  held.hold("stage", i, std::int8_t{1});
  held.hold("statistics/accepted_steps", 3, static_cast<std::int64_t>(10 * i));
  if (i >= 2) held.hold("events/time", 0, std::vector<double>(i - 1, number));
  held.hold_count("saves_done", 3, static_cast<std::int64_t>(i + 1));
}

}  // namespace

TEST_CASE("Held records are written once for each variable, and their count last", "[fast]") {
  Kept file;
  HeldRecords held{TrajectoryGroup(file)};
  for (std::size_t i = 0; i < 5; ++i) hold_record(held, i);
  CHECK(file.order.empty());
  held.write();
  CHECK(file.order.size() == 6);
  CHECK(file.order.back() == "saves_done");
  using Numbers = std::map<std::size_t, double>;
  CHECK(file.numbers["loss"] == Numbers{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}});
  CHECK(file.numbers["zeros"].size() == 10);
  CHECK(file.numbers["zeros"][9] == -4);
  CHECK(file.numbers["stage"].size() == 5);
  CHECK(file.numbers["statistics/accepted_steps"] == Numbers{{3, 40}});
  CHECK(file.numbers["events/time"] == Numbers{{0, 4}, {1, 4}, {2, 4}});
  CHECK(file.numbers["saves_done"] == Numbers{{3, 5}});
  file.order.clear();
  held.write();
  CHECK(file.order.empty());
}

TEST_CASE("Elements from another place, and many numbers, keep the order of a variable's writes",
          "[fast]") {
  Kept file;
  HeldRecords held{TrajectoryGroup(file)};
  held.hold("V", 0, 1.0);
  held.hold("V", 7, 2.0);  // neither follows nor replaces the first
  CHECK(file.order == std::vector<std::string>{"V"});
  held.hold("V", 7, std::vector<double>(1 << 14, 3.0));
  CHECK(file.order.size() == 3);
  held.write();
  CHECK(file.numbers["V"][0] == 1);
  CHECK(file.numbers["V"][7] == 3);
}

TEST_CASE("Held records are written when they are many, or held for a tenth of a second",
          "[fast]") {
  Kept file;
  HeldRecords held{TrajectoryGroup(file)};
  const std::vector<double> state(1 << 12, 1.0);  // 32 KiB
  std::size_t i = 0;
  for (; file.order.empty() && i < 100; ++i) {
    held.hold("state", i * state.size(), state);
    held.hold_count("saves_done", 0, static_cast<std::int64_t>(i + 1));
    held.write_if_due();
  }
  CHECK(i <= 8);  // fewer on a busy machine
  CHECK(file.numbers["state"].size() == i * state.size());
  CHECK(file.numbers["saves_done"][0] == static_cast<double>(i));

  file.order.clear();
  held.write_if_due();
  CHECK(file.order.empty());  // nothing is held
  hold_record(held, i);
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  held.write_if_due();
  CHECK(file.order.size() == 6);
  CHECK(file.order.back() == "saves_done");
}

}  // namespace popflow::test

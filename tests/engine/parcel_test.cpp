// Records from another MPI rank arrive unchanged and in order.

#include "engine/parcel.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "support/catch.hpp"

namespace popflow::test {
namespace {

/// Writer that records all calls as text.
class Notes final : public TrajectoryWriter {
 public:
  using TrajectoryWriter::write;
  void write(const std::string& variable, std::size_t first,
             std::span<const double> values) override {
    note("real", variable, first);
    for (const double value : values) lines.back() += ' ' + std::to_string(bits(value));
  }
  void write(const std::string& variable, std::size_t first,
             std::span<const std::int64_t> values) override {
    note("whole", variable, first);
    for (const std::int64_t value : values) lines.back() += ' ' + std::to_string(value);
  }
  void write(const std::string& variable, std::size_t first,
             std::span<const std::int8_t> values) override {
    note("flag", variable, first);
    for (const std::int8_t value : values) lines.back() += ' ' + std::to_string(value);
  }
  void sync() override { lines.emplace_back("sync"); }
  void set_attributes(const std::vector<AttributeChange>& /*changes*/) override {
    lines.emplace_back("attributes");
  }

  std::vector<std::string> lines;

 private:
  static std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
  void note(const std::string& type, const std::string& variable, std::size_t first) {
    lines.push_back(type + ' ' + variable + ' ' + std::to_string(first));
  }
};

void write_all(TrajectoryWriter& to) {
  const std::vector<double> reals = {1, -0.0, std::nan(""), std::bit_cast<double>(~0ULL),
                                     std::numeric_limits<double>::denorm_min()};
  const std::vector<std::int64_t> wholes = {std::numeric_limits<std::int64_t>::min(), -1, 7};
  const std::vector<std::int8_t> flags = {-1, 0, 127};
  to.write("loss", 3, std::span<const double>(reals));
  to.write("group/of/counts", 0, std::span<const std::int64_t>(wholes));
  to.write("kind", std::size_t{1} << 40, std::span<const std::int8_t>(flags));
  to.write("nothing", 0, std::span<const double>());
  to.sync();
  to.write("status", 9, std::int8_t{1});
}

}  // namespace

TEST_CASE("a parcel arrives unchanged", "[fast][engine]") {
  Notes direct, unpacked;
  write_all(direct);
  std::vector<std::vector<double>> sent;
  Parcel parcel([&](std::vector<double> records) { sent.push_back(std::move(records)); });
  write_all(parcel);
  parcel.end(5, {{Outcome::Kind::diverged, 2, "it blew up", 2.5}, "local"});
  parcel.end(6, {});
  sent.push_back(parcel.take());
  CHECK(sent.size() == 2);  // sync() sends at once
  std::vector<std::pair<std::size_t, Ending>> ended;
  for (const std::vector<double>& records : sent)
    unpack(records, TrajectoryGroup(unpacked),
           [&](std::size_t run, Ending ending) { ended.emplace_back(run, std::move(ending)); });
  CHECK(unpacked.lines == direct.lines);
  REQUIRE(ended.size() == 2);
  CHECK(ended[0].first == 5);
  CHECK(ended[0].second.outcome.kind == Outcome::Kind::diverged);
  CHECK(ended[0].second.outcome.time == 2);
  CHECK(ended[0].second.outcome.message == "it blew up");
  CHECK(ended[0].second.outcome.diverged_at == 2.5);
  CHECK(ended[0].second.where == "local");
  CHECK(ended[1].second.outcome.message.empty());
  CHECK(std::isnan(ended[1].second.outcome.diverged_at));
  CHECK(parcel.take().empty());
}

TEST_CASE("a large parcel is sent in pieces", "[fast][engine]") {
  std::size_t pieces = 0;
  Parcel parcel([&](const std::vector<double>&) { ++pieces; });
  const std::vector<double> much(std::size_t{1} << 18, 1.0);
  for (int i = 0; i < 10; ++i) parcel.write("state", 0, std::span<const double>(much));
  CHECK(pieces == 2);
}

}  // namespace popflow::test

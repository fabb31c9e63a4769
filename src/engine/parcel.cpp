#include "engine/parcel.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>

namespace popflow {

namespace {

// Kinds of records. After the first three kinds follow a variable's name, a place and numbers.
constexpr double kReals = 0;
constexpr double kWholes = 1;
constexpr double kFlags = 2;
constexpr double kSync = 3;
constexpr double kEnding = 4;

/// Size beyond which a parcel is sent: 8 MiB.
constexpr std::size_t kMuch = std::size_t{1} << 20;

/// Reads records in the order in which they were packed.
class Records {
 public:
  explicit Records(std::span<const double> numbers) : left_(numbers) {}

  [[nodiscard]] bool empty() const { return left_.empty(); }
  double number() {
    const double first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }
  template <class Number>
  std::vector<Number> values() {
    const auto bytes = static_cast<std::size_t>(number());
    std::vector<Number> values(bytes / sizeof(Number));
    if (bytes > 0) std::memcpy(values.data(), left_.data(), bytes);
    left_ = left_.subspan((bytes + sizeof(double) - 1) / sizeof(double));
    return values;
  }
  std::string text() {
    const std::vector<char> letters = values<char>();
    return {letters.begin(), letters.end()};
  }

 private:
  std::span<const double> left_;
};

template <class Number>
void write_values(Records& records, const TrajectoryGroup& file) {
  const std::string variable = records.text();
  const auto first = static_cast<std::size_t>(records.number());
  const std::vector<Number> values = records.values<Number>();
  file.write(variable, first, std::span<const Number>(values));
}

}  // namespace

void Parcel::put_bytes(const void* data, std::size_t size) {
  put(static_cast<double>(size));
  const std::size_t at = numbers_.size();
  numbers_.resize(at + (size + sizeof(double) - 1) / sizeof(double));
  if (size > 0) std::memcpy(numbers_.data() + at, data, size);
}

template <class Number>
void Parcel::put_values(double type, const std::string& variable, std::size_t first,
                        std::span<const Number> values) {
  put(type);
  put(variable);
  put(static_cast<double>(first));
  put_bytes(values.data(), values.size_bytes());
  if (numbers_.size() > kMuch) send_(take());
}

void Parcel::write(const std::string& variable, std::size_t first, std::span<const double> values) {
  put_values(kReals, variable, first, values);
}

void Parcel::write(const std::string& variable, std::size_t first,
                   std::span<const std::int64_t> values) {
  put_values(kWholes, variable, first, values);
}

void Parcel::write(const std::string& variable, std::size_t first,
                   std::span<const std::int8_t> values) {
  put_values(kFlags, variable, first, values);
}

void Parcel::sync() {
  put(kSync);
  send_(take());
}

void Parcel::set_attributes(const std::vector<AttributeChange>& /*changes*/) {
  throw std::logic_error("only the rank that has the file may change attributes");
}

void Parcel::end(std::size_t run, const Ending& ending) {
  put(kEnding);
  put(static_cast<double>(run));
  put(static_cast<double>(ending.outcome.kind));
  put(ending.outcome.time);
  put(ending.outcome.diverged_at);
  put(ending.outcome.message);
  put(ending.where);
}

std::vector<double> Parcel::take() { return std::exchange(numbers_, {}); }

void unpack(std::span<const double> numbers, const TrajectoryGroup& file,
            const std::function<void(std::size_t run, Ending ending)>& end) {
  for (Records records(numbers); !records.empty();) {
    const double kind = records.number();
    if (kind == kReals) write_values<double>(records, file);
    if (kind == kWholes) write_values<std::int64_t>(records, file);
    if (kind == kFlags) write_values<std::int8_t>(records, file);
    if (kind == kSync) file.sync();
    if (kind != kEnding) continue;
    const auto run = static_cast<std::size_t>(records.number());
    Ending ending;
    ending.outcome.kind = static_cast<Outcome::Kind>(static_cast<int>(records.number()));
    ending.outcome.time = records.number();
    ending.outcome.diverged_at = records.number();
    ending.outcome.message = records.text();
    ending.where = records.text();
    end(run, std::move(ending));
  }
}

}  // namespace popflow

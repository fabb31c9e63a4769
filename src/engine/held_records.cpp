#include "engine/held_records.hpp"

namespace popflow {

namespace {

/// Bytes from which a write of its own costs little beside the copy of its numbers.
constexpr std::size_t kMany = std::size_t{1} << 16;
/// Bytes that a run may hold; a thread may compute sixteen runs at a time.
constexpr std::size_t kMostHeld = std::size_t{1} << 18;
/// Longest time between writes while the run takes steps.
constexpr std::chrono::milliseconds kLongest{100};
/// Short steps from one look at the clock to the next: a look costs as much as a small system's
/// step.
constexpr int kMostSteps = 16;

}  // namespace

void HeldRecords::hold(const std::string& variable, std::size_t first,
                       std::span<const double> values) {
  hold_numbers(variable, first, values);
}

void HeldRecords::hold(const std::string& variable, std::size_t first,
                       std::span<const std::int64_t> values) {
  hold_numbers(variable, first, values);
}

void HeldRecords::hold(const std::string& variable, std::size_t first,
                       std::span<const std::int8_t> values) {
  hold_numbers(variable, first, values);
}

template <class Number>
void HeldRecords::hold_numbers(const std::string& variable, std::size_t first,
                               std::span<const Number> values) {
  Piece& piece = pieces_[variable];
  if (values.size_bytes() >= kMany) {
    write_piece(variable, piece);  // writes of a variable stay in order
    return file_.write(variable, first, values);
  }
  if (!std::holds_alternative<std::vector<Number>>(piece.numbers))
    piece.numbers = std::vector<Number>();
  auto& numbers = std::get<std::vector<Number>>(piece.numbers);
  const bool replaces = first == piece.first && values.size() >= numbers.size();
  const bool follows = first == piece.first + numbers.size();
  if (replaces) {
    bytes_ -= numbers.size() * sizeof(Number);
    numbers.clear();
  } else if (!follows) {
    write_piece(variable, piece);
  }
  if (numbers.empty()) piece.first = first;
  numbers.insert(numbers.end(), values.begin(), values.end());
  bytes_ += values.size_bytes();
}

void HeldRecords::hold_count(const std::string& variable, std::size_t place, std::int64_t count) {
  count_ = {variable, place, count};
}

void HeldRecords::write_piece(const std::string& variable, Piece& piece) {
  std::visit(
      [&](auto& numbers) {
        using Number = typename std::decay_t<decltype(numbers)>::value_type;
        if (numbers.empty()) return;
        file_.write(variable, piece.first, std::span<const Number>(numbers));
        bytes_ -= numbers.size() * sizeof(Number);
        numbers.clear();
      },
      piece.numbers);
}

void HeldRecords::write_if_due() {
  if (!count_) return;
  if (bytes_ >= kMostHeld || std::chrono::steady_clock::now() - written_ >= kLongest) write();
}

void HeldRecords::look_at_clock() {
  steps_ = 0;
  const auto now = std::chrono::steady_clock::now();
  stride_ = now - looked_ > kLongest / kMostSteps ? 1 : kMostSteps;
  looked_ = now;
  if (now - written_ >= kLongest) write();
}

void HeldRecords::write() {
  for (auto& [variable, piece] : pieces_) write_piece(variable, piece);
  if (count_) file_.write(count_->variable, count_->place, count_->count);
  count_.reset();
  written_ = std::chrono::steady_clock::now();
}

}  // namespace popflow

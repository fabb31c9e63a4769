#include "popflow/driver.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace popflow {

void DriverData::add(const std::string& name, std::span<const double> numbers) {
  for (const Entry& entry : entries_)
    if (entry.name == name)
      throw std::logic_error("two items of a driver's data have the name " + name);
  entries_.push_back({name, values_.size(), numbers.size()});
  values_.insert(values_.end(), numbers.begin(), numbers.end());
}

void DriverData::add(const std::string& name, const IntervalSteps& steps) {
  const double numbers[] = {static_cast<double>(steps.number), steps.smallest, steps.largest};
  add(name, numbers);
}

const DriverData::Entry& DriverData::entry(const std::string& name) const {
  for (const Entry& entry : entries_)
    if (entry.name == name) return entry;
  throw std::invalid_argument("the checkpoint has no " + name);
}

std::span<const double> DriverData::numbers(const std::string& name) const {
  const Entry& found = entry(name);
  return std::span(values_).subspan(found.begin, found.size);
}

void DriverData::set(const std::string& name, std::span<const double> numbers) {
  const Entry& found = entry(name);
  if (numbers.size() != found.size)
    throw std::invalid_argument("the checkpoint has another length of " + name);
  std::copy(numbers.begin(), numbers.end(),
            values_.begin() + static_cast<std::ptrdiff_t>(found.begin));
}

double DriverData::number(const std::string& name) const {
  const std::span<const double> found = numbers(name);
  if (found.size() != 1)
    throw std::invalid_argument("the checkpoint has a list as " + name + "; it must be one number");
  return found[0];
}

namespace {

std::int64_t whole(double number, const std::string& name) {
  constexpr double kMost = 9007199254740992;  // 2^53: larger doubles skip whole numbers
  if (!(std::abs(number) <= kMost) || std::trunc(number) != number)
    throw std::invalid_argument("the checkpoint has no whole number as " + name);
  return static_cast<std::int64_t>(number);
}

}  // namespace

std::int64_t DriverData::count(const std::string& name) const { return whole(number(name), name); }

IntervalSteps DriverData::interval(const std::string& name) const {
  const std::span<const double> found = numbers(name);
  if (found.size() != 3) throw std::invalid_argument("the checkpoint has no steps of " + name);
  return {whole(found[0], name), found[1], found[2]};
}

std::string DriverData::layout() const {
  std::string text;
  for (const Entry& entry : entries_)
    text += (text.empty() ? "" : " ") + entry.name + ":" + std::to_string(entry.size);
  return text;
}

DriverData DriverData::with(std::vector<double> values) const {
  if (values.size() != values_.size())
    throw std::invalid_argument("the checkpoint has another length");
  DriverData copy = *this;
  copy.values_ = std::move(values);
  return copy;
}

Outcome Driver::advance(std::span<const double> targets) {
  for (const double target : {targets.front(), targets.back()})
    if (!std::isfinite(target))
      throw std::invalid_argument(std::string("the time to advance to is ") +
                                  (std::isnan(target) ? "NaN" : "infinite"));
  return advance_on(targets);
}

}  // namespace popflow

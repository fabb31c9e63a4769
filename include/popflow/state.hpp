#pragma once

#include <cstddef>
#include <memory>

namespace popflow {

/// State of a System: one contiguous block of doubles, aligned to cache lines unless it fits in one
/// or two of them. Not a std::vector, because odeint resizes its containers and a std::vector would
/// write every element once too often (400 MB at N = 500, T = 100 000).
class State {
 public:
  using value_type = double;
  using iterator = double*;
  using const_iterator = const double*;

  State() = default;
  explicit State(std::size_t size);
  State(const State& other);
  State& operator=(const State& other);
  State(State&& other) noexcept;
  State& operator=(State&& other) noexcept;
  ~State() = default;

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Changes the size; the contents are undefined afterwards.
  void resize(std::size_t size);

  double* data() { return data_.get(); }
  [[nodiscard]] const double* data() const { return data_.get(); }
  double& operator[](std::size_t i) { return data_[i]; }
  double operator[](std::size_t i) const { return data_[i]; }
  double* begin() { return data(); }
  double* end() { return data() + size_; }
  [[nodiscard]] const double* begin() const { return data(); }
  [[nodiscard]] const double* end() const { return data() + size_; }

  void swap(State& other) noexcept;

 private:
  struct Release {
    void operator()(double* memory) const noexcept;
  };
  std::unique_ptr<double[], Release> data_;
  std::size_t size_ = 0;
};

}  // namespace popflow

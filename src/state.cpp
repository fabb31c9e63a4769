#include "popflow/state.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace popflow {

namespace {
constexpr std::size_t kLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
}  // namespace

void State::Release::operator()(double* memory) const noexcept { std::free(memory); }

State::State(std::size_t size) { resize(size); }

State::State(const State& other) : State(other.size_) {
  if (size_ != 0) std::memcpy(data(), other.data(), size_ * sizeof(double));
}

State& State::operator=(const State& other) {
  if (this == &other) return *this;
  resize(other.size_);
  if (size_ != 0) std::memcpy(data(), other.data(), size_ * sizeof(double));
  return *this;
}

State::State(State&& other) noexcept { swap(other); }

State& State::operator=(State&& other) noexcept {
  swap(other);
  return *this;
}

void State::swap(State& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
}

void State::resize(std::size_t size) {
  if (size == size_) return;
  data_.reset();
  size_ = 0;
  if (size == 0) return;
  const std::size_t least = size * sizeof(double);
  const std::size_t alignment = least >= kHugePage ? kHugePage : kLine;
  const std::size_t bytes = (least + alignment - 1) / alignment * alignment;
  // Small states use malloc(): sweeps allocate many, and aligned allocation takes several times as
  // long.
  void* memory = bytes <= 2 * kLine ? std::malloc(least) : std::aligned_alloc(alignment, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  // Large states are streamed through memory: huge pages save address translations.
  if (alignment == kHugePage) (void)madvise(memory, bytes, MADV_HUGEPAGE);
  data_.reset(static_cast<double*>(memory));
  size_ = size;
}

}  // namespace popflow

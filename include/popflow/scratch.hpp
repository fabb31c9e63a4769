#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace popflow {

/// Number of the calling thread, assigned on first use.
inline std::size_t number_of_thread() {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

/// Working space for functions of a System that an ensemble's runs call concurrently: each call
/// borrows one object for its duration. The pool holds as many objects as calls were ever active at
/// once, plus at most one per thread, and the objects keep their allocations.
///
/// A thread gets back the object that it returned last, without a lock. The object is still in its
/// cache. With a locked list, threads would wait for one another's cache lines several times in a
/// step of a few microseconds.
template <class T>
class ScratchPool {
 public:
  ScratchPool() : make_([] { return std::make_unique<T>(); }) {}
  /// `make` creates an object; it may be called from any thread.
  explicit ScratchPool(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)) {}
  ScratchPool(const ScratchPool&) = delete;
  ScratchPool& operator=(const ScratchPool&) = delete;
  ~ScratchPool() {
    for (Kept& kept : kept_) take(kept);
  }

  class Loan {
   public:
    Loan(ScratchPool& pool, std::unique_ptr<T> item) : pool_(pool), item_(std::move(item)) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { pool_.take_back(std::move(item_)); }
    T& operator*() const { return *item_; }
    T* operator->() const { return item_.get(); }

   private:
    ScratchPool& pool_;
    std::unique_ptr<T> item_;
  };

  [[nodiscard]] Loan borrow() {
    return borrow([](const T&) { return true; });
  }
  /// Borrows an object for which suits(object) holds, if the thread kept one or one is free.
  /// Otherwise borrows any object.
  template <class Suits>
  [[nodiscard]] Loan borrow(const Suits& suits) {
    std::unique_ptr<T> own = take(kept_[place_of_thread()]);
    if (own && suits(*own)) return {*this, std::move(own)};
    {
      const std::scoped_lock lock(mutex_);
      auto found = std::find_if(free_.rbegin(), free_.rend(),
                                [&](const std::unique_ptr<T>& item) { return suits(*item); });
      if (found == free_.rend() && !own) found = free_.rbegin();
      if (found != free_.rend()) {
        std::swap(*found, free_.back());
        std::swap(own, free_.back());
        if (!free_.back()) free_.pop_back();
      }
    }
    if (!own) own = make_();
    return {*this, std::move(own)};
  }

 private:
  /// Object kept by a thread, or by several that share a slot; in its own cache line.
  struct alignas(64) Kept {
    std::atomic<T*> item{nullptr};
  };
  static constexpr std::size_t kPlaces = 16;
  static std::size_t place_of_thread() { return number_of_thread() % kPlaces; }

  static std::unique_ptr<T> take(Kept& kept) {
    return std::unique_ptr<T>(kept.item.exchange(nullptr, std::memory_order_acq_rel));
  }
  void take_back(std::unique_ptr<T> item) {
    T* none = nullptr;
    if (kept_[place_of_thread()].item.compare_exchange_strong(none, item.get(),
                                                              std::memory_order_acq_rel)) {
      (void)item.release();
      return;
    }
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(item));
  }

  std::function<std::unique_ptr<T>()> make_;
  std::array<Kept, kPlaces> kept_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace popflow

#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace popflow {

/// Working space for functions of a System that runs of an ensemble call at the same time: each
/// call borrows one for as long as it lasts. There are as many as calls were ever active at once,
/// and they keep their allocations.
template <class T>
class ScratchPool {
 public:
  ScratchPool() : make_([] { return std::make_unique<T>(); }) {}
  /// `make` makes one; it is called from any thread.
  explicit ScratchPool(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)) {}

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
  /// One that suits, if there is one that is free; else any.
  template <class Suits>
  [[nodiscard]] Loan borrow(const Suits& suits) {
    {
      const std::scoped_lock lock(mutex_);
      if (!free_.empty()) {
        auto found = std::find_if(free_.rbegin(), free_.rend(),
                                  [&](const std::unique_ptr<T>& item) { return suits(*item); });
        if (found == free_.rend()) found = free_.rbegin();
        std::swap(*found, free_.back());
        std::unique_ptr<T> item = std::move(free_.back());
        free_.pop_back();
        return {*this, std::move(item)};
      }
    }
    return {*this, make_()};
  }

 private:
  void take_back(std::unique_ptr<T> item) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(item));
  }

  std::function<std::unique_ptr<T>()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace popflow

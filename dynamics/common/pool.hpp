#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace popflow {

/// Places to work in that are used again and again, so that hot paths allocate nothing: one System
/// serves several runs at once, each on a thread of its own.
template <class Workspace>
class Pool {
 public:
  /// A workspace on loan; it goes back when the loan ends.
  class Loan {
   public:
    Loan(Pool& pool, std::unique_ptr<Workspace> workspace)
        : pool_(pool), workspace_(std::move(workspace)) {}
    ~Loan() {
      const std::scoped_lock lock(pool_.mutex_);
      pool_.idle_.push_back(std::move(workspace_));
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Workspace& operator*() const { return *workspace_; }
    Workspace* operator->() const { return workspace_.get(); }

   private:
    Pool& pool_;
    std::unique_ptr<Workspace> workspace_;
  };

  /// One that nobody uses, as its last user left it; a new one if there is none.
  Loan take() {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) return Loan(*this, std::make_unique<Workspace>());
    std::unique_ptr<Workspace> workspace = std::move(idle_.back());
    idle_.pop_back();
    return Loan(*this, std::move(workspace));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace popflow

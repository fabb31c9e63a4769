// Memory that a pool lends to threads and takes back.

#include "popflow/scratch.hpp"

#include <atomic>
#include <memory>
#include <thread>

#include "support/catch.hpp"

namespace popflow::test {
namespace {

struct Counted {
  explicit Counted(std::atomic<int>& of) : alive(of) { ++alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --alive; }
  std::atomic<int>& alive;
  int mark = 0;
};

/// Runs `call` in a new thread and waits for its end.
template <class Call>
void elsewhere(const Call& call) {
  std::thread(call).join();
}

TEST_CASE("a thread borrows the block that it returned last", "[fast][scratch]") {
  std::atomic<int> alive{0};
  {
    ScratchPool<Counted> pool([&] { return std::make_unique<Counted>(alive); });
    pool.borrow()->mark = 1;
    elsewhere([&] { pool.borrow()->mark = 2; });
    CHECK(pool.borrow()->mark == 1);
    CHECK(alive == 2);
    // The thread gets its block back even after another thread borrowed two blocks at once.
    elsewhere([&] {
      const auto one = pool.borrow();
      const auto other = pool.borrow();
      CHECK(&*one != &*other);
    });
    CHECK(pool.borrow()->mark == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE("a fitting free block is borrowed first, else any free block", "[fast][scratch]") {
  std::atomic<int> alive{0};
  ScratchPool<Counted> pool([&] { return std::make_unique<Counted>(alive); });
  {
    const auto one = pool.borrow();
    const auto other = pool.borrow();
    const auto third = pool.borrow();
    one->mark = 1;
    other->mark = 2;
    third->mark = 3;
  }
  // The main thread keeps the block that it returned first; any thread may borrow the other two.
  const auto marked = [](int mark) {
    return [mark](const Counted& one) { return one.mark == mark; };
  };
  for (const int mark : {3, 2, 1, 3}) CHECK(pool.borrow(marked(mark))->mark == mark);
  {
    const auto one = pool.borrow(marked(2));
    const auto any = pool.borrow(marked(7));
    CHECK(one->mark == 2);
    CHECK(any->mark != 2);
    const auto last = pool.borrow(marked(2));
    CHECK(last->mark != 2);
    CHECK(alive == 3);
    CHECK(pool.borrow()->mark == 0);
    CHECK(alive == 4);
  }
}

}  // namespace
}  // namespace popflow::test

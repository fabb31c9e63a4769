// Working space that is lent to calls.

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

/// On a thread of its own, to its end.
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
    // Even where others had more of them at once.
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
  // The thread keeps what it gave back first; the others are free for all.
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

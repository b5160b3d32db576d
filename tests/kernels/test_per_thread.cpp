#include <atomic>
#include <thread>

#include "base/per_thread.h"
#include "check.h"

namespace {

std::atomic<int> made{0}, destroyed{0};

struct Counted {
  int value = 0;
  Counted() { ++made; }
  ~Counted() { ++destroyed; }
};
constinit mt::PerThread<Counted> counted, used_late;

struct UsesAnother {
  bool used = false;
  ~UsesAnother() {
    if (used) ++used_late->value;
  }
};
constinit mt::PerThread<UsesAnother> user;

}  // namespace

TEST("each thread has its own value, from its first use to its end") {
  made = destroyed = 0;
  counted->value = 7;
  std::thread([] {
    CHECK(counted->value == 0);
    counted->value = 8;
    CHECK(counted->value == 8);
  }).join();
  CHECK(counted->value == 7);
  CHECK(made == 2);
  CHECK(destroyed == 1);  // this thread goes on
}

TEST("what a destructor uses after its end is made again, and ends with the thread too") {
  made = destroyed = 0;
  std::thread([] {
    user->used = true;     // the older of the two variables, so it ends last
    used_late->value = 5;  // ends first, and is used by the other's destructor
  }).join();
  CHECK(made == 2);
  CHECK(destroyed == 2);
}

#include "base/per_thread.h"

#include <pthread.h>

#include <array>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace mt::per_thread {

constinit thread_local void** t_values = nullptr;

namespace {

std::mutex g_mutex;
std::array<Type, kMost + 1> g_types{};
int g_last = 0;

// The newest variable first, as with ordinary thread-locals, then once more: destructors may have made some anew. What
// other libraries' destructors make after this is ended in the same way, because the system comes back for it.
void end_thread(void* block) {
  auto** values = static_cast<void**>(block);
  for (int round = 0; round < 2; ++round)
    for (int number = kMost; number > 0; --number)
      if (void* value = std::exchange(values[number], nullptr)) g_types[size_t(number)].destroy(value);
  t_values = nullptr;
  delete[] values;
}

pthread_key_t key() {
  static const pthread_key_t made = [] {
    pthread_key_t key;
    MT_CHECK(pthread_key_create(&key, end_thread) == 0, "The process has no thread-specific key left.");
    return key;
  }();
  return made;
}

void give_number(std::atomic<int>& number, Type type) {
  std::lock_guard guard(g_mutex);
  if (number.load(std::memory_order_relaxed) != 0) return;
  MT_CHECK(g_last < kMost, "A library has more than ", kMost,
           " PerThread variables; raise per_thread::kMost.");
  g_types[size_t(++g_last)] = type;
  number.store(g_last, std::memory_order_release);
}

}  // namespace

void* make(std::atomic<int>& number, Type type) {
  if (number.load(std::memory_order_acquire) == 0) give_number(number, type);
  if (!t_values) {
    t_values = new void*[kMost + 1]{};
    pthread_setspecific(key(), t_values);
  }
  return t_values[number.load(std::memory_order_relaxed)] = type.make();
}

}  // namespace mt::per_thread

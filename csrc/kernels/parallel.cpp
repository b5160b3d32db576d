#include "kernels/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "kernels/blas.h"

namespace mt::kernels {
namespace {

thread_local bool inside_region = false;

// How many processors this process may use.
int processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
  return std::max(1, int(std::thread::hardware_concurrency()));
}

int default_threads() {
  for (const char* name : {"MINDTORCH_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    const int count = std::atoi(text);
    if (count >= 1) return std::min(count, 1024);
  }
  return processors();
}

std::atomic<int> thread_count{0};  // 0: not asked yet

// One loop handed to the pool: threads take ranges from `next` until none is left.
struct Job {
  int64_t end, step;
  detail::RangeFunction function;
  void* callable;
  std::atomic<int64_t> next;
  std::mutex error_mutex;
  std::exception_ptr error;

  void work() {
    inside_region = true;
    for (int64_t begin; (begin = next.fetch_add(step)) < end;) {
      try {
        function(begin, std::min(begin + step, end), callable);
      } catch (...) {
        std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        next.store(end);  // the remaining ranges are pointless
      }
    }
    inside_region = false;
  }
};

// Note [Waiting awake]
// Waking a thread that sleeps costs some 30 microseconds, as long as a sum over a megabyte. Loops come in bursts, so
// whoever waits looks again and again for a while before going to sleep: a worker for the next job, the caller for
// the last worker. With more threads than processors that would take time from those with work, so then nobody does.
constexpr auto kAwake = std::chrono::microseconds(100);

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <class Condition>
void look_out_for(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + kAwake;
  do {
    for (int i = 0; i < 32; ++i) {
      if (condition()) return;
      relax();
    }
  } while (std::chrono::steady_clock::now() < until);
}

class Pool {
 public:
  explicit Pool(int workers) : stays_awake_(workers < processors()) {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }
  int workers() const { return int(threads_.size()); }

  void run(Job& job) {
    {
      std::lock_guard lock(mutex_);
      job_ = &job;
      generation_.store(generation_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    wake_.notify_all();
    job.work();
    // Workers that have not picked the job up no longer may; those inside it must leave before it dies.
    {
      std::lock_guard lock(mutex_);
      job_ = nullptr;
    }
    if (stays_awake_) look_out_for([this] { return active_.load(std::memory_order_acquire) == 0; });
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return active_.load(std::memory_order_relaxed) == 0; });
  }

 private:
  void serve() {
    uint64_t seen = 0;
    for (;;) {
      if (stays_awake_)
        look_out_for([&] {
          return generation_.load(std::memory_order_acquire) != seen ||
                 stopping_.load(std::memory_order_relaxed);
        });
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || (job_ && generation_ != seen); });
      if (stopping_) return;
      seen = generation_;
      Job& job = *job_;
      ++active_;
      lock.unlock();
      job.work();
      lock.lock();
      if (--active_ == 0) idle_.notify_one();
    }
  }

  const bool stays_awake_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  Job* job_ = nullptr;
  // Written under the mutex; read without it by those that look out.
  std::atomic<uint64_t> generation_ = 0;
  std::atomic<int> active_ = 0;
  std::atomic<bool> stopping_ = false;
};

// The pool lives on the heap and is never destroyed at exit: worker threads may outlive static destructors.
struct Shared {
  std::mutex busy;  // held by the one caller that uses the pool; others run their loop themselves
  Pool* pool = nullptr;
};
Shared* shared = nullptr;
std::once_flag shared_once;

Shared& shared_pool() {
  std::call_once(shared_once, [] {
    shared = new Shared;
    // Threads do not survive a fork: the child forgets the pool (its locks may be held) and starts its own.
    pthread_atfork(nullptr, nullptr, [] {
      shared = new Shared;
      inside_region = false;
    });
  });
  return *shared;
}

}  // namespace

int get_num_threads() {
  int count = thread_count.load(std::memory_order_relaxed);
  if (count == 0) {
    const int found = default_threads();
    thread_count.compare_exchange_strong(count, found);
    count = thread_count.load();
  }
  return count;
}

void set_num_threads(int count) {
  MT_CHECK(count > 0, "Expected positive number of threads, got ", count);
  thread_count.store(count);
  blas::set_num_threads(count);
}

bool in_parallel_region() { return inside_region; }

void detail::parallel_for(int64_t begin, int64_t end, int64_t grain, RangeFunction function, void* callable) {
  const int64_t length = end - begin;
  const int64_t most = (length + grain - 1) / std::max<int64_t>(grain, 1);
  const int threads = int(std::min<int64_t>(get_num_threads(), most));
  if (threads > 1 && !inside_region) {
    Shared& state = shared_pool();
    std::unique_lock lock(state.busy, std::try_to_lock);
    if (lock.owns_lock()) {
      const int workers = get_num_threads() - 1;
      if (state.pool && state.pool->workers() != workers) {
        delete state.pool;
        state.pool = nullptr;
      }
      if (!state.pool) state.pool = new Pool(workers);
      // A few ranges per thread even out cores that are busy with other work.
      const int64_t pieces = std::min<int64_t>(most, int64_t(threads) * 4);
      Job job{end, (length + pieces - 1) / pieces, function, callable, {begin}, {}, {}};
      state.pool->run(job);
      if (job.error) std::rethrow_exception(job.error);
      return;
    }
  }
  function(begin, end, callable);
}

}  // namespace mt::kernels

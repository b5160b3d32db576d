#include "kernels/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
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

int default_threads() {
  for (const char* name : {"MINDTORCH_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    const int count = std::atoi(text);
    if (count >= 1) return std::min(count, 1024);
  }
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
  return std::max(1u, std::thread::hardware_concurrency());
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

class Pool {
 public:
  explicit Pool(int workers) {
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
      ++generation_;
    }
    wake_.notify_all();
    job.work();
    // Workers that have not picked the job up no longer may; those inside it must leave before it dies.
    std::unique_lock lock(mutex_);
    job_ = nullptr;
    idle_.wait(lock, [this] { return active_ == 0; });
  }

 private:
  void serve() {
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
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

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  Job* job_ = nullptr;
  uint64_t generation_ = 0;
  int active_ = 0;
  bool stopping_ = false;
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

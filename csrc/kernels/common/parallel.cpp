#include "kernels/common/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/awake.h"
#include "base/error.h"
#include "base/per_thread.h"
#include "kernels/common/processors.h"

namespace mt::kernels {
namespace {

constinit PerThread<bool> inside_region;

int default_threads() {
  for (const char* name : {"MINDTORCH_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    const int count = std::atoi(text);
    if (count >= 1) return std::min(count, 1024);
  }
  return usable_processors();
}

std::atomic<int> thread_count{0};  // 0: not asked yet

// Note [Shares]
// A loop is cut into one share per thread, and a share into pieces. A thread takes the pieces of its own share in order,
// then what is left of the others': the next loop over the same tensor finds each part in the cache of the core that used
// it last, and a core that is busy with other work does not hold the loop up. Every other loop takes the pieces from the
// last to the first, so that it begins with what the loop before it left in the cache; a loop that always began at the
// front would find tensors larger than the cache always gone.
constexpr int kPiecesPerShare = 8;

struct alignas(64) Share {  // a cache line each: threads count pieces without disturbing one another
  int64_t begin, end;
  std::atomic<int64_t> taken;  // pieces
};

// One loop handed to the pool.
struct Job {
  detail::RangeFunction function;
  void* callable;
  Share* shares;
  int count;
  int64_t step;
  bool backwards;
  std::mutex error_mutex;
  std::exception_ptr error;

  void work(int thread) {
    *inside_region = true;
    for (int i = 0; i < count; ++i) take(shares[(thread + i) % count]);
    *inside_region = false;
  }

 private:
  void take(Share& share) {
    const int64_t pieces = (share.end - share.begin + step - 1) / step;
    // Looking before counting keeps the line of a finished share unwritten.
    while (share.taken.load(std::memory_order_relaxed) < pieces) {
      const int64_t turn = share.taken.fetch_add(1);
      if (turn >= pieces) return;
      const int64_t begin = share.begin + (backwards ? pieces - 1 - turn : turn) * step;
      try {
        function(begin, std::min(begin + step, share.end), callable);
      } catch (...) {
        std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        for (int i = 0; i < count; ++i) shares[i].taken.store(kStopped);  // the rest is pointless
      }
    }
  }
  static constexpr int64_t kStopped = int64_t(1) << 62;
};

// Note [Waiting awake]
// Waking a thread that sleeps costs some 30 microseconds, as long as a sum over a megabyte. Loops come in bursts, so
// whoever waits looks again and again for a while before going to sleep: a worker for the next job, the caller for
// the last worker. With more threads than processors that would take time from those with work, so then nobody does. A
// millisecond outlasts what a Python program does between two operators, and is a fraction of what OpenMP's threads wait.
constexpr auto kAwake = std::chrono::microseconds(1000);

// Note [Desks]
// Each worker has a desk, a cache line of its own on which the caller lays the job. Only those that have a share are
// called, nobody takes a lock, and nobody waits in line: on 16 threads a loop starts in the time of a few cache misses.
// Sleepers are woken as a tree, each by the thread that stands above it. A worker takes the job off its desk; when the
// caller has no piece left it takes back what still lies there, so that a worker that comes late, because its processor
// has other work, delays nothing.
class Pool {
 public:
  explicit Pool(int workers)
      : stays_awake_(workers < usable_processors()),
        shares_(new Share[workers + 1]),
        desks_(new Desk[workers + 1]) {
    for (int i = 1; i <= workers; ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  ~Pool() {
    for (int i = 1; i <= workers(); ++i) {
      desks_[i].has.store(Desk::farewell);
      desks_[i].has.notify_one();
    }
    for (auto& thread : threads_) thread.join();
  }
  int workers() const { return int(threads_.size()); }
  Share* shares() { return shares_.get(); }  // one per thread, the caller's first

  void run(Job& job) {
    job_ = &job;
    inside_.store(job.count - 1, std::memory_order_relaxed);
    for (int i = 1; i < job.count; ++i) desks_[i].has.store(Desk::job);
    wake_below(0);
    job.work(0);
    for (int i = 1; i < job.count; ++i)
      if (desks_[i].has.exchange(Desk::nothing) == Desk::job) inside_.fetch_sub(1, std::memory_order_relaxed);
    // Those inside the job must leave before it dies.
    if (stays_awake_) look_out_for(kAwake, [this] { return inside_.load(std::memory_order_acquire) == 0; });
    while (const int left = inside_.load(std::memory_order_acquire))
      inside_.wait(left, std::memory_order_acquire);
  }

 private:
  struct alignas(64) Desk {
    enum : int { nothing, job, farewell };
    std::atomic<int> has = nothing;
  };

  void wake_below(int thread) {
    for (int below : {2 * thread + 1, 2 * thread + 2})
      if (below < job_->count) desks_[below].has.notify_one();
  }

  void serve(int thread) {
    std::atomic<int>& has = desks_[thread].has;
    for (;;) {
      if (stays_awake_)
        look_out_for(kAwake, [&] { return has.load(std::memory_order_relaxed) != Desk::nothing; });
      has.wait(Desk::nothing, std::memory_order_relaxed);
      const int found = has.exchange(Desk::nothing, std::memory_order_acq_rel);
      if (found == Desk::farewell) return;
      if (found == Desk::nothing) continue;  // taken back
      wake_below(thread);
      job_->work(thread);
      if (inside_.fetch_sub(1, std::memory_order_acq_rel) == 1) inside_.notify_one();
    }
  }

  const bool stays_awake_;
  std::vector<std::thread> threads_;
  std::unique_ptr<Share[]> shares_;
  std::unique_ptr<Desk[]> desks_;
  Job* job_ = nullptr;                       // stays while a worker is inside
  alignas(64) std::atomic<int> inside_ = 0;  // workers that have the job, or may still take it
};

// The pool lives on the heap and is never destroyed at exit: worker threads may outlive static destructors.
struct Shared {
  std::mutex busy;  // held by the one caller that uses the pool; others run their loop themselves
  Pool* pool = nullptr;
  bool backwards = false;  // the direction of the last loop
};
Shared* shared = nullptr;
std::once_flag shared_once;

Shared& shared_pool() {
  std::call_once(shared_once, [] {
    shared = new Shared;
    // Threads do not survive a fork: the child forgets the pool (its locks may be held) and starts its own.
    pthread_atfork(nullptr, nullptr, [] {
      shared = new Shared;
      *inside_region = false;
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
}

bool in_parallel_region() { return *inside_region; }

void detail::parallel_for(int64_t begin, int64_t end, int64_t grain, RangeFunction function, void* callable) {
  const int64_t length = end - begin;
  const int64_t most = (length + grain - 1) / std::max<int64_t>(grain, 1);
  const int threads = int(std::min<int64_t>(get_num_threads(), most));
  if (threads > 1 && !*inside_region) {
    Shared& state = shared_pool();
    std::unique_lock lock(state.busy, std::try_to_lock);
    if (lock.owns_lock()) {
      const int workers = get_num_threads() - 1;
      if (state.pool && state.pool->workers() != workers) {
        delete state.pool;
        state.pool = nullptr;
      }
      if (!state.pool) state.pool = new Pool(workers);
      Share* shares = state.pool->shares();
      const int64_t per_share = (length + threads - 1) / threads;
      for (int i = 0; i < threads; ++i) {
        shares[i].begin = std::min(begin + i * per_share, end);
        shares[i].end = std::min(begin + (i + 1) * per_share, end);
        shares[i].taken.store(0, std::memory_order_relaxed);
      }
      const int64_t step =
          std::max((per_share + kPiecesPerShare - 1) / kPiecesPerShare, std::min(grain, per_share));
      state.backwards = !state.backwards;
      Job job{function, callable, shares, threads, step, state.backwards, {}, {}};
      state.pool->run(job);
      if (job.error) std::rethrow_exception(job.error);
      return;
    }
  }
  function(begin, end, callable);
}

}  // namespace mt::kernels

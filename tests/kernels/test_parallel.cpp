#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "check.h"
#include "kernels/common/parallel.h"
#include "kernels/common/processors.h"

using namespace mt::kernels;

namespace {

int64_t parallel_sum(int64_t n) {
  std::atomic<int64_t> total{0};
  parallel_for(0, n, 100, [&](int64_t begin, int64_t end) {
    int64_t part = 0;
    for (int64_t i = begin; i < end; ++i) part += i;
    total += part;
  });
  return total;
}

struct ThreadCount {
  int before = get_num_threads();
  explicit ThreadCount(int count) { set_num_threads(count); }
  ~ThreadCount() { set_num_threads(before); }
};

// A root with files of control groups, gone at the end.
struct Groups {
  std::filesystem::path root;
  Groups() {
    char name[] = "/tmp/control_groups_XXXXXX";
    root = mkdtemp(name);
  }
  ~Groups() { std::filesystem::remove_all(root); }
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root.string() + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  int processors() const { return usable_processors(root.string()); }
};

}  // namespace

TEST("threads are no more than the control group's time serves") {
  const int all = Groups().processors();  // no groups: those of the affinity
  CHECK(all >= 1);
  Groups second;
  second.write("/proc/self/cgroup", "0::/outer/inner\n");
  second.write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  CHECK(second.processors() == all);
  second.write("/sys/fs/cgroup/outer/cpu.max", "100000 100000\n");
  second.write("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  CHECK(second.processors() == 1);
  Groups first;
  first.write("/proc/self/cgroup", "4:memory:/\n2:cpu,cpuacct:/\n");
  first.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  first.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(first.processors() == all);
  first.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  CHECK(first.processors() == 1);
}

TEST("ranges cover everything once, whatever the number of threads") {
  for (int threads : {1, 2, 5, 3}) {
    const ThreadCount scope(threads);
    CHECK(get_num_threads() == threads);
    for (int64_t n : {0, 1, 99, 100, 101, 12345}) CHECK(parallel_sum(n) == n * (n - 1) / 2);
  }
}

TEST("a loop below the grain stays on the calling thread") {
  const ThreadCount scope(4);
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  parallel_for(0, 100, 100, [&](int64_t, int64_t) {
    ++calls;
    CHECK(std::this_thread::get_id() == caller);
  });
  CHECK(calls == 1);
}

TEST("every thread with a share is called, asleep or awake") {
  const ThreadCount scope(9);
  for (int rest_us : {0, 50, 3000, 3000, 0}) {
    std::this_thread::sleep_for(std::chrono::microseconds(rest_us));
    std::atomic<int> here{0};
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    parallel_for(0, 9, 1, [&](int64_t, int64_t) {
      ++here;
      while (here < 9 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    });
    CHECK(here == 9);
  }
}

TEST("nested loops run serially and exceptions reach the caller") {
  const ThreadCount scope(4);
  std::atomic<int64_t> total{0};
  parallel_for(0, 8, 1, [&](int64_t begin, int64_t end) {
    CHECK(in_parallel_region());
    for (int64_t i = begin; i < end; ++i) total += parallel_sum(1000);
  });
  CHECK(total == 8 * 499500);
  CHECK(!in_parallel_region());
  CHECK_FAILS(parallel_for(0, 1000, 1,
                           [](int64_t begin, int64_t) {
                             if (begin > 200) mt::fail(mt::ErrorKind::runtime, "range failed");
                           }),
              "range failed");
  CHECK(parallel_sum(1000) == 499500);
  CHECK_FAILS(set_num_threads(0), "positive number of threads");
}

TEST("several threads may start loops at the same time") {
  const ThreadCount scope(3);
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) right += parallel_sum(5000) == 5000 * 4999 / 2;
    });
  }
  for (auto& caller : callers) caller.join();
  CHECK(right == 800);
}

#if !defined(__SANITIZE_THREAD__)  // it forbids threads in the child of a process that had some
TEST("a forked child starts a pool of its own") {
  const ThreadCount scope(3);
  CHECK(parallel_sum(5000) == 5000 * 4999 / 2);
  const pid_t child = fork();
  if (child == 0) _exit(parallel_sum(5000) == 5000 * 4999 / 2 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

// Many threads give work to the queue of launches of a GPU that is made up. Ends with a non-zero status at the first failure.
#include "backends/cuda/launch_queue.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "backends/cuda/cuda_api.h"
#include "base/error.h"

namespace {

using namespace mt::cuda;

// At once: orderly, the process would wait for the queue's thread, which may be the one that found it.
#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      std::printf("FAILED %s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      std::fflush(stdout);                                                        \
      std::_Exit(1);                                                              \
    }                                                                             \
  } while (0)

constexpr int kThreads = 4, kDevices = 2, kPieces = 20'000;

// As much of a driver as it takes to make a device current.
const CudaApi* little_driver() {
  static CudaApi api;
  api.init = [](unsigned) { return Result(0); };
  api.device_count = [](int* count) { return *count = kDevices, Result(0); };
  api.device_get = [](DeviceNumber* device, int ordinal) { return *device = ordinal, Result(0); };
  api.primary_context = [](Context* context, DeviceNumber) { return *context = nullptr, Result(0); };
  api.set_context = [](Context) { return Result(0); };
  api.stream_create = [](Stream* made, unsigned, int) {
    return *made = reinterpret_cast<Stream>(std::malloc(1)), Result(0);
  };
  api.event_create = [](Event* made, unsigned) { return *made = nullptr, Result(0); };
  api.event_record = [](Event, Stream) { return Result(0); };
  return &api;
}

// What is done, by the thread that asked for it: only the queue that it gives to writes here.
std::array<int, kThreads> g_done{};
std::array<std::thread::id, kThreads> g_doer;

struct Piece {
  int thread, number, bytes;
  Outcome operator()(const void* more) const {
    const auto* given = static_cast<const unsigned char*>(more);
    for (int i = 0; i < bytes; ++i) CHECK(given[i] == static_cast<unsigned char>(number + i));
    CHECK(g_done[size_t(thread)] == number);
    g_done[size_t(thread)] = number + 1;
    g_doer[size_t(thread)] = std::this_thread::get_id();
    return {};
  }
};

void give_pieces(int thread, bool rests) {
  LaunchQueue& queue = launch_queue(thread % kDevices);
  std::mt19937 random{unsigned(thread)};
  std::vector<unsigned char> more(4000);
  for (int number = 0; number < kPieces; ++number) {
    const int bytes = int(random() % more.size());
    for (int i = 0; i < bytes; ++i) more[size_t(i)] = static_cast<unsigned char>(number + i);
    queue.give(Piece{thread, number, bytes}, more.data(), size_t(bytes));
    const unsigned chance = random() % 1000;
    if (chance < 5) {
      queue.settle();
      CHECK(g_done[size_t(thread)] == number + 1);
    } else if (rests && chance == 5) {
      queue.settle();
      std::this_thread::sleep_for(
          std::chrono::milliseconds(2));  // long enough for the queue's thread to sleep
    }
  }
  queue.settle();
  CHECK(g_done[size_t(thread)] == kPieces);
}

void all_threads_give_pieces(bool rests) {
  g_done = {};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(give_pieces, thread, rests);
  for (std::thread& thread : threads) thread.join();
}

void a_refusal_is_raised_once() {
  LaunchQueue& queue = launch_queue(0);
  struct Refused {
    Outcome operator()(const void*) const {
      return {700, "refused", [](int code, const char* what) { throw mt::DeviceError(code, what); }};
    }
  };
  int raised = 0;
  const auto count = [&](const auto& call) {
    try {
      call();
    } catch (const mt::DeviceError& error) {
      CHECK(error.code() == 700);
      ++raised;
    }
  };
  for (int round = 1; round <= 100; ++round) {
    count([&] { queue.give(Refused{}, nullptr, 0); });
    count([&] { queue.settle(); });
    count([&] { queue.settle(); });
    CHECK(raised == round);
  }
}

void what_was_given_is_done_when_the_queue_is_turned_off() {
  g_done = {};
  std::thread other([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    turn_off_launch_queues();
  });
  give_pieces(0, false);
  other.join();
  struct Here {
    Outcome operator()(const void*) const { return g_doer[0] = std::this_thread::get_id(), Outcome{}; }
  };
  launch_queue(0).give(Here{}, nullptr, 0);
  CHECK(g_doer[0] == std::this_thread::get_id());
}

}  // namespace

int main() {
  setenv("MINDTORCH_CUDA_QUEUE", "on", 1);
  replace_driver(little_driver());
  all_threads_give_pieces(false);
  all_threads_give_pieces(true);
  a_refusal_is_raised_once();
  what_was_given_is_done_when_the_queue_is_turned_off();
  std::printf("launches of %d threads for %d devices\n", kThreads, kDevices);
}

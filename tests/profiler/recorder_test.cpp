// The recorder by itself: nesting, sessions, threads, memory. Ends with a non-zero status at the first failure.
#include "profiler/recorder.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "base/error.h"

namespace {

using mt::OpInfo;
using mt::OpScope;
using mt::Tensor;
using namespace mt::profiler;

constexpr OpInfo kOuter{"aten::outer", ""};
constexpr OpInfo kInner{"aten::inner", "Tensor"};

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      std::printf("FAILED %s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                               \
    }                                                                             \
  } while (0)

int64_t g_memory = 1000;

Recorder& recorder() { return Recorder::get(); }

Tensor on_npu(int8_t index) {
  return mt::tensor_over(mt::wrap_storage({mt::DeviceType::npu, index}, nullptr, 24, nullptr, nullptr),
                         mt::DType::float32, std::vector<int64_t>{2, 3}, std::vector<int64_t>{3, 1}, 0);
}

bool named(const Event& event, const char* name) { return std::strcmp(event.name, name) == 0; }

void inner_operators_have_the_outer_one_as_parent() {
  recorder().start({});
  {
    OpScope outer(kOuter, {});
    OpScope inner(kInner, {});
  }
  const Trace trace = recorder().stop();
  CHECK(trace.size() == 2 && trace.threads.size() == 1);
  const Event &outer = trace.threads[0][0], &inner = trace.threads[0][1];
  CHECK(named(outer, "aten::outer") && outer.parent == -1);
  CHECK(named(inner, "aten::inner") && inner.parent == 0);
  CHECK(trace.start_ns <= outer.start_ns && outer.start_ns <= inner.start_ns);
  CHECK(inner.start_ns <= trace.end_of(inner) && trace.end_of(inner) <= trace.end_of(outer));
  CHECK(trace.end_of(outer) <= trace.stop_ns);
}

void nothing_is_recorded_outside_a_session() {
  { OpScope op(kOuter, {}); }
  CHECK(recorder().begin_scope("label").event == nullptr);
  recorder().start({});
  CHECK(recorder().stop().size() == 0);
}

void a_second_session_is_refused_and_the_first_goes_on() {
  recorder().start({});
  try {
    recorder().start({});
    CHECK(!"an error");
  } catch (const mt::Error& error) {
    CHECK(std::string(error.what()).find("recording already") != std::string::npos);
  }
  { OpScope op(kOuter, {}); }
  CHECK(recorder().stop().size() == 1);
}

void an_operator_open_at_the_stop_ends_with_the_session() {
  recorder().start({});
  Trace first, second;
  {
    OpScope outer(kOuter, {});
    first = recorder().stop();
    recorder().start({});
    { OpScope inner(kInner, {}); }
  }
  second = recorder().stop();
  CHECK(first.size() == 1);
  CHECK(first.end_of(first.threads[0][0]) == first.stop_ns);
  CHECK(second.size() == 1);
  CHECK(named(second.threads[0][0], "aten::inner") && second.threads[0][0].parent == -1);
}

void annotations_may_end_in_any_order_and_on_any_thread() {
  recorder().start({});
  const OpenScope first = recorder().begin_scope("first");
  const OpenScope second = recorder().begin_scope("second");
  recorder().end_scope(first);
  { OpScope op(kOuter, {}); }
  std::thread([&] { recorder().end_scope(second); }).join();
  { OpScope op(kInner, {}); }
  const Trace trace = recorder().stop();
  const ThreadEvents& events = trace.threads[0];
  CHECK(events.count == 4);
  CHECK(named(events[1], "second") && events[1].parent == 0);
  CHECK(named(events[2], "aten::outer") && events[2].parent == 1);
  CHECK(named(events[3], "aten::inner") && events[3].parent == -1);
}

void shapes_are_kept_only_when_asked_for() {
  const Tensor tensor = on_npu(0);
  const Tensor undefined;
  for (bool shapes : {false, true}) {
    recorder().start({.shapes = shapes});
    { OpScope op(kOuter, {&tensor, &undefined}); }
    const Trace trace = recorder().stop();
    const int64_t* in = trace.threads[0][0].inputs;
    CHECK((in != nullptr) == shapes);
    if (!shapes) continue;
    const int64_t wanted[] = {2, int64_t(mt::DType::float32), 2, 2, 3, 3, 1, -1};
    CHECK(std::memcmp(in, wanted, sizeof(wanted)) == 0);
  }
}

void memory_is_read_around_operators_on_the_npu_only() {
  recorder().set_memory_reader([](int npu) noexcept { return npu == 1 ? g_memory : int64_t(-1); });
  const Tensor tensor = on_npu(1);
  recorder().start({.memory = true});
  {
    OpScope outer(kOuter, {});
    OpScope inner(kInner, {&tensor});
    g_memory += 512;
    recorder().memory_changed({1, 64, 512, g_memory, 2048});
  }
  { OpScope elsewhere(kOuter, {}); }
  const Trace trace = recorder().stop();
  const ThreadEvents& events = trace.threads[0];
  CHECK(events.count == 4);
  for (uint32_t i : {0u, 1u}) {
    CHECK(events[i].npu == 1);
    CHECK(events[i].memory_after - events[i].memory_before == 512);
  }
  CHECK(events[2].kind == EventKind::memory && events[2].parent == 1 && events[2].bytes == 512);
  CHECK(events[3].npu == -1 && events[3].memory_before == -1);
}

void an_operator_without_inputs_runs_where_it_allocates_and_not_where_it_frees() {
  recorder().set_memory_reader([](int) noexcept { return g_memory; });
  recorder().start({.memory = true});
  {
    OpScope factory(kOuter, {});
    g_memory += 1024;
    recorder().memory_changed({0, 64, 1024, g_memory, 2048});
  }
  {
    OpScope elsewhere(kInner, {});
    g_memory -= 1024;
    recorder().memory_changed({0, 64, -1024, g_memory, 2048});
  }
  const Trace trace = recorder().stop();
  const ThreadEvents& events = trace.threads[0];
  CHECK(events[0].npu == 0 && events[0].memory_after - events[0].memory_before == 1024);
  CHECK(events[2].npu == -1);
}

void every_event_of_many_threads_arrives() {
  constexpr int kThreads = 4, kOps = 5000;  // several chunks each
  recorder().start({.shapes = true});
  std::vector<std::thread> threads;
  const Tensor tensor = on_npu(0);
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int op = 0; op < kOps; ++op) {
        const OpenScope scope = recorder().begin_scope("label");
        { OpScope outer(kOuter, {&tensor}); }
        recorder().end_scope(scope);
      }
    });
  for (std::thread& thread : threads) thread.join();
  const Trace trace = recorder().stop();
  CHECK(trace.threads.size() == kThreads);
  for (const ThreadEvents& events : trace.threads) {
    CHECK(events.count == 2 * kOps);
    for (uint32_t i = 0; i < events.count; i += 2) {
      CHECK(named(events[i], "label") && named(events[i + 1], "aten::outer"));
      CHECK(events[i + 1].parent == int32_t(i));
      CHECK(trace.end_of(events[i + 1]) <= trace.end_of(events[i]));
    }
  }
}

// Sessions start and stop while other threads run operators; each trace must be consistent in itself.
void sessions_may_start_and_stop_while_operators_run() {
  std::atomic<bool> done{false};
  std::atomic<int> running{0};
  std::vector<std::thread> threads;
  const Tensor tensor = on_npu(0);
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      ++running;
      while (!done.load()) {
        OpScope outer(kOuter, {});
        OpScope inner(kInner, {&tensor});
      }
    });
  while (running.load() < 3) std::this_thread::yield();
  uint64_t seen = 0;
  for (int session = 0; session < 200 || seen == 0; ++session) {
    recorder().start({.shapes = true, .memory = true});
    std::this_thread::yield();
    const Trace trace = recorder().stop();
    for (const ThreadEvents& events : trace.threads)
      for (uint32_t i = 0; i < events.count; ++i, ++seen) {
        CHECK(events[i].parent < int32_t(i));
        CHECK(named(events[i], "aten::outer") || named(events[i], "aten::inner"));
        CHECK(events[i].start_ns <= trace.end_of(events[i]));
        CHECK(events[i].inputs[0] == (named(events[i], "aten::inner") ? 1 : 0));
      }
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main() {
  inner_operators_have_the_outer_one_as_parent();
  nothing_is_recorded_outside_a_session();
  a_second_session_is_refused_and_the_first_goes_on();
  an_operator_open_at_the_stop_ends_with_the_session();
  annotations_may_end_in_any_order_and_on_any_thread();
  shapes_are_kept_only_when_asked_for();
  memory_is_read_around_operators_on_the_npu_only();
  an_operator_without_inputs_runs_where_it_allocates_and_not_where_it_frees();
  every_event_of_many_threads_arrives();
  sessions_may_start_and_stop_while_operators_run();
  std::printf("10 tests passed\n");
}

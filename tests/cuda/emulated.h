// Device code run on the host, one block after the other: what it computes can be tested without a GPU. The threads of a
// block are contexts that take turns; shared memory is static, lanes exchange through an array. Contexts are begun as such
// and changed by jumps, which ask the kernel nothing (and want -U_FORTIFY_SOURCE: a jump to another stack is meant).
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define __shared__ static

struct Extent {
  unsigned x = 1, y = 1, z = 1;
};
inline Extent threadIdx, blockIdx, blockDim, gridDim;

struct uint4 {
  unsigned x, y, z, w;
};
struct float2 {
  float x, y;
};
struct double2 {
  double x, y;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline double2 make_double2(double x, double y) { return {x, y}; }

namespace emulated {

inline constexpr size_t kStack = 64 * 1024;

struct Thread {
  ucontext_t context;
  jmp_buf place;
  bool begun, done;
};
inline std::vector<Thread> threads;
inline jmp_buf turns;
inline int current;
inline std::function<void()> body;

// The current thread goes on until it waits or is done.
[[gnu::noinline]] inline void give_turn() {
  if (_setjmp(turns)) return;
  Thread& thread = threads[size_t(current)];
  if (thread.begun) _longjmp(thread.place, 1);
  thread.begun = true;
  setcontext(&thread.context);
}
[[gnu::noinline]] inline void wait_for_turn() {
  if (!_setjmp(threads[size_t(current)].place)) _longjmp(turns, 1);
}

// Threads that arrive wait until all of their group have.
struct Barrier {
  int size, arrived = 0, generation = 0;
  void wait() {
    const int own = generation;
    if (++arrived == size) {
      arrived = 0;
      ++generation;
      return;
    }
    while (generation == own) wait_for_turn();
  }
};
inline Barrier block;
inline std::vector<Barrier> warps;
inline std::vector<int> lanes[2];  // who is ahead writes into the other one
inline std::vector<char> side;

inline int thread() { return current; }
inline int from_lane(int x, int lane) {
  const int own = thread();
  std::vector<int>& exchanged = lanes[size_t(side[size_t(own)] ^= 1)];
  exchanged[size_t(own)] = x;
  warps[size_t(own / 32)].wait();
  return exchanged[size_t(own / 32 * 32 + lane)];
}

inline void begin() {
  body();
  threads[size_t(current)].done = true;
  _longjmp(turns, 1);
}

template <class F>
void launch(Extent grid, Extent shape, F given) {
  gridDim = grid;
  blockDim = shape;
  body = given;
  const int count = int(shape.x * shape.y);
  if (count % 32) std::abort();  // whole warps
  std::vector<char> stacks(size_t(count) * kStack);
  for (auto& each : lanes) each.assign(size_t(count), 0);
  side.assign(size_t(count), 0);
  for (unsigned n = 0; n < grid.x * grid.y; ++n) {
    blockIdx = {n % grid.x, n / grid.x, 0};
    block = {count};
    warps.assign(size_t(count / 32), Barrier{32});
    threads.assign(size_t(count), Thread{});
    for (int t = 0; t < count; ++t) {
      ucontext_t& context = threads[size_t(t)].context;
      getcontext(&context);
      context.uc_stack.ss_sp = stacks.data() + size_t(t) * kStack;
      context.uc_stack.ss_size = kStack;
      context.uc_link = nullptr;
      makecontext(&context, begin, 0);
    }
    for (int left = count; left > 0;) {
      left = 0;
      for (current = 0; current < count; ++current) {
        if (threads[size_t(current)].done) continue;
        threadIdx = {unsigned(current) % shape.x, unsigned(current) / shape.x, 0};
        give_turn();
        left += !threads[size_t(current)].done;
      }
    }
  }
}

}  // namespace emulated

inline void __syncthreads() { emulated::block.wait(); }
inline void __syncwarp() { emulated::warps[size_t(emulated::thread() / 32)].wait(); }
inline int __shfl_xor_sync(unsigned, int x, int mask) {
  return emulated::from_lane(x, (emulated::thread() % 32) ^ mask);
}
template <class T>
T __shfl_up_sync(unsigned, T x, int distance) {
  const int lane = emulated::thread() % 32;
  return T(emulated::from_lane(int(x), lane >= distance ? lane - distance : lane));
}
template <class T>
T __shfl_down_sync(unsigned, T x, int distance) {
  const int lane = emulated::thread() % 32;
  return T(emulated::from_lane(int(x), lane + distance < 32 ? lane + distance : lane));
}
template <class T>
T atomicCAS(T* at, T expected, T wanted) {
  std::atomic_ref<T>(*at).compare_exchange_strong(expected, wanted);
  return expected;
}
template <class T>
T atomicAdd(T* at, T value) {
  return std::atomic_ref<T>(*at).fetch_add(value);
}
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((uint64_t(a) * b) >> 32); }
// Four of the bytes 0 .. 3 of a and 4 .. 7 of b, by the hexadecimal digits of `which`.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned which) {
  const uint64_t both = uint64_t(b) << 32 | a;
  unsigned made = 0;
  for (int i = 0; i < 4; ++i) made |= unsigned(both >> ((which >> 4 * i & 7) * 8) & 0xff) << 8 * i;
  return made;
}
inline float __logf(float x) { return std::log(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __tanf(float x) { return std::tan(x); }
inline void __sincosf(float x, float* sine, float* cosine) {
  *sine = std::sin(x);
  *cosine = std::cos(x);
}
inline void sincospi(double x, double* sine, double* cosine) {
  *sine = std::sin(x * M_PI);
  *cosine = std::cos(x * M_PI);
}
[[noreturn]] inline void __trap() { std::abort(); }

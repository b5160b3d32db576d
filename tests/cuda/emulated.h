// Device code run on the host, one block after the other: what it computes can be tested without a GPU. The threads of a
// block are contexts that take turns; shared memory is static, lanes exchange through an array.
#pragma once

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
  bool done;
};
inline std::vector<Thread> threads;
inline ucontext_t turns;
inline int current;
inline std::function<void()> body;

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
    while (generation == own) swapcontext(&threads[size_t(current)].context, &turns);
  }
};
inline Barrier block;
inline std::vector<Barrier> warps;
inline std::vector<int> lanes;

inline int thread() { return current; }
inline int from_lane(int x, int lane) {
  const int own = thread();
  lanes[size_t(own)] = x;
  warps[size_t(own / 32)].wait();
  const int got = lanes[size_t(own / 32 * 32 + lane)];
  warps[size_t(own / 32)].wait();
  return got;
}

inline void begin() {
  body();
  threads[size_t(current)].done = true;
}

template <class F>
void launch(Extent grid, Extent shape, F given) {
  gridDim = grid;
  blockDim = shape;
  body = given;
  const int count = int(shape.x * shape.y);
  if (count % 32) std::abort();  // whole warps
  std::vector<char> stacks(size_t(count) * kStack);
  lanes.assign(size_t(count), 0);
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
      context.uc_link = &turns;
      makecontext(&context, begin, 0);
    }
    for (int left = count; left > 0;) {
      left = 0;
      for (current = 0; current < count; ++current) {
        if (threads[size_t(current)].done) continue;
        threadIdx = {unsigned(current) % shape.x, unsigned(current) / shape.x, 0};
        swapcontext(&turns, &threads[size_t(current)].context);
        left += !threads[size_t(current)].done;
      }
    }
  }
}

}  // namespace emulated

inline void __syncthreads() { emulated::block.wait(); }
inline int __shfl_xor_sync(unsigned, int x, int mask) {
  return emulated::from_lane(x, (emulated::thread() % 32) ^ mask);
}
template <class T>
T __shfl_up_sync(unsigned, T x, int distance) {
  const int lane = emulated::thread() % 32;
  return T(emulated::from_lane(int(x), lane >= distance ? lane - distance : lane));
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

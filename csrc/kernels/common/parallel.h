// Splits loops over a small pool of threads shared by the process.
#pragma once

#include <cstdint>
#include <type_traits>

namespace mt::kernels {

// Elements of simple elementwise work one thread should get at least; waking a thread costs about as much.
inline constexpr int64_t kGrain = 32768;

int get_num_threads();
void set_num_threads(int count);
// Whether the calling thread is inside a parallel_for; nested loops run serially.
bool in_parallel_region();

namespace detail {
using RangeFunction = void (*)(int64_t begin, int64_t end, void* callable);
void parallel_for(int64_t begin, int64_t end, int64_t grain, RangeFunction function, void* callable);
}  // namespace detail

// Calls f(begin, end) on disjoint ranges that cover [begin, end), at least `grain` long, possibly at the same
// time. The first exception a range throws is rethrown here once all ranges have ended.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
  if (begin >= end) return;
  if (end - begin <= grain) {
    f(begin, end);
    return;
  }
  using Callable = std::remove_reference_t<F>;
  detail::parallel_for(
      begin, end, grain,
      [](int64_t b, int64_t e, void* callable) { (*static_cast<Callable*>(callable))(b, e); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace mt::kernels

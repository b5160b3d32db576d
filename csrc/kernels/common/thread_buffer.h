// Memory a thread keeps for the next call of a kernel, so that large blocks are not asked of the system every time:
// a PerThread<ThreadBuffer>.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/per_thread.h"

namespace mt::kernels {

class ThreadBuffer {
 public:
  ThreadBuffer() = default;
  ~ThreadBuffer() { std::free(memory_); }
  ThreadBuffer(const ThreadBuffer&) = delete;
  ThreadBuffer& operator=(const ThreadBuffer&) = delete;

  // Room for `count` elements, whose values are not kept from one call to the next.
  template <class T>
  T* room(int64_t count) {
    if (size_t(count) * sizeof(T) > bytes_) grow(size_t(count) * sizeof(T));
    return static_cast<T*>(memory_);
  }

 private:
  void grow(size_t bytes) {
    // From 2 MiB on in large pages, like tensors; see Note [Large pages].
    constexpr size_t page = 4096, large_page = size_t(2) << 20;
    const size_t unit = bytes >= large_page ? large_page : page;
    bytes = (bytes + unit - 1) / unit * unit;
    std::free(memory_);
    memory_ = nullptr, bytes_ = 0;
    if (posix_memalign(&memory_, unit, bytes) != 0) throw std::bad_alloc();
    if (unit == large_page) madvise(memory_, bytes, MADV_HUGEPAGE);  // a hint: small pages serve as well
    bytes_ = bytes;
  }

  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace mt::kernels

// Memory that another core wrote last, asked for before it is written here.
#pragma once

#include <cstddef>

namespace softnpu {

inline constexpr size_t kCacheLine = 64;

inline void fetch_ahead(const void* memory, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kCacheLine) {
    const char* line = static_cast<const char*>(memory) + at;
#if defined(__x86_64__)
    // The builtin would ask for the line to be read and leave the other core's copy in place.
    asm volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
  }
}

}  // namespace softnpu

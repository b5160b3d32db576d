// Memory that another core wrote last, asked for before it is written here.
#pragma once

#include <cstddef>

namespace softnpu {

inline constexpr size_t kCacheLine = 64;

inline void fetch_ahead(const void* memory, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kCacheLine)
    __builtin_prefetch(static_cast<const char*>(memory) + at, 1);
}

}  // namespace softnpu

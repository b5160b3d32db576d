// The headers that kernels are compiled with, as text; generated from the files themselves.
#pragma once

#include <span>

namespace mt::cuda {

struct DeviceSource {
  const char* name;  // as in its #include
  const char* text;
};

std::span<const DeviceSource> device_sources();

}  // namespace mt::cuda

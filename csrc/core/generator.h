// A source of random numbers, owned by a device. The engine behind it belongs to the backend.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "core/device.h"
#include "core/refcount.h"

namespace mt {

class Generator {
 public:
  std::atomic<uint32_t> refs{1};
  std::mutex mutex;  // held while an operator draws
  virtual ~Generator() = default;
  virtual Device device() const = 0;
  virtual void set_seed(uint64_t seed) = 0;
  virtual uint64_t seed() const = 0;
  virtual std::string state() const = 0;  // bytes, in PyTorch's layout for the device
  virtual void set_state(const std::string& bytes) = 0;
  static void destroy(Generator* generator) { delete generator; }
};
using GeneratorRef = Ref<Generator>;

}  // namespace mt

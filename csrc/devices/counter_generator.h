// Random numbers of accelerators: a seed and how far its counter has got. The operators compute the numbers.
#pragma once

#include <array>
#include <mutex>

#include "base/device_handles.h"
#include "core/generator.h"
#include "core/tensor.h"

namespace mt::devices {

// What an operator draws from. In a capture the seed lies on the device, and so does an offset that is added to the one
// here when the operator runs (Note [What a graph holds] in device_graph.h).
struct Numbers {
  uint64_t seed = 0, offset = 0;
  Tensor seed_on_device = {}, offset_on_device = {};
  bool captured() const { return seed_on_device.defined(); }
};

class CounterGenerator final : public Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;  // PyTorch's

  CounterGenerator(Device device, uint64_t seed) : device_(device), seed_(seed) {}
  Device device() const override { return device_; }
  void set_seed(uint64_t seed) override;
  uint64_t seed() const override { return seed_; }
  std::string state() const override;  // 16 bytes: seed, offset
  void set_state(const std::string& bytes) override;

  // Where the counter is, before it moves on: the next operator gets other numbers.
  Numbers advance(uint64_t count);
  // How far it moves for an operator that fills `elements`.
  static uint64_t steps(int64_t elements);

 private:
  bool is_captured() const;

  Device device_;
  uint64_t seed_;
  uint64_t offset_ = 0;
};

// The numbers for an operator that fills the tensor: from `generator`, or from its device's default one.
Numbers take_numbers(Generator* generator, const Tensor& tensor);
// The same for an operator that knows how far the counter moves.
Numbers take_numbers(Generator* generator, Device device, uint64_t count);

// The default generators of one type of device, made when they are first asked for.
class CounterGenerators {
 public:
  explicit CounterGenerators(DeviceType slot) : slot_(slot) {}
  CounterGenerator& at(int device);
  void seed_all(uint64_t seed);  // also those of devices not used yet

 private:
  const DeviceType slot_;
  std::mutex mutex_;
  uint64_t seed_ = CounterGenerator::kDefaultSeed;
  std::array<CounterGenerator*, kMaxDevices> generators_{};  // never destroyed
};

}  // namespace mt::devices

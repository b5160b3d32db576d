// Random numbers of the NPU: a seed and how far its counter has got. The operators compute the numbers.
#pragma once

#include "core/generator.h"
#include "core/tensor.h"

namespace mt::npu {

class NpuGenerator final : public Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;  // PyTorch's

  NpuGenerator(Device device, uint64_t seed) : device_(device), seed_(seed) {}
  Device device() const override { return device_; }
  void set_seed(uint64_t seed) override { seed_ = seed, offset_ = 0; }
  uint64_t seed() const override { return seed_; }
  std::string state() const override;  // 16 bytes: seed, offset
  void set_state(const std::string& bytes) override;

  struct Position {
    uint64_t seed, offset;
  };
  // The numbers for an operator that fills `elements`; the next operator gets others.
  Position take(int64_t elements);

 private:
  Device device_;
  uint64_t seed_;
  uint64_t offset_ = 0;
};

NpuGenerator& default_generator(int device);  // needs no device: seeding does not start one
NpuGenerator& generator_or_default(Generator* generator, Device device);
// The numbers for an operator that fills the tensor.
NpuGenerator::Position take(Generator* generator, const Tensor& tensor);
// For every default generator, also those of devices not used yet.
void seed_all(uint64_t seed);

}  // namespace mt::npu

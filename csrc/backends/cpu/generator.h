// PyTorch's CPU generator.
#pragma once

#include <mutex>

#include "core/generator.h"
#include "kernels/random/mt19937.h"

namespace mt::cpu {

class CpuGenerator final : public Generator {
 public:
  explicit CpuGenerator(uint64_t seed) : engine(seed) {}
  Device device() const override { return {DeviceType::cpu}; }
  void set_seed(uint64_t seed) override { engine.seed(seed); }
  uint64_t seed() const override { return engine.initial_seed(); }
  std::string state() const override;
  void set_state(const std::string& bytes) override;

  kernels::Mt19937 engine;
};

CpuGenerator& default_generator();
// The generator an operator was given, or the default one.
CpuGenerator& generator_or_default(Generator* generator);
// Draws with its engine, which is locked meanwhile.
template <class F>
void with_engine(Generator* generator, F&& draw) {
  CpuGenerator& g = generator_or_default(generator);
  std::lock_guard lock(g.mutex);
  draw(g.engine);
}

}  // namespace mt::cpu

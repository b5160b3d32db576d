#include "backends/cpu/generator.h"

#include "base/error.h"

namespace mt::cpu {

std::string CpuGenerator::state() const {
  std::string bytes(kernels::Mt19937::kStateBytes, '\0');
  engine.get_state(reinterpret_cast<uint8_t*>(bytes.data()));
  return bytes;
}

void CpuGenerator::set_state(const std::string& bytes) {
  engine.set_state(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

CpuGenerator& default_generator() {
  static auto* generator = new CpuGenerator(kernels::Mt19937::kDefaultSeed);
  return *generator;
}

CpuGenerator& generator_or_default(Generator* generator) {
  if (!generator) return default_generator();
  auto* own = dynamic_cast<CpuGenerator*>(generator);
  MT_CHECK(own, "Expected a 'cpu' device type for generator but found '", name_of(generator->device().type),
           "'");
  return *own;
}

}  // namespace mt::cpu

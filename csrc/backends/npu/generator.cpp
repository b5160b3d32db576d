#include "backends/npu/generator.h"

#include <array>
#include <cstring>

#include "backends/npu/npu_runtime.h"
#include "base/error.h"

namespace mt::npu {
namespace {

struct Defaults {
  std::mutex mutex;
  uint64_t seed = NpuGenerator::kDefaultSeed;
  std::array<NpuGenerator*, kMaxDevices> generators{};
};
Defaults& defaults() {
  static auto* all = new Defaults;
  return *all;
}

}  // namespace

std::string NpuGenerator::state() const {
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), &seed_, 8);
  std::memcpy(bytes.data() + 8, &offset_, 8);
  return bytes;
}

void NpuGenerator::set_state(const std::string& bytes) {
  MT_CHECK(bytes.size() == 16,
           "RNG state is wrong size: an NPU generator's has 16 bytes (seed and offset), got ", bytes.size(),
           ".");
  std::memcpy(&seed_, bytes.data(), 8);
  std::memcpy(&offset_, bytes.data() + 8, 8);
}

NpuGenerator::Position NpuGenerator::take(int64_t elements) {
  std::lock_guard<std::mutex> guard(mutex);
  const Position position{seed_, offset_};
  // One step of the counter makes four words, and no element needs more than two of them (a double). A multiple of
  // four, as PyTorch's offsets are.
  offset_ += (uint64_t(elements) / 2 + 1 + 3) / 4 * 4;
  return position;
}

NpuGenerator& default_generator(int device) {
  MT_CHECK(device >= 0 && device < kMaxDevices, "device index ", device, " is outside 0 … ", kMaxDevices - 1);
  Defaults& all = defaults();
  std::lock_guard<std::mutex> guard(all.mutex);
  NpuGenerator*& generator = all.generators[size_t(device)];
  if (!generator) generator = new NpuGenerator({DeviceType::npu, int8_t(device)}, all.seed);
  return *generator;
}

NpuGenerator& generator_or_default(Generator* generator, Device device) {
  if (!generator) return default_generator(device.index);
  auto* own = dynamic_cast<NpuGenerator*>(generator);
  MT_CHECK(own, "Expected a 'npu' device type for generator but found '", name_of(generator->device().type),
           "'");
  return *own;
}

NpuGenerator::Position take(Generator* generator, const Tensor& tensor) {
  return generator_or_default(generator, tensor.device()).take(tensor.numel());
}

void seed_all(uint64_t seed) {
  Defaults& all = defaults();
  std::lock_guard<std::mutex> guard(all.mutex);
  all.seed = seed;
  for (NpuGenerator* generator : all.generators) {
    if (!generator) continue;
    std::lock_guard<std::mutex> drawing(generator->mutex);
    generator->set_seed(seed);
  }
}

}  // namespace mt::npu

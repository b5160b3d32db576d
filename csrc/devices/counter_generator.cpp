#include "devices/counter_generator.h"

#include <cstring>

#include "base/error.h"
#include "core/accelerator.h"

namespace mt::devices {

std::string CounterGenerator::state() const {
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), &seed_, 8);
  std::memcpy(bytes.data() + 8, &offset_, 8);
  return bytes;
}

void CounterGenerator::set_state(const std::string& bytes) {
  MT_CHECK(bytes.size() == 16, "RNG state is wrong size: a generator of ", name_of(device_.type),
           " has 16 bytes (seed and offset), got ", bytes.size(), ".");
  std::memcpy(&seed_, bytes.data(), 8);
  std::memcpy(&offset_, bytes.data() + 8, 8);
}

CounterGenerator::Position CounterGenerator::take(int64_t elements) {
  std::lock_guard guard(mutex);
  const Position position{seed_, offset_};
  // One step of the counter makes four words, and no element needs more than two of them (a double). A multiple of
  // four, as PyTorch's offsets are.
  offset_ += (uint64_t(elements) / 2 + 1 + 3) / 4 * 4;
  return position;
}

CounterGenerator::Position take_numbers(Generator* generator, const Tensor& tensor) {
  const Device device = tensor.device();
  if (!generator) generator = backend(device.type).default_generator(device.index);
  auto* own = dynamic_cast<CounterGenerator*>(generator);
  MT_CHECK(own && own->device().type == device.type, "Expected a '", name_of(device.type),
           "' device type for generator but found '", name_of(generator->device().type), "'");
  return own->take(tensor.numel());
}

CounterGenerator& CounterGenerators::at(int device) {
  MT_CHECK(device >= 0 && device < kMaxDevices, "device index ", device, " is outside 0 … ", kMaxDevices - 1);
  std::lock_guard guard(mutex_);
  CounterGenerator*& generator = generators_[size_t(device)];
  if (!generator) generator = new CounterGenerator({slot_, int8_t(device)}, seed_);
  return *generator;
}

void CounterGenerators::seed_all(uint64_t seed) {
  std::lock_guard guard(mutex_);
  seed_ = seed;
  for (CounterGenerator* generator : generators_) {
    if (!generator) continue;
    std::lock_guard drawing(generator->mutex);
    generator->set_seed(seed);
  }
}

}  // namespace mt::devices

#include "devices/counter_generator.h"

#include <cstring>

#include "base/error.h"
#include "core/accelerator.h"
#include "devices/device_graph.h"

namespace mt::devices {
namespace {

// The graph that records what this thread enqueues on the device: the state of generators is that of replays to come.
DeviceGraph* capture_on(Device device) {
  if (!DeviceGraph::any_is_captured()) [[likely]]
    return nullptr;
  StreamAccelerator* there = stream_accelerator(device.type);
  return there ? there->current_capture(device.index) : nullptr;
}

}  // namespace

bool CounterGenerator::is_captured() const { return capture_on(device_) != nullptr; }

void CounterGenerator::set_seed(uint64_t seed) {
  if (is_captured()) {
    MT_CHECK(seed == seed_, "a generator of ", name_of(device_.type),
             " can be seeded during a capture only with the seed it has, ", seed_, "; got ", seed);
    return;
  }
  seed_ = seed, offset_ = 0;
}

std::string CounterGenerator::state() const {
  MT_CHECK(!is_captured(), "the state of a generator of ", name_of(device_.type),
           " cannot be read during a capture: its offset is known when the graph is replayed. "
           "Checkpoints work with preserve_rng_state=False.");
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), &seed_, 8);
  std::memcpy(bytes.data() + 8, &offset_, 8);
  return bytes;
}

void CounterGenerator::set_state(const std::string& bytes) {
  MT_CHECK(!is_captured(), "the state of a generator of ", name_of(device_.type),
           " cannot be set during a capture; set it before a replay");
  MT_CHECK(bytes.size() == 16, "RNG state is wrong size: a generator of ", name_of(device_.type),
           " has 16 bytes (seed and offset), got ", bytes.size(), ".");
  std::memcpy(&seed_, bytes.data(), 8);
  std::memcpy(&offset_, bytes.data() + 8, 8);
}

// One step of the counter makes four words, and no element needs more than two of them (a double). A multiple of
// four, as PyTorch's offsets are.
uint64_t CounterGenerator::steps(int64_t elements) { return (uint64_t(elements) / 2 + 1 + 3) / 4 * 4; }

Numbers CounterGenerator::advance(uint64_t count) {
  std::lock_guard guard(mutex);
  const Numbers now{seed_, offset_};
  offset_ += count;
  return now;
}

Numbers take_numbers(Generator* generator, const Tensor& tensor) {
  return take_numbers(generator, tensor.device(), CounterGenerator::steps(tensor.numel()));
}

Numbers take_numbers(Generator* generator, Device device, uint64_t count) {
  if (!generator) generator = backend(device.type).default_generator(device.index);
  auto* own = dynamic_cast<CounterGenerator*>(generator);
  MT_CHECK(own && own->device().type == device.type, "Expected a '", name_of(device.type),
           "' device type for generator but found '", name_of(generator->device().type), "'");
  if (DeviceGraph* graph = capture_on(device)) [[unlikely]]
    return graph->take(*own, count);
  return own->advance(count);
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

#include "core/generator.h"

#include "base/error.h"

namespace mt {
namespace {
GeneratorFactory g_factories[kDeviceTypes];
}

void register_generator_factory(DeviceType type, GeneratorFactory factory) {
  g_factories[int(type)] = factory;
}

const GeneratorFactory& generator_factory(DeviceType type) {
  const GeneratorFactory& factory = g_factories[int(type)];
  MT_CHECK(factory.create, "Device type ", name_of(type), " is not supported for torch.Generator() api.");
  return factory;
}

}  // namespace mt

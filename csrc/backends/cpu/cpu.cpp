#include "backends/cpu/cpu.h"

#include "backends/cpu/generator.h"
#include "backends/cpu/kernel_view.h"
#include "core/host_lock.h"
#include "generated/cpu/register.h"

namespace mt::cpu {

void register_cpu_backend() {
  register_cpu_kernels();
  DeviceHooks hooks;
  hooks.copy = [](const Tensor& from, const Tensor& to, bool) {
    HostWork work(to.numel());
    kernels::copy(view(from), view(to));
  };
  register_device_hooks(DeviceType::cpu, hooks);
  register_generator_factory(DeviceType::cpu, {[](Device) -> Generator* { return &default_generator(); },
                                               [](Device) -> Generator* {
                                                 return new CpuGenerator(kernels::Mt19937::kDefaultSeed);
                                               }});
}

}  // namespace mt::cpu

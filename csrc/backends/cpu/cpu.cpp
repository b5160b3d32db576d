#include "backends/cpu/cpu.h"

#include "backends/cpu/generator.h"
#include "backends/cpu/kernel_view.h"
#include "core/accelerator.h"
#include "core/host_lock.h"
#include "generated/cpu/register.h"

namespace mt::cpu {
namespace {

class CpuBackend final : public Backend {
 public:
  void copy(const Tensor& from, const Tensor& to, bool) override {
    HostWork work(to.numel());
    kernels::copy(view(from), view(to));
  }
  Generator* default_generator(int) override { return &cpu::default_generator(); }
  Generator* new_generator(int) override { return new CpuGenerator(kernels::Mt19937::kDefaultSeed); }
  bool fuses_attention(Device, DType, int64_t) override { return true; }
};

}  // namespace

void register_cpu_backend() {
  register_cpu_kernels();
  static CpuBackend backend;
  register_backend(DeviceType::cpu, backend);
}

}  // namespace mt::cpu

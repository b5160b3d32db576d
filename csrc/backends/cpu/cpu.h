// The CPU backend: registers its kernels, generator and copies.
#pragma once

namespace mt::cpu {

void register_cpu_backend();

}  // namespace mt::cpu

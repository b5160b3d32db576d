#include "backends/cuda/program.h"

namespace mt::cuda {

const char* const* entry_names(int number) {
  static constexpr const char* names[] = {"fourth", "third", "second", "last", nullptr};
  static_assert(std::size(names) == size_t(kMaxEntries) + 1);
  return names + kMaxEntries - number;
}

std::string program_text(const char* header, const std::vector<FamilyKernel>& kernels) {
  std::string text = join_text("#include \"backends/cuda/device/", header,
                               "\"\nusing namespace mt;\nusing namespace mt::cuda;\n");
  const char* const* name = entry_names(int(kernels.size()));
  for (const FamilyKernel& kernel : kernels)
    text += join_text("extern \"C\" __global__ void __launch_bounds__(", kernel.threads,
                      kernel.blocks ? join_text(", ", kernel.blocks) : "", ") ", *name++,
                      "(const __grid_constant__ ", kernel.call, " call) { ", kernel.body, "(call); }\n");
  return text;
}

const char* unit_text(size_t bytes) {
  switch (bytes) {
    case 1: return "uint8_t";
    case 2: return "uint16_t";
    case 4: return "uint32_t";
    case 8: return "uint64_t";
    default: return "Several<uint64_t, 2>";
  }
}

}  // namespace mt::cuda

#include "runtime/soc.h"

#include <string>

#include "runtime/config.h"
#include "softnpu_control.h"

namespace softnpu {
namespace {

// Core counts and caches as public material gives them; programs size their work by them.
constexpr int64_t kMiB = 1 << 20;
constexpr Soc kSocs[] = {
    {"Ascend910B1", "910B1", 24, 48, 6, 192 * kMiB, true},
    {"Ascend910B2", "910B2", 24, 48, 6, 192 * kMiB, true},
    {"Ascend910B3", "910B3", 20, 40, 6, 192 * kMiB, true},
    {"Ascend910B4", "910B4", 20, 40, 6, 96 * kMiB, true},
    {"Ascend910_9392", "910C", 24, 48, 6, 192 * kMiB, true},
    {"Ascend910A", "910A", 32, 32, 14, 32 * kMiB, false},
    {"Ascend310P3", "310P", 8, 7, 4, 16 * kMiB, false},
    {"Ascend950PR_9579", "950", 32, 64, 6, 128 * kMiB, true},
};

}  // namespace

const Soc* find_soc(std::string_view name) {
  for (const Soc& soc : kSocs)
    if (name == soc.name || name == soc.short_name) return &soc;
  return nullptr;
}

const char* soc_names() {
  static const auto* names = [] {
    auto* text = new std::string;
    for (const Soc& soc : kSocs) *text += (text->empty() ? "" : ", ") + std::string(soc.name);
    return text;
  }();
  return names->c_str();
}

}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT int softnpu_set_soc(const char* name) {
  const Soc* soc = name == nullptr ? nullptr : find_soc(name);
  if (soc != nullptr) config().soc.store(soc);
  return soc != nullptr;
}

SOFTNPU_EXPORT const char* softnpu_socs(void) { return soc_names(); }

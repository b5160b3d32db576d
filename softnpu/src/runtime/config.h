// Settings: from the environment, then from softnpu_control.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/export.h"
#include "runtime/soc.h"

namespace softnpu {

inline constexpr uint32_t kMaxDevices = 64;

struct Config {
  uint32_t devices = 1;
  uint64_t memory = uint64_t(8) << 30;  // bytes per device
  std::atomic<const Soc*> soc{find_soc("910B1")};
  std::atomic<uint32_t> delay_us{0};
  std::atomic<bool> poison{false};
  std::string problem;  // the first setting that could not be read; aclInit and aclrtSetDevice report it
};

// Reads the environment on the first call. Never destroyed.
SOFTNPU_SHARED Config& config();

// "2GiB", "512MiB", "1000000" -> bytes; false if it is not a size.
bool parse_size(const std::string& text, uint64_t* bytes);

}  // namespace softnpu

// Kernels as text: CUDA C++ that NVRTC compiles for the chip at its first use and that is kept on disk.
//
// Note [Kernels are compiled where they run]
// The package has the kernels' headers as text (csrc/backends/cuda/device, and the functors of csrc/kernels, which the
// CPU's loops are made of too). A program is a few lines that instantiate a template of them for the dtypes of a call.
// It is compiled once for each architecture: the machine code is kept in a folder of the user's, under a name made of
// the text, the headers, the options and NVRTC's version, so nothing that is old can be found there. Who calls the same
// operator again finds the function in memory, by a key of 64 bits and without a lock (Variants).
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "backends/cuda/cuda_api.h"

namespace mt::cuda {

inline constexpr int kMaxEntries = 4;

// The functions of a program on a device, in the order in which they were asked for.
struct Loaded {
  std::array<Function, kMaxEntries> entries{};
};

// Compiles the program, or takes it from the disk, and loads it on the device that is active. `entries` are names of
// its functions, up to a null.
Loaded load_program(int device, const std::string& source, const char* const* entries);

// Machine code for an architecture such as "sm_90"; needs no device.
std::string compile(const std::string& source, const std::string& architecture);

// Compiles a program for the folder where machine code is kept; false: it is there already.
bool compile_ahead(const std::string& source, const std::string& architecture);

// Where machine code is kept; MINDTORCH_CACHE names another folder. Empty: there is none to write to.
std::string cache_folder();

// The programs that one operator has been called with.
class Variants {
 public:
  Variants() = default;
  Variants(const Variants&) = delete;

  // `make` gives the source for a key that was not asked for before.
  template <class Make>
  const Loaded& find(uint64_t key, int device, const char* const* entries, const Make& make) {
    for (const Node* node = first_.load(std::memory_order_acquire); node; node = node->next)
      if (node->key == key && node->device == device) return node->loaded;
    return add(key, device, entries, make());
  }

 private:
  struct Node {
    uint64_t key;
    int device;
    Loaded loaded;
    const Node* next;
  };
  const Loaded& add(uint64_t key, int device, const char* const* entries, const std::string& source);

  std::atomic<const Node*> first_{nullptr};  // nodes are never removed
  std::mutex mutex_;
};

}  // namespace mt::cuda

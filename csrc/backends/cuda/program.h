// Programs of the kernel families in csrc/backends/cuda/device, and how many blocks they are launched with.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "backends/cuda/launch.h"
#include "backends/cuda/library_call.h"
#include "base/error.h"

namespace mt::cuda {

// "softmax_rows<float, float, true>", "SoftmaxCall": a kernel that is a template of a family with all types named.
// threads: the most that a block is launched with. blocks: how many of them a processor shall hold at the same time, by
// which the compiler counts registers; 0: as many as come out.
struct FamilyKernel {
  std::string body;
  const char* call;
  int threads = 256, blocks = 0;
};

// Names of the functions of a program with `number` kernels, up to a null.
const char* const* entry_names(int number);
// `header` is a file of csrc/backends/cuda/device.
std::string program_text(const char* header, const std::vector<FamilyKernel>& kernels);

// What tells the programs of an operator apart: up to ten dtypes or small numbers.
inline uint64_t key_of(std::initializer_list<int> parts) {
  uint64_t key = 1;
  for (const int part : parts) key = key << 6 | uint64_t(part);
  return key;
}

// The functions of a program with `number` kernels, in the order in which `make` lists them.
template <class Make>
const Loaded& find_program(Variants& variants, uint64_t key, const Place& place, const char* header,
                           int number, const Make& make) {
  return variants.find(key, place.index(), entry_names(number), [&] { return program_text(header, make()); });
}

inline constexpr int64_t kMostBlocks = 0x7fffffff;

// Blocks for so many threads, of kernels that stride over what is left.
inline unsigned blocks_for(int64_t threads, int64_t block = 256) {
  return unsigned(std::clamp<int64_t>((threads + block - 1) / block, 1, kMostBlocks));
}
inline unsigned whole_warps(int64_t threads, int64_t most) {
  return unsigned(std::clamp<int64_t>((threads + 31) / 32 * 32, 32, most));
}

// A program of one kernel. `body` gives what is instantiated ("gathered<uint32_t>") for a key that is new.
struct Family {
  const char* header;  // "index.h"
  const char* call;
};
template <class Call, class Body>
void run_family(const Family& family, Variants& variants, uint64_t key, const char* name, const Tensor& out,
                Shape grid, Shape block, const Call& call, const Body& body) {
  const Place place(out);
  const Loaded& loaded =
      find_program(variants, key, place, family.header, 1, [&]() -> std::vector<FamilyKernel> {
        return {{body(), family.call, int(block.x * block.y * block.z)}};
      });
  launch_with(loaded.entries[0], name, place.index(), grid, block, 0, call);
}
// The usual: a thread for each element, over which blocks stride.
template <class Call, class Body>
void run_over(const Family& family, Variants& variants, uint64_t key, const char* name, const Tensor& out,
              int64_t elements, const Call& call, const Body& body) {
  if (elements == 0) return;
  run_family(family, variants, key, name, out, {blocks_for(elements)}, {256}, call, body);
}

// An unsigned integer of so many bytes as it is spelled in kernels: for those that only move elements.
const char* unit_text(size_t bytes);
inline const char* unit_text(DType dtype) { return unit_text(itemsize(dtype)); }

}  // namespace mt::cuda

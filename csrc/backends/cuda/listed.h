// Elementwise operators over lists of tensors: one launch for many.
//
// Note [Launches that are kept back]
// torch._foreach_* runs an operator for each entry of a list (infer/lists.h, OverList). A launch costs more than the work on
// a small tensor, so in between the dense launches of elementwise operators are kept back while they are of the same
// kernel with the same numbers, and done by one (Elementwise::listed). They are launched when the list ends or a launch is
// full, before anything else that the thread hands to the driver, and before one of them would read or write what
// another that is kept back writes: a result stays what it would have been without.
#pragma once

#include <span>
#include <vector>

#include "backends/cuda/device/arguments.h"
#include "backends/cuda/launch.h"
#include "base/per_thread.h"
#include "core/tensor.h"

namespace mt::cuda {

class KeptBack {
 public:
  bool open() const { return depth_ > 0; }
  void begin() { ++depth_; }
  void end();

  // `function` is Elementwise::listed of the kernel; elements: how many a block does. `tensors` are the operands that are
  // tensors, the result first.
  void add(Function function, const char* name, const DenseCall& call, int64_t elements,
           std::span<const Tensor* const> tensors);
  void launch();  // what is kept back, if anything is

 private:
  bool fits(Function function, Device device, void* stream, const Numbers& numbers,
            std::span<const Tensor* const> tensors) const;

  int depth_ = 0;
  Function function_ = nullptr;
  const char* name_ = nullptr;
  Device device_;
  void* stream_ = nullptr;
  ListedCall call_{};
  std::vector<Tensor> results_, operands_;  // kept alive until they are launched
};

KeptBack& kept_back();
// To be called before anything else is launched.
inline void launch_kept_back() { kept_back().launch(); }

}  // namespace mt::cuda

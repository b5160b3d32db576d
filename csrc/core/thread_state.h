// Per-thread modes and caches, read by every operator: behind a pointer of their own (Note [Thread-locals] in
// base/per_thread.h).
#pragma once

#include <cstddef>

#include "core/device.h"

namespace mt {

// Free lists of small host blocks. Note [Host memory] in host_memory.h.
inline constexpr size_t kSmallClass = 64;  // bytes per small class
inline constexpr int kSmallClasses = 65;   // classes 0 … 4096 bytes

struct FreeBlock {
  FreeBlock* next;
};

struct SmallLists {
  FreeBlock* head[kSmallClasses] = {};
  unsigned count[kSmallClasses] = {};
};

// The device and stream that are meant where a program names none.
struct CurrentDevice {
  int index = 0;
  int active = -1;         // the device that the vendor's library has current on this thread; -1: none yet
  void* stream = nullptr;  // of that device; null: the default stream
};

inline constexpr int kAllLevels = 1 << 30;

struct ThreadState {
  bool grad_enabled = true;
  bool inference = false;          // inside torch.inference_mode()
  bool overrides_enabled = true;   // __torch_function__ of subclasses is asked
  int function_modes = 0;          // TorchFunctionModes that this thread is inside of
  int dispatch_modes = 0;          // TorchDispatchModes likewise; see core/intercept.h
  bool interception_off = false;   // operators run as if no tensor and no mode asked for them
  int transform_levels = 0;        // uses of vmap and forward mode that it is inside of; see core/transform.h
  int highest_level = kAllLevels;  // those above it are not looked at
  void* packer = nullptr;          // autograd::SavedTensorPacker of saved_tensors_hooks
  bool destroying_nodes = false;   // see GraphNode::destroy
  void* dead_nodes = nullptr;
  Device default_device{DeviceType::cpu};  // of `with torch.device(...)` and set_default_device
  CurrentDevice current[kDeviceTypes];     // of each type: read through core/current_stream.h
  SmallLists small;
};

extern constinit thread_local ThreadState* t_thread_state __attribute__((tls_model("initial-exec")));
ThreadState& create_thread_state();

inline ThreadState& thread_state() {
  ThreadState* state = t_thread_state;
  return state ? *state : create_thread_state();
}

}  // namespace mt

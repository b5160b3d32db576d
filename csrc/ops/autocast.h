// torch.autocast: operators with a cast policy see their tensors in another dtype.
//
// Note [Autocast]: codegen/autocast.yaml says for each device which operators run in the lower precision, which in
// float32, and which in the widest dtype among their arguments. Their generated functions begin with a look at one
// counter of the process, and no other function has a trace of it. While a thread is inside torch.autocast, a Cast
// finds out whether the policy applies to the call, pauses autocast, and the operator calls itself with cast arguments.
// The casts are operators with a gradient, so gradients come back in the dtype of the parameters.
#pragma once

#include <atomic>
#include <initializer_list>

#include "core/dispatch.h"

namespace mt::autocast {

enum class Policy : uint8_t {
  none,
  lower,  // the dtype of torch.autocast
  float32,
  float32_inside,  // and the results have the dtype of the first argument
  widest,          // the widest dtype of the arguments, at least the dtype of torch.autocast
  float32_result,  // the operator's own dtype= becomes float32 where the caller gave none
  alone,           // as it is: operators that it is made of here are not cast either
  refused          // unsafe in the lower precision
};

struct Policies {
  Policy cpu = Policy::none, accelerator = Policy::none;
};

// How many threads are inside torch.autocast.
extern std::atomic<int> g_threads;
inline bool active() { return g_threads.load(std::memory_order_relaxed) != 0; }

// The policy of one call. While it lives, autocast is off in this thread.
class Cast {
 public:
  Cast(const char* op, Policies policies, std::initializer_list<const Tensor*> tensors,
       std::initializer_list<TensorList> lists = {});
  ~Cast();
  Cast(const Cast&) = delete;

  bool applies() const { return policy_ != Policy::none; }
  Tensor operator()(const Tensor& tensor) const;
  std::vector<Tensor> operator()(TensorList tensors) const;
  // For float32_inside: integers among the results stay what they are.
  Tensor back(const Tensor& result, DType dtype) const;
  std::tuple<Tensor, Tensor> back(const std::tuple<Tensor, Tensor>& results, DType dtype) const {
    return {back(std::get<0>(results), dtype), back(std::get<1>(results), dtype)};
  }
  // For float32_result.
  std::optional<DType> dtype(std::optional<DType> asked) const {
    return asked || policy_ != Policy::float32_result ? asked : std::optional(DType::float32);
  }

 private:
  bool eligible(const Tensor& tensor) const;

  Policy policy_ = Policy::none;
  DeviceType device_ = DeviceType::cpu;
  DType to_ = DType::float32;
  uint8_t paused_;
};

// The state of the calling thread.
struct State {
  uint8_t devices = 0;        // bit d: on for device type d
  bool cache_enabled = true;  // casts of parameters are kept until the outermost torch.autocast ends
  int nesting = 0;
  std::optional<DType> lower[kDeviceTypes];  // absent: the device's default
  void* cache = nullptr;  // not destroyed with the thread, which may not hold Python's lock then
  ~State();
};
State& state();
inline bool any_enabled() { return active() && state().devices != 0; }
bool is_enabled(DeviceType device);
void set_enabled(DeviceType device, bool enabled);
DType lower_dtype(DeviceType device);
void set_lower_dtype(DeviceType device, DType dtype);
void clear_cache();

}  // namespace mt::autocast

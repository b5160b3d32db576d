#include "backends/npu/aclnn_call.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <string>

#include "base/error.h"
#include "core/observe_task.h"
#include "core/reach.h"
#include "devices/launch_log.h"

namespace mt::npu::aclnn {
namespace {

constexpr aclDataType kTypes[kDTypeCount] = {
    ACL_UINT8,        ACL_INT8,        ACL_INT16,     ACL_INT32,         ACL_INT64,       ACL_FLOAT16,
    ACL_FLOAT,        ACL_DOUBLE,      ACL_COMPLEX64, ACL_COMPLEX128,    ACL_BOOL,        ACL_BF16,
    ACL_UINT16,       ACL_UINT32,      ACL_UINT64,    ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E5M2, ACL_DT_UNDEFINED,
    ACL_DT_UNDEFINED, ACL_FLOAT8_E8M0, ACL_COMPLEX32,
};
static_assert(kTypes[int(DType::bfloat16)] == ACL_BF16 && kTypes[int(DType::uint64)] == ACL_UINT64);

// Operators that care about image layouts look at the format; to the others it is one of plain order.
aclFormat format_of(int64_t ndim) {
  switch (ndim) {
    case 3: return ACL_FORMAT_NCL;
    case 4: return ACL_FORMAT_NCHW;
    case 5: return ACL_FORMAT_NCDHW;
    default: return ACL_FORMAT_ND;
  }
}

// Freed on every way out; reuse by the same stream is safe as soon as the launch is enqueued.
class Workspace {
 public:
  Workspace(int device, uint64_t bytes, void* stream)
      : allocator_(npu().allocator(device)),
        block_(allocator_.allocate(bytes, runtime::StreamHandle(stream))) {}
  ~Workspace() { allocator_.free(block_); }
  Workspace(const Workspace&) = delete;
  void* address() const { return block_->address(); }

 private:
  runtime::CachingAllocator& allocator_;
  runtime::Block* block_;
};

void enqueue(const char* name, Launch* function, void* workspace, uint64_t bytes, aclOpExecutor* executor,
             int device, void* stream) {
  TaskScope scope({TaskKind::kernel, "aclnnLaunch", name, {kSlot, int8_t(device)}, stream});
  const aclnnStatus status = function(workspace, bytes, executor, stream);  // the library frees the executor
  if (status != 0) [[unlikely]]
    fail_acl(status, name);
  devices::note_launch(name, stream);
}

}  // namespace

aclDataType data_type(DType dtype) { return kTypes[int(dtype)]; }

aclTensor* make_tensor(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  MT_CHECK(impl.device.type == kSlot,
           "Expected all tensors to be on the same device, but found a tensor on '", to_string(impl.device),
           "' among the arguments of an NPU operator");
  check_reach(tensor);
  const Storage& storage = *impl.storage;
  // Sizes are powers of two; a division would cost as much as the rest of this function.
  const int64_t elements = int64_t(storage.nbytes >> std::countr_zero(itemsize(impl.dtype)));
  aclTensor* made = acl().aclCreateTensor(impl.sizes(), impl.ndim, kTypes[int(impl.dtype)], impl.strides(),
                                          impl.offset, format_of(impl.ndim), &elements, 1, storage.data);
  if (!made) [[unlikely]]
    fail_null("aclCreateTensor");
  return made;
}

aclScalar* make_scalar(const Scalar& value) {
  aclScalar* made;
  switch (value.category()) {
    case Category::boolean: {
      bool number = value.to<bool>();
      made = acl().aclCreateScalar(&number, ACL_BOOL);
      break;
    }
    case Category::integral: {
      int64_t number = value.to<int64_t>();
      made = acl().aclCreateScalar(&number, ACL_INT64);
      break;
    }
    case Category::floating: {
      double number = value.to<double>();
      made = acl().aclCreateScalar(&number, ACL_DOUBLE);
      break;
    }
    default: {
      complex128 number = value.to<complex128>();
      made = acl().aclCreateScalar(&number, ACL_COMPLEX128);
    }
  }
  if (!made) [[unlikely]]
    fail_null("aclCreateScalar");
  return made;
}

aclIntArray* make_int_array(IntList numbers) {
  aclIntArray* made = acl().aclCreateIntArray(numbers.data(), numbers.size());
  if (!made) [[unlikely]]
    fail_null("aclCreateIntArray");
  return made;
}

aclFloatArray* make_float_array(std::span<const float> numbers) {
  aclFloatArray* made = acl().aclCreateFloatArray(numbers.data(), numbers.size());
  if (!made) [[unlikely]]
    fail_null("aclCreateFloatArray");
  return made;
}

aclBoolArray* make_bool_array(std::span<const bool> flags) {
  aclBoolArray* made = acl().aclCreateBoolArray(flags.data(), flags.size());
  if (!made) [[unlikely]]
    fail_null("aclCreateBoolArray");
  return made;
}

namespace {

// What is kept in the slot; made by the first who asks.
template <class T, class Make, class Destroy>
const T* kept(std::atomic<T*>& slot, const Make& make, const Destroy& destroy) {
  T* found = slot.load(std::memory_order_acquire);
  if (found) [[likely]]
    return found;
  T* made = make();
  if (slot.compare_exchange_strong(found, made)) return made;
  destroy(made);  // another thread was faster
  return found;
}

}  // namespace

const aclScalar* shared_scalar(const Scalar& value) {
  static std::array<std::atomic<aclScalar*>, 4> slots{};
  size_t slot;
  if (value.category() == Category::integral) {
    const int64_t number = value.to<int64_t>();
    if (number != 0 && number != 1) return nullptr;
    slot = size_t(number);
  } else if (value.category() == Category::floating) {
    const double number = value.to<double>();
    if ((number != 0 && number != 1) || std::signbit(number)) return nullptr;
    slot = number == 0 ? 2 : 3;
  } else {
    return nullptr;
  }
  return kept(slots[slot], [&] { return make_scalar(value); }, acl().aclDestroyScalar);
}

const aclIntArray* shared_int_array(IntList numbers) {
  static std::array<std::atomic<aclIntArray*>, 5> slots{};
  if (numbers.size() > 1) return nullptr;
  if (!numbers.empty() && (numbers[0] < 0 || numbers[0] > 3)) return nullptr;
  const size_t slot = numbers.empty() ? 0 : size_t(numbers[0]) + 1;
  return kept(slots[slot], [&] { return make_int_array(numbers); }, acl().aclDestroyIntArray);
}

namespace {

// A list destroys its elements, but only once it exists.
template <class Made, class T, class Make, class Destroy, class MakeList>
auto* make_list(std::span<const T> values, const Make& make, const Destroy& destroy, const MakeList& make_of,
                const char* maker) {
  SmallVector<const Made*, 16> elements;
  try {
    for (const T& value : values) elements.push_back(make(value));
    auto* list = make_of(elements.data(), elements.size());
    if (!list) fail_null(maker);
    return list;
  } catch (...) {
    for (const Made* element : elements) destroy(element);
    throw;
  }
}

}  // namespace

aclTensorList* make_tensor_list(TensorList tensors) {
  return make_list<aclTensor>(tensors, make_tensor, acl().aclDestroyTensor, acl().aclCreateTensorList,
                              "aclCreateTensorList");
}

aclScalarList* make_scalar_list(std::span<const Scalar> values) {
  return make_list<aclScalar>(values, make_scalar, acl().aclDestroyScalar, acl().aclCreateScalarList,
                              "aclCreateScalarList");
}

Dims dims(const DimList& dim, int64_t ndim) {
  Dims result;
  if (dim.all()) {
    for (int64_t d = 0; d < ndim; ++d) result.push_back(d);
    return result;
  }
  // A 0-dim tensor accepts dim 0 and -1 in PyTorch; ACLNN wants none.
  if (ndim == 0) return result;
  for (int64_t d : dim.dims()) result.push_back(wrap_dim(d, ndim));
  return result;
}

Phases find_operator(const char* name) {
  npu().initialize();
  const std::string first = std::string(name) + "GetWorkspaceSize";
  const Phases phases{find_symbol(first.c_str()), find_symbol(name)};
  MT_CHECK_AS(not_implemented, phases.plan && phases.launch, "The operator library next to ",
              acl().loaded_from, " has no ", name,
              ". Use a newer CANN, or run the operation on the CPU: x.cpu().");
  return phases;
}

void launch(const char* name, Launch* function, uint64_t workspace, aclOpExecutor* executor, int device) {
  void* stream = current_stream(device);
  if (workspace == 0) [[likely]] {
    enqueue(name, function, nullptr, 0, executor, device, stream);
  } else {
    std::optional<Workspace> memory;
    try {
      memory.emplace(device, workspace, stream);
    } catch (...) {
      acl().aclDestroyAclOpExecutor(executor);  // only a launch would have freed it
      throw;
    }
    enqueue(name, function, memory->address(), workspace, executor, device, stream);
  }
  if (npu().launch_blocking() && !npu().capture_of(device, stream)) [[unlikely]]
    npu().wait_for_data(device, stream);
}

}  // namespace mt::npu::aclnn

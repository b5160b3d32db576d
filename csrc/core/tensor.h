// The tensor: a window (sizes, strides, offset, dtype) on a storage, and its place in the autograd graph.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/scalar.h"
#include "base/small_vector.h"
#include "core/storage.h"

namespace mt {

using IntList = std::span<const int64_t>;
using Dims = SmallVector<int64_t, 6>;

enum class MemoryFormat : uint8_t { contiguous, preserve, channels_last, channels_last_3d };

class Tensor;

// What core knows of an autograd node: it is counted, and it can be destroyed.
struct GraphNode {
  std::atomic<uint32_t> refs{1};
  virtual ~GraphNode() = default;
  static void destroy(GraphNode* node);
  uint32_t block = 0;  // bytes of its host block
  GraphNode* next_dead = nullptr;
};
using GraphNodeRef = Ref<GraphNode>;

struct Transformed;  // core/transform.h
struct SparseParts;  // core/sparse.h

// What autograd keeps for tensors that need more than an edge (gradient, hooks, accumulator).
struct GradState {
  std::unique_ptr<Transformed> transformed;
  std::unique_ptr<SparseParts> sparse;
  GradState();
  virtual ~GradState();
};

// A version counter apart from the storage's: `x.data` may be written without invalidating what autograd saved.
struct OwnVersion {
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> refs{1};
  static void destroy(OwnVersion* counter) { delete counter; }
};

// How a view was made, which decides what a write through it may do to histories.
// Note [Views and in-place writes] in autograd/inplace.cpp
enum class ViewMaking : uint8_t { plain, in_function, one_of_many, without_grad, in_inference };

struct TensorImpl {
  std::atomic<uint32_t> refs{1};
  DType dtype = DType::float32;
  Device device;
  bool requires_grad = false;  // asked for by the user (leaves)
  bool contiguous = true;
  bool wrapped_number = false;      // came from a Python number: takes part in promotion as one
  bool owns_python_object = false;  // see Note [Python identity] in bindings/tensor_object.h
  ViewMaking view_making = ViewMaking::plain;
  uint8_t special = 0;  // who takes its operators over: Special in core/intercept.h
  uint8_t ndim = 0;
  StorageRef storage;
  int64_t offset = 0;  // in elements
  int64_t numel = 1;
  GraphNode* grad_fn = nullptr;  // owned
  uint32_t output_nr = 0;
  uint32_t view_version = 0;                 // version at which grad_fn of a view was computed
  std::atomic<uint32_t>* version = nullptr;  // the storage's, or own_version's
  Ref<OwnVersion> own_version;
  TensorImpl* base = nullptr;       // the tensor this is a view of; owned
  GradState* grad_state = nullptr;  // owned
  void* python_object = nullptr;

  static constexpr int kInline = 5;
  int64_t* sizes() { return ndim <= kInline ? inline_ : heap_; }
  int64_t* strides() { return ndim <= kInline ? inline_ + kInline : heap_ + ndim; }
  const int64_t* sizes() const { return ndim <= kInline ? inline_ : heap_; }
  const int64_t* strides() const { return ndim <= kInline ? inline_ + kInline : heap_ + ndim; }

  void set_ndim(size_t n);  // sizes and strides are undefined afterwards
  void refresh();           // recompute numel and contiguous after sizes or strides changed
  static void destroy(TensorImpl* impl);

  TensorImpl() = default;
  ~TensorImpl();

 private:
  union {
    int64_t inline_[2 * kInline];
    int64_t* heap_;
  };
};

// Called when the last reference to a tensor whose Python object it owns goes away.
extern void (*release_python_object)(void* object);

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  static Tensor adopt(TensorImpl* impl) { return Tensor(Ref<TensorImpl>::adopt(impl)); }
  static Tensor share(TensorImpl* impl) { return Tensor(Ref<TensorImpl>::share(impl)); }

  bool defined() const { return bool(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* detach_impl() { return impl_.detach(); }
  bool same(const Tensor& other) const { return impl() == other.impl(); }

  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->device; }
  int64_t dim() const { return impl_->ndim; }
  int64_t numel() const { return impl_->numel; }
  IntList sizes() const { return {impl_->sizes(), impl_->ndim}; }
  IntList strides() const { return {impl_->strides(), impl_->ndim}; }
  int64_t size(int64_t dim) const;
  int64_t stride(int64_t dim) const;
  int64_t offset() const { return impl_->offset; }
  bool is_contiguous() const { return impl_->contiguous; }
  bool is_contiguous(MemoryFormat format) const;
  size_t itemsize() const { return mt::itemsize(impl_->dtype); }
  size_t nbytes() const { return size_t(numel()) * itemsize(); }
  Storage& storage() const { return *impl_->storage; }
  const StorageRef& storage_ref() const { return impl_->storage; }
  // In unsigned numbers, which may wrap: an empty tensor may have any offset at all.
  void* data() const {
    return reinterpret_cast<void*>(uintptr_t(impl_->storage->data) + uint64_t(impl_->offset) * itemsize());
  }
  template <class T>
  T* data() const {
    return static_cast<T*>(data());
  }

  uint32_t version() const { return impl_->version->load(std::memory_order_relaxed); }
  // Threads that write one tensor at once have lost already, so this need not be one atomic step.
  void bump_version() const { impl_->version->store(version() + 1, std::memory_order_relaxed); }

  bool requires_grad() const { return impl_->requires_grad || impl_->grad_fn; }
  bool is_leaf() const { return impl_->grad_fn == nullptr; }
  bool is_view() const { return impl_->base != nullptr; }

  // Pieces of formulas read better as methods.
  Tensor reshape(IntList shape) const;

 private:
  Ref<TensorImpl> impl_;
};

using OptionalInts = std::optional<Dims>;
using TensorList = std::span<const Tensor>;

// A new tensor with storage of its own.
Tensor new_tensor(IntList sizes, DType dtype, Device device);
Tensor new_tensor_strided(IntList sizes, IntList strides, DType dtype, Device device);
// A tensor over an existing storage, outside every graph.
Tensor tensor_over(StorageRef storage, DType dtype, IntList sizes, IntList strides, int64_t offset);
// The same with geometry left for the caller to fill in.
Tensor tensor_over(StorageRef storage, DType dtype, size_t ndim);
// A second tensor on the same storage with the same geometry, outside every graph.
Tensor shallow_copy(const Tensor& tensor, bool own_version = false);
// A 0-dim CPU tensor that takes part in promotion as a Python number does.
Tensor wrapped_scalar(const Scalar& value);
// Throws if it was made in inference mode and is written to outside.
void check_inference_write(const Tensor& written);
// Reads the one element of a CPU tensor.
Scalar read_scalar(const void* data, DType dtype);

void contiguous_strides(IntList sizes, int64_t* strides);
int64_t checked_numel(IntList sizes);  // throws for negative sizes and overflow
// How many elements of the storage a window reaches over, 0 if it is empty; throws if bytes of `item` each overflow.
int64_t checked_reach(IntList sizes, IntList strides, int64_t offset, size_t item);
int64_t wrap_dim(int64_t dim, int64_t ndim);  // throws IndexError with PyTorch's wording
std::string to_string(IntList list);          // "[2, 3]"

DType default_dtype();
void set_default_dtype(DType dtype);
Device default_device();
void set_default_device(Device device);

}  // namespace mt

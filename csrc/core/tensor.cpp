#include "core/tensor.h"

#include <new>

#include "core/host_memory.h"
#include "core/intercept.h"
#include "core/sparse.h"
#include "core/thread_state.h"
#include "core/transform.h"
#include "core/warn.h"

namespace mt {
namespace {

std::atomic<DType> g_default_dtype{DType::float32};

// Note [Hot functions]
// A call of an operator touches some twenty functions, and Python's own take most of what a processor remembers of pages
// of code. Those that nearly all operators need are marked as hot, which makes the linker put them side by side, on few
// pages. A kernel and what belongs to one operator are not.
[[gnu::hot]] TensorImpl* new_impl(StorageRef&& storage, DType dtype, size_t ndim) {
  auto* impl = new (host_allocate(sizeof(TensorImpl))) TensorImpl;
  impl->dtype = dtype;
  impl->device = storage->device;
  impl->version = &storage->version;
  impl->storage = std::move(storage);
  impl->set_ndim(ndim);
  return impl;
}

template <class T>
Scalar number(T value) {
  if constexpr (std::is_same_v<T, bool>) return Scalar(value);
  else if constexpr (std::is_integral_v<T>) return Scalar(int64_t(value));
  else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>)
    return Scalar(complex128(value));
  else if constexpr (std::is_same_v<T, ComplexHalf>) return number(complex64(value));
  else return Scalar(double(value));
}

template <class T>
Scalar number_at(const void* data) {
  // A tensor of bools that is a view of other numbers may hold any byte.
  if constexpr (std::is_same_v<T, bool>) return number(*static_cast<const unsigned char*>(data) != 0);
  else return number(*static_cast<const T*>(data));
}

void warn_of_complex_half() {
  static bool told = false;
  if (first_time(told)) warn("ComplexHalf support is experimental and many operators don't support it yet.");
}

}  // namespace

GradState::GradState() = default;
GradState::~GradState() = default;

void (*release_python_object)(void* object) = nullptr;

// A node's destructor releases the nodes it leads to. A chain of a million must not become a million stack
// frames, so nodes that die while another is being destroyed wait in a list.
[[gnu::hot]] void GraphNode::destroy(GraphNode* node) {
  ThreadState& thread = thread_state();
  if (thread.destroying_nodes) {
    node->next_dead = static_cast<GraphNode*>(thread.dead_nodes);
    thread.dead_nodes = node;
    return;
  }
  thread.destroying_nodes = true;
  while (node) {
    const size_t block = node->block;
    node->~GraphNode();
    host_free(node, block);
    node = static_cast<GraphNode*>(thread.dead_nodes);
    if (node) thread.dead_nodes = node->next_dead;
  }
  thread.destroying_nodes = false;
}

TensorImpl::~TensorImpl() {
  if (grad_fn) Ref<GraphNode>::release(grad_fn);
  delete grad_state;
  if (base) Ref<TensorImpl>::release(base);
  if (ndim > kInline) delete[] heap_;
}

[[gnu::hot]] void TensorImpl::destroy(TensorImpl* impl) {
  // A sole owner releases without counting down; whoever still knows the address (a leaf's accumulator) reads 0.
  impl->refs.store(0, std::memory_order_relaxed);
  if (impl->owns_python_object) release_python_object(impl->python_object);
  impl->~TensorImpl();
  host_free(impl, sizeof(TensorImpl));
}

void TensorImpl::set_ndim(size_t n) {
  MT_CHECK(n <= 64, "only tensors with up to 64 dims are supported, got one of ", n);
  if (n == ndim) return;
  if (ndim > kInline) delete[] heap_;
  ndim = uint8_t(n);
  if (n > kInline) heap_ = new int64_t[2 * n];
}

void TensorImpl::refresh() {
  numel = 1;
  contiguous = true;
  const int64_t *s = sizes(), *t = strides();
  for (int i = ndim - 1; i >= 0; --i) {
    if (s[i] != 1 && t[i] != numel) contiguous = false;
    numel = int64_t(uint64_t(numel) * uint64_t(s[i]));  // may wrap on the way to the 0 of an empty tensor
  }
  if (numel == 0) contiguous = true;
}

namespace {

// Unlike wrap_dim, which counts a tensor without dimensions as one with a single one.
int64_t wrap_present_dim(int64_t dim, int64_t ndim) {
  MT_CHECK_AS(index, ndim > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  return wrap_dim(dim, ndim);
}

}  // namespace

int64_t Tensor::size(int64_t dim) const { return impl_->sizes()[wrap_present_dim(dim, this->dim())]; }
int64_t Tensor::stride(int64_t dim) const { return impl_->strides()[wrap_present_dim(dim, this->dim())]; }

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::contiguous || format == MemoryFormat::preserve) return is_contiguous();
  const int64_t wanted = format == MemoryFormat::channels_last ? 4 : 5;
  if (dim() != wanted) return false;
  int64_t expected = 1;
  for (int64_t i = 0; i < wanted; ++i) {
    // innermost to outermost: channels, then the spatial dims from last to first, then the batch
    const int64_t d = i == 0 ? 1 : (i == wanted - 1 ? 0 : wanted - i);
    if (sizes()[d] != 1 && strides()[d] != expected) return false;
    expected *= sizes()[d];
  }
  return true;
}

[[gnu::hot]] void contiguous_strides(IntList sizes, int64_t* strides) {
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    // A tensor without elements may have sizes whose product wraps around; nobody goes along such strides.
    step = int64_t(uint64_t(step) * uint64_t(std::max<int64_t>(sizes[i], 1)));
  }
}

// The number of elements where a size is zero or does not fit, or the error that says so.
[[gnu::cold, gnu::noinline]] static int64_t numel_of_odd(IntList sizes) {
  int64_t n = 1;
  bool overflow = false, zero = false;
  for (int64_t s : sizes) {
    MT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", to_string(sizes));
    if (s == 0) zero = true;
    else overflow |= __builtin_mul_overflow(n, s, &n);
  }
  // Strides are those of a tensor with one element there.
  if (zero) MT_CHECK(!overflow, "Stride calculation overflowed");
  else fail(ErrorKind::runtime, "Storage size calculation overflowed with sizes=", to_string(sizes));
  return 0;
}

[[gnu::hot]] int64_t checked_numel(IntList sizes) {
  int64_t n = 1;
  bool odd = false;
  for (int64_t s : sizes) odd |= (s <= 0) | __builtin_mul_overflow(n, s, &n);
  if (odd | (n > (int64_t(1) << 59))) [[unlikely]]
    return numel_of_odd(sizes);
  return n;
}

int64_t checked_reach(IntList sizes, IntList strides, int64_t offset, size_t item) {
  int64_t last = offset, step, bytes;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    overflow |=
        __builtin_mul_overflow(sizes[i] - 1, strides[i], &step) || __builtin_add_overflow(last, step, &last);
  }
  overflow = overflow || __builtin_add_overflow(last, 1, &last) ||
             __builtin_mul_overflow(last, int64_t(item), &bytes);
  MT_CHECK(!overflow, "Storage size calculation overflowed with sizes=", to_string(sizes),
           " and strides=", to_string(strides));
  return last;
}

int64_t wrap_dim(int64_t dim, int64_t ndim) {
  const int64_t range = ndim == 0 ? 1 : ndim;
  MT_CHECK_AS(index, dim >= -range && dim < range, "Dimension out of range (expected to be in range of [",
              -range, ", ", range - 1, "], but got ", dim, ")");
  return dim < 0 ? dim + range : dim;
}

std::string to_string(IntList list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + std::to_string(list[i]);
  return text + "]";
}

void check_inference_write(const Tensor& written) {
  MT_CHECK(
      !written.storage().made_in_inference() || thread_state().inference,
      "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get "
      "a normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more "
      "details.");
}

[[gnu::hot]] Tensor new_tensor(IntList sizes, DType dtype, Device device) {
  const int64_t n = checked_numel(sizes);
  if (dtype == DType::complex32) [[unlikely]]
    warn_of_complex_half();
  TensorImpl* impl = new_impl(new_storage(device, size_t(n) * itemsize(dtype)), dtype, sizes.size());
  std::copy(sizes.begin(), sizes.end(), impl->sizes());
  contiguous_strides(sizes, impl->strides());
  impl->numel = n;
  return Tensor::adopt(impl);
}

Tensor new_tensor_strided(IntList sizes, IntList strides, DType dtype, Device device) {
  checked_numel(sizes);
  if (dtype == DType::complex32) [[unlikely]]
    warn_of_complex_half();
  const int64_t reach = checked_reach(sizes, strides, 0, itemsize(dtype));
  MT_CHECK(reach >= 0, "empty_strided: strides ", to_string(strides),
           " reach before the start of the storage");
  return tensor_over(new_storage(device, size_t(reach) * itemsize(dtype)), dtype, sizes, strides, 0);
}

[[gnu::hot]] Tensor tensor_over(StorageRef storage, DType dtype, IntList sizes, IntList strides,
                                int64_t offset) {
  TensorImpl* impl = new_impl(std::move(storage), dtype, sizes.size());
  std::copy(sizes.begin(), sizes.end(), impl->sizes());
  std::copy(strides.begin(), strides.end(), impl->strides());
  impl->offset = offset;
  impl->refresh();
  return Tensor::adopt(impl);
}

Tensor tensor_over(StorageRef storage, DType dtype, size_t ndim) {
  return Tensor::adopt(new_impl(std::move(storage), dtype, ndim));
}

Tensor shallow_copy(const Tensor& tensor, bool own_version) {
  const TensorImpl& from = *tensor.impl();
  if (from.special & kBatched) [[unlikely]]
    return g_copy_transformed(tensor);
  if (from.special && taken_over(from.special)) [[unlikely]]
    return intercept<Tensor>(OpInfo{"aten::detach", ""}, tensor);
  TensorImpl* impl = new_impl(StorageRef(from.storage), from.dtype, from.ndim);
  std::copy_n(from.sizes(), from.ndim, impl->sizes());
  std::copy_n(from.strides(), from.ndim, impl->strides());
  impl->offset = from.offset;
  impl->numel = from.numel;
  impl->contiguous = from.contiguous;
  impl->wrapped_number = from.wrapped_number;
  if (own_version) impl->own_version = Ref<OwnVersion>::adopt(new OwnVersion);
  else if (from.own_version) impl->own_version = from.own_version;
  if (impl->own_version) impl->version = &impl->own_version->value;
  return Tensor::adopt(impl);
}

Tensor wrapped_scalar(const Scalar& value) {
  const DType dtype = value.is_floating()                     ? DType::float64
                      : value.is_complex()                    ? DType::complex128
                      : value.category() == Category::boolean ? DType::boolean
                                                              : DType::int64;
  Tensor t = new_tensor({}, dtype, {DeviceType::cpu});
  switch (dtype) {
    case DType::float64: *t.data<double>() = value.to<double>(); break;
    case DType::complex128: *t.data<complex128>() = value.to<complex128>(); break;
    case DType::boolean: *t.data<bool>() = value.to<bool>(); break;
    default: *t.data<int64_t>() = value.to<int64_t>();
  }
  t.impl()->wrapped_number = true;
  return t;
}

Scalar read_scalar(const void* data, DType dtype) {
  switch (dtype) {
#define X(name, type, legacy) \
  case DType::name: return number_at<type>(data);
    MT_FORALL_DTYPES(X)
#undef X
    default: fail(ErrorKind::runtime, "read_scalar: unknown dtype");
  }
}

DType default_dtype() { return g_default_dtype.load(std::memory_order_relaxed); }
void set_default_dtype(DType dtype) {
  MT_CHECK_AS(type, is_floating(dtype), "only floating-point types are supported as the default type");
  g_default_dtype = dtype;
}
Device default_device() { return thread_state().default_device; }
void set_default_device(Device device) { thread_state().default_device = device; }

}  // namespace mt

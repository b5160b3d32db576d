#include "infer/infer.h"

#include <algorithm>

#include "core/copy_on_write.h"
#include "core/views.h"
#include "core/warn.h"
#include "infer/layout.h"

namespace mt::infer {
namespace {

// A loop, not memcmp: the usual two or three dims are compared before a call would have been made.
inline bool same_sizes(const Tensor& a, IntList sizes) {
  const size_t n = sizes.size();
  if (size_t(a.dim()) != n) return false;
  const int64_t* own = a.impl()->sizes();
  if (own == sizes.data()) return true;
  for (size_t i = 0; i < n; ++i)
    if (own[i] != sizes[i]) return false;
  return true;
}

// Whether nothing of a caller's tensor has to be refused, resized, copied on write or written beside: the usual case, told
// before registers are saved for the others.
inline bool takes_as_it_is(const Tensor& target, IntList sizes, DType dtype, Device device) {
  return dtype == target.dtype() && device == target.device() && target.is_contiguous() &&
         !target.storage().guards && same_sizes(target, sizes);
}

// PyTorch lets dimensioned tensors outrank 0-dim ones, and those outrank Python numbers, within a category.
struct Ranks {
  std::optional<DType> dimensioned, zero_dim, number;
  void add(const Tensor& t) {
    auto& slot = t.impl()->wrapped_number ? number : t.dim() > 0 ? dimensioned : zero_dim;
    const DType own = t.impl()->wrapped_number ? natural(t.dtype()) : t.dtype();
    slot = slot ? promote(*slot, own) : own;
  }
  static DType natural(DType t) {
    if (t == DType::float64) return default_dtype();
    if (t == DType::complex128)
      return default_dtype() == DType::float64 ? DType::complex128 : DType::complex64;
    return t;
  }
  static std::optional<DType> over(std::optional<DType> high, std::optional<DType> low) {
    if (!high) return low;
    if (!low || is_complex(*high)) return high;
    if (is_floating(*high)) {
      if (!is_complex(*low)) return high;
      return complex_type(*high);
    }
    if (*high == DType::boolean || is_differentiable(*low)) return promote(*high, *low);
    return high;
  }
  DType result() const { return *over(dimensioned, over(zero_dim, number)); }
};

DType apply_rule(DType t, Rule rule) {
  if (rule == Rule::promote) [[likely]]
    return t;
  switch (rule) {
    case Rule::to_float: return float_if_integral(t);
    case Rule::boolean: return DType::boolean;
    case Rule::to_real: return real_type(t);
    case Rule::to_real_float: return real_type(float_if_integral(t));
    case Rule::numeric: return t == DType::boolean ? DType::int64 : t;
    default: return t;
  }
}

// int8_t and so on, which is how messages about overflow call the types.
std::string fixed_name(DType t) {
  return is_integral(t, false) ? join_text(info(t).name, "_t") : std::string(c_name(t));
}

// Whether the strides say that channels come last; those of a contiguous tensor do not.
std::optional<MemoryFormat> channels_last_of(const Tensor& t) {
  if (t.dim() != 4 && t.dim() != 5) return std::nullopt;
  const MemoryFormat format = t.dim() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
  if (t.strides()[1] != 1 || t.numel() == 0 ||
      !std::ranges::equal(t.strides(), IntList(strides_for(t.sizes(), format))))
    return std::nullopt;
  Dims plain(t.sizes().size());
  contiguous_strides(t.sizes(), plain.data());
  return std::ranges::equal(t.strides(), IntList(plain)) ? std::nullopt : std::optional(format);
}

}  // namespace

[[gnu::hot]] void Output::prepare(IntList sizes, DType dtype, Device device, const Tensor* like) {
  if (like && !like->is_contiguous() && !is_inplace() && same_sizes(*like, sizes)) [[unlikely]] {
    if (views::is_dense(*like)) return prepare_strided(sizes, like->strides(), dtype, device);
    return prepare_strided(sizes, dense_strides(sizes, {like}), dtype, device);
  }
  if (mode_ == Mode::fresh) [[likely]]
    fresh_ = new_tensor(sizes, dtype, device);
  else if (!takes_as_it_is(*existing_, sizes, dtype, device)) prepare_existing(sizes, {}, dtype, device);
}

void Output::prepare_strided(IntList sizes, IntList strides, DType dtype, Device device) {
  if (mode_ != Mode::fresh) return prepare_existing(sizes, strides, dtype, device);
  fresh_ = new_tensor_strided(sizes, strides, dtype, device);
}

void Output::prepare_images(IntList sizes, DType dtype, Device device,
                            std::initializer_list<const Tensor*> like) {
  if (mode_ == Mode::fresh && !device.is_accelerator()) {
    for (const Tensor* t : like) {
      const auto format = channels_last_of(*t);
      if (!format || t->sizes().size() != sizes.size()) continue;
      fresh_ = new_tensor_strided(sizes, strides_for(sizes, *format), dtype, device);
      return;
    }
  }
  prepare(sizes, dtype, device);
}

void Output::prepare_like(const Tensor& like, DType dtype, Device device) {
  prepare(like.sizes(), dtype, device, &like);
  // In a contiguous tensor, dimensions of one element may have any stride, and in an empty one all of them.
  if ((mode_ == Mode::fresh || mode_ == Mode::resized) && like.is_contiguous())
    std::ranges::copy(like.strides(), (mode_ == Mode::fresh ? fresh_ : *existing_).impl()->strides());
}

[[gnu::cold, gnu::noinline]] static void take_order_of(const Tensor& like, const Tensor& made) {
  std::ranges::copy(dense_strides(like.sizes(), {&like}), made.impl()->strides());
}

void Output::keep_order_of(const Tensor& like) {
  if (mode_ != Mode::fresh && mode_ != Mode::resized) return;
  const Tensor& made = mode_ == Mode::fresh ? fresh_ : *existing_;
  if (!like.is_contiguous()) return;
  const int64_t *own = made.impl()->strides(), *wanted = like.impl()->strides();
  for (int64_t i = 0; i < made.dim(); ++i)
    if (own[i] != wanted[i]) [[unlikely]]
      return take_order_of(like, made);
}

bool Output::fits(IntList sizes, DType dtype, Device device) const {
  const Tensor& target = *existing_;
  if (target.storage().guards) [[unlikely]] {
    check_inference_write(target);
    before_write(target.storage());
  }
  const auto compared = [this] { return mode_ == Mode::exact || mode_ == Mode::exact_that_is_read; };
  MT_CHECK(dtype == target.dtype() || compared() || can_cast(dtype, target.dtype()), "result type ",
           info(dtype).legacy, " can't be cast to the desired output type ", info(target.dtype()).legacy);
  MT_CHECK(target.device() == device,
           "Expected all tensors to be on the same device, but found at least two devices, ",
           to_string(device), " and ", to_string(target.device()), "!");
  if (!same_sizes(target, sizes)) {
    MT_CHECK(!is_inplace(), "output with shape ", to_string(target.sizes()),
             " doesn't match the broadcast shape ", to_string(sizes));
    return false;
  }
  if (mode_ != Mode::overlapping) check_written_once(target);
  return true;
}

void Output::prepare_existing(IntList sizes, IntList strides, DType dtype, Device device) {
  const bool resizes = !fits(sizes, dtype, device);
  if (dtype != existing_->dtype() || (resizes && is_read())) [[unlikely]]
    fresh_ = new_tensor(sizes, dtype, device);
  if (resizes && !is_read()) {
    resize_existing(sizes, strides);
    mode_ = Mode::resized;
  }
}

void Output::move_into_existing() const {
  if (!same_sizes(*existing_, fresh_.sizes())) resize_existing(fresh_.sizes(), {});
  if (!existing_->device().is_meta()) copy_between(fresh_, *existing_, false);
}

void Output::accept(const Tensor& result) {
  if (!fits(result.sizes(), result.dtype(), result.device())) resize_existing(result.sizes(), {});
}

void Output::resize_existing(IntList sizes, IntList strides) const {
  const Tensor& target = *existing_;
  if (target.numel() != 0)
    warn(join_text(
        "An output with one or more elements was resized since it had shape ", to_string(target.sizes()),
        ", which does not match the required output shape ", to_string(sizes),
        ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
        "unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, "
        "inplace, to zero elements with t.resize_(0)."));
  const size_t needed = size_t(checked_numel(sizes)) * target.itemsize();
  TensorImpl* impl = target.impl();
  const size_t begin = size_t(impl->offset) * target.itemsize();
  if (begin + needed > impl->storage->nbytes) resize_storage(*impl->storage, begin + needed);
  impl->set_ndim(sizes.size());
  std::copy(sizes.begin(), sizes.end(), impl->sizes());
  if (strides.empty()) contiguous_strides(sizes, impl->strides());
  else std::ranges::copy(strides, impl->strides());
  impl->refresh();
}

void check_written_once(const Tensor& t) {
  if (t.is_contiguous()) [[likely]]
    return;
  if (t.numel() == 0) return;
  for (size_t i = 0; i < size_t(t.dim()); ++i)
    MT_CHECK(t.strides()[i] != 0 || t.sizes()[i] <= 1,
             "unsupported operation: more than one element of the written-to tensor refers to a single "
             "memory location. "
             "Please clone() the tensor before performing the operation.");
}

void refuse_partial_overlap(const Tensor& written, const Tensor& read) {
  const bool same_window = written.offset() == read.offset() &&
                           std::ranges::equal(written.sizes(), read.sizes()) &&
                           std::ranges::equal(written.strides(), read.strides());
  if (same_window || written.numel() == 0 || read.numel() == 0) return;
  // Windows with holes may interleave without touching; whether they do is too costly to find out.
  if (!views::is_dense(written) || !views::is_dense(read)) return;
  MT_CHECK(
      written.offset() + written.numel() <= read.offset() || read.offset() + read.numel() <= written.offset(),
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
      "memory "
      "location. Please clone() the tensor before performing the operation.");
}

void check_fits(const Tensor& self, const Scalar& value) {
  MT_CHECK(fits(value, self.dtype()), "value cannot be converted to type ", fixed_name(self.dtype()),
           " without overflow");
}

void check_alpha(DType result, const Scalar& alpha) {
  MT_CHECK(alpha.category() != Category::boolean || result == DType::boolean,
           "Boolean alpha only supported for Boolean results.");
  MT_CHECK(is_differentiable(result) || alpha.is_integral(),
           "For integral input tensors, argument alpha must not be a floating point number.");
  MT_CHECK(is_complex(result) || !alpha.is_complex(),
           "For non-complex input tensors, argument alpha must not be a complex number.");
}

DType promoted_type(const Tensor& a, const Tensor& b) {
  Ranks ranks;
  ranks.add(a), ranks.add(b);
  return ranks.result();
}

[[gnu::hot]] DType result_type(const Tensor& a, const Scalar& b) {
  if (b.category() <= category(a.dtype()) && !a.impl()->wrapped_number) [[likely]]
    return a.dtype();
  Ranks ranks;
  ranks.add(a);
  const DType own = b.natural_dtype(default_dtype());
  ranks.number = ranks.number ? promote(*ranks.number, own) : own;
  return ranks.result();
}

DType result_type(TensorList tensors) {
  Ranks ranks;
  for (const Tensor& t : tensors) ranks.add(t);
  return ranks.result();
}

DType ternary_type(const Tensor& a, const Tensor& b, const Tensor& c) {
  const bool plain = !a.impl()->wrapped_number && !b.impl()->wrapped_number && !c.impl()->wrapped_number;
  if (plain && a.dtype() == b.dtype() && b.dtype() == c.dtype()) return a.dtype();
  const Tensor all[] = {a, b, c};
  return result_type(TensorList(all));
}

Dims broadcast(IntList a, IntList b) {
  const bool swapped = a.size() < b.size();
  if (swapped) std::swap(a, b);
  Dims out(a);
  const size_t lead = a.size() - b.size();
  for (size_t i = b.size(); i-- > 0;) {  // the last dimension that does not fit is the one to name
    int64_t& mine = out[lead + i];
    if (mine == b[i] || b[i] == 1) continue;
    MT_CHECK(mine == 1, "The size of tensor a (", swapped ? b[i] : mine,
             ") must match the size of tensor b (", swapped ? mine : b[i], ") at non-singleton dimension ",
             lead + i);
    mine = b[i];
  }
  return out;
}

[[gnu::hot]] uint64_t dim_mask(const DimList& dims, int64_t ndim) {
  if (dims.all()) return ~uint64_t(0);
  uint64_t mask = 0;
  for (int64_t dim : dims.dims()) {
    const int64_t d = wrap_dim(dim, ndim);
    MT_CHECK(!(mask >> d & 1), "dim ", d, " appears multiple times in the list of dims");
    mask |= uint64_t(1) << d;
  }
  return mask;
}

[[gnu::hot]] Dims reduced_shape(IntList sizes, const DimList& dims, bool keepdim) {
  const uint64_t mask = dim_mask(dims, int64_t(sizes.size()));
  Dims out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!(mask >> i & 1)) out.push_back(sizes[i]);
    else if (keepdim) out.push_back(1);
  }
  return out;
}

Dims strides_for(IntList sizes, MemoryFormat format) {
  Dims strides(sizes.size());
  if (format == MemoryFormat::contiguous || format == MemoryFormat::preserve) {
    contiguous_strides(sizes, strides.data());
    return strides;
  }
  const size_t wanted = format == MemoryFormat::channels_last ? 4 : 5;
  MT_CHECK(sizes.size() == wanted, "required rank ", wanted, " tensor to use channels_last",
           wanted == 5 ? "_3d" : "", " format");
  int64_t step = 1;
  for (size_t i = 0; i < wanted; ++i) {
    const size_t d = i == 0 ? 1 : (i == wanted - 1 ? 0 : wanted - i);
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

void check_same_device(std::initializer_list<const Tensor*> tensors) {
  const Tensor* first = nullptr;
  for (const Tensor* t : tensors) {
    if (!t || !t->defined()) continue;
    if (!first) first = t;
    MT_CHECK(first->device() == t->device(),
             "Expected all tensors to be on the same device, but found at least two devices, ",
             to_string(first->device()), " and ", to_string(t->device()), "!");
  }
}

namespace {

// A Python number lies beside a tensor with the digits that it is computed with: devices have few operators for doubles.
DType dtype_beside(DType number, DType tensor) {
  if (is_integral(tensor, true)) return Ranks::natural(number);
  if (tensor == DType::float64 || tensor == DType::complex128) return number;
  return number == DType::float64 ? DType::float32 : number == DType::complex128 ? DType::complex64 : number;
}

}  // namespace

void bring_together(const Tensor*& a, const Tensor*& b, Tensor& moved) {
  const Tensor*& scalar = a->device().is_cpu() && a->dim() == 0 ? a : b;
  const Tensor* other = &scalar == &a ? b : a;
  if (!(scalar->device().is_cpu() && scalar->dim() == 0)) check_same_device({a, b});
  const bool number = scalar->impl()->wrapped_number;
  moved = new_tensor({}, number ? dtype_beside(scalar->dtype(), other->dtype()) : scalar->dtype(),
                     other->device());
  copy_between(*scalar, moved, true);
  moved.impl()->wrapped_number = number;
  scalar = &moved;
}

[[gnu::hot]] void unary(const Tensor& self, Rule rule, Output& out) {
  if (rule == Rule::to_real && is_complex(self.dtype()) && out.is_inplace()) [[unlikely]]
    fail(ErrorKind::runtime, "In-place abs is not supported for complex tensors.");
  out.prepare(self.sizes(), apply_rule(self.dtype(), rule), self.device(), &self);
}

void unary(const Tensor& self, const Scalar& number, Rule, Output& out) {
  out.prepare(self.sizes(), result_type(self, number), self.device(), &self);
}

[[gnu::hot]] void binary(const Tensor& a, const Tensor& b, Rule rule, Output& out) {
  const DType dtype = apply_rule(result_type(a, b), rule);
  if (same_sizes(a, b.sizes())) [[likely]] {
    if (a.is_contiguous() && b.is_contiguous()) [[likely]]
      return out.prepare(a.sizes(), dtype, a.device());
    return prepare_elementwise(out, a.sizes(), dtype, a.device(), {&a, &b});
  }
  prepare_elementwise(out, broadcast(a.sizes(), b.sizes()), dtype, a.device(), {&a, &b});
}

[[gnu::hot]] void binary(const Tensor& a, const Scalar& b, Rule rule, Output& out) {
  out.prepare(a.sizes(), apply_rule(result_type(a, b), rule), a.device(), &a);
  if (a.dim() > 1) out.keep_order_of(a);  // a number is an operand without dimensions
}

[[gnu::hot]] void reduce(const Tensor& self, const DimList& dim, bool keepdim, std::optional<DType> dtype,
                         Rule rule, Output& out) {
  DType result = dtype.value_or(self.dtype());
  if (rule == Rule::boolean) result = self.dtype() == DType::uint8 ? DType::uint8 : DType::boolean;
  else if (rule == Rule::sum && !dtype && is_integral(result, true)) result = DType::int64;
  else if (rule == Rule::floating)
    MT_CHECK(is_differentiable(result), "mean(): could not infer output dtype. ",
             dtype ? "Optional" : "Input",
             " dtype must be either a floating point or complex dtype. Got: ", info(result).legacy);
  else if (rule == Rule::same && self.numel() == 0) {
    MT_CHECK(!dim.all(),
             "amax(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
             "dim with the 'dim' argument.");
    const uint64_t mask = dim_mask(dim, self.dim());
    for (int64_t d = 0; d < self.dim(); ++d)
      MT_CHECK_AS(index, !(mask >> d & 1) || self.sizes()[size_t(d)] != 0, "Expected reduction dim ", d,
                  " to have non-zero size.");
  }
  out.prepare(reduced_shape(self.sizes(), dim, keepdim), result, self.device());
}

}  // namespace mt::infer

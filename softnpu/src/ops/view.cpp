// Parts of a tensor at regular distances, and windows on its elements.
#include <bit>

#include "kernels/common/copy.h"
#include "op_plans.h"
#include "ops/common/temporary.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

int64_t clamped(int64_t place, int64_t size, int64_t low, int64_t high) {
  return std::clamp(place < 0 ? place + size : place, low, high);
}

// Python's x[start:end:step] along one dimension; a negative step counts down.
Operand slice_dim(const Plan& plan, const Operand& in, int along, int64_t start, int64_t end, int64_t step) {
  const int64_t size = in.sizes[along];
  if (step == 0 || step == INT64_MIN) plan.invalid("step is ", step);
  const bool up = step > 0;
  const int64_t first = clamped(start, size, up ? 0 : -1, up ? size : size - 1),
                last = clamped(end, size, up ? 0 : -1, up ? size : size - 1);
  const int64_t distance = up ? last - first : first - last, stride = up ? step : -step;
  const int64_t count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  return sliced(in, along, count == 0 ? 0 : first, count, step);
}

void require_result(Plan& plan, const Operand& part, const Operand& to) {
  plan.require_same_dtype(part, "self", to, "out");
  plan.require_same_shape(part, "the slice", to, "out");
}

// Slices along several dimensions; without `axes` along the first ones.
Operand slice_axes(const Plan& plan, const Operand& in, const std::vector<int64_t>& starts,
                   const std::vector<int64_t>& ends, const std::vector<int64_t>& steps,
                   const aclIntArray* axes) {
  std::vector<int64_t> along;
  if (axes != nullptr) along = plan.integers(axes, "axes");
  else
    for (size_t i = 0; i < starts.size(); ++i) along.push_back(int64_t(i));
  if (starts.size() != along.size() || ends.size() != along.size() || steps.size() != along.size())
    plan.invalid("there are ", starts.size(), " starts, ", ends.size(), " ends, ", steps.size(),
                 " steps and ", along.size(), " axes, wanted as many");
  Operand result = in;
  for (size_t i = 0; i < along.size(); ++i) {
    if (in.ndim == 0) plan.invalid("a scalar cannot be sliced");
    result = slice_dim(plan, result, plan.dim(along[i], in), starts[i], ends[i], steps[i]);
  }
  return result;
}

}  // namespace

void Slice(Plan& plan, const aclTensor* self, int64_t dim, int64_t start, int64_t end, int64_t step,
           aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  if (in.ndim == 0) plan.invalid("a scalar cannot be sliced");
  if (step < 1) plan.invalid("step is ", step, ", wanted at least 1");
  const Operand part = slice_dim(plan, in, plan.dim(dim, in), start, end, step);
  require_result(plan, part, to);
  plan.run([=](const aclOpExecutor& e) { k::copy(part.view(e), to.view(e)); });
}

void SliceV2(Plan& plan, const aclTensor* self, const aclIntArray* starts, const aclIntArray* ends,
             const aclIntArray* axes, const aclIntArray* steps, aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  const Operand part = slice_axes(plan, in, plan.integers(starts, "starts"), plan.integers(ends, "ends"),
                                  plan.integers(steps, "steps"), axes);
  require_result(plan, part, to);
  plan.run([=](const aclOpExecutor& e) { k::copy(part.view(e), to.view(e)); });
}

// The bits of the masks stand for positions in begin, end and strides: begin and end there do not count, all dimensions
// that nobody names, a new dimension of size 1, a dimension that goes.
void StridedSlice(Plan& plan, const aclTensor* self, const aclIntArray* begin, const aclIntArray* end,
                  const aclIntArray* strides, int64_t beginMask, int64_t endMask, int64_t ellipsisMask,
                  int64_t newAxisMask, int64_t shrinkAxisMask, aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  const std::vector<int64_t> from = plan.integers(begin, "begin"), until = plan.integers(end, "end"),
                             by = plan.integers(strides, "strides");
  if (from.size() != until.size() || from.size() != by.size() || from.size() > 63)
    plan.invalid("begin, end and strides have ", from.size(), ", ", until.size(), " and ", by.size(),
                 " entries, wanted as many");
  if (std::popcount(uint64_t(ellipsisMask)) > 1)
    plan.invalid("ellipsisMask is ", ellipsisMask, ", wanted one bit");
  auto set = [](int64_t mask, size_t i) { return (mask >> i & 1) != 0; };
  int64_t named = 0;
  for (size_t i = 0; i < from.size(); ++i) named += !set(ellipsisMask, i) && !set(newAxisMask, i);
  if (named > in.ndim) plan.invalid(named, " slices are too many for shape ", shape_text(in));
  Operand part = in;
  int at = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    if (set(ellipsisMask, i)) {
      at += in.ndim - int(named);
    } else if (set(newAxisMask, i)) {
      part = with_dim(plan, part, at++, 1, 1);
    } else if (set(shrinkAxisMask, i)) {
      const int64_t size = part.sizes[at], place = from[i] < 0 ? from[i] + size : from[i];
      if (place < 0 || place >= size) plan.invalid("begin ", from[i], " is outside a dimension of ", size);
      part = without_dim(sliced(part, at, place, 1), at);
    } else {
      const bool up = by[i] > 0;
      const int64_t first = set(beginMask, i) ? (up ? 0 : INT64_MAX) : from[i];
      const int64_t last = set(endMask, i) ? (up ? INT64_MAX : INT64_MIN) : until[i];
      part = slice_dim(plan, part, at++, first, last, by[i]);
    }
  }
  require_result(plan, part, to);
  plan.run([=](const aclOpExecutor& e) { k::copy(part.view(e), to.view(e)); });
}

void StridedSliceAssignV2(Plan& plan, aclTensor* varRef, const aclTensor* inputValue,
                          const aclIntArray* begin, const aclIntArray* end, const aclIntArray* strides,
                          const aclIntArray* axesOptional) {
  const Operand whole = plan.output(varRef, "varRef"), from = plan.input(inputValue, "inputValue");
  const Operand part = slice_axes(plan, whole, plan.integers(begin, "begin"), plan.integers(end, "end"),
                                  plan.integers(strides, "strides"), axesOptional);
  plan.require_same_dtype(from, "inputValue", whole, "varRef");
  plan.require_broadcast(from, "inputValue", part);
  plan.run([=](const aclOpExecutor& e) { k::copy(from.view(e), part.view(e)); });
}

namespace {

// The window must lie inside `count` elements.
void require_window(const Operand& window, int64_t offset, int64_t count) {
  int64_t first = offset, last = offset;
  for (int i = 0; i < window.ndim; ++i) {
    int64_t reach;
    MT_CHECK(!__builtin_mul_overflow(std::max<int64_t>(window.sizes[i] - 1, 0), window.strides[i], &reach) &&
                 !__builtin_add_overflow(reach > 0 ? last : first, reach, reach > 0 ? &last : &first),
             "sizes and strides overflow 64 bits");
  }
  MT_CHECK(window.numel() == 0 || (first >= 0 && last < count), "the window reaches elements ", first, " to ",
           last, " of a tensor with ", count);
}

Operand window_of(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, DType dtype) {
  MT_CHECK(sizes.size() == strides.size() && sizes.size() <= kMaxDims, "there are ", sizes.size(),
           " sizes and ", strides.size(), " strides, wanted as many and at most ", kMaxDims);
  Operand window;
  window.ndim = int16_t(sizes.size());
  window.offset = 0, window.slot = 0, window.dtype = dtype;
  for (size_t i = 0; i < sizes.size(); ++i) {
    MT_CHECK(sizes[i] >= 0, "a size is ", sizes[i], ", wanted at least 0");
    window.sizes[i] = sizes[i], window.strides[i] = strides[i];
  }
  return window;
}

}  // namespace

void AsStrided(Plan& plan, const aclTensor* x, const aclIntArray* size, const aclIntArray* stride,
               const aclIntArray* storageOffset, aclTensor* out) {
  const Operand in = plan.input(x, "x"), to = plan.output(out, "out");
  const std::vector<int64_t> sizes = plan.integers(size, "size"),
                             offsets = plan.integers(storageOffset, "storageOffset");
  const Operand window = window_of(sizes, plan.integers(stride, "stride"), in.dtype);
  const int64_t offset = offsets.empty() ? 0 : offsets[0];
  plan.require_same_dtype(in, "x", to, "out");
  plan.require_shape(to, "out", sizes);
  require_window(window, offset, in.numel());
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs dense = dense_input(in.view(e));
    k::copy({dense.view().as<char>() + offset * item_bytes(in), window.sizes, window.strides, window.ndim,
             in.dtype},
            to.view(e));
  });
}

namespace {

std::vector<int64_t> read_integers(const Operand& operand, const aclOpExecutor& e) {
  const ReadAs longs(operand.view(e), DType::int64);
  return {longs.view().as<int64_t>(), longs.view().as<int64_t>() + operand.numel()};
}

}  // namespace

// Copies between windows whose geometry lies in tensors; dst_out is dst with the window written over.
void ViewCopy(Plan& plan, const aclTensor* dst, const aclTensor* dst_size, const aclTensor* dst_stride,
              const aclTensor* dst_storage_offset, const aclTensor* src, const aclTensor* src_size,
              const aclTensor* src_stride, const aclTensor* src_storage_offset, const aclTensor* dst_out) {
  const Operand old = plan.input(dst, "dst"), to_size = plan.input(dst_size, "dst_size"),
                to_stride = plan.input(dst_stride, "dst_stride"),
                to_offset = single_element(plan, plan.input(dst_storage_offset, "dst_storage_offset"),
                                           "dst_storage_offset"),
                from = plan.input(src, "src"), from_size = plan.input(src_size, "src_size"),
                from_stride = plan.input(src_stride, "src_stride"),
                from_offset = single_element(plan, plan.input(src_storage_offset, "src_storage_offset"),
                                             "src_storage_offset"),
                to = plan.output(dst_out, "dst_out");
  plan.require_same_dtype(old, "dst", to, "dst_out");
  plan.require_same_dtype(from, "src", to, "dst_out");
  plan.require_same_shape(old, "dst", to, "dst_out");
  for (const Operand* numbers : {&to_size, &to_stride, &to_offset, &from_size, &from_stride, &from_offset})
    plan.require_dtype(*numbers, "size, stride or offset", k::dtype_set(DType::int32, DType::int64));
  plan.run([=](const aclOpExecutor& e) {
    const Operand target = window_of(read_integers(to_size, e), read_integers(to_stride, e), to.dtype),
                  source = window_of(read_integers(from_size, e), read_integers(from_stride, e), to.dtype);
    const int64_t to_start = read_integers(to_offset, e)[0], from_start = read_integers(from_offset, e)[0];
    require_window(target, to_start, to.numel());
    require_window(source, from_start, from.numel());
    MT_CHECK(same_shape(target, source), "windows of shapes ", shape_text(target), " and ",
             shape_text(source));
    const ReadAs values = dense_input(from.view(e));
    const View whole = to.view(e);
    const Temporary result(whole, to.dtype);
    k::copy(old.view(e), result.view());
    const int64_t item = item_bytes(to);
    k::copy(
        {values.view().as<char>() + from_start * item, source.sizes, source.strides, source.ndim, to.dtype},
        {result.view().as<char>() + to_start * item, target.sizes, target.strides, target.ndim, to.dtype});
    k::copy(result.view(), whole);
  });
}

}  // namespace softnpu::ops

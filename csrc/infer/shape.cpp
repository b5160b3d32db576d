#include "generated/infer/shape.h"

#include "infer/layout.h"
#include "infer/spatial.h"

namespace mt::infer {

void cat(TensorList tensors, int64_t dim, Output& out) {
  MT_CHECK_AS(value, !tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  // Legacy: 1-D empty tensors are skipped whatever the others' shape.
  const Tensor* first = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    MT_CHECK(t.dim() > 0, "zero-dimensional tensor (at position ", i, ") cannot be concatenated");
    MT_CHECK(t.device() == tensors[0].device(),
             "Expected all tensors to be on the same device, but found at least two devices, ",
             to_string(tensors[0].device()), " and ", to_string(t.device()), "!");
    if (!first && !(t.dim() == 1 && t.numel() == 0)) first = &t;
  }
  const DType dtype = result_type(tensors);
  MT_CHECK_AS(type, can_cast(dtype, out.dtype_or(dtype)),
              "torch.cat(): input types can't be cast to the desired output type ",
              info(out.dtype_or(dtype)).legacy);
  if (!first) return out.prepare(tensors[0].sizes(), dtype, tensors[0].device());
  const size_t d = size_t(wrap_dim(dim, first->dim()));
  Dims sizes(first->sizes());
  sizes[d] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (t.dim() == 1 && t.numel() == 0) continue;
    MT_CHECK(t.dim() == first->dim(), "Tensors must have same number of dimensions: got ", first->dim(),
             " and ", t.dim());
    for (size_t k = 0; k < sizes.size(); ++k)
      MT_CHECK(k == d || t.sizes()[k] == sizes[k], "Sizes of tensors must match except in dimension ", d,
               ". Expected size ", sizes[k], " but got size ", t.sizes()[k], " for tensor number ", i,
               " in the list.");
    sizes[d] += t.sizes()[d];
  }
  if (!first->is_contiguous() && (sizes.size() == 4 || sizes.size() == 5)) {
    // Joined images stay channels-last if all of them are.
    const MemoryFormat format =
        sizes.size() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
    const bool all = std::ranges::all_of(tensors, [&](const Tensor& t) {
      return (t.dim() == 1 && t.numel() == 0) || suggests_channels_last(t);
    });
    if (all) {
      const Tensor pattern =
          tensor_over(new_storage({DeviceType::meta}, 0), dtype, sizes, strides_for(sizes, format), 0);
      return out.prepare(sizes, dtype, first->device(), &pattern);
    }
  }
  out.prepare(sizes, dtype, first->device());
}

void flip(const Tensor& self, IntList dims, Output& out) {
  uint64_t seen = 0;
  for (int64_t dim : dims) {
    const int64_t d = wrap_dim(dim, self.dim());
    MT_CHECK(!(seen >> d & 1), "dim ", d, " appears multiple times in the list of dims");
    seen |= uint64_t(1) << d;
  }
  out.prepare(self.sizes(), self.dtype(), self.device(), &self);
}

void triangle(const Tensor& self, int64_t, Output& out) {
  MT_CHECK(self.dim() >= 2, "tril: input tensor must have at least 2 dimensions");
  out.prepare(self.sizes(), self.dtype(), self.device());
}

void diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2, Output& out) {
  const int64_t n = self.dim() + 1, a = wrap_dim(dim1, n), b = wrap_dim(dim2, n);
  MT_CHECK(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  int64_t length;
  MT_CHECK(!__builtin_add_overflow(self.size(-1), offset < 0 ? -(offset + 1) : offset, &length) &&
               length < INT64_MAX,
           "diag_embed: the offset ", offset, " is too large");
  if (offset < 0) ++length;
  Dims sizes(self.sizes().first(size_t(self.dim() - 1)));
  sizes.insert(size_t(std::min(a, b)), length);
  sizes.insert(size_t(std::max(a, b)), length);
  out.prepare(sizes, self.dtype(), self.device());
}

void unfold_backward(const Tensor& grad, IntList sizes, int64_t dim, int64_t size, int64_t step,
                     Output& out) {
  const int64_t d = wrap_dim(dim, int64_t(sizes.size()));
  const int64_t room = sizes.empty() ? 1 : sizes[size_t(d)];
  MT_CHECK(step > 0 && size >= 0 && size <= room, "unfold_backward: pieces of ", size, " every ", step,
           " do not fit into ", room);
  Dims wanted(sizes);
  if (!sizes.empty()) wanted[size_t(d)] = (room - size) / step + 1;
  wanted.push_back(size);
  MT_CHECK(std::ranges::equal(grad.sizes(), wanted), "unfold_backward: expected a gradient of size ",
           to_string(wanted), ", got ", to_string(grad.sizes()));
  out.prepare(sizes, grad.dtype(), grad.device());
}

// A flat memory of `room` elements into which windows are summed.
void as_strided_sum(const Tensor& self, int64_t room, IntList size, IntList stride, int64_t offset,
                    Output& out) {
  MT_CHECK(size.size() == stride.size() && std::ranges::equal(self.sizes(), size),
           "as_strided: a gradient of size ", to_string(self.sizes()), " for a window of size ",
           to_string(size));
  int64_t last = offset;
  bool overflow = false;
  for (size_t i = 0; i < size.size(); ++i) {
    MT_CHECK(stride[i] >= 0, "as_strided: negative strides are not supported, got ", to_string(stride));
    int64_t reach;
    overflow |=
        __builtin_mul_overflow(size[i] - 1, stride[i], &reach) || __builtin_add_overflow(last, reach, &last);
  }
  MT_CHECK(self.numel() == 0 || (!overflow && offset >= 0 && last < room),
           "as_strided: the window reaches element ", last, " of a memory of ", room);
  out.prepare(IntList(&room, 1), self.dtype(), self.device());
}

void im2col(const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride,
            Output& out) {
  const IntList sizes = self.sizes();
  bool valid = sizes.size() == 3 || sizes.size() == 4;
  for (size_t i = 1; i < sizes.size(); ++i) valid &= sizes[i] > 0;  // only a batch may be empty
  MT_CHECK(
      valid && (sizes.size() == 4 || sizes[0] > 0),
      "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
      "input, but got: ",
      to_string(sizes));
  const size_t n = sizes.size();
  const SlidingWindow w = sliding_window(sizes.last(2), kernel_size, dilation, padding, stride);
  MT_CHECK(w.places[0] >= 1 && w.places[1] >= 1, "Given input with spatial size (", w.image[0], ", ",
           w.image[1], "), kernel_size=(", w.kernel[0], ", ", w.kernel[1], "), dilation=(", w.dilation[0],
           ", ", w.dilation[1], "), padding=(", w.padding[0], ", ", w.padding[1],
           "), calculated shape of the array of sliding blocks as (", w.places[0], ", ", w.places[1],
           "), but its components must be at least one.");
  Dims shape;
  if (n == 4) shape.push_back(sizes[0]);
  shape.push_back(sizes[n - 3] * w.kernel[0] * w.kernel[1]);
  shape.push_back(w.places[0] * w.places[1]);
  out.prepare(shape, self.dtype(), self.device());
}

void col2im(const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation, IntList padding,
            IntList stride, Output& out) {
  MT_CHECK(output_size.size() == 2, "It is expected output_size equals to 2, but got size ",
           output_size.size());
  const IntList sizes = self.sizes();
  MT_CHECK((sizes.size() == 2 && sizes[0] != 0 && sizes[1] != 0) ||
               (sizes.size() == 3 && sizes[1] != 0 && sizes[2] != 0),
           "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
           "dimensions for input, but got: ",
           to_string(sizes));
  MT_CHECK(output_size[0] > 0 && output_size[1] > 0, "output_size should be greater than zero, but got ",
           to_string(output_size));
  const SlidingWindow w = sliding_window(output_size, kernel_size, dilation, padding, stride);
  const size_t n = sizes.size();
  const int64_t area = w.kernel[0] * w.kernel[1];
  MT_CHECK(sizes[n - 2] % area == 0,
           "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
           "input.size(1)=",
           sizes[n - 2], " and kernel_size=(", w.kernel[0], ", ", w.kernel[1], ").");
  MT_CHECK(w.places[0] >= 1 && w.places[1] >= 1 && sizes[n - 1] == w.places[0] * w.places[1],
           "Given output_size=(", w.image[0], ", ", w.image[1], "), kernel_size=(", w.kernel[0], ", ",
           w.kernel[1], "), dilation=(", w.dilation[0], ", ", w.dilation[1], "), padding=(", w.padding[0],
           ", ", w.padding[1], "), stride=(", w.stride[0], ", ", w.stride[1],
           "), expected size of input's dimension 2 to match the calculated number of sliding blocks ",
           w.places[0], " * ", w.places[1], " = ", w.places[0] * w.places[1],
           ", but got input.size(2)=", sizes[n - 1], ".");
  Dims shape;
  if (n == 3) shape.push_back(sizes[0]);
  shape.push_back(sizes[n - 2] / area);
  shape.push_back(output_size[0]), shape.push_back(output_size[1]);
  out.prepare(shape, self.dtype(), self.device());
}

}  // namespace mt::infer

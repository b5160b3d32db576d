#include "infer/infer.h"

namespace mt::infer {

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

Dims padded_sizes(IntList sizes, IntList pad) {
  MT_CHECK(pad.size() % 2 == 0, "Length of pad must be even but instead it equals ", pad.size());
  MT_CHECK(pad.size() <= 2 * sizes.size(),
           "Length of pad should be no more than twice the number of dimensions of the input. Pad length is ",
           pad.size(), "while the input has ", sizes.size(), "dimensions.");
  Dims out(sizes);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    int64_t& size = out[sizes.size() - 1 - i];
    constexpr int64_t limit = int64_t(1) << 60;
    for (int64_t p : pad.subspan(2 * i, 2))
      MT_CHECK(p > -limit && p < limit, "padding of ", p, " elements is too large");
    size += pad[2 * i] + pad[2 * i + 1];
    MT_CHECK(size >= 0, "The input size ", sizes[sizes.size() - 1 - i], ", plus negative padding ",
             pad[2 * i], " and ", pad[2 * i + 1],
             " resulted in a negative output size, which is invalid. Check dimension ", sizes.size() - 1 - i,
             " of your input.");
  }
  return out;
}

void constant_pad(const Tensor& self, IntList pad, const Scalar& value, Output& out) {
  const Dims sizes = padded_sizes(self.sizes(), pad);
  check_fits(self, value);
  out.prepare(sizes, self.dtype(), self.device());
}

namespace {

Dims negated(IntList pad) {
  Dims out(pad);
  for (int64_t& p : out) {
    MT_CHECK(p >= 0, "an edge cannot be continued by ", p, " elements");
    p = -p;
  }
  return out;
}

void check_edges(IntList sizes, IntList pad, int64_t mode) {
  MT_CHECK(mode >= 0 && mode <= int64_t(Edge::circular), "padding mode ", mode, " is unknown");
  const Dims out = padded_sizes(sizes, pad);
  for (size_t i = 0; i < pad.size(); ++i) {
    const size_t d = sizes.size() - 1 - i / 2;
    MT_CHECK(pad[i] >= 0, "an edge cannot be continued by ", pad[i], " elements");
    if (pad[i] == 0) continue;
    MT_CHECK(sizes[d] > 0 || std::ranges::find(out, 0) != out.end(),
             "an empty dimension has no edge to continue, got sizes ", to_string(sizes));
    if (mode == int64_t(Edge::reflect))
      MT_CHECK(pad[i] < sizes[d], "Argument #", i / 2 * 2 + 4,
               ": Padding size should be less than the corresponding input dimension, but got: padding (",
               pad[i / 2 * 2], ", ", pad[i / 2 * 2 + 1], ") at dimension ", d, " of input ",
               to_string(sizes));
    if (mode == int64_t(Edge::circular))
      MT_CHECK(pad[i] <= sizes[d], "Padding value causes wrapping around more than once.");
  }
}

}  // namespace

void extend_edges(const Tensor& self, IntList pad, int64_t mode, Output& out) {
  check_edges(self.sizes(), pad, mode);
  out.prepare(padded_sizes(self.sizes(), pad), self.dtype(), self.device());
}

void extend_edges_backward(const Tensor& grad, IntList pad, int64_t mode, Output& out) {
  const Dims sizes = padded_sizes(grad.sizes(), negated(pad));
  check_edges(sizes, pad, mode);
  out.prepare(sizes, grad.dtype(), grad.device());
}

SlidingWindow sliding_window(IntList image, IntList kernel_size, IntList dilation, IntList padding,
                             IntList stride) {
  auto two = [](IntList list, const char* name) {
    MT_CHECK(list.size() == 2, "It is expected ", name, " equals to 2, but got size ", list.size());
  };
  two(kernel_size, "kernel_size"), two(dilation, "dilation"), two(padding, "padding"), two(stride, "stride");
  MT_CHECK(kernel_size[0] > 0 && kernel_size[1] > 0,
           "kernel size should be greater than zero, but got kernel_height: ", kernel_size[0],
           " kernel_width: ", kernel_size[1]);
  MT_CHECK(dilation[0] > 0 && dilation[1] > 0,
           "dilation should be greater than zero, but got dilation_height: ", dilation[0],
           " dilation_width: ", dilation[1]);
  MT_CHECK(padding[0] >= 0 && padding[1] >= 0,
           "padding should be non-negative, but got pad_height: ", padding[0], " pad_width: ", padding[1]);
  MT_CHECK(stride[0] > 0 && stride[1] > 0,
           "stride should be greater than zero, but got stride_height: ", stride[0],
           " stride_width: ", stride[1]);
  SlidingWindow w;
  for (size_t i = 0; i < 2; ++i) {
    for (int64_t value : {kernel_size[i], dilation[i], padding[i], stride[i], image[i]})
      MT_CHECK(value < (int64_t(1) << 30), "sizes of sliding windows must be below 2^30, got ", value);
    w.kernel[i] = kernel_size[i], w.dilation[i] = dilation[i];
    w.padding[i] = padding[i], w.stride[i] = stride[i], w.image[i] = image[i];
    const int64_t room = image[i] + 2 * padding[i] - dilation[i] * (kernel_size[i] - 1) - 1;
    w.places[i] = room < 0 ? (room - stride[i] + 1) / stride[i] + 1 : room / stride[i] + 1;
  }
  return w;
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

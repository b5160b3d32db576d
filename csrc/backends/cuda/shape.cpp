#include "generated/cuda/shape.h"

#include <array>
#include <vector>

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"
#include "core/views.h"
#include "infer/spatial.h"

namespace mt::cuda {
namespace {

constexpr Family kMoves{"copy.h", "ShapeCall"}, kJoins{"copy.h", "JoinCall"},
    kWindows{"copy.h", "ColumnsCall"};

// The widest unit that every length and address is a multiple of, in bytes.
size_t unit_bytes(uint64_t all_lengths_and_addresses, size_t item) {
  size_t unit = 16;
  while (unit > item && all_lengths_and_addresses % unit != 0) unit /= 2;
  return unit;
}

// Up to kMaxJoined dense tensors, side by side in each of `outer` rows.
void join(const std::vector<Tensor>& parts, size_t begin, size_t end, int64_t outer, char* to,
          const Tensor& out) {
  const size_t item = out.itemsize();
  uint64_t together = reinterpret_cast<uintptr_t>(to);
  for (size_t k = begin; k < end; ++k)
    together |= reinterpret_cast<uintptr_t>(parts[k].data()) | uint64_t(parts[k].numel() / outer) * item;
  const size_t unit = unit_bytes(together, item);
  JoinCall call{};
  for (size_t k = begin; k < end; ++k) {
    const size_t at = k - begin;
    call.in[at] = parts[k].data();
    call.starts[at + 1] = call.starts[at] + parts[k].numel() / outer * int64_t(item) / int64_t(unit);
  }
  call.number = int(end - begin);
  call.out = to;
  call.outer = outer;
  static Variants variants;
  run_over(kJoins, variants, unit, "cat", out, outer * call.starts[call.number], call,
           [&] { return join_text("joined<", unit_text(unit), ">"); });
}

void triangle(const char* name, const Tensor& self, int64_t diagonal, bool upper, const Tensor& out) {
  ShapeCall call{};
  call.walk = walk_each(name, out.sizes(), {{self, call.in}, {out, call.out}});
  call.diagonal = diagonal;
  call.keep_upper = upper;
  static Variants variants;
  run_over(kMoves, variants, out.itemsize(), name, out, call.walk.count, call,
           [&] { return join_text("triangle<", unit_text(out.dtype()), ">"); });
}

// to += from, where places of `to` may overlap.
void add_into(const char* name, const Tensor& from, const Tensor& to) {
  check_dtype(kernels::domains::any, to.dtype(), name);
  const Tensor source = as_dtype(from, to.dtype());
  ShapeCall call{};
  call.walk = walk_of({{to, call.out}, {source, call.in}});
  static Variants variants;
  run_over(kMoves, variants, uint64_t(to.dtype()), name, to, call.walk.count, call,
           [&] { return join_text("added_into<", type_text(to.dtype()), ">"); });
}

ColumnsCall columns_call(const Tensor& image, const Tensor& columns, const infer::SlidingWindow& window) {
  ColumnsCall call{};
  call.image = image.data();
  call.columns = columns.data();
  call.planes = image.numel() / (window.image[0] * window.image[1]);
  for (int d = 0; d < 2; ++d) {
    call.size[d] = window.image[d];
    call.kernel[d] = window.kernel[d];
    call.dilation[d] = window.dilation[d];
    call.padding[d] = window.padding[d];
    call.stride[d] = window.stride[d];
    call.places[d] = window.places[d];
  }
  return call;
}

}  // namespace

void cat(TensorList tensors, int64_t dim, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t d = wrap_dim(dim, out.dim());
  const Along lines(out, d);
  std::vector<Tensor> parts;
  bool one_dtype = true;
  for (const Tensor& t : tensors) {
    if (t.numel() == 0) continue;
    one_dtype = one_dtype && t.dtype() == out.dtype();
    parts.push_back(t);
  }
  // A row of the result can be written in several launches only where there is no other.
  const bool joins = one_dtype && out.is_contiguous() && (lines.outer == 1 || parts.size() <= kMaxJoined);
  if (!joins) {
    int64_t at = 0;
    for (const Tensor& t : parts) {
      const int64_t length = t.size(d);
      gpu().copy_on_device(t, views::slice(out, d, at, at + length, 1));
      at += length;
    }
    return;
  }
  for (Tensor& t : parts) t = dense(t);
  char* to = static_cast<char*>(out.data());
  for (size_t begin = 0; begin < parts.size(); begin += kMaxJoined) {
    const size_t end = std::min(parts.size(), begin + kMaxJoined);
    join(parts, begin, end, lines.outer, to, out);
    for (size_t k = begin; k < end; ++k) to += parts[k].nbytes();
  }
}

void flip(const Tensor& self, IntList dims, const Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor from = as_dtype(self, out.dtype());
  ShapeCall call{};
  call.walk = walk_each("flip", out.sizes(), {{from, call.in}, {out, call.out}});
  for (int64_t dim : dims) {
    if (out.dim() == 0) continue;
    const int64_t d = wrap_dim(dim, out.dim());
    long long& stride = call.in.strides[out.dim() - 1 - d];
    call.in.data = static_cast<char*>(call.in.data) + (out.size(d) - 1) * stride * int64_t(out.itemsize());
    stride = -stride;
  }
  static Variants variants;
  run_over(kMoves, variants, out.itemsize(), "flip", out, call.walk.count, call,
           [&] { return join_text("moved<", unit_text(out.dtype()), ">"); });
}

void tril(const Tensor& self, int64_t diagonal, const Tensor& out) {
  triangle("tril", self, diagonal, false, out);
}
void triu(const Tensor& self, int64_t diagonal, const Tensor& out) {
  triangle("triu", self, diagonal, true, out);
}

void diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2, const Tensor& out) {
  gpu().fill(out, 0);
  gpu().copy_on_device(self, views::diagonal(out, offset, dim1, dim2));
}

void unfold_backward(const Tensor& grad, IntList, int64_t dim, int64_t size, int64_t step,
                     const Tensor& out) {
  gpu().fill(out, 0);
  add_into("unfold_backward", grad, views::unfold(out, dim, size, step));
}

void as_strided_sum(const Tensor& self, int64_t, IntList size, IntList stride, int64_t offset,
                    const Tensor& out) {
  gpu().fill(out, 0);
  if (self.numel() == 0) return;
  add_into("as_strided_sum", self, views::window(out, size, stride, out.offset() + offset));
}

void im2col(const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride,
            const Tensor& out) {
  if (out.numel() == 0) return;
  const auto window = infer::sliding_window(self.sizes().last(2), kernel_size, dilation, padding, stride);
  const Tensor image = dense(self, out.dtype());
  into_dense(out, [&](const Tensor& columns) {
    static Variants variants;
    run_over(kWindows, variants, out.itemsize(), "im2col", out, columns.numel(),
             columns_call(image, columns, window),
             [&] { return join_text("image_to_columns<", unit_text(out.dtype()), ">"); });
  });
}

void col2im(const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation, IntList padding,
            IntList stride, const Tensor& out) {
  if (out.numel() == 0) return;
  check_dtype(kernels::domains::numeric, out.dtype(), "col2im");
  const auto window = infer::sliding_window(output_size, kernel_size, dilation, padding, stride);
  const Tensor columns = dense(self, out.dtype());
  into_dense(out, [&](const Tensor& image) {
    static Variants variants;
    run_over(kWindows, variants, uint64_t(out.dtype()), "col2im", out, image.numel(),
             columns_call(image, columns, window),
             [&] { return join_text("columns_to_image<", type_text(out.dtype()), ">"); });
  });
}

}  // namespace mt::cuda

#include "kernels/padding/edges.h"

#include "kernels/common/accumulate.h"
#include "kernels/common/dense.h"
#include "kernels/common/window.h"

namespace mt::kernels {
namespace {

// Of a padded tensor the part that is the original, in the dimensions below `dims`.
Window centre(const Window& padded, const View& original, int dims, std::span<const int64_t> pad) {
  Window inner = padded;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int d = dims - 1 - int(i);
    inner = inner.part(d, pad[2 * i], original.sizes[d]);
  }
  return inner;
}

// Along `dim` the edges [0, before) and [before + size, …): calls apply(edge, the window its elements come from, whether
// that is read backwards). A source of length 1 stands for all of the edge.
template <class F>
void for_each_edge(const Window& t, int dim, int64_t size, int64_t before, int64_t after, Edge mode,
                   F&& apply) {
  for (const bool left : {true, false}) {
    const int64_t count = left ? before : after;
    if (count == 0) continue;
    const Window edge = t.part(dim, left ? 0 : before + size, count);
    switch (mode) {
      case Edge::reflect:
        apply(edge, t.part(dim, left ? before + 1 : before + size - 1 - count, count).mirrored(dim));
        break;
      case Edge::replicate: apply(edge, t.part(dim, left ? before : before + size - 1, 1)); break;
      case Edge::circular: apply(edge, t.part(dim, left ? size : before, count)); break;
    }
  }
}

// For each place in the kernel: which places of the window lie on the image, and the pixels they see.
template <class F>
void for_each_tap(const View& image, const View& columns, const SlidingWindow& w, F&& apply) {
  // [..., C * kh * kw, L] seen as [..., C, kh, kw, places, places].
  const int leading = columns.ndim - 2;
  const int64_t taps = w.kernel[0] * w.kernel[1];
  std::vector<int64_t> sizes(columns.sizes, columns.sizes + leading),
      strides(columns.strides, columns.strides + leading);
  const int64_t row = columns.strides[leading], place = columns.strides[leading + 1];
  for (const int64_t size :
       {columns.sizes[leading] / taps, w.kernel[0], w.kernel[1], w.places[0], w.places[1]})
    sizes.push_back(size);
  for (const int64_t stride : {row * taps, row * w.kernel[1], row, place * w.places[1], place})
    strides.push_back(stride);
  const Window blocks({columns.data, sizes.data(), strides.data(), int(sizes.size()), columns.dtype});
  auto covered = [&](size_t axis, int64_t tap, int64_t& first, int64_t& last) {
    const int64_t shift = tap * w.dilation[axis] - w.padding[axis], step = w.stride[axis];
    first = shift >= 0 ? 0 : (-shift + step - 1) / step;
    last = w.image[axis] <= shift ? 0 : std::min(w.places[axis], (w.image[axis] - 1 - shift) / step + 1);
    return first < last;
  };
  const int rows = leading + 1, height = image.ndim - 2;
  for (int64_t i = 0; i < w.kernel[0]; ++i) {
    for (int64_t j = 0; j < w.kernel[1]; ++j) {
      int64_t top, bottom, left, right;
      if (!covered(0, i, top, bottom) || !covered(1, j, left, right)) continue;
      const int64_t y = top * w.stride[0] + i * w.dilation[0] - w.padding[0];
      const int64_t x = left * w.stride[1] + j * w.dilation[1] - w.padding[1];
      apply(blocks.without(rows, i)
                .without(rows, j)
                .part(rows, top, bottom - top)
                .part(rows + 1, left, right - left),
            Window(image)
                .part(height, y, bottom - top, w.stride[0])
                .part(height + 1, x, right - left, w.stride[1]));
    }
  }
}

}  // namespace

void constant_pad(const View& in, std::span<const int64_t> pad, const Scalar& value, const View& out) {
  fill(out, value);
  Window from(in), to(out);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int d = in.ndim - 1 - int(i);
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    const int64_t skipped = std::max<int64_t>(-before, 0), dropped = std::max<int64_t>(-after, 0);
    const int64_t length = in.sizes[d] - skipped - dropped;
    if (length <= 0) return;
    from = from.part(d, skipped, length);
    to = to.part(d, std::max<int64_t>(before, 0), length);
  }
  copy(from.view(), to.view());
}

void extend_edges(const View& in, std::span<const int64_t> pad, Edge mode, const View& out) {
  if (out.numel() == 0) return;
  const Window whole(out);
  copy(in, centre(whole, in, in.ndim, pad).view());
  // Last dimension first: each further one copies rows that are complete already.
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int d = in.ndim - 1 - int(i);
    for_each_edge(centre(whole, in, d, pad.subspan(2 * i + 2)), d, in.sizes[d], pad[2 * i], pad[2 * i + 1],
                  mode, [](const Window& edge, const Window& source) { copy(source.view(), edge.view()); });
  }
}

void extend_edges_backward(const View& grad, std::span<const int64_t> pad, Edge mode, const View& grad_in) {
  if (grad_in.numel() == 0) return;
  // The edges are added to what they were copied from, in a copy of the gradient.
  const Temporary work({grad.sizes, grad.sizes + grad.ndim}, grad.dtype);
  copy(grad, work.view());
  const Window whole(work.view());
  for (size_t i = pad.size() / 2; i-- > 0;) {
    const int d = grad_in.ndim - 1 - int(i);
    for_each_edge(centre(whole, grad_in, d, pad.subspan(2 * i + 2)), d, grad_in.sizes[d], pad[2 * i],
                  pad[2 * i + 1], mode, [&](const Window& edge, const Window& source) {
                    const bool all = source.size(d) != edge.size(d);
                    add_into(edge.view(), (all ? source.repeated(d, edge.size(d)) : source).view(), all);
                  });
  }
  copy(centre(whole, grad_in, grad_in.ndim, pad).view(), grad_in);
}

void image_to_columns(const View& image, const SlidingWindow& window, const View& columns) {
  fill(columns, 0);
  for_each_tap(image, columns, window,
               [](const Window& block, const Window& pixels) { copy(pixels.view(), block.view()); });
}

void columns_to_image(const View& columns, const SlidingWindow& window, const View& image) {
  fill(image, 0);
  for_each_tap(image, columns, window, [](const Window& block, const Window& pixels) {
    add_into(block.view(), pixels.view(), false);
  });
}

}  // namespace mt::kernels

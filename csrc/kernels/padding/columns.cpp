#include <algorithm>
#include <vector>

#include "kernels/common/accumulate.h"
#include "kernels/common/copy.h"
#include "kernels/common/window.h"
#include "kernels/padding/edges.h"

namespace mt::kernels {
namespace {

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
      int64_t top = 0, bottom = 0, left = 0, right = 0;
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

// Tensors grown at their edges, and windows that slide over images. `pad` counts from the last dimension on, two numbers
// (before, after) per dimension.
#pragma once

#include <array>
#include <span>

#include "base/edge.h"
#include "kernels/common/view.h"

namespace mt::kernels {

using mt::Edge;

// Negative numbers cut off.
void constant_pad(const View& in, std::span<const int64_t> pad, const Scalar& value, const View& out);

// The edges mirror, repeat or wrap around what lies between them.
void extend_edges(const View& in, std::span<const int64_t> pad, Edge mode, const View& out);
void extend_edges_backward(const View& grad, std::span<const int64_t> pad, Edge mode, const View& grad_in);

// A window that slides over an image; `places` are its positions along each of the two dimensions.
struct SlidingWindow {
  std::array<int64_t, 2> image, kernel, dilation, padding, stride, places;
};

// image [..., C, H, W] <-> columns [..., C * kernel, places]; places outside the image are 0.
void image_to_columns(const View& image, const SlidingWindow& window, const View& columns);
// The transpose: what was read several times is added up.
void columns_to_image(const View& columns, const SlidingWindow& window, const View& image);

}  // namespace mt::kernels

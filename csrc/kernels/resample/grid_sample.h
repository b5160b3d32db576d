// Sampling a tensor at the positions a grid names, and the gradients of that.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

enum class GridMode { linear, nearest, cubic };
enum class GridPadding { zeros, border, reflection };

struct GridOptions {
  GridMode mode;
  GridPadding padding;
  bool align_corners;
};

// in [N, C, sizes...], grid [N, positions..., dims] with the last dimension's coordinate first,
// out [N, C, positions...]; two or three dims.
void grid_sample(const View& in, const View& grid, const View& out, GridOptions options);
void grid_sample_backward(const View& grad, const View& in, const View& grid, const View& grad_in,
                          const View& grad_grid, GridOptions options);

// The positions of an image of `sizes` (two or three) after an affine map: theta [N, dims, dims + 1] ->
// grid [N, sizes..., dims], the last dimension's coordinate first.
void affine_grid(const View& theta, const View& grid, bool align_corners);

}  // namespace mt::kernels

// Maxima over windows of the last dimensions, and moving values between planes by the positions of the maxima.
#pragma once

#include <array>
#include <vector>

#include "kernels/common/view.h"

namespace mt::kernels {

// The windows along one dimension: output o looks at start[o], start[o] + step, … below end[o].
struct Windows {
  int64_t step = 1;
  std::vector<int64_t> start{0}, end{1};
  int64_t per_plane = 0;  // distance between the tables of two planes; 0: one table for all
};

Windows fixed_windows(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                      int64_t dilation);
Windows adaptive_windows(int64_t in, int64_t out);
// Windows of `kernel` at pseudo-random places; samples [planes, dims] hold one number per plane and dimension.
Windows fractional_windows(int64_t in, int64_t out, int64_t kernel, const View& samples, int64_t dim);

// The windows of up to three dimensions, those in front filled up with windows of one element.
using WindowSet = std::array<Windows, 3>;

// indices: positions in the flattened plane. NaN counts as the largest.
void max_pool(const View& in, const View& out, const View& indices, int spatial, const WindowSet& windows);

// out[plane, indices[plane, i]] (+)= values[plane, i]; elements nobody names become 0.
void plane_scatter(const View& values, const View& indices, const View& out, int spatial, bool accumulate);
// out[plane, i] = in[plane, indices[plane, i]].
void plane_gather(const View& in, const View& indices, const View& out, int spatial);

}  // namespace mt::kernels

// Separable linear maps over the last dimensions of a tensor: averages over windows and interpolation are both
// "every output is a weighted sum of a run of inputs, dimension by dimension", and their gradients the transpose.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/common/view.h"
#include "kernels/resample/interpolated_line.h"

namespace mt::kernels {

// One dimension: output o is the sum over k < count[o] of weights[o * width + k] * input[first[o] + k].
struct Taps {
  int64_t in, out;
  int64_t width;
  std::vector<int64_t> first, count;
  std::vector<double> weights;

  Taps(int64_t in, int64_t out, int64_t width);
  bool identity() const;
  // Which outputs read each input: neighbours, because windows move on with the outputs.
  Taps transposed() const;
  // Weights in fixed point, as many bits behind it as 16 bits have room for.
  void shorten();
};

// Windows of `kernel` inputs. `divisor` 0 divides by the window's size, with or without the padding in it.
Taps window_taps(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding, bool count_padding,
                 int64_t divisor);
// `out` windows that cover the input as evenly as integers allow.
Taps adaptive_taps(int64_t in, int64_t out);
// By the names of the table: "linear", "nearest-exact", "cubic-aa".
Interpolation interpolation_of(std::string_view mode);
// Those of an InterpolatedLine.
Taps interpolation_taps(Interpolation mode, int64_t in, int64_t out, bool align_corners, double scale,
                        bool single);

// How results of integers leave floating point: cut off (averages) or rounded and clamped (interpolation), also after each
// dimension. The last is for pictures of bytes: PyTorch computes them in 16 bits, and `shorten` gives the taps its weights.
enum class ToInteger { truncate, round, round_each };

// in [..., taps[i].in...] -> out [..., taps[i].out...] over the last taps.size() dimensions.
void resample(const View& in, const View& out, const std::vector<Taps>& taps, ToInteger to_integer);
// The transpose: in [..., taps[i].out...] -> out [..., taps[i].in...].
void resample_transposed(const View& in, const View& out, const std::vector<Taps>& taps);

}  // namespace mt::kernels

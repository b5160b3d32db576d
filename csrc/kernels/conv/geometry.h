// The sizes of a convolution, and where the elements of a patch lie in its padded image.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/conv/conv.h"

namespace mt::kernels {

// A convolution's sizes, per group.
struct Geometry {
  int64_t batch, groups, in_channels, out_channels;
  std::array<int64_t, 3> in, out, kernel, stride, padding, dilation;
  std::array<int64_t, 3> padded;  // sizes of one phase of a padded channel
  std::array<std::vector<int64_t>, 3>
      phases;                         // the rests that taps leave, see Note [Convolution without unrolling]
  int64_t taps, length;               // of the kernel; of a patch
  int64_t plane, channel, positions;  // elements of a phase; of a padded channel; of an output channel
  std::vector<int64_t> offsets;       // of each element of a patch in the padded image

  // Padding is what stands in front; behind, there are as many zeros as the outputs need. Less than none leaves out
  // elements.
  Geometry(const View& wide, const View& weight, const View& narrow, const ConvOptions& options)
      : batch(wide.sizes[0]),
        groups(options.groups),
        in_channels(weight.sizes[1]),
        out_channels(weight.sizes[0] / options.groups),
        stride(options.stride),
        padding(options.padding),
        dilation(options.dilation) {
    taps = plane = channel = positions = 1;
    std::array<std::vector<int64_t>, 3> phase_of;  // each tap, as a place in `phases`
    for (size_t d = 0; d < 3; ++d) {
      in[d] = wide.sizes[2 + d], out[d] = narrow.sizes[2 + d], kernel[d] = weight.sizes[2 + d];
      padded[d] = out[d] + dilation[d] * (kernel[d] - 1) / stride[d];
      for (int64_t k = 0; k < kernel[d]; ++k) {
        const int64_t rest = k * dilation[d] % stride[d];
        const auto found = std::find(phases[d].begin(), phases[d].end(), rest);
        phase_of[d].push_back(found - phases[d].begin());
        if (found == phases[d].end()) phases[d].push_back(rest);
      }
      taps *= kernel[d], plane *= padded[d], positions *= out[d], channel *= int64_t(phases[d].size());
    }
    channel *= plane;
    length = in_channels * taps;
    offsets.reserve(size_t(length));
    const auto shift = [&](size_t d, int64_t tap) { return tap * dilation[d] / stride[d]; };
    const auto phase = [&](size_t d, int64_t tap) { return phase_of[d][size_t(tap)]; };
    for (int64_t c = 0; c < in_channels; ++c) {
      for (int64_t i = 0; i < kernel[0]; ++i) {
        for (int64_t j = 0; j < kernel[1]; ++j) {
          for (int64_t k = 0; k < kernel[2]; ++k) {
            const int64_t part =
                (phase(0, i) * int64_t(phases[1].size()) + phase(1, j)) * int64_t(phases[2].size()) +
                phase(2, k);
            offsets.push_back(c * channel + part * plane +
                              (shift(0, i) * padded[1] + shift(1, j)) * padded[2] + shift(2, k));
          }
        }
      }
    }
  }

  bool unit_stride() const { return stride[0] == 1 && stride[1] == 1 && stride[2] == 1; }
  // The flat length of one depth's outputs in rows as wide as the padded image's.
  int64_t flat() const { return (out[1] - 1) * padded[2] + out[2]; }
};

template <class T>
const T* row_of(const View& view, int64_t n, int64_t c, int64_t i, int64_t j) {
  return view.as<const T>() + n * view.strides[0] + c * view.strides[1] + i * view.strides[2] +
         j * view.strides[3];
}

template <class T>
void copy_row(const T* from, int64_t stride, T* to, int64_t n) {
  if (stride == 1) std::copy_n(from, n, to);
  else if (stride == 2) {  // so that compilers make vectors of it
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * 2];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
  }
}

// The channels of one group, padded with zeros, phase by phase; rows outside the image are zeros altogether. A row is read
// for all its phases at once.
template <class T>
void pad(const View& wide, const Geometry& g, int64_t n, int64_t first_channel, T* to) {
  struct Part {  // of a row, that a phase has: places [first, last), from this column of the image on
    int64_t first, last, column;
  };
  const int64_t step = g.stride[2], width = g.padded[2];
  std::vector<Part> parts;
  for (const int64_t column : g.phases[2]) {
    const int64_t before = g.padding[2] - column, room = g.in[2] + before;
    const int64_t first = std::clamp<int64_t>(before > 0 ? (before + step - 1) / step : 0, 0, width);
    const int64_t last = std::clamp<int64_t>(room > 0 ? (room + step - 1) / step : 0, first, width);
    parts.push_back({first, last, first * step - before});
  }
  for (int64_t c = 0; c < g.in_channels; ++c)
    for (const int64_t depth : g.phases[0])
      for (const int64_t line : g.phases[1]) {
        T* row = to;
        to += int64_t(parts.size()) * g.plane;
        for (int64_t i = 0; i < g.padded[0]; ++i) {
          for (int64_t j = 0; j < g.padded[1]; ++j, row += width) {
            const int64_t y = i * g.stride[0] + depth - g.padding[0],
                          x = j * g.stride[1] + line - g.padding[1];
            const bool inside = y >= 0 && y < g.in[0] && x >= 0 && x < g.in[1];
            const T* from = inside ? row_of<T>(wide, n, first_channel + c, y, x) : nullptr;
            T* target = row;
            for (const Part& part : parts) {
              const int64_t first = inside ? part.first : width, last = inside ? part.last : width;
              std::fill_n(target, first, T(0));
              if (inside)
                copy_row(from + part.column * wide.strides[4], step * wide.strides[4], target + first,
                         last - first);
              std::fill_n(target + last, width - last, T(0));
              target += g.plane;
            }
          }
        }
      }
}

}  // namespace mt::kernels

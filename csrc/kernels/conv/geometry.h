// The sizes of a convolution, and where the elements of a patch lie in its padded image.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/common/levels.h"
#include "kernels/conv/conv.h"
#include "kernels/matmul/bfloat16_product.h"

namespace mt::kernels {

// A convolution's sizes, per group.
struct Geometry {
  int64_t batch, groups, in_channels, out_channels;
  int64_t stacks;  // of input channels that lie together in the padded image
  std::array<int64_t, 3> in, out, kernel, stride, padding, dilation;
  std::array<int64_t, 3> padded;  // sizes of one phase of a padded channel
  std::array<std::vector<int64_t>, 3>
      phases;                         // the rests that taps leave, see Note [Convolution without unrolling]
  int64_t taps, length;               // of the kernel; of a patch
  int64_t plane, channel, positions;  // elements of a phase; of a padded channel; of an output channel
  std::vector<int64_t> offsets;       // of each element of a patch in the padded image

  // Padding is what stands in front; behind, there are as many zeros as the outputs need. Less than none leaves out
  // elements.
  Geometry(const View& wide, const View& weight, const View& narrow, const ConvOptions& options,
           int64_t stack = 1)
      : batch(wide.sizes[0]),
        groups(options.groups),
        in_channels(weight.sizes[1]),
        out_channels(weight.sizes[0] / options.groups),
        stacks((in_channels + stack - 1) / stack),
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
    length = stacks * taps;
    offsets.reserve(size_t(length));
    const auto shift = [&](size_t d, int64_t tap) { return tap * dilation[d] / stride[d]; };
    const auto phase = [&](size_t d, int64_t tap) { return phase_of[d][size_t(tap)]; };
    for (int64_t c = 0; c < stacks; ++c) {
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

  // The taps of a stack in the other order.
  void turn_round() {
    for (auto first = offsets.begin(); first != offsets.end(); first += taps)
      std::reverse(first, first + taps);
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
[[gnu::always_inline]] inline void copy_row(const T* from, int64_t stride, T* to, int64_t n) {
  if (stride == 1) std::copy_n(from, n, to);
  else if (stride == 2) {  // so that compilers make vectors of it
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * 2];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
  }
}
[[gnu::always_inline]] inline void pair_row(const BFloat16* first, const BFloat16* second, int64_t stride,
                                            uint32_t* to, int64_t n) {
  if (stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = pair_of(first[i], second[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = pair_of(first[i * stride], second[i * stride]);
  }
}

// Of a row, what a phase has: places [first, last), from this column of the image on.
struct RowPart {
  int64_t first, last, column;
};
inline std::vector<RowPart> row_parts(const Geometry& g) {
  const int64_t step = g.stride[2], width = g.padded[2];
  std::vector<RowPart> parts;
  for (const int64_t column : g.phases[2]) {
    const int64_t before = g.padding[2] - column, room = g.in[2] + before;
    const int64_t first = std::clamp<int64_t>(before > 0 ? (before + step - 1) / step : 0, 0, width);
    const int64_t last = std::clamp<int64_t>(room > 0 ? (room + step - 1) / step : 0, first, width);
    parts.push_back({first, last, first * step - before});
  }
  return parts;
}

// See pad. T's stack of channels is one, or two that make an Element.
template <class T, class Element>
struct Pad {
  [[gnu::always_inline]] static inline void run(const View& wide, const Geometry& g, int64_t n,
                                                int64_t first_channel, const RowPart* parts, Element* to) {
    constexpr bool paired = !std::is_same_v<T, Element>;
    constexpr int64_t stack = paired ? 2 : 1;
    const int64_t width = g.padded[2], stride = g.stride[2] * wide.strides[4];
    const int64_t count = int64_t(g.phases[2].size());
    for (int64_t c = 0; c < g.in_channels; c += stack)
      for (const int64_t depth : g.phases[0])
        for (const int64_t line : g.phases[1]) {
          Element* row = to;
          to += count * g.plane;
          for (int64_t i = 0; i < g.padded[0]; ++i) {
            for (int64_t j = 0; j < g.padded[1]; ++j, row += width) {
              const int64_t y = i * g.stride[0] + depth - g.padding[0],
                            x = j * g.stride[1] + line - g.padding[1];
              const bool inside = y >= 0 && y < g.in[0] && x >= 0 && x < g.in[1];
              const T* from = inside ? row_of<T>(wide, n, first_channel + c, y, x) : nullptr;
              Element* target = row;
              for (int64_t p = 0; p < count; ++p, target += g.plane) {
                const RowPart& part = parts[p];
                const int64_t first = inside ? part.first : width, last = inside ? part.last : width;
                for (int64_t k = 0; k < first; ++k) target[k] = Element();
                if (inside) {
                  const T* here = from + part.column * wide.strides[4];
                  if constexpr (!paired) copy_row(here, stride, target + first, last - first);
                  else if (c + 1 < g.in_channels)
                    pair_row(here, here + wide.strides[1], stride, target + first, last - first);
                  else
                    for (int64_t k = first; k < last; ++k)
                      target[k] = pair_of(here[(k - first) * stride], BFloat16());
                }
                for (int64_t k = last; k < width; ++k) target[k] = Element();
              }
            }
          }
        }
  }
};
// The channels of one group, padded with zeros, phase by phase; rows outside the image are zeros altogether. A row is read
// for all its phases at once. Of BFloat16 as pairs, two channels become one.
template <class T, class Element>
void pad(const View& wide, const Geometry& g, int64_t n, int64_t first_channel, Element* to) {
  const std::vector<RowPart> parts = row_parts(g);
  at_level<Pad<T, Element>, const View&, const Geometry&>(wide, g, n, first_channel, parts.data(), to);
}

}  // namespace mt::kernels

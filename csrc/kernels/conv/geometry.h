// The sizes of a convolution, and where the elements of a patch lie in its padded image.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/common/levels.h"
#include "kernels/common/squares.h"
#include "kernels/conv/conv.h"
#include "kernels/matmul/bfloat16_product.h"

namespace mt::kernels {

// Of a row of the image, what a phase has: places [first, last), from this column of the image on.
struct RowPart {
  int64_t first, last, column;
};

// A depth or line of the image, and where the padded image has it.
struct LineInside {
  int64_t image, padded;
};

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
  std::vector<LineInside> depths, lines;  // in the order of the image
  std::vector<RowPart> row_parts;         // for each phase of a row
  std::vector<int64_t> offsets;           // of each element of a patch in the padded image

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
    for (const int64_t rest : phases[2]) row_parts.push_back(row_part(rest));
    const int64_t columns = int64_t(phases[2].size()), planes = int64_t(phases[1].size()) * columns;
    depths = lines_inside(0, planes * plane, padded[1] * padded[2]);
    lines = lines_inside(1, columns * plane, padded[2]);
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
  // Those of a phase lie `step` apart, the phases `phase`.
  std::vector<LineInside> lines_inside(size_t d, int64_t phase, int64_t step) const {
    std::vector<LineInside> inside;
    for (int64_t i = 0; i < padded[d]; ++i)
      for (size_t p = 0; p < phases[d].size(); ++p) {
        const int64_t place = i * stride[d] + phases[d][p] - padding[d];
        if (place >= 0 && place < in[d]) inside.push_back({place, int64_t(p) * phase + i * step});
      }
    return inside;
  }
  RowPart row_part(int64_t rest) const {
    const int64_t step = stride[2], before = padding[2] - rest, room = in[2] + before;
    const int64_t first = std::clamp<int64_t>(before > 0 ? (before + step - 1) / step : 0, 0, padded[2]);
    const int64_t last = std::clamp<int64_t>(room > 0 ? (room + step - 1) / step : 0, first, padded[2]);
    return {first, last, first * step - before};
  }
  // The flat length of one depth's outputs in rows as wide as the padded image's.
  int64_t flat() const { return (out[1] - 1) * padded[2] + out[2]; }
};

template <class T>
const T* row_of(const View& view, int64_t n, int64_t c, int64_t i, int64_t j) {
  return view.as<const T>() + n * view.strides[0] + c * view.strides[1] + i * view.strides[2] +
         j * view.strides[3];
}

// Every second element, in small vectors that read no more than these; the last may repeat some of the one before.
template <class T>
[[gnu::always_inline]] inline void copy_every_second(const T* from, T* to, int64_t n) {
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    using Four = Square<float>;
    const auto four = [=](int64_t at) __attribute__((always_inline)) {
      store_row(to + at, Four::V(__builtin_shuffle(load_row(from + 2 * at), load_row(from + 2 * at + 3),
                                                   Four::I{0, 2, 5, 7})));
    };
    for (; i + Four::side <= n; i += Four::side) four(i);
    if (i < n && n > Four::side) {
      four(n - Four::side);
      return;
    }
  }
#pragma GCC ivdep
  for (; i < n; ++i) to[i] = from[i * 2];
}
template <class T>
[[gnu::always_inline]] inline void copy_row(const T* from, int64_t stride, T* to, int64_t n) {
  if (stride == 1) std::copy_n(from, n, to);
  else if (stride == 2) copy_every_second(from, to, n);
  else
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
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

// See pad. T's stack of channels is one, or two that make an Element; channels whose elements lie side by side are turned
// round all together.
template <class T, class Element>
struct Pad {
  static constexpr bool kPaired = !std::is_same_v<T, Element>;

  [[gnu::always_inline]] static inline void run(const View* view, const Geometry* geometry, int64_t n,
                                                int64_t first_channel, Element* to) {
    const View& wide = *view;
    const Geometry& g = *geometry;
    const bool side_by_side = !kPaired && g.in_channels > 1 && wide.strides[1] == 1 && wide.strides[4] != 1;
    const int64_t stack = kPaired ? 2 : side_by_side ? g.in_channels : 1;
    for (int64_t c = 0; c < g.in_channels; c += stack, to += g.channel)
      for (const LineInside& depth : g.depths) {
        const T* plane = row_of<T>(wide, n, first_channel + c, depth.image, 0);
        for (const LineInside& line : g.lines)
          put(wide, g, plane + line.image * wide.strides[3], c, side_by_side,
              to + depth.padded + line.padded);
      }
  }

 private:
  [[gnu::always_inline]] static inline void put(const View& wide, const Geometry& g, const T* row, int64_t c,
                                                bool side_by_side, Element* to) {
    const int64_t step = g.stride[2] * wide.strides[4];
    for (const RowPart& part : g.row_parts) {
      const T* from = row + part.column * wide.strides[4];
      Element* target = to + part.first;
      const int64_t count = part.last - part.first;
      if constexpr (!kPaired) {
        if (side_by_side) turn_rectangle(from, step, target, g.channel, g.in_channels, count);
        else copy_row(from, step, target, count);
      } else if (c + 1 < g.in_channels) {
        pair_row(from, from + wide.strides[1], step, target, count);
      } else {
        for (int64_t k = 0; k < count; ++k) target[k] = pair_of(from[k * step], BFloat16());
      }
      to += g.plane;
    }
  }
};
// The channels of one group, phase by phase, where zeros are: what is padding is left as it is, so that the next image
// finds it there. Rows are read in the order of memory, each for all its phases at once. Of BFloat16 as pairs, two
// channels become one.
template <class T, class Element>
void pad(const View& wide, const Geometry& g, int64_t n, int64_t first_channel, Element* to) {
  at_level<Pad<T, Element>>(&wide, &g, n, first_channel, to);
}

}  // namespace mt::kernels

#include <algorithm>
#include <vector>

#include "check.h"
#include "kernels/common/types.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/pairs.h"

using namespace mt;
using namespace mt::kernels;

namespace {

struct Sizes {
  std::array<int64_t, 5> wide, weight;
  ConvOptions options;
};

// Small whole numbers over eight: products and sums of them are exact in floats.
template <class T>
Array<T> filled(std::vector<int64_t> sizes, int64_t factor) {
  return Array<T>(std::move(sizes), std::function<T(int64_t)>([factor](int64_t i) {
                    return cast<T>(float(i * factor % 17 - 8) / 8);
                  }));
}

Array<double> widened(const Array<BFloat16>& from) {
  Array<double> to(from.sizes);
  for (size_t i = 0; i < from.data.size(); ++i) to.data[i] = double(float(from.data[i]));
  return to;
}

// bfloat16 keeps eight bits.
bool rounded(const Array<BFloat16>& got, const Array<double>& wanted) {
  for (size_t i = 0; i < got.data.size(); ++i)
    if (std::fabs(double(float(got.data[i])) - wanted.data[i]) > std::fabs(wanted.data[i]) / 256)
      return false;
  return true;
}

std::vector<int64_t> sizes_of(const std::array<int64_t, 5>& sizes) { return {sizes.begin(), sizes.end()}; }

}  // namespace

TEST("convolutions of bfloat16 by pairs are those of doubles, rounded once") {
  const Sizes cases[] = {
      {{3, 8, 1, 9, 9}, {20, 8, 1, 3, 3}, {{1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 1}},
      {{2, 12, 1, 12, 10}, {32, 6, 1, 3, 4}, {{1, 2, 2}, {0, 1, 2}, {1, 1, 1}, 2}},
      {{2, 16, 5, 6, 7}, {16, 16, 3, 3, 3}, {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 1}},
      {{1, 5, 1, 24, 24}, {17, 5, 1, 8, 8}, {{1, 8, 8}, {0, 0, 0}, {1, 1, 1}, 1}},
      {{2, 33, 1, 1, 40}, {16, 33, 1, 1, 5}, {{1, 1, 1}, {0, 0, 4}, {1, 1, 2}, 1}},
      {{1, 3, 1, 80, 70}, {18, 3, 1, 3, 3}, {{1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 1}},
      {{11, 20, 1, 5, 5}, {40, 20, 1, 3, 3}, {{1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 1}},
  };
  std::vector<const PairTiles*> all = {&portable_tiles};
  if (pair_tiles()) all.push_back(pair_tiles());
  for (const Sizes& c : cases) {
    std::vector<int64_t> out = {c.wide[0], c.weight[0]};
    for (size_t d = 0; d < 3; ++d)
      out.push_back(
          (c.wide[2 + d] + 2 * c.options.padding[d] - c.options.dilation[d] * (c.weight[2 + d] - 1) - 1) /
              c.options.stride[d] +
          1);
    Array<BFloat16> x = filled<BFloat16>(sizes_of(c.wide), 5), w = filled<BFloat16>(sizes_of(c.weight), 7);
    Array<BFloat16> bias = filled<BFloat16>({c.weight[0]}, 3), y(out), slope = filled<BFloat16>(out, 11);
    Array<BFloat16> dx(x.sizes), dw(w.sizes);
    Array<double> wide_x = widened(x), wide_w = widened(w), wide_bias = widened(bias),
                  wide_slope = widened(slope);
    Array<double> wanted_y(out), wanted_dx(x.sizes), wanted_dw(w.sizes);
    const View xs = wide_x.view(), ws = wide_w.view(), bs = wide_bias.view(), ss = wide_slope.view();
    convolve(xs, ws, &bs, wanted_y.view(), c.options);
    convolve_transposed(ss, ws, nullptr, wanted_dx.view(), c.options);
    convolve_weight(xs, ss, wanted_dw.view(), c.options);
    for (const PairTiles* tiles : all) {
      const View x_view = x.view(), w_view = w.view(), y_view = y.view(), slope_view = slope.view(),
                 dx_view = dx.view(), dw_view = dw.view(), bias_view = bias.view();
      convolve_pairs(*tiles, x_view, w_view, &bias_view, y_view, c.options);
      convolve_pairs_transposed(*tiles, slope_view, w_view, nullptr, dx_view, c.options);
      convolve_pairs_weight(*tiles, x_view, slope_view, dw_view, c.options);
      CHECK(rounded(y, wanted_y));
      CHECK(rounded(dx, wanted_dx));
      CHECK(rounded(dw, wanted_dw));
    }
  }
}

TEST("weights of bfloat16 may lie in any order") {
  const ConvOptions options{{1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 1};
  Array<BFloat16> w = filled<BFloat16>({20, 16, 1, 2, 2}, 7), slope = filled<BFloat16>({2, 20, 1, 9, 9}, 11);
  std::swap(w.strides[3], w.strides[4]);
  Array<double> wide_w = widened(w), wide_slope = widened(slope), wanted({2, 16, 1, 8, 8});
  std::swap(wide_w.strides[3], wide_w.strides[4]);
  convolve_transposed(wide_slope.view(), wide_w.view(), nullptr, wanted.view(), options);
  Array<BFloat16> dx({2, 16, 1, 8, 8});
  convolve_pairs_transposed(portable_tiles, slope.view(), w.view(), nullptr, dx.view(), options);
  CHECK(rounded(dx, wanted));
}

#include "generated/infer/padding.h"

#include <algorithm>

#include "base/edge.h"
#include "infer/spatial.h"

namespace mt::infer {
namespace {

// Pads come last dimension first, two per dimension.
Dims padded_sizes(IntList sizes, IntList pad) {
  MT_CHECK(pad.size() % 2 == 0, "Length of pad must be even but instead it equals ", pad.size());
  MT_CHECK(pad.size() <= 2 * sizes.size(),
           "Length of pad should be no more than twice the number of dimensions of the input. Pad length is ",
           pad.size(), "while the input has ", sizes.size(), "dimensions.");
  Dims out(sizes);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    int64_t& size = out[sizes.size() - 1 - i];
    constexpr int64_t limit = int64_t(1) << 60;
    for (int64_t p : pad.subspan(2 * i, 2))
      MT_CHECK(p > -limit && p < limit, "padding of ", p, " elements is too large");
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    // First it is cut, then added to.
    MT_CHECK(size + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0) >= 0, "The input size ", size,
             ", plus negative padding ", before, " and ", after,
             " resulted in a negative output size, which is invalid. Check dimension ", sizes.size() - 1 - i,
             " of your input.");
    size += before + after;
  }
  return out;
}

Dims negated(IntList pad) {
  Dims out(pad);
  for (int64_t& p : out) {
    MT_CHECK(p >= 0, "an edge cannot be continued by ", p, " elements");
    p = -p;
  }
  return out;
}

void check_edges(IntList sizes, IntList pad, int64_t mode) {
  MT_CHECK(mode >= 0 && mode <= int64_t(Edge::circular), "padding mode ", mode, " is unknown");
  const Dims out = padded_sizes(sizes, pad);
  for (size_t i = 0; i < pad.size(); ++i) {
    const size_t d = sizes.size() - 1 - i / 2;
    MT_CHECK(pad[i] >= 0, "an edge cannot be continued by ", pad[i], " elements");
    if (pad[i] == 0) continue;
    MT_CHECK(sizes[d] > 0 || std::ranges::find(out, 0) != out.end(),
             "an empty dimension has no edge to continue, got sizes ", to_string(sizes));
    if (mode == int64_t(Edge::reflect))
      MT_CHECK(pad[i] < sizes[d], "Argument #", i / 2 * 2 + 4,
               ": Padding size should be less than the corresponding input dimension, but got: padding (",
               pad[i / 2 * 2], ", ", pad[i / 2 * 2 + 1], ") at dimension ", d, " of input ",
               to_string(sizes));
    if (mode == int64_t(Edge::circular))
      MT_CHECK(pad[i] <= sizes[d], "Padding value causes wrapping around more than once.");
  }
}

}  // namespace

void constant_pad(const Tensor& self, IntList pad, const Scalar& value, Output& out) {
  const Dims sizes = padded_sizes(self.sizes(), pad);
  check_fits(self, value);
  out.prepare_images(sizes, self.dtype(), self.device(), {&self});
}

void extend_edges(const Tensor& self, IntList pad, int64_t mode, Output& out) {
  check_edges(self.sizes(), pad, mode);
  out.prepare_images(padded_sizes(self.sizes(), pad), self.dtype(), self.device(), {&self});
}

void extend_edges_backward(const Tensor& grad, IntList pad, int64_t mode, Output& out) {
  const Dims sizes = padded_sizes(grad.sizes(), negated(pad));
  check_edges(sizes, pad, mode);
  out.prepare_images(sizes, grad.dtype(), grad.device(), {&grad});
}

}  // namespace mt::infer

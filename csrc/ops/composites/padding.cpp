// Padding in terms of its kernels: the checks that depend on how many dimensions are padded.
#include "generated/ops/composites/padding.h"

#include "base/edge.h"
#include "generated/ops/padding.h"
#include "generated/ops/view.h"
#include "infer/infer.h"
#include "infer/spatial.h"

namespace mt::composites {
namespace {

// Edges are continued from the whole input first; what negative pads take away is cut off afterwards.
Tensor extend(const Tensor& self, IntList pad, Edge mode) {
  Dims added(pad);
  for (int64_t& p : added) p = std::max<int64_t>(p, 0);
  Tensor out = ops::_extend_edges(self, added, int64_t(mode));
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t before = std::min<int64_t>(pad[2 * i], 0), after = std::min<int64_t>(pad[2 * i + 1], 0);
    if (before == 0 && after == 0) continue;
    const int64_t d = self.dim() - 1 - int64_t(i);
    out = ops::slice(out, d, -before, out.sizes()[size_t(d)] + after, 1);
  }
  return out;
}

Tensor extend_last(const Tensor& self, IntList pad, Edge mode, int64_t dims) {
  MT_CHECK(int64_t(pad.size()) == 2 * dims, "padding size is expected to be ", 2 * dims,
           ", but got: ", pad.size());
  bool valid = self.dim() == dims + 1 || self.dim() == dims + 2;
  const int64_t first = self.dim() == dims + 2 ? 1 : 0;  // a batch may be empty
  for (int64_t i = first; valid && i < self.dim(); ++i) valid = self.sizes()[size_t(i)] != 0;
  MT_CHECK(valid, "Expected ", dims + 1, "D or ", dims + 2,
           "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but "
           "got: ",
           to_string(self.sizes()));
  static constexpr const char* kAxis[] = {"W", "H", "D"};
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t size = self.size(-1 - i);
    int64_t out;
    const bool overflow = __builtin_add_overflow(size, pad[size_t(2 * i)], &out) ||
                          __builtin_add_overflow(out, pad[size_t(2 * i + 1)], &out);
    MT_CHECK(!overflow && out >= 1, "input (", kAxis[i], ": ", size, ") is too small. Calculated output ",
             kAxis[i], ": ", out);
  }
  return extend(self, pad, mode);
}

// Negative pads are cut off first: what wraps around is the rest.
Tensor wrap_around(const Tensor& self, IntList pad) {
  MT_CHECK(int64_t(pad.size()) == 2 * (self.dim() - 2), "Invalid padding size, expected ",
           2 * (self.dim() - 2), " but got ", pad.size());
  Tensor rest = self;
  Dims added(pad);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t d = self.dim() - 1 - int64_t(i), size = self.sizes()[size_t(d)];
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    MT_CHECK(before <= size && after <= size, "Padding value causes wrapping around more than once.");
    int64_t length;
    const bool overflow =
        __builtin_add_overflow(size, before, &length) || __builtin_add_overflow(length, after, &length);
    MT_CHECK(!overflow && length >= 0, "Negative padding value is resulting in an empty dimension");
    if (before < 0 || after < 0)
      rest = ops::slice(rest, d, std::max<int64_t>(-before, 0), size - std::max<int64_t>(-after, 0), 1);
    added[2 * i] = std::max<int64_t>(before, 0), added[2 * i + 1] = std::max<int64_t>(after, 0);
  }
  return ops::_extend_edges(rest, added, int64_t(Edge::circular));
}

}  // namespace

Tensor reflection_pad1d(const Tensor& self, IntList pad) { return extend_last(self, pad, Edge::reflect, 1); }
Tensor reflection_pad2d(const Tensor& self, IntList pad) { return extend_last(self, pad, Edge::reflect, 2); }
Tensor reflection_pad3d(const Tensor& self, IntList pad) { return extend_last(self, pad, Edge::reflect, 3); }
Tensor replication_pad1d(const Tensor& self, IntList pad) {
  return extend_last(self, pad, Edge::replicate, 1);
}
Tensor replication_pad2d(const Tensor& self, IntList pad) {
  return extend_last(self, pad, Edge::replicate, 2);
}
Tensor replication_pad3d(const Tensor& self, IntList pad) {
  return extend_last(self, pad, Edge::replicate, 3);
}

Tensor pad(const Tensor& self, IntList pad, std::string_view mode, std::optional<double> value) {
  MT_CHECK(pad.size() % 2 == 0, "Padding length must be divisible by 2");
  MT_CHECK(int64_t(pad.size()) <= self.dim() * 2,
           "Padding length should be less than or equal to two times the input dimension but got padding "
           "length ",
           pad.size(), " and input of dimension ", self.dim());
  if (mode == "constant") return ops::constant_pad_nd(self, pad, Scalar(value.value_or(0)));
  MT_CHECK(!value || *value == 0, "Padding mode \"", mode, "\" doesn't take in value argument");
  const int64_t dims = int64_t(pad.size()) / 2;
  if (dims >= 1 && dims <= 3 && (self.dim() == dims + 1 || self.dim() == dims + 2)) {
    if (mode == "reflect")
      return dims == 1   ? ops::reflection_pad1d(self, pad)
             : dims == 2 ? ops::reflection_pad2d(self, pad)
                         : ops::reflection_pad3d(self, pad);
    if (mode == "replicate")
      return dims == 1   ? ops::replication_pad1d(self, pad)
             : dims == 2 ? ops::replication_pad2d(self, pad)
                         : ops::replication_pad3d(self, pad);
    if (mode == "circular") {
      // Without a batch dimension the last ones are padded all the same.
      if (self.dim() == dims + 2) return wrap_around(self, pad);
      return ops::squeeze(wrap_around(ops::unsqueeze(self, 0), pad), 0);
    }
    fail(ErrorKind::not_implemented, "Unrecognised padding mode ", mode);
  }
  fail(ErrorKind::not_implemented, "Padding size ", pad.size(), " is not supported for ", self.dim(),
       "D input tensor.\nSupported combinations for non-constant padding:\n  - 2D or 3D input: padding size "
       "= 2 "
       "(pads last dimension)\n  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D "
       "input: padding size = 6 (pads last 3 dimensions)");
}

}  // namespace mt::composites

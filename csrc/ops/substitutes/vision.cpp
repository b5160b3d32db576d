// torchvision's operators made of products, gathers and comparisons.
#include "generated/ops/substitutes/vision.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "autograd/formulas/common.h"
#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/index.h"
#include "generated/ops/matmul.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/shape.h"
#include "generated/ops/sort.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"
#include "generated/ops/vision.h"
#include "ops/substitutes/common.h"

namespace mt::substitutes {

using namespace formulas;  // +, -, * and / of tensors

namespace {

// Intermediate results have about so many elements at most, or one box's.
constexpr int64_t kElementsAtOnce = int64_t(1) << 24;

Tensor column(const Tensor& table, int64_t i) { return ops::select(table, 1, i); }
Tensor count_to(int64_t n, const Tensor& like) {
  return ops::arange(Scalar(n), TensorOptions{like.dtype(), like.device()});
}
Tensor places_to(int64_t n, const Tensor& like) { return ops::arange(Scalar(n), places_beside(like)); }
Tensor zeros_beside(IntList sizes, const Tensor& like) {
  return ops::zeros(sizes, TensorOptions{like.dtype(), like.device()});
}
Tensor as(const Tensor& t, DType dtype) { return t.dtype() == dtype ? t : ops::_to_copy(t, dtype); }
Tensor images_of(const Tensor& rois) { return as(column(rois, 0), DType::int64); }

// ---- boxes ----

// 1 where a box of `a` (down) overlaps one of `b` (across) by more than the bound.
Tensor overlapping(const Tensor& a, const Tensor& b, double bound) {
  const auto shared = [&](int64_t low, int64_t high) {
    const Tensor end = ops::minimum(ops::unsqueeze(column(a, high), 1), column(b, high));
    const Tensor start = ops::maximum(ops::unsqueeze(column(a, low), 1), column(b, low));
    return ops::clamp_min(end - start, Scalar(0));
  };
  const auto area = [](const Tensor& boxes) {
    return (column(boxes, 2) - column(boxes, 0)) * (column(boxes, 3) - column(boxes, 1));
  };
  const Tensor common = shared(0, 2) * shared(1, 3);
  const Tensor all = ops::unsqueeze(area(a), 1) + area(b) - common;
  return as(ops::gt(common / all, Scalar(bound)), a.dtype());
}

Tensor none_of(const Tensor& counts) { return as(ops::eq(counts, Scalar(0)), counts.dtype()); }

// The largest number of the dtype that is not above the threshold.
double bound_in(DType dtype, double threshold) {
  if (dtype == DType::float64) return threshold;
  const float nearest = float(threshold);
  return double(nearest) > threshold ? std::nextafter(nearest, -1.0f) : nearest;
}

// ---- boxes that are turned ----

struct Vectors {
  Tensor x, y;
};
Vectors plus(const Vectors& a, const Vectors& b) { return {a.x + b.x, a.y + b.y}; }
Vectors minus(const Vectors& a, const Vectors& b) { return {a.x - b.x, a.y - b.y}; }

// The boxes of a table in a dimension of their own; the last dimension is for edges.
struct TurnedBoxes {
  Vectors centre, half;
  Tensor cosine, sine;
  TurnedBoxes(const Tensor& table, const Dims& shape)
      : centre{column(table, 0).reshape(shape), column(table, 1).reshape(shape)},
        half{column(table, 2).reshape(shape) / Scalar(2), column(table, 3).reshape(shape) / Scalar(2)} {
    const Tensor angle = column(table, 4).reshape(shape) * Scalar(M_PI / 180);
    cosine = ops::cos(angle);
    sine = ops::sin(angle);
  }
  Tensor area() const { return half.x * half.y * Scalar(4); }
  Vectors turned(const Vectors& v) const { return {v.x * cosine + v.y * sine, v.y * cosine - v.x * sine}; }
  Vectors turned_back(const Vectors& v) const {
    return {v.x * cosine - v.y * sine, v.x * sine + v.y * cosine};
  }
};

// From where to where (0 to 1) edges that begin at p and lead by d lie between -half and half. An edge along a side counts
// if it `shares` the side's direction: of two edges on one another, one belongs to what the boxes have in common.
struct Between {
  Tensor begin, end;
  Between(const Tensor& p, const Tensor& d, const Tensor& along, const Tensor& half, const Tensor& shares) {
    const double tiny = p.dtype() == DType::float64 ? 1e-12 : 1e-5;
    const Tensor parallel = ops::le(ops::abs(d), ops::abs(along) * Scalar(tiny));
    const Tensor slope = ops::where(parallel, Scalar(1.0), d);
    const Tensor one = (-half - p) / slope, other = (half - p) / slope;
    const Tensor middle = ops::abs(p + d / Scalar(2));
    Tensor inside = ops::lt(middle, half * Scalar(1 - tiny));
    if (shares.defined()) inside = ops::where(shares, ops::le(middle, half * Scalar(1 + tiny)), inside);
    begin = ops::where(parallel, Scalar(0.0), ops::minimum(one, other));
    end = ops::where(parallel, as(inside, p.dtype()), ops::maximum(one, other));
  }
};

// Twice the area between the centre of the first boxes and those parts of `own` edges that lie inside the `other` boxes.
Tensor swept(const TurnedBoxes& own, const Vectors& own_centre, const TurnedBoxes& other,
             const Vectors& other_centre, const Vectors& corners, const Vectors& steps, bool shared_count) {
  const auto sized = [&](const Vectors& v) { return Vectors{v.x * own.half.x, v.y * own.half.y}; };
  const Vectors begin = plus(own_centre, own.turned(sized(corners))), by = own.turned(sized(steps));
  const Vectors p = other.turned_back(minus(begin, other_centre)), d = other.turned_back(by);
  const auto same = [&](const Tensor& product) {
    return shared_count ? ops::gt(product, Scalar(0)) : Tensor();
  };
  const Between across(p.x, d.x, d.y, other.half.x, same(p.x * d.y));
  const Between down(p.y, d.y, d.x, other.half.y, same(-(p.y * d.x)));
  const Tensor end = ops::clamp_max(ops::minimum(across.end, down.end), Scalar(1));
  const Tensor part =
      ops::clamp_min(end - ops::clamp_min(ops::maximum(across.begin, down.begin), Scalar(0)), Scalar(0));
  return ops::sum(part * (begin.x * by.y - begin.y * by.x), {-1});
}

Tensor overlaps_of_turned(const Tensor& boxes1, const Tensor& boxes2) {
  const TurnedBoxes a(boxes1, {-1, 1, 1}), b(boxes2, {1, -1, 1});
  const Tensor edge = count_to(4, boxes1);  // against the clock, from the corner at -1, -1
  const auto along = [&](double zeroth, double first, double second, double third) {
    const auto at = [&](double number) { return as(ops::eq(edge, Scalar(number)), edge.dtype()); };
    return at(0) * Scalar(zeroth) + at(1) * Scalar(first) + at(2) * Scalar(second) + at(3) * Scalar(third);
  };
  const Vectors corners{along(-1, 1, 1, -1), along(-1, -1, 1, 1)},
      steps{along(2, 0, -2, 0), along(0, 2, 0, -2)};
  const Vectors origin = minus(a.centre, a.centre), apart = minus(b.centre, a.centre);
  const Tensor twice =
      swept(a, origin, b, apart, corners, steps, true) + swept(b, apart, a, origin, corners, steps, false);
  const Tensor common = ops::clamp_min(twice / Scalar(2), Scalar(0));
  const Tensor one = ops::select(a.area(), 2, 0), other = ops::select(b.area(), 2, 0);
  const Tensor nothing = ops::lt(ops::minimum(one, other), Scalar(1e-14));
  return ops::where(nothing, Scalar(0.0), common / (one + other - common));
}

}  // namespace

Tensor box_iou_rotated(const Tensor& boxes1, const Tensor& boxes2) {
  const DType compute = boxes1.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor first = as(boxes1, compute), second = as(boxes2, compute);
  const int64_t rows = first.sizes()[0], columns = second.sizes()[0];
  const int64_t at_once = std::max<int64_t>(1, kElementsAtOnce / 16 / std::max<int64_t>(1, columns * 4));
  std::vector<Tensor> parts;
  for (int64_t row = 0; row < rows && columns > 0; row += at_once)
    parts.push_back(overlaps_of_turned(ops::slice(first, 0, row, row + at_once, 1), second));
  if (parts.empty()) return zeros_beside(Dims{rows, columns}, boxes1);
  return as(parts.size() == 1 ? parts[0] : ops::cat(parts), boxes1.dtype());
}

// Blocks of boxes, the best first. Within a block, who is left is found by repetition: a box stays unless a better one
// that stays overlaps it. After n rounds that is right for the first n at least, and mostly for all after a few.
std::tuple<Tensor, Tensor> nms(const Tensor& dets, const Tensor& scores, double iou_threshold) {
  constexpr int64_t block = 1024;
  const int64_t n = scores.numel();
  if (n == 0) return {ops::zeros(Dims{0}, places_beside(dets)), ops::zeros({}, places_beside(dets))};
  const Tensor order = std::get<1>(ops::sort(scores, std::optional(true), 0, true));
  const Tensor boxes = ops::index_select(wide(dets), 0, order);
  const double bound = bound_in(boxes.dtype(), iou_threshold);
  std::vector<Tensor> parts, stays;
  for (int64_t start = 0; start < n; start += block) {
    parts.push_back(ops::slice(boxes, 0, start, std::min(start + block, n), 1));
    const Tensor& own = parts.back();
    Tensor against = zeros_beside(Dims{own.sizes()[0]}, own);
    for (size_t i = 0; i < stays.size(); ++i)
      against = against + ops::matmul(stays[i], overlapping(parts[i], own, bound));
    const Tensor free = none_of(against), later = ops::triu(overlapping(own, own, bound), 1);
    Tensor stay = free;
    for (bool settled = false; !settled;) {
      const Tensor next = free * none_of(ops::matmul(stay, later));
      const Tensor changed = ops::any(ops::ne(next, stay));
      settled = changed.device().is_meta() || !item(changed).to<bool>();
      stay = next;
    }
    stays.push_back(stay);
  }
  const Tensor mask = ops::gt(ops::cat(stays, 0), Scalar(0));
  const Tensor kept =  // on meta it may be all
      mask.device().is_meta() ? order : ops::index_select(order, 0, column(ops::nonzero(mask), 0));
  const Tensor rest = ops::full(Dims{n - kept.numel()}, Scalar(-1), places_beside(dets));
  return {ops::cat({{kept, rest}}, 0), ops::sum(as(mask, DType::int64))};
}

// ---- bins of whole pixels ----

namespace {

// Half away from zero.
Tensor nearest(const Tensor& x) {
  const Tensor size = ops::abs(x), whole = ops::floor(size);
  return ops::sign(x) * (whole + as(ops::ge(size - whole, Scalar(0.5)), x.dtype()));
}

// The pixels of bins along one dimension: 1 inside, [K, bins, pixels]. How boxes are cut is said in
// kernels/vision/roi_pool.cpp.
Tensor inside_bins(const Tensor& rois, int64_t low, double scale, int64_t bins, int64_t pixels,
                   bool with_end) {
  const Tensor boxes = wide(rois);
  const Tensor start = nearest(column(boxes, low) * Scalar(scale));
  const Tensor length = nearest(column(boxes, low + 2) * Scalar(scale)) - start;
  const Tensor step = ops::clamp_min(length + Scalar(with_end ? 1 : 0), Scalar(1)) / Scalar(bins);
  const Tensor i = count_to(bins, boxes), at = count_to(pixels, boxes), s = ops::unsqueeze(step, 1);
  const double last = double(with_end ? pixels : std::max<int64_t>(pixels - 1, 0));
  const auto bounded = [&](const Tensor& x) {
    return ops::unsqueeze(ops::clamp(x + ops::unsqueeze(start, 1), Scalar(0), Scalar(last)), 2);
  };
  const Tensor from = bounded(ops::floor(i * s)), to = bounded(ops::ceil((i + Scalar(1)) * s));
  return ops::logical_and(ops::ge(at, from), ops::lt(at, to));
}

// Calls f(first box, number of boxes) for as many as intermediate results have room for.
template <class F>
void in_parts(int64_t boxes, int64_t elements, const F& f) {
  const int64_t at_once = std::max<int64_t>(kElementsAtOnce / std::max<int64_t>(elements, 1), 1);
  for (int64_t k = 0; k < boxes; k += at_once) f(k, std::min(at_once, boxes - k));
}

Tensor some(const Tensor& t, int64_t first, int64_t count) { return ops::narrow(t, 0, first, count); }

// The shape `sizes` with ones where the list is false.
Tensor shaped(const Tensor& t, std::initializer_list<int64_t> sizes) { return t.reshape(Dims(sizes)); }

struct Pooled {
  Tensor values, places;
};

// The largest pixels along the last dimension, for each row of the mask: stacked behind it.
Pooled largest(const Tensor& x, const Tensor& mask, double lowest) {
  std::vector<Tensor> values, places;
  for (int64_t bin = 0; bin < mask.sizes()[1]; ++bin) {
    const Tensor inside = ops::select(mask, 1, bin).reshape(Dims{mask.sizes()[0], 1, 1, mask.sizes()[2]});
    const auto [value, place] = ops::max(ops::where(inside, x, Scalar(lowest)), -1, false);
    values.push_back(value), places.push_back(place);
  }
  return {ops::stack(values, -1), ops::stack(places, -1)};
}

Tensor lengths(const Tensor& mask) { return ops::sum(as(mask, DType::int32), {-1}, false, DType::int32); }

}  // namespace

std::tuple<Tensor, Tensor> roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale,
                                    int64_t pooled_height, int64_t pooled_width) {
  const IntList x = input.sizes();
  const int64_t boxes = rois.sizes()[0];
  const Dims made{boxes, x[1], pooled_height, pooled_width};
  if (boxes * x[1] * pooled_height * pooled_width == 0)
    return {zeros_beside(made, input), ops::zeros(made, TensorOptions{DType::int32, input.device()})};
  const Tensor rows = inside_bins(rois, 2, spatial_scale, pooled_height, x[2], true),
               columns = inside_bins(rois, 1, spatial_scale, pooled_width, x[3], true);
  const Tensor from = wide(input), image = images_of(rois);
  const double lowest = from.dtype() == DType::float64 ? std::numeric_limits<double>::lowest()
                                                       : double(std::numeric_limits<float>::lowest());
  const Tensor numbers = ops::where(ops::eq(from, from), from, Scalar(lowest));  // NaN is never the largest
  std::vector<Tensor> values, places;
  in_parts(boxes, x[1] * x[2] * x[3], [&](int64_t k, int64_t count) {
    const Tensor seen = ops::index_select(numbers, 0, some(image, k, count));
    const Pooled across = largest(seen, some(columns, k, count), lowest);  // [k, C, H, bins across]
    std::vector<Tensor> rows_of_values, rows_of_places;
    const Tensor turned = ops::transpose(across.values, 2, 3), at = ops::transpose(across.places, 2, 3);
    const Pooled down = largest(turned, some(rows, k, count), lowest);  // [k, C, bins across, bins down]
    const Tensor pixel = down.places * Scalar(x[3]) + ops::gather(at, 3, down.places);
    values.push_back(ops::transpose(down.values, 2, 3));
    places.push_back(ops::transpose(pixel, 2, 3));
  });
  const Tensor there =
      ops::gt(ops::unsqueeze(lengths(rows), 2) * ops::unsqueeze(lengths(columns), 1), Scalar(0));
  const Tensor filled = ops::unsqueeze(there, 1);
  return {as(ops::where(filled, ops::cat(values, 0), Scalar(0.0)), input.dtype()),
          as(ops::where(filled, ops::cat(places, 0), Scalar(-1)), DType::int32)};
}

Tensor roi_pool_backward(const Tensor& grad, const Tensor& rois, const Tensor& argmax, double, int64_t,
                         int64_t, int64_t batch_size, int64_t channels, int64_t height, int64_t width) {
  const int64_t boxes = rois.sizes()[0];
  const Tensor image = shaped(images_of(rois), {boxes, 1, 1, 1}),
               channel = shaped(places_to(channels, grad), {1, channels, 1, 1});
  const Tensor place = as(ops::clamp_min(argmax, Scalar(0)), DType::int64);
  const Tensor at = (image * Scalar(channels) + channel) * Scalar(height * width) + place;
  const Tensor slope = ops::where(ops::ge(argmax, Scalar(0)), wide(grad), Scalar(0.0));
  const Tensor sum = ops::index_add(zeros_beside(Dims{batch_size * channels * height * width}, slope), 0,
                                    at.reshape(Dims{-1}), slope.reshape(Dims{-1}));
  return as(sum, grad.dtype()).reshape(Dims{batch_size, channels, height, width});
}

// ---- bins with channels of their own ----

namespace {

Tensor channel_mapping(const Tensor& like, int64_t boxes, int64_t channels, int64_t down, int64_t across) {
  const Tensor numbers = as(places_to(channels, like), DType::int32);
  const Dims sizes{boxes, channels / (down * across), down, across};
  return ops::expand(numbers.reshape(IntList(sizes).last(3)), sizes);
}

// Each bin's share of every pixel along one dimension.
Tensor shares(const Tensor& inside, DType dtype) {
  const Tensor weights = as(inside, dtype);
  return weights / ops::clamp_min(ops::sum(weights, {-1}, true), Scalar(1));
}

// How many samples a bin has along one dimension. torchvision divides by their number even if there are none.
Tensor samples(const Tensor& rois, int64_t low, double scale, int64_t bins) {
  const auto edge = [&](int64_t i) {
    return column(wide(rois), i) * Scalar(scale) - number_beside(Scalar(0.5), wide(rois));
  };
  return ops::ceil((edge(low + 2) - edge(low)) / Scalar(bins));
}

struct Shares {
  Tensor down, across;  // [K, 1, bins, 1, H, 1] and [K, 1, 1, bins, 1, W]
  Shares(const Tensor& rois, double scale, int64_t bins_down, int64_t bins_across, int64_t height,
         int64_t width) {
    const int64_t boxes = rois.sizes()[0];
    const DType dtype = wide(rois).dtype();
    down = shaped(shares(inside_bins(rois, 2, scale, bins_down, height, false), dtype),
                  {boxes, 1, bins_down, 1, height, 1});
    across = shaped(shares(inside_bins(rois, 1, scale, bins_across, width, false), dtype),
                    {boxes, 1, 1, bins_across, 1, width});
  }
};

}  // namespace

std::tuple<Tensor, Tensor> ps_roi_align(const Tensor& input, const Tensor& rois, double spatial_scale,
                                        int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio) {
  const int64_t boxes = rois.sizes()[0], channels = input.sizes()[1];
  const Tensor all = ops::torchvision_roi_align(input, rois, spatial_scale, pooled_height, pooled_width,
                                                sampling_ratio, true);
  const Tensor own = ops::diagonal(shaped(all, {boxes, channels / (pooled_height * pooled_width),
                                                pooled_height, pooled_width, pooled_height, pooled_width}),
                                   0, 2, 4);
  Tensor values = ops::diagonal(own, 0, 2, 3);
  if (sampling_ratio <= 0) {
    const Tensor none = ops::eq(
        samples(rois, 1, spatial_scale, pooled_width) * samples(rois, 2, spatial_scale, pooled_height),
        Scalar(0));
    values = ops::where(shaped(none, {boxes, 1, 1, 1}), Scalar(std::nan("")), values);
  }
  return {values, channel_mapping(input, boxes, channels, pooled_height, pooled_width)};
}

Tensor ps_roi_align_backward(const Tensor& grad, const Tensor& rois, const Tensor&, double spatial_scale,
                             int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio,
                             int64_t batch_size, int64_t channels, int64_t height, int64_t width) {
  const int64_t boxes = rois.sizes()[0];
  const auto same_bin = [&](int64_t bins) {
    return ops::eye(bins, TensorOptions{grad.dtype(), grad.device()});
  };
  const Tensor all =
      shaped(grad, {boxes, channels / (pooled_height * pooled_width), pooled_height, pooled_width, 1, 1}) *
      shaped(same_bin(pooled_height), {pooled_height, 1, pooled_height, 1}) *
      shaped(same_bin(pooled_width), {1, pooled_width, 1, pooled_width});
  return ops::torchvision__roi_align_backward(shaped(all, {boxes, channels, pooled_height, pooled_width}),
                                              rois, spatial_scale, pooled_height, pooled_width, batch_size,
                                              channels, height, width, sampling_ratio, true);
}

std::tuple<Tensor, Tensor> ps_roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale,
                                       int64_t pooled_height, int64_t pooled_width) {
  const IntList x = input.sizes();
  const int64_t boxes = rois.sizes()[0], made = x[1] / (pooled_height * pooled_width);
  const Tensor from = wide(input), image = images_of(rois);
  const Shares share(rois, spatial_scale, pooled_height, pooled_width, x[2], x[3]);
  std::vector<Tensor> values{zeros_beside(Dims{0, made, pooled_height, pooled_width}, from)};
  in_parts(boxes, x[1] * x[2] * x[3], [&](int64_t k, int64_t count) {
    const Tensor seen = shaped(ops::index_select(from, 0, some(image, k, count)),
                               {count, made, pooled_height, pooled_width, x[2], x[3]});
    const Tensor rows = ops::sum(seen * some(share.across, k, count), {-1}, true);
    values.push_back(ops::sum(rows * some(share.down, k, count), DimList(Dims{-2, -1})));
  });
  return {as(ops::cat(values, 0), input.dtype()),
          channel_mapping(input, boxes, x[1], pooled_height, pooled_width)};
}

Tensor ps_roi_pool_backward(const Tensor& grad, const Tensor& rois, const Tensor&, double spatial_scale,
                            int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                            int64_t height, int64_t width) {
  const int64_t boxes = rois.sizes()[0], made = channels / (pooled_height * pooled_width);
  const Tensor slope = shaped(wide(grad), {boxes, made, pooled_height, pooled_width, 1, 1}),
               image = images_of(rois);
  const Shares share(rois, spatial_scale, pooled_height, pooled_width, height, width);
  Tensor sum = zeros_beside(Dims{batch_size, channels, height, width}, slope);
  in_parts(boxes, channels * height * width, [&](int64_t k, int64_t count) {
    const Tensor part = some(slope, k, count) * some(share.down, k, count) * some(share.across, k, count);
    sum = ops::index_add(sum, 0, some(image, k, count), shaped(part, {count, channels, height, width}));
  });
  return as(sum, grad.dtype());
}

// ---- convolution at places that move ----

namespace {

// Where the kernel's elements read: for N images and groups of offsets [N, groups, 1, kernel's elements * places].
struct Deformed {
  int64_t images, channels, pixels, groups, offset_groups, taps, places, made;
  std::array<Tensor, 4> at, inside, pixel;  // above left, above right, below left, below right
  Tensor down, across, factors;
  Tensor weight;  // [groups, made / groups, channels / groups * taps]

  Deformed(const Tensor& input, const Tensor& kernel, const Tensor& offset, const Tensor& mask,
           std::array<int64_t, 2> stride, std::array<int64_t, 2> pad, std::array<int64_t, 2> dilation,
           int64_t groups_of_channels, int64_t groups_of_offsets, bool use_mask) {
    const IntList x = input.sizes(), k = kernel.sizes(), o = offset.sizes();
    images = x[0], channels = x[1], pixels = x[2] * x[3], groups = groups_of_channels;
    offset_groups = groups_of_offsets, taps = k[2] * k[3], places = o[2] * o[3], made = k[0];
    weight = shaped(wide(kernel), {groups, made / groups, channels / groups * taps});
    const Tensor moves = shaped(wide(offset), {images, offset_groups, taps, 2, o[2], o[3]});
    const auto positions = [&](size_t dim) {
      const int64_t size = k[2 + dim], out = o[2 + dim];
      const Tensor tap =
                       count_to(size, moves) * Scalar(dilation[dim]) - number_beside(Scalar(pad[dim]), moves),
                   place = count_to(out, moves) * Scalar(stride[dim]);
      Dims of_tap{1, 1, 1, 1}, of_place{1, 1, 1, 1};
      of_tap[dim] = size, of_place[2 + dim] = out;
      const Tensor fixed =
          ops::expand(tap.reshape(of_tap) + place.reshape(of_place), Dims{k[2], k[3], o[2], o[3]});
      const Tensor found = ops::select(moves, 3, int64_t(dim)) + fixed.reshape(Dims{taps, o[2], o[3]});
      // Further away is outside as well.
      return ops::clamp(shaped(found, {images, offset_groups, 1, taps * places}), Scalar(-2),
                        Scalar(x[2 + dim] + 1));
    };
    const Tensor y = positions(0), z = positions(1), top = ops::floor(y), left = ops::floor(z);
    down = y - top, across = z - left;
    const Tensor planes = shaped(wide(input), {images, offset_groups, channels / offset_groups, pixels});
    for (size_t i = 0; i < 4; ++i) {
      const Tensor row = top + Scalar(int64_t(i / 2)), column = left + Scalar(int64_t(i % 2));
      const auto between = [](const Tensor& t, int64_t size) {
        return ops::logical_and(ops::ge(t, Scalar(0)), ops::lt(t, Scalar(size)));
      };
      inside[i] = ops::logical_and(between(row, x[2]), between(column, x[3]));
      const auto index = [&](const Tensor& t) {
        return as(ops::where(inside[i], t, Scalar(0.0)), DType::int64);
      };
      const Tensor place = index(row) * Scalar(x[3]) + index(column);
      at[i] = ops::expand(place, Dims{images, offset_groups, channels / offset_groups, taps * places});
      pixel[i] = ops::where(inside[i], ops::gather(planes, 3, at[i]), Scalar(0.0));
    }
    if (use_mask) factors = shaped(wide(mask), {images, offset_groups, 1, taps * places});
  }

  Tensor share(size_t i) const {
    const Tensor vertical = i / 2 ? down : Scalar(1) - down, horizontal = i % 2 ? across : Scalar(1) - across;
    return vertical * horizontal;
  }
  Tensor value() const {
    return share(0) * pixel[0] + share(1) * pixel[1] + share(2) * pixel[2] + share(3) * pixel[3];
  }
  Tensor masked(const Tensor& t) const { return factors.defined() ? t * factors : t; }
  // [N, groups, channels / groups * taps, places]
  Tensor columns() const {
    return shaped(masked(value()), {images, groups, channels / groups * taps, places});
  }
  Tensor by_group(const Tensor& grad) const { return shaped(grad, {images, groups, made / groups, places}); }
};

}  // namespace

Tensor deform_conv2d(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
                     const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w,
                     int64_t dilation_h, int64_t dilation_w, int64_t groups, int64_t offset_groups,
                     bool use_mask) {
  const Deformed d(input, weight, offset, mask, {stride_h, stride_w}, {pad_h, pad_w},
                   {dilation_h, dilation_w}, groups, offset_groups, use_mask);
  const IntList o = offset.sizes();
  const Tensor out = shaped(ops::matmul(d.weight, d.columns()), {d.images, d.made, o[2], o[3]});
  return as(out + shaped(wide(bias), {1, d.made, 1, 1}), input.dtype());
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> deform_conv2d_backward(
    const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
    const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
    int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask) {
  const Deformed d(input, weight, offset, mask, {stride_h, stride_w}, {pad_h, pad_w},
                   {dilation_h, dilation_w}, groups, offset_groups, use_mask);
  const Tensor slopes = wide(grad), by_group = d.by_group(slopes);
  const Tensor grad_weight = ops::sum(ops::matmul(by_group, ops::transpose(d.columns(), 2, 3)), {0});
  const Tensor grad_columns =
      shaped(ops::matmul(ops::transpose(d.weight, 1, 2), by_group),
             {d.images, offset_groups, d.channels / offset_groups, d.taps * d.places});
  const Tensor grad_value = d.masked(grad_columns);
  Tensor grad_input =
      zeros_beside(Dims{d.images, offset_groups, d.channels / offset_groups, d.pixels}, grad_value);
  for (size_t i = 0; i < 4; ++i)
    grad_input = ops::scatter_add(grad_input, 3, d.at[i],
                                  ops::where(d.inside[i], grad_value * d.share(i), Scalar(0.0)));
  const auto moved = [&](const Tensor& by, size_t a, size_t b, size_t c, size_t e) {
    const Tensor slope = (Scalar(1) - by) * (d.pixel[a] - d.pixel[b]) + by * (d.pixel[c] - d.pixel[e]);
    return shaped(ops::sum(grad_value * slope, {2}), {d.images, offset_groups, d.taps, d.places});
  };
  const Tensor grad_offset = ops::stack({{moved(d.across, 2, 0, 3, 1), moved(d.down, 1, 0, 3, 2)}}, 3);
  const Tensor grad_mask =
      use_mask ? ops::sum(grad_columns * d.value(), {2}) : zeros_beside(mask.sizes(), slopes);
  const Tensor grad_bias = ops::sum(shaped(slopes, {d.images, d.made, d.places}), DimList(Dims{0, 2}));
  const auto like = [&](const Tensor& t, const Tensor& shape) {
    return as(t, shape.dtype()).reshape(shape.sizes());
  };
  return {like(grad_input, input), like(grad_weight, weight), like(grad_offset, offset),
          like(grad_mask, mask), like(grad_bias, bias)};
}

}  // namespace mt::substitutes

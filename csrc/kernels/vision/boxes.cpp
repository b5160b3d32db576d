#include "kernels/vision/boxes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"

namespace mt::kernels {
namespace {

// The best first, NaN before all numbers; equal ones in their order.
template <class C>
std::vector<int64_t> best_first(const C* scores, int64_t n) {
  std::vector<int64_t> order(size_t(n), 0);
  std::iota(order.begin(), order.end(), int64_t(0));
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const bool no_number = std::isnan(scores[b]);
    return !no_number && (std::isnan(scores[a]) || scores[a] > scores[b]);
  });
  return order;
}

// The boxes in that order, each coordinate in a row of its own, so that comparisons with one box vectorise.
template <class C>
struct Sorted {
  std::vector<C> left, top, right, bottom, area;
  Sorted(const C* boxes, const std::vector<int64_t>& order) {
    for (std::vector<C>* row : {&left, &top, &right, &bottom, &area}) row->reserve(order.size());
    for (int64_t i : order) {
      const C* b = boxes + i * 4;
      left.push_back(b[0]), top.push_back(b[1]), right.push_back(b[2]), bottom.push_back(b[3]);
      area.push_back((b[2] - b[0]) * (b[3] - b[1]));
    }
  }
  // Marks the boxes from `begin` on that overlap box i.
  void mark(size_t i, size_t begin, size_t end, C threshold, uint8_t* gone) const {
    const C l = left[i], t = top[i], r = right[i], b = bottom[i], own = area[i];
    const C *ls = left.data(), *ts = top.data(), *rs = right.data(), *bs = bottom.data(), *as = area.data();
    for (size_t j = begin; j < end; ++j) {
      const C wide = std::max(C(0), std::min(r, rs[j]) - std::max(l, ls[j]));
      const C high = std::max(C(0), std::min(b, bs[j]) - std::max(t, ts[j]));
      const C shared = wide * high;
      gone[j] |= uint8_t(shared / (own + as[j] - shared) > threshold);
    }
  }
};

struct Point {
  double x, y;
};

double cross(Point a, Point b) { return a.x * b.y - a.y * b.x; }
Point minus(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }

// A convex polygon of few corners, in order.
struct Polygon {
  Point corner[8];
  int count = 0;

  double area() const {
    double twice = 0;
    for (int i = 0; i < count; ++i) twice += cross(corner[i], corner[(i + 1) % count]);
    return std::fabs(twice) / 2;
  }
  // What lies to the left of the line from a to b.
  Polygon cut(Point a, Point b) const {
    Polygon kept;
    for (int i = 0; i < count; ++i) {
      const Point from = corner[i], to = corner[(i + 1) % count];
      const double first = cross(minus(b, a), minus(from, a)), second = cross(minus(b, a), minus(to, a));
      if (first >= 0) kept.corner[kept.count++] = from;
      if ((first > 0 && second < 0) || (first < 0 && second > 0)) {
        const double part = first / (first - second);
        kept.corner[kept.count++] = {from.x + part * (to.x - from.x), from.y + part * (to.y - from.y)};
      }
    }
    return kept;
  }
};

struct RotatedBox {
  Point centre;
  double width, height, angle;
  explicit RotatedBox(const double* b)
      : centre{b[0], b[1]}, width(b[2]), height(b[3]), angle(b[4] * std::numbers::pi / 180) {}
  double area() const { return width * height; }

  // Around `origin`, which keeps far away boxes precise.
  Polygon polygon(Point origin) const {
    const Point at = minus(centre, origin);
    const double c = std::cos(angle) / 2, s = std::sin(angle) / 2;
    const Point across{c * width, -s * width}, up{s * height, c * height};
    Polygon made;
    made.corner[0] = {at.x - across.x - up.x, at.y - across.y - up.y};
    made.corner[1] = {at.x + across.x - up.x, at.y + across.y - up.y};
    made.corner[2] = {at.x + across.x + up.x, at.y + across.y + up.y};
    made.corner[3] = {at.x - across.x + up.x, at.y - across.y + up.y};
    made.count = 4;
    return made;
  }
};

double overlap(const RotatedBox& a, const RotatedBox& b) {
  constexpr double kNothing = 1e-14;
  if (a.area() < kNothing || b.area() < kNothing) return 0;
  const Point middle{(a.centre.x + b.centre.x) / 2, (a.centre.y + b.centre.y) / 2};
  const Polygon edges = b.polygon(middle);
  Polygon shared = a.polygon(middle);
  for (int i = 0; i < 4 && shared.count > 0; ++i)
    shared = shared.cut(edges.corner[i], edges.corner[(i + 1) % 4]);
  const double common = shared.count > 2 ? shared.area() : 0;
  return common / (a.area() + b.area() - common);
}

}  // namespace

int64_t non_maximum_suppression(const View& boxes, const View& scores, double threshold, const View& keep) {
  int64_t kept = 0;
  with_compute_type(boxes.dtype, "nms", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> box(boxes), score(scores);
    const DenseOutput<int64_t> result(keep);
    const std::vector<int64_t> order = best_first(score.data(), score.numel());
    const Sorted<C> sorted(box.data(), order);
    // Overlaps are compared in C: the largest one that is not above the threshold decides.
    C bound = C(threshold);
    if (double(bound) > threshold) bound = std::nextafter(bound, C(-1));
    std::vector<uint8_t> gone(order.size(), 0);
    for (size_t i = 0; i < order.size(); ++i) {
      if (gone[i]) continue;
      result[kept++] = order[i];
      parallel_for(int64_t(i) + 1, int64_t(order.size()), kGrain, [&](int64_t begin, int64_t end) {
        sorted.mark(i, size_t(begin), size_t(end), bound, gone.data());
      });
    }
    std::fill(result.data() + kept, result.data() + result.numel(), int64_t(-1));
    result.store();
  });
  return kept;
}

void rotated_overlaps(const View& boxes1, const View& boxes2, const View& out) {
  const int64_t rows = boxes1.sizes[0], columns = boxes2.sizes[0];
  const DenseInput<double> first(boxes1), second(boxes2);
  with_compute_type(out.dtype, "box_iou_rotated", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseOutput<C> y(out);
    parallel_for(0, rows * columns, 256, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        y[i] = C(
            overlap(RotatedBox(first.data() + i / columns * 5), RotatedBox(second.data() + i % columns * 5)));
    });
    y.store();
  });
}

}  // namespace mt::kernels

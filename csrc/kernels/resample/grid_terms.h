// What the positions of a grid read of the input, some positions at a time.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/common/levels.h"
#include "kernels/common/types.h"
#include "kernels/resample/grid_reads.h"

namespace mt::kernels {

// Note [Positions together]
// Outputs are taken some at a time, so that every loop runs over them: where they read along each dimension, the inputs
// that follow from it, and for each channel the sums of what is there.
inline constexpr int64_t kTogether = 64;
inline constexpr int kMostTerms = 16;  // inputs of an output: 4 x 4 or 2 x 2 x 2

template <class C>
struct Axis {
  int count;
  int32_t index[4][kTogether];
  C weight[4][kTogether], slope[4][kTogether];
};

// The inputs of the outputs, each with a weight and that weight's derivatives by the coordinates. Those outside have an
// offset of their own.
template <class C, class Offset>
struct Terms {
  int count;
  bool inside;  // all of them
  Offset offset[kMostTerms][kTogether];
  C weight[kMostTerms][kTogether], slope[kMostTerms][3][kTogether];
};

template <class C> using PlaneTerms = Terms<C, int64_t>;  // offset -1 is outside

// What lies at an offset; 0 outside.
template <bool kInside, class T>
[[gnu::always_inline]] inline compute_t<T> value_at(const T* source, int64_t offset) {
  if constexpr (kInside) return compute_t<T>(source[offset]);
  const compute_t<T> value = compute_t<T>(source[offset < 0 ? 0 : offset]);
  return offset < 0 ? compute_t<T>(0) : value;
}

template <class C, GridMode kMode, GridPadding kPadding>
struct FindReads {
  [[gnu::always_inline]] static inline void run(const C* coordinates, int64_t positions, int64_t size,
                                                bool align_corners, Axis<C>* axis) {
    axis->count = reads_of(kMode);
#pragma GCC ivdep
    for (int64_t p = 0; p < positions; ++p) {
      reads(coordinates[p], size, GridOptions{kMode, kPadding, align_corners},
            [axis, p](int k, int32_t index, C weight, C slope) {
              axis->index[k][p] = index;
              axis->weight[k][p] = weight;
              axis->slope[k][p] = slope;
            });
    }
  }
};

template <class C>
void find_reads(const C* coordinates, int64_t positions, int64_t size, GridOptions options, Axis<C>* axis) {
  const auto with_padding = [&]<GridMode kMode>() {
    const auto find = [&]<GridPadding kPadding>() {
      at_level<FindReads<C, kMode, kPadding>>(coordinates, positions, size, options.align_corners, axis);
    };
    if (options.padding == GridPadding::zeros) find.template operator()<GridPadding::zeros>();
    else if (options.padding == GridPadding::border) find.template operator()<GridPadding::border>();
    else find.template operator()<GridPadding::reflection>();
  };
  if (options.mode == GridMode::nearest) with_padding.template operator()<GridMode::nearest>();
  else if (options.mode == GridMode::linear) with_padding.template operator()<GridMode::linear>();
  else with_padding.template operator()<GridMode::cubic>();
}

// The products of the reads of each dimension. Slopes are for backward only.
template <class C, class Offset, int kSpatial, bool kSlopes>
struct Combine {
  [[gnu::always_inline]] static inline void run(const Axis<C>* dims, const int64_t* strides,
                                                Offset outside_at, int64_t positions,
                                                Terms<C, Offset>* terms) {
    terms->count = 0;
    int32_t any_outside = 0;
    const int depth = kSpatial == 3 ? dims[2].count : 1;
    for (int a = 0; a < dims[0].count; ++a)
      for (int b = 0; b < dims[1].count; ++b)
        for (int c = 0; c < depth; ++c) {
          const int at[3] = {a, b, c};
          const int term = terms->count++;
#pragma GCC ivdep
          for (int64_t p = 0; p < positions; ++p) {
            Offset offset = 0;
            int32_t outside = 0;
            C weight = 1, slope[3] = {1, 1, 1};
            for (int d = 0; d < kSpatial; ++d) {
              const int k = at[d];
              outside |= dims[d].index[k][p];
              offset += dims[d].index[k][p] * Offset(strides[d]);
              weight *= dims[d].weight[k][p];
              for (int s = 0; s < kSpatial && kSlopes; ++s)
                slope[s] *= s == d ? dims[d].slope[k][p] : dims[d].weight[k][p];
            }
            terms->offset[term][p] = outside < 0 ? outside_at : offset;
            any_outside |= outside;
            terms->weight[term][p] = weight;
            for (int s = 0; s < kSpatial && kSlopes; ++s) terms->slope[term][s][p] = slope[s];
          }
        }
    terms->inside = any_outside >= 0;
  }
};

// The positions of a batch entry in views whose spatial dimensions begin at dimension `first`, cut into runs of evenly
// spaced ones. Dimensions that continue one another in all views are one.
struct Spaced {
  const View* view;
  int first;
};
template <size_t kViews>
class Runs {
 public:
  explicit Runs(const std::array<Spaced, kViews>& views, int spatial)
      : views_(views), outer_(spatial - 1), last_(spatial - 1) {
    const auto size = [&](int d) { return views[0].view->sizes[views[0].first + d]; };
    width_ = size(outer_);
    while (outer_ > 0 && continues(outer_ - 1, width_)) width_ *= size(--outer_);
    per_line_ = (width_ + kTogether - 1) / kTogether;
    count_ = per_line_;
    for (int d = 0; d < outer_; ++d) count_ *= size(d);
  }
  int64_t count() const { return count_; }
  int64_t positions() const { return count_ / per_line_ * width_; }
  int64_t longest() const { return std::min(kTogether, width_); }

  struct Run {
    int64_t first, length;                     // in row-major order
    std::array<int64_t, kViews> offset, step;  // in each view
  };
  Run at(int64_t batch, int64_t index) const {
    const int64_t begin = index % per_line_ * kTogether;
    Run run{index / per_line_ * width_ + begin, std::min(kTogether, width_ - begin), {}, {}};
    for (size_t v = 0; v < kViews; ++v) {
      run.step[v] = stride(v, last_);
      run.offset[v] = batch * views_[v].view->strides[0] + begin * run.step[v];
    }
    int64_t rest = index / per_line_;
    for (int d = outer_ - 1; d >= 0; --d) {
      const int64_t size = views_[0].view->sizes[views_[0].first + d];
      for (size_t v = 0; v < kViews; ++v) run.offset[v] += rest % size * stride(v, d);
      rest /= size;
    }
    return run;
  }

 private:
  int64_t stride(size_t v, int d) const { return views_[v].view->strides[views_[v].first + d]; }
  bool continues(int d, int64_t width) const {
    for (size_t v = 0; v < kViews; ++v)
      if (stride(v, d) != width * stride(v, last_)) return false;
    return true;
  }
  std::array<Spaced, kViews> views_;
  int outer_, last_;
  int64_t width_, per_line_, count_;
};

// The inputs of some positions, whose first coordinates are at `grid`, a step between them.
template <int kSpatial, bool kSlopes, class T, class Offset>
void find_terms(const View& in, Offset outside, const T* grid, int64_t step, int64_t between,
                int64_t positions, GridOptions options, Terms<compute_t<T>, Offset>* terms) {
  using C = compute_t<T>;
  Axis<C> dims[kSpatial];
  for (int d = 0; d < kSpatial; ++d) {
    C coordinates[kTogether];
    const T* one = grid + (kSpatial - 1 - d) * between;
    for (int64_t p = 0; p < positions; ++p) coordinates[p] = C(one[p * step]);
    find_reads(static_cast<const C*>(coordinates), positions, in.sizes[2 + d], options, &dims[d]);
  }
  at_level<Combine<C, Offset, kSpatial, kSlopes>, const Axis<C>*>(dims, in.strides + 2, outside, positions,
                                                                  terms);
}

}  // namespace mt::kernels

#include "kernels/resample/grid_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/resample/grid_reads.h"

namespace mt::kernels {
namespace {

// Note [Positions together]
// Outputs are taken some at a time, so that every loop runs over them: where they read along each dimension, the inputs
// that follow from it, and for each channel the sums of what is there.
constexpr int64_t kTogether = 64;
constexpr int kMostTerms = 16;  // inputs of an output: 4 x 4 or 2 x 2 x 2

template <class C>
struct Axis {
  int count;
  int32_t index[4][kTogether];
  C weight[4][kTogether], slope[4][kTogether];
};

// The inputs of the outputs, each with a weight and that weight's derivatives by the coordinates; offset -1 is outside.
template <class C>
struct Terms {
  int count;
  bool inside;  // all of them
  int64_t offset[kMostTerms][kTogether];
  C weight[kMostTerms][kTogether], slope[kMostTerms][3][kTogether];
};

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
template <class C, int kSpatial, bool kSlopes>
struct Combine {
  [[gnu::always_inline]] static inline void run(const Axis<C>* dims, const int64_t* strides,
                                                int64_t positions, Terms<C>* terms) {
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
            int64_t offset = 0;
            int32_t outside = 0;
            C weight = 1, slope[3] = {1, 1, 1};
            for (int d = 0; d < kSpatial; ++d) {
              const int k = at[d];
              outside |= dims[d].index[k][p];
              offset += dims[d].index[k][p] * strides[d];
              weight *= dims[d].weight[k][p];
              for (int s = 0; s < kSpatial && kSlopes; ++s)
                slope[s] *= s == d ? dims[d].slope[k][p] : dims[d].weight[k][p];
            }
            terms->offset[term][p] = outside < 0 ? -1 : offset;
            any_outside |= outside;
            terms->weight[term][p] = weight;
            for (int s = 0; s < kSpatial && kSlopes; ++s) terms->slope[term][s][p] = slope[s];
          }
        }
    terms->inside = any_outside >= 0;
  }
};

// What lies at an offset; 0 outside.
template <bool kInside, class T>
[[gnu::always_inline]] inline compute_t<T> value_at(const T* source, int64_t offset) {
  if constexpr (kInside) return compute_t<T>(source[offset]);
  const compute_t<T> value = compute_t<T>(source[offset < 0 ? 0 : offset]);
  return offset < 0 ? compute_t<T>(0) : value;
}

// One channel of the outputs.
template <class T, int kCount, bool kInside>
struct Sample {
  using C = compute_t<T>;
  [[gnu::always_inline]] static inline void run(const T* source, const Terms<C>* terms, int64_t positions,
                                                T* out, int64_t step) {
    for (int64_t p = 0; p < positions; ++p) {
      C sum = 0;
      for (int t = 0; t < kCount; ++t)
        sum += terms->weight[t][p] * value_at<kInside>(source, terms->offset[t][p]);
      out[p * step] = cast<T>(sum);
    }
  }
};
template <class T>
void sample(const T* source, const Terms<compute_t<T>>& terms, int64_t positions, T* out, int64_t step) {
  const auto with_count = [&]<int kCount>() {
    if (terms.inside) at_level<Sample<T, kCount, true>>(source, &terms, positions, out, step);
    else at_level<Sample<T, kCount, false>>(source, &terms, positions, out, step);
  };
  if (terms.count == 1) with_count.template operator()<1>();
  else if (terms.count == 4) with_count.template operator()<4>();
  else if (terms.count == 8) with_count.template operator()<8>();
  else with_count.template operator()<16>();
}

// What one channel adds to the derivatives by the coordinates.
template <class C, int kSpatial>
struct AddSlopes {
  using Slopes = C[3][kTogether];
  [[gnu::always_inline]] static inline void run(const C* values, const C* grad, const Terms<C>* terms,
                                                int64_t positions, Slopes* slopes) {
    for (int t = 0; t < terms->count; ++t) {
      const int64_t* offset = terms->offset[t];
#pragma GCC ivdep
      for (int64_t p = 0; p < positions; ++p) {
        const C product = grad[p] * value_at<false>(values, offset[p]);
        for (int d = 0; d < kSpatial; ++d) (*slopes)[d][p] += product * terms->slope[t][d][p];
      }
    }
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
  explicit Runs(const std::array<Spaced, kViews>& views, int spatial) : views_(views) {
    const auto size = [&](int d) { return views[0].view->sizes[views[0].first + d]; };
    outer_ = spatial - 1, width_ = size(outer_);
    while (outer_ > 0 && continues(outer_ - 1, width_)) width_ *= size(--outer_);
    last_ = spatial - 1;
    per_line_ = (width_ + kTogether - 1) / kTogether;
    count_ = per_line_;
    for (int d = 0; d < outer_; ++d) count_ *= size(d);
  }
  int64_t count() const { return count_; }
  int64_t longest() const { return std::min(kTogether, width_); }

  struct Run {
    int64_t length;
    std::array<int64_t, kViews> offset, step;  // in each view
  };
  Run at(int64_t batch, int64_t index) const {
    const int64_t begin = index % per_line_ * kTogether;
    Run run{std::min(kTogether, width_ - begin), {}, {}};
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
  int outer_, last_ = 0;
  int64_t width_, per_line_, count_;
};

// The inputs of some positions, whose first coordinates are at `grid`, a step between them.
template <class T, int kSpatial, bool kSlopes>
void find_terms(const View& in, const T* grid, int64_t step, int64_t between, int64_t positions,
                GridOptions options, Terms<compute_t<T>>* terms) {
  using C = compute_t<T>;
  Axis<C> dims[kSpatial];
  for (int d = 0; d < kSpatial; ++d) {
    C coordinates[kTogether];
    const T* one = grid + (kSpatial - 1 - d) * between;
    for (int64_t p = 0; p < positions; ++p) coordinates[p] = C(one[p * step]);
    find_reads(static_cast<const C*>(coordinates), positions, in.sizes[2 + d], options, &dims[d]);
  }
  at_level<Combine<C, kSpatial, kSlopes>, const Axis<C>*>(dims, in.strides + 2, positions, terms);
}

template <class T, int kSpatial>
void forward(const View& in, const View& grid, const View& out, GridOptions options) {
  const Runs<2> runs({Spaced{&out, 2}, Spaced{&grid, 1}}, kSpatial);
  const int64_t work = runs.longest() * (out.sizes[1] + 8) * 4, all = out.sizes[0] * runs.count();
  parallel_for(0, all, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    Terms<compute_t<T>> terms;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / runs.count();
      const auto run = runs.at(n, i % runs.count());
      find_terms<T, kSpatial, false>(in, grid.as<T>() + run.offset[1], run.step[1],
                                     grid.strides[kSpatial + 1], run.length, options, &terms);
      for (int64_t c = 0; c < out.sizes[1]; ++c)
        sample<T>(in.as<T>() + n * in.strides[0] + c * in.strides[1], terms, run.length,
                  out.as<T>() + run.offset[0] + c * out.strides[1], run.step[0]);
    }
  });
}

// Elements [begin, end) of batch entry n in row-major order, counted from `begin`, and where they are, row by row.
template <class T, class F>
void walk(const View& view, int64_t n, int64_t begin, int64_t end, F&& f) {
  const int last = view.ndim - 1;
  const int64_t width = view.sizes[last], step = view.strides[last];
  for (int64_t first = begin; first < end; first += width) {
    int64_t rest = first / width, offset = n * view.strides[0];
    for (int d = last - 1; d >= 1; --d) {
      offset += rest % view.sizes[d] * view.strides[d];
      rest /= view.sizes[d];
    }
    T* row = view.as<T>() + offset;
    for (int64_t i = 0; i < width; ++i) f(size_t(first - begin + i), row[i * step]);
  }
}

// The gradient of one batch entry's input is summed up in a dense block in the compute type.
template <class T, int kSpatial>
void backward(const View& grad, const View& in, const View& grid, const View& grad_in, const View& grad_grid,
              GridOptions options) {
  using C = compute_t<T>;
  constexpr int spatial = kSpatial;
  std::array<int64_t, 4> dense{};
  int64_t plane = 1;
  for (int d = spatial - 1; d >= 0; --d) {
    dense[size_t(d)] = plane;
    plane *= in.sizes[2 + d];
  }
  View block{nullptr, in.sizes, nullptr, in.ndim, in.dtype};  // `in` with dense offsets
  int64_t strides[5] = {0, plane};
  std::copy_n(dense.begin(), spatial, strides + 2);
  block.strides = strides;
  const int64_t channels = in.sizes[1], count_of_entry = plane * channels;
  if (count_of_entry == 0) return;
  const Runs<3> runs({Spaced{&grad, 2}, Spaced{&grid, 1}, Spaced{&grad_grid, 1}}, kSpatial);
  // An entry that is such a block already is used where it is.
  const auto is_block = [&](const View& view) {
    return std::is_same_v<T, C> && std::equal(strides + 1, strides + in.ndim, view.strides + 1);
  };
  const bool here = is_block(in), there = is_block(grad_in);
  const bool moves = options.mode != GridMode::nearest;  // else the nearest stays the nearest: no slope
  // Threads take batch entries; where there are fewer of those, several take channels of one, and what each finds of the
  // slopes is added up afterwards.
  const int64_t batch = in.sizes[0], threads = in_parallel_region() ? 1 : get_num_threads();
  const int64_t pieces = std::clamp<int64_t>(threads / std::max<int64_t>(batch, 1), 1, (channels + 3) / 4);
  const int64_t slopes_of_run = kSpatial * kTogether, slopes_of_piece = runs.count() * slopes_of_run;
  std::vector<C> partial(size_t(pieces > 1 ? batch * pieces * slopes_of_piece : 0));
  const auto put = [&](int64_t n, int64_t i, const C(*slopes)[kTogether]) {
    const auto run = runs.at(n, i);
    T* to = grad_grid.as<T>() + run.offset[2];
    for (int d = 0; d < kSpatial; ++d)
      for (int64_t p = 0; p < run.length; ++p)
        to[(kSpatial - 1 - d) * grad_grid.strides[kSpatial + 1] + p * run.step[2]] = cast<T>(slopes[d][p]);
  };
  parallel_for(0, batch * pieces, 1, [&](int64_t begin, int64_t end) {
    const int64_t most = (channels + pieces - 1) / pieces * plane;
    std::vector<C> copied(size_t(moves && !here ? most : 0));
    std::vector<C> added(size_t(there ? 0 : most));
    Terms<C> terms;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t n = task / pieces, piece = task % pieces;
      const int64_t first = piece * channels / pieces, last = (piece + 1) * channels / pieces;
      const C* values = copied.data();
      if (here) values = in.as<const C>() + n * in.strides[0] + first * plane;
      else if (moves)
        walk<T>(in, n, first * plane, last * plane, [&](size_t i, T& value) { copied[i] = C(value); });
      C* sums = there ? grad_in.as<C>() + n * grad_in.strides[0] + first * plane : added.data();
      std::fill_n(sums, (last - first) * plane, C(0));
      for (int64_t i = 0; i < runs.count(); ++i) {
        const auto run = runs.at(n, i);
        find_terms<T, kSpatial, true>(block, grid.as<T>() + run.offset[1], run.step[1],
                                      grid.strides[kSpatial + 1], run.length, options, &terms);
        C slopes[3][kTogether] = {}, g[kTogether];
        const T* from = grad.as<T>() + run.offset[0] + first * grad.strides[1];
        for (int64_t c = 0; c < last - first; ++c) {
          for (int64_t p = 0; p < run.length; ++p) g[p] = C(from[c * grad.strides[1] + p * run.step[0]]);
          C* sum = sums + c * plane;
          for (int t = 0; t < terms.count; ++t)
            for (int64_t p = 0; p < run.length; ++p)
              if (terms.offset[t][p] >= 0) sum[terms.offset[t][p]] += g[p] * terms.weight[t][p];
          if (moves)
            at_level<AddSlopes<C, kSpatial>, const C*, const C*, const Terms<C>*>(
                values + c * plane, g, &terms, run.length, &slopes);
        }
        if (pieces == 1) put(n, i, slopes);
        else
          std::copy_n(slopes[0], slopes_of_run, partial.data() + task * slopes_of_piece + i * slopes_of_run);
      }
      if (!there)
        walk<T>(grad_in, n, first * plane, last * plane,
                [&](size_t i, T& value) { value = cast<T>(sums[i]); });
    }
  });
  if (pieces == 1) return;
  parallel_for(0, batch * runs.count(), 16, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t n = at / runs.count(), i = at % runs.count();
      C slopes[3][kTogether] = {};
      for (int64_t piece = 0; piece < pieces; ++piece) {
        const C* part = partial.data() + (n * pieces + piece) * slopes_of_piece + i * slopes_of_run;
        for (int d = 0; d < kSpatial; ++d)
          for (int64_t p = 0; p < kTogether; ++p) slopes[d][p] += part[d * kTogether + p];
      }
      put(n, i, slopes);
    }
  });
}

}  // namespace

void grid_sample(const View& in, const View& grid, const View& out, GridOptions options) {
  dispatch<domains::floating>(in.dtype, "grid_sampler", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (in.ndim == 4) forward<T, 2>(in, grid, out, options);
    else forward<T, 3>(in, grid, out, options);
  });
}

void grid_sample_backward(const View& grad, const View& in, const View& grid, const View& grad_in,
                          const View& grad_grid, GridOptions options) {
  dispatch<domains::floating>(in.dtype, "grid_sampler_backward", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (in.ndim == 4) backward<T, 2>(grad, in, grid, grad_in, grad_grid, options);
    else backward<T, 3>(grad, in, grid, grad_in, grad_grid, options);
  });
}

void affine_grid(const View& theta, const View& grid, bool align_corners) {
  const int64_t batch = theta.sizes[0], dims = theta.sizes[1];
  const DenseInput<double> maps(theta);
  const DenseOutput<double> to(grid);
  const int64_t positions = batch ? to.numel() / batch / dims : 0;
  // From -1 to 1, at the pixels' centres or including the corners.
  const auto coordinate = [&](int64_t i, int64_t size) {
    if (size <= 1) return 0.0;
    const double even = -1 + 2 * double(i) / double(size - 1);
    return align_corners ? even : even * double(size - 1) / double(size);
  };
  for (int64_t n = 0; n < batch; ++n) {
    const double* map = maps.data() + n * dims * (dims + 1);
    for (int64_t p = 0; p < positions; ++p) {
      double at[3];
      int64_t rest = p;
      for (int64_t d = 0; d < dims; ++d) {
        const int64_t size = grid.sizes[dims - d];
        at[d] = coordinate(rest % size, size);
        rest /= size;
      }
      for (int64_t row = 0; row < dims; ++row) {
        double sum = map[row * (dims + 1) + dims];
        for (int64_t d = 0; d < dims; ++d) sum += map[row * (dims + 1) + d] * at[d];
        to[(n * positions + p) * dims + row] = sum;
      }
    }
  }
  to.store();
}

}  // namespace mt::kernels

#include <algorithm>
#include <vector>

#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/resample/grid_panels.h"
#include "kernels/resample/grid_sample.h"

namespace mt::kernels {
namespace {

// What one channel adds to the derivatives by the coordinates.
template <class C, int kSpatial>
struct AddSlopes {
  using Slopes = C[3][kTogether];
  [[gnu::always_inline]] static inline void run(const C* values, const C* grad, const PlaneTerms<C>* terms,
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

// The tensors of a backward pass, and the runs of positions they have in common.
template <class T, int kSpatial>
struct Backward {
  using C = compute_t<T>;
  using Slopes = C[3][kTogether];
  const View &grad, &in, &grid, &grad_in, &grad_grid;
  GridOptions options;
  Runs<3> runs{{Spaced{&grad, 2}, Spaced{&grid, 1}, Spaced{&grad_grid, 1}}, kSpatial};
  bool moves = options.mode != GridMode::nearest;  // else the nearest stays the nearest: no slope

  void put(int64_t n, int64_t i, const Slopes& slopes) const {
    const auto run = runs.at(n, i);
    T* to = grad_grid.as<T>() + run.offset[2];
    for (int d = 0; d < kSpatial; ++d)
      for (int64_t p = 0; p < run.length; ++p)
        to[(kSpatial - 1 - d) * grad_grid.strides[kSpatial + 1] + p * run.step[2]] = cast<T>(slopes[d][p]);
  }

  // Channels [first, last) of entry n. Calls put(run's number, slopes) for each run.
  template <int kLanes, class Put>
  void in_panels(int64_t n, int64_t first, int64_t last, const Put& put) const {
    const Panels<T, kSpatial, kLanes> panels(in);
    const Runs<1> places({Spaced{&in, 2}}, kSpatial), places_of_grad({Spaced{&grad_in, 2}}, kSpatial);
    const int64_t size = panels.size(last - first);
    C* const sums = panels_memory->room<C>(size * (moves ? 2 : 1));
    C* const values = sums + size;
    std::fill_n(sums, size, C(0));
    for (int64_t i = 0; i < places.count() && moves; ++i)
      panels.fill(in, places.at(n, i), first, last, values);
    PanelTerms<C> terms;
    alignas(64) C g[kTogether * kLanes];
    for (int64_t i = 0; i < runs.count(); ++i) {
      const auto run = runs.at(n, i);
      panels.template find<true>(grid.as<const T>() + run.offset[1], run.step[1], grid.strides[kSpatial + 1],
                                 run.length, options, &terms);
      C slopes[3][kTogether] = {};
      int64_t at = 0;
      for (int64_t c = first; c < last; c += kLanes, at += panels.panel()) {
        panels.load(grad.as<const T>() + run.offset[0] + c * grad.strides[1], run.step[0], grad.strides[1],
                    run.length, last - c, g);
        at_level<AddToPanel<C, kLanes>, const C*, const PanelTerms<C>*>(g, &terms, run.length, sums + at);
        if (moves)
          at_level<AddPanelSlopes<C, kLanes, kSpatial>, const C*, const C*, const PanelTerms<C>*>(
              values + at, g, &terms, run.length, &slopes);
      }
      put(i, slopes);
    }
    for (int64_t i = 0; i < places_of_grad.count(); ++i)
      panels.take(sums, places_of_grad.at(n, i), first, last, grad_in);
  }

  // The same by planes. The gradient of the input is summed up in a dense block in the compute type.
  template <class Put>
  void in_planes(int64_t n, int64_t first, int64_t last, const Put& put) const {
    int64_t strides[2 + kSpatial] = {}, plane = 1;
    for (int d = 1 + kSpatial; d >= 1; --d) {
      strides[d] = plane;
      if (d > 1) plane *= in.sizes[d];
    }
    const View block{nullptr, in.sizes, strides, in.ndim, in.dtype};  // `in` with dense offsets
    // An entry that is such a block already is used where it is.
    const auto is_block = [&](const View& view) {
      return std::is_same_v<T, C> && std::equal(strides + 1, strides + in.ndim, view.strides + 1);
    };
    const bool here = is_block(in), there = is_block(grad_in);
    const int64_t size = (last - first) * plane;
    std::vector<C> copied(size_t(moves && !here ? size : 0)), added(size_t(there ? 0 : size));
    const C* values = copied.data();
    if (here) values = in.as<const C>() + n * in.strides[0] + first * plane;
    else if (moves)
      walk<T>(in, n, first * plane, last * plane, [&](size_t i, T& value) { copied[i] = C(value); });
    C* sums = there ? grad_in.as<C>() + n * grad_in.strides[0] + first * plane : added.data();
    std::fill_n(sums, size, C(0));
    PlaneTerms<C> terms;
    for (int64_t i = 0; i < runs.count(); ++i) {
      const auto run = runs.at(n, i);
      find_terms<kSpatial, true>(block, int64_t(-1), grid.as<const T>() + run.offset[1], run.step[1],
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
          at_level<AddSlopes<C, kSpatial>, const C*, const C*, const PlaneTerms<C>*>(
              values + c * plane, g, &terms, run.length, &slopes);
      }
      put(i, slopes);
    }
    if (!there)
      walk<T>(grad_in, n, first * plane, last * plane, [&](size_t i, T& value) { value = cast<T>(sums[i]); });
  }

  // Threads take batch entries; where there are fewer of those, several take channels of one, and what each finds of the
  // slopes is added up afterwards.
  void run() const {
    if (in.numel() == 0) return;
    const int64_t batch = in.sizes[0], channels = in.sizes[1];
    const int64_t threads = in_parallel_region() ? 1 : get_num_threads();
    const int64_t pieces = std::clamp<int64_t>(threads / batch, 1, (channels + 3) / 4);
    const int64_t slopes_of_run = kSpatial * kTogether, slopes_of_piece = runs.count() * slopes_of_run;
    std::vector<C> partial(size_t(pieces > 1 ? batch * pieces * slopes_of_piece : 0));
    parallel_for(0, batch * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t n = task / pieces, piece = task % pieces;
        const int64_t first = piece * channels / pieces, last = (piece + 1) * channels / pieces;
        const auto put_piece = [&](int64_t i, const Slopes& slopes) {
          if (pieces == 1) put(n, i, slopes);
          else
            std::copy_n(slopes[0], slopes_of_run,
                        partial.data() + task * slopes_of_piece + i * slopes_of_run);
        };
        if (!with_panels<T>(in, runs.positions(), last - first, options.mode, 1,
                            [&]<int kLanes>() { in_panels<kLanes>(n, first, last, put_piece); }))
          in_planes(n, first, last, put_piece);
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
};

}  // namespace

void grid_sample_backward(const View& grad, const View& in, const View& grid, const View& grad_in,
                          const View& grad_grid, GridOptions options) {
  dispatch<domains::floating>(in.dtype, "grid_sampler_backward", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (in.ndim == 4) Backward<T, 2>{grad, in, grid, grad_in, grad_grid, options}.run();
    else Backward<T, 3>{grad, in, grid, grad_in, grad_grid, options}.run();
  });
}

}  // namespace mt::kernels

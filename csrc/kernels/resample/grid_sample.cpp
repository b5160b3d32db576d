#include "kernels/resample/grid_sample.h"

#include <algorithm>

#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/resample/grid_panels.h"

namespace mt::kernels {
namespace {

// One channel of the outputs.
template <class T, int kCount, bool kInside>
struct Sample {
  using C = compute_t<T>;
  [[gnu::always_inline]] static inline void run(const T* source, const PlaneTerms<C>* terms,
                                                int64_t positions, T* out, int64_t step) {
    for (int64_t p = 0; p < positions; ++p) {
      C sum = 0;
      for (int t = 0; t < kCount; ++t)
        sum += terms->weight[t][p] * value_at<kInside>(source, terms->offset[t][p]);
      out[p * step] = cast<T>(sum);
    }
  }
};
template <class T>
void sample(const T* source, const PlaneTerms<compute_t<T>>& terms, int64_t positions, T* out, int64_t step) {
  const auto with_count = [&]<int kCount>() {
    if (terms.inside) at_level<Sample<T, kCount, true>>(source, &terms, positions, out, step);
    else at_level<Sample<T, kCount, false>>(source, &terms, positions, out, step);
  };
  if (terms.count == 1) with_count.template operator()<1>();
  else if (terms.count == 4) with_count.template operator()<4>();
  else if (terms.count == 8) with_count.template operator()<8>();
  else with_count.template operator()<16>();
}

template <class T, int kSpatial, int kLanes>
void forward_in_panels(const View& in, const View& grid, const View& out, GridOptions options) {
  using C = compute_t<T>;
  const Panels<T, kSpatial, kLanes> panels(in);
  const Runs<1> places({Spaced{&in, 2}}, kSpatial);
  const Runs<2> runs({Spaced{&out, 2}, Spaced{&grid, 1}}, kSpatial);
  const int64_t batch = in.sizes[0], channels = in.sizes[1], entry = panels.size(channels);
  const auto grain = [&](int64_t length) {
    return std::max<int64_t>(1, kGrain / (length * (channels + 8) * 2));
  };
  // As many entries at once as there is memory for: laid out by all threads, then read by all.
  const int64_t most = std::clamp<int64_t>(kMostPanelBytes / (entry * int64_t(sizeof(C))), 1, batch);
  C* const memory = panels_memory->room<C>(most * entry);
  for (int64_t begin_entry = 0; begin_entry < batch; begin_entry += most) {
    const int64_t entries = std::min(most, batch - begin_entry);
    parallel_for(0, entries * places.count(), grain(places.longest()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / places.count();
        panels.fill(in, places.at(begin_entry + n, i % places.count()), 0, channels, memory + n * entry);
      }
    });
    parallel_for(0, entries * runs.count(), grain(runs.longest()), [&](int64_t begin, int64_t end) {
      PanelTerms<C> terms;
      alignas(64) C sums[kTogether * kLanes];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / runs.count();
        const auto run = runs.at(begin_entry + n, i % runs.count());
        panels.template find<false>(grid.as<const T>() + run.offset[1], run.step[1],
                                    grid.strides[kSpatial + 1], run.length, options, &terms);
        const C* panel = memory + n * entry;
        for (int64_t c = 0; c < channels; c += kLanes, panel += panels.panel()) {
          panels.sample(panel, terms, run.length, sums);
          panels.store(sums, run.length, channels - c, out.as<T>() + run.offset[0] + c * out.strides[1],
                       run.step[0], out.strides[1]);
        }
      }
    });
  }
}

template <class T, int kSpatial>
void forward(const View& in, const View& grid, const View& out, GridOptions options) {
  using C = compute_t<T>;
  const Runs<2> runs({Spaced{&out, 2}, Spaced{&grid, 1}}, kSpatial);
  const int64_t work = runs.longest() * (out.sizes[1] + 8) * 4, all = out.sizes[0] * runs.count();
  if (all == 0) return;
  if (with_panels<T>(in, runs.positions(), in.sizes[1], options.mode, 2,
                     [&]<int kLanes>() { forward_in_panels<T, kSpatial, kLanes>(in, grid, out, options); }))
    return;
  parallel_for(0, all, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    PlaneTerms<C> terms;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / runs.count();
      const auto run = runs.at(n, i % runs.count());
      find_terms<kSpatial, false>(in, int64_t(-1), grid.as<const T>() + run.offset[1], run.step[1],
                                  grid.strides[kSpatial + 1], run.length, options, &terms);
      for (int64_t c = 0; c < out.sizes[1]; ++c)
        sample<T>(in.as<T>() + n * in.strides[0] + c * in.strides[1], terms, run.length,
                  out.as<T>() + run.offset[0] + c * out.strides[1], run.step[0]);
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

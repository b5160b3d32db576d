#include "kernels/resample/grid_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/resample/grid_reads.h"

namespace mt::kernels {
namespace {

template <class C>
struct Term {
  int64_t offset;
  C weight;
  std::array<C, 3> slope;
};

// All inputs that one output reads: the products of the reads of each dimension. Slopes are for backward only.
template <int kSpatial, bool kSlopes, class C>
[[gnu::always_inline]] inline int collect(const std::array<Reads<C>, 3>& dims, const int64_t* strides,
                                          Term<C>* terms) {
  int count = 0;
  const auto take = [&](const std::array<int, 3>& k) {
    Term<C> term{0, 1, {1, 1, 1}};
    bool outside = false;
    for (int d = 0; d < kSpatial; ++d) {
      const Reads<C>& r = dims[size_t(d)];
      const size_t at = size_t(k[size_t(d)]);
      outside |= r.index[at] < 0;
      term.offset += r.index[at] * strides[d];
      term.weight *= r.weight[at];
      if constexpr (kSlopes) {
        for (int s = 0; s < kSpatial; ++s) term.slope[size_t(s)] *= s == d ? r.slope[at] : r.weight[at];
      }
    }
    if (!outside) terms[count++] = term;
  };
  for (int a = 0; a < dims[0].count; ++a) {
    for (int b = 0; b < dims[1].count; ++b) {
      if constexpr (kSpatial == 2) {
        take({a, b, 0});
      } else {
        for (int c = 0; c < dims[2].count; ++c) take({a, b, c});
      }
    }
  }
  return count;
}

// Walks the positions of one batch entry: f(grid offset, output offset, terms, their number).
template <class T, int kSpatial, bool kSlopes, class F>
void for_each_position(const View& in, const View& grid, const View& out, int64_t batch, GridOptions options,
                       F&& f) {
  using C = compute_t<T>;
  constexpr int spatial = kSpatial;
  std::array<int64_t, 3> at{};
  Term<C> terms[64];
  int64_t positions = 1;
  for (int d = 0; d < spatial; ++d) positions *= out.sizes[2 + d];
  for (int64_t p = 0; p < positions; ++p) {
    int64_t grid_offset = batch * grid.strides[0], out_offset = batch * out.strides[0];
    for (int d = 0; d < spatial; ++d) {
      grid_offset += at[size_t(d)] * grid.strides[1 + d];
      out_offset += at[size_t(d)] * out.strides[2 + d];
    }
    std::array<Reads<C>, 3> dims;
    for (int d = 0; d < spatial; ++d) {
      const T coordinate = grid.as<T>()[grid_offset + (spatial - 1 - d) * grid.strides[grid.ndim - 1]];
      dims[size_t(d)] = reads(C(coordinate), in.sizes[2 + d], options);
    }
    f(at, out_offset, terms, collect<kSpatial, kSlopes>(dims, in.strides + 2, terms));
    for (int d = spatial - 1; d >= 0 && ++at[size_t(d)] == out.sizes[2 + d]; --d) at[size_t(d)] = 0;
  }
}

template <class T, int kSpatial>
void forward(const View& in, const View& grid, const View& out, GridOptions options) {
  using C = compute_t<T>;
  parallel_for(0, out.sizes[0], 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      for_each_position<T, kSpatial, false>(
          in, grid, out, n, options, [&](auto&, int64_t to, const Term<C>* terms, int count) {
            for (int64_t c = 0; c < out.sizes[1]; ++c) {
              const T* source = in.as<T>() + n * in.strides[0] + c * in.strides[1];
              C sum = 0;
              for (int i = 0; i < count; ++i) sum += terms[i].weight * C(source[terms[i].offset]);
              out.as<T>()[to + c * out.strides[1]] = cast<T>(sum);
            }
          });
    }
  });
}

// Element i of batch entry n in row-major order and where it is, row by row.
template <class T, class F>
void walk(const View& view, int64_t n, int64_t count, F&& f) {
  const int last = view.ndim - 1;
  const int64_t width = view.sizes[last], step = view.strides[last];
  for (int64_t first = 0; first < count; first += width) {
    int64_t rest = first / width, offset = n * view.strides[0];
    for (int d = last - 1; d >= 1; --d) {
      offset += rest % view.sizes[d] * view.strides[d];
      rest /= view.sizes[d];
    }
    T* row = view.as<T>() + offset;
    for (int64_t i = 0; i < width; ++i) f(size_t(first + i), row[i * step]);
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
  const bool moves = options.mode != GridMode::nearest;  // else the nearest stays the nearest: no slope
  parallel_for(0, in.sizes[0], 1, [&](int64_t begin, int64_t end) {
    std::vector<C> values(size_t(moves ? count_of_entry : 0)), sums(static_cast<size_t>(count_of_entry));
    for (int64_t n = begin; n < end; ++n) {
      if (moves) walk<T>(in, n, count_of_entry, [&](size_t i, T& value) { values[i] = C(value); });
      std::fill(sums.begin(), sums.end(), C(0));
      for_each_position<T, kSpatial, true>(
          block, grid, grad, n, options, [&](const auto& at, int64_t from, const Term<C>* terms, int count) {
            std::array<C, 3> slopes{};
            for (int64_t c = 0; c < channels; ++c) {
              const C g = C(grad.as<T>()[from + c * grad.strides[1]]);
              C* sum = sums.data() + c * plane;
              for (int i = 0; i < count; ++i) sum[terms[i].offset] += g * terms[i].weight;
              if (!moves) continue;
              const C* value = values.data() + c * plane;
              for (int i = 0; i < count; ++i) {
                const C product = g * value[terms[i].offset];
                for (int d = 0; d < spatial; ++d) slopes[size_t(d)] += product * terms[i].slope[size_t(d)];
              }
            }
            int64_t to = n * grad_grid.strides[0];
            for (int d = 0; d < spatial; ++d) to += at[size_t(d)] * grad_grid.strides[1 + d];
            for (int d = 0; d < spatial; ++d)
              grad_grid.as<T>()[to + (spatial - 1 - d) * grad_grid.strides[spatial + 1]] =
                  cast<T>(slopes[size_t(d)]);
          });
      walk<T>(grad_in, n, count_of_entry, [&](size_t i, T& value) { value = cast<T>(sums[i]); });
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

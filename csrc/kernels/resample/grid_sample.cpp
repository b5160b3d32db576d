#include "kernels/resample/grid_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

// A position and how fast it moves with the grid's coordinate.
template <class C>
struct Position {
  C at, speed;
};

template <class C>
Position<C> unnormalized(C coordinate, int64_t size, bool align_corners) {
  if (align_corners) return {(coordinate + 1) / 2 * C(size - 1), C(size - 1) / 2};
  return {((coordinate + 1) * C(size) - 1) / 2, C(size) / 2};
}

template <class C>
Position<C> clipped(Position<C> p, int64_t size) {
  if (!(p.at > 0)) return {0, 0};  // NaN too
  return p.at >= C(size - 1) ? Position<C>{C(size - 1), 0} : p;
}

template <class C>
Position<C> reflected(Position<C> p, int64_t size, bool align_corners) {
  const C low = align_corners ? C(0) : C(-0.5), span = align_corners ? C(size - 1) : C(size);
  if (span == 0) return {0, 0};
  C distance = p.at - low, speed = p.speed;
  if (distance < 0) distance = -distance, speed = -speed;
  const C extra = std::fmod(distance, span);
  const bool turned = std::fmod(std::floor(distance / span), C(2)) != 0;
  return turned ? Position<C>{span - extra + low, -speed} : Position<C>{extra + low, speed};
}

template <class C>
Position<C> padded(Position<C> p, int64_t size, GridOptions options) {
  if (options.padding == GridPadding::zeros) return p;
  if (options.padding == GridPadding::reflection) p = reflected(p, size, options.align_corners);
  return clipped(p, size);
}

// What is too far away to be an index is outside in any case.
template <class C>
int64_t to_index(C at) {
  const bool sane =
      at > C(std::numeric_limits<int32_t>::min()) && at < C(std::numeric_limits<int32_t>::max());
  return sane ? int64_t(at) : -100;
}

// The inputs that one output reads along one dimension; index -1 is outside, where the value is 0.
template <class C>
struct Reads {
  int count;
  std::array<int64_t, 4> index;
  std::array<C, 4> weight, slope;  // the weight's derivative by the grid's coordinate
};

// Keys' cubic kernel with a = -0.75, and its derivative.
template <class C>
C cubic(C x) {
  const C a = C(-0.75);
  x = std::fabs(x);
  return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}
template <class C>
C cubic_slope(C x) {
  const C a = C(-0.75), sign = x < 0 ? C(-1) : C(1);
  x = std::fabs(x);
  return sign * (x <= 1 ? (3 * (a + 2) * x - 2 * (a + 3)) * x : (3 * a * x - 10 * a) * x + 8 * a);
}

template <class C>
Reads<C> reads(C coordinate, int64_t size, GridOptions options) {
  const auto inside = [size](int64_t i) { return i >= 0 && i < size ? i : -1; };
  const Position<C> raw = unnormalized(coordinate, size, options.align_corners);
  if (options.mode == GridMode::cubic) {
    const C floor = std::floor(raw.at), part = raw.at - floor;
    Reads<C> r{4, {}, {}, {}};
    for (int k = 0; k < 4; ++k) {
      const C neighbour = padded(Position<C>{floor + C(k - 1), 1}, size, options).at;
      r.index[size_t(k)] = inside(to_index(neighbour));
      r.weight[size_t(k)] = cubic(part - C(k - 1));
      r.slope[size_t(k)] = cubic_slope(part - C(k - 1)) * raw.speed;
    }
    return r;
  }
  const Position<C> p = padded(raw, size, options);
  if (options.mode == GridMode::nearest) return {1, {inside(to_index(std::nearbyint(p.at)))}, {1}, {0}};
  const C floor = std::floor(p.at), part = p.at - floor;
  const int64_t low = to_index(floor);
  return {2, {inside(low), inside(low + 1)}, {1 - part, part}, {-p.speed, p.speed}};
}

template <class C>
struct Term {
  int64_t offset;
  C weight;
  std::array<C, 3> slope;
};

// All inputs that one output reads: the products of the reads of each dimension.
template <class C>
int collect(const std::array<Reads<C>, 3>& dims, const int64_t* strides, int spatial, Term<C>* terms) {
  int count = 0;
  const int last = spatial - 1;
  for (int a = 0; a < (spatial == 3 ? dims[0].count : 1); ++a) {
    for (int b = 0; b < dims[size_t(last - 1)].count; ++b) {
      for (int c = 0; c < dims[size_t(last)].count; ++c) {
        const std::array<int, 3> k = spatial == 3 ? std::array{a, b, c} : std::array{b, c, 0};
        Term<C> term{0, 1, {1, 1, 1}};
        bool outside = false;
        for (int d = 0; d < spatial; ++d) {
          const size_t at = size_t(k[size_t(d)]);
          outside |= dims[size_t(d)].index[at] < 0;
          term.offset += dims[size_t(d)].index[at] * strides[d];
          term.weight *= dims[size_t(d)].weight[at];
          for (int s = 0; s < spatial; ++s)
            term.slope[size_t(s)] *= s == d ? dims[size_t(d)].slope[at] : dims[size_t(d)].weight[at];
        }
        if (!outside) terms[count++] = term;
      }
    }
  }
  return count;
}

// Walks the positions of one batch entry: f(grid offset, output offset, terms, their number).
template <class T, class F>
void for_each_position(const View& in, const View& grid, const View& out, int64_t batch, GridOptions options,
                       F&& f) {
  using C = compute_t<T>;
  const int spatial = in.ndim - 2;
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
    f(at, out_offset, terms, collect(dims, in.strides + 2, spatial, terms));
    for (int d = spatial - 1; d >= 0 && ++at[size_t(d)] == out.sizes[2 + d]; --d) at[size_t(d)] = 0;
  }
}

template <class T>
void forward(const View& in, const View& grid, const View& out, GridOptions options) {
  using C = compute_t<T>;
  parallel_for(0, out.sizes[0], 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      for_each_position<T>(in, grid, out, n, options,
                           [&](auto&, int64_t to, const Term<C>* terms, int count) {
                             for (int64_t c = 0; c < out.sizes[1]; ++c) {
                               const T* source = in.as<T>() + n * in.strides[0] + c * in.strides[1];
                               C sum = 0;
                               for (int i = 0; i < count; ++i)
                                 sum += terms[i].weight * C(source[terms[i].offset]);
                               out.as<T>()[to + c * out.strides[1]] = cast<T>(sum);
                             }
                           });
    }
  });
}

// The gradient of one batch entry's input is summed up in a dense block in the compute type.
template <class T>
void backward(const View& grad, const View& in, const View& grid, const View& grad_in, const View& grad_grid,
              GridOptions options) {
  using C = compute_t<T>;
  const int spatial = in.ndim - 2;
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
  parallel_for(0, in.sizes[0], 1, [&](int64_t begin, int64_t end) {
    std::vector<C> values(size_t(plane * in.sizes[1])), sums(values.size());
    const auto walk = [&](const View& view, int64_t n, auto&& f) {
      for (int64_t i = 0; i < int64_t(values.size()); ++i) {
        int64_t rest = i, offset = n * view.strides[0];
        for (int d = view.ndim - 1; d >= 1; --d) {
          offset += rest % view.sizes[d] * view.strides[d];
          rest /= view.sizes[d];
        }
        f(size_t(i), view.as<T>()[offset]);
      }
    };
    for (int64_t n = begin; n < end; ++n) {
      walk(in, n, [&](size_t i, T& value) { values[i] = C(value); });
      std::fill(sums.begin(), sums.end(), C(0));
      for_each_position<T>(block, grid, grad, n, options,
                           [&](const auto& at, int64_t from, const Term<C>* terms, int count) {
                             std::array<C, 3> slopes{};
                             for (int64_t c = 0; c < in.sizes[1]; ++c) {
                               const C g = C(grad.as<T>()[from + c * grad.strides[1]]);
                               for (int i = 0; i < count; ++i) {
                                 const size_t place = size_t(c * plane + terms[i].offset);
                                 sums[place] += g * terms[i].weight;
                                 for (int d = 0; d < spatial; ++d)
                                   slopes[size_t(d)] += g * values[place] * terms[i].slope[size_t(d)];
                               }
                             }
                             int64_t to = n * grad_grid.strides[0];
                             for (int d = 0; d < spatial; ++d) to += at[size_t(d)] * grad_grid.strides[1 + d];
                             for (int d = 0; d < spatial; ++d)
                               grad_grid.as<T>()[to + (spatial - 1 - d) * grad_grid.strides[spatial + 1]] =
                                   cast<T>(slopes[size_t(d)]);
                           });
      walk(grad_in, n, [&](size_t i, T& value) { value = cast<T>(sums[i]); });
    }
  });
}

}  // namespace

void grid_sample(const View& in, const View& grid, const View& out, GridOptions options) {
  dispatch<domains::floating>(in.dtype, "grid_sampler", [&](auto tag) {
    forward<typename decltype(tag)::type>(in, grid, out, options);
  });
}

void grid_sample_backward(const View& grad, const View& in, const View& grid, const View& grad_in,
                          const View& grad_grid, GridOptions options) {
  dispatch<domains::floating>(in.dtype, "grid_sampler_backward", [&](auto tag) {
    backward<typename decltype(tag)::type>(grad, in, grid, grad_in, grad_grid, options);
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

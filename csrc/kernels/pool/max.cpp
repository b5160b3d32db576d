#include "kernels/pool/max.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/common/arithmetic.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/planes.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

template <class T>
T lowest() {
  if constexpr (is_half_v<T>) return T(-std::numeric_limits<float>::infinity());
  else if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  else return std::numeric_limits<T>::lowest();
}

int64_t planes_per_range(int64_t work) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)); }

// The largest elements of a row of windows, taken together: tap after tap, each over all windows that have it. Windows of
// one length whose starts are evenly spaced, which those not at an edge are, need no tables for that, and the loops over
// them become vectors.
template <class T>
struct RowOfWindows {
  using C = compute_t<T>;
  // Places count from the front of a plane; 32 bits are as wide as most elements.
  using Place = std::conditional_t<sizeof(C) == 8, int64_t, int32_t>;
  static constexpr int64_t kTogether = 256;  // windows at a time

  const T* in;  // the first tap of the first window
  int64_t spacing, count;
  std::array<int64_t, 3> taps, steps, place_steps;  // from tap to tap
  int64_t first_place, place_spacing;
  T* out;
  int64_t* indices;
  int64_t out_step, index_step;

  // Every kSpacing-th element of a row (every spacing-th, for 0), one after the other.
  template <int64_t kSpacing>
  [[gnu::always_inline]] inline void bring(const T* row, C* line) const {
    const int64_t step = kSpacing > 0 ? kSpacing : spacing, windows = count;
#pragma GCC ivdep
    for (int64_t k = 0; k < windows; ++k) line[k] = C(row[k * step]);
  }
  // best[k] and place[k] take in row[k * spacing], whose place is at + k * place_spacing.
  [[gnu::always_inline]] inline void take(const T* row, Place at, const Place* offsets, C* best,
                                          Place* place) const {
    const int64_t windows = count;
    C brought[kTogether];
    const C* line = brought;
    if (spacing == 1 && std::is_same_v<T, C>) line = reinterpret_cast<const C*>(row);
    else if (spacing == 1) bring<1>(row, brought);
    else if (spacing == 2) bring<2>(row, brought);
    else if (spacing == 3) bring<3>(row, brought);
    else if (spacing == 4) bring<4>(row, brought);
    else bring<0>(row, brought);
#pragma GCC ivdep
    for (int64_t k = 0; k < windows; ++k) {
      const C value = line[k], before = best[k];
      const bool larger = (value > before) | math::is_nan(value);
      best[k] = larger ? value : before;
      // By bits: a compiler may make a branch of a choice between two numbers of which one is there already.
      const Place mask = Place(-Place(larger));
      place[k] = Place((Place(at + offsets[k]) & mask) | (place[k] & ~mask));
    }
  }
  [[gnu::always_inline]] static inline void run(const RowOfWindows* row) {
    C best[kTogether];
    Place place[kTogether], offsets[kTogether];
    const int64_t count = row->count;
    for (int64_t k = 0; k < count; ++k) best[k] = C(lowest<T>());
    for (int64_t k = 0; k < count; ++k) offsets[k] = Place(k * row->place_spacing);
    for (int64_t k = 0; k < count; ++k) place[k] = Place(row->first_place) + offsets[k];
    const std::array<int64_t, 3>&taps = row->taps, &steps = row->steps, &places = row->place_steps;
    for (int64_t x = 0; x < taps[0]; ++x)
      for (int64_t y = 0; y < taps[1]; ++y)
        for (int64_t z = 0; z < taps[2]; ++z)
          row->take(row->in + x * steps[0] + y * steps[1] + z * steps[2],
                    Place(row->first_place + x * places[0] + y * places[1] + z * places[2]), offsets, best,
                    place);
    T* out = row->out;
    int64_t* indices = row->indices;
    if (row->out_step == 1 && row->index_step == 1) {
      for (int64_t k = 0; k < count; ++k) out[k] = cast<T>(best[k]);
      for (int64_t k = 0; k < count; ++k) indices[k] = place[k];
    } else {
      for (int64_t k = 0; k < count; ++k) {
        out[k * row->out_step] = cast<T>(best[k]);
        indices[k * row->index_step] = place[k];
      }
    }
  }
};

// Windows first to last of a table have one length and evenly spaced starts.
struct Even {
  int64_t first, last, spacing, taps;
};
Even evenly_spaced(const int64_t* start, const int64_t* end, int64_t count, int64_t step) {
  Even found{0, 0, 1, 0};
  const int64_t middle = count / 2;  // away from both edges
  if (count == 0 || end[middle] <= start[middle]) return found;
  const int64_t length = end[middle] - start[middle];
  const int64_t spacing = middle + 1 < count ? start[middle + 1] - start[middle] : 1;
  const auto fits = [&](int64_t k) {
    return end[k] - start[k] == length && start[k] - start[middle] == (k - middle) * spacing;
  };
  found = {middle, middle + 1, spacing, (length + step - 1) / step};
  while (found.first > 0 && fits(found.first - 1)) --found.first;
  while (found.last < count && fits(found.last)) ++found.last;
  return found;
}

// Windows side by side, whose rows lie densely in memory: first the largest of each column, whole rows at a time, then the
// largest of each window's columns. For windows that are far apart, unevenly spaced, or of so many rows that these are most
// of the work.
template <class T>
struct ColumnsOfWindows {
  using Row = RowOfWindows<T>;
  static bool fit(const Planes& from, const std::array<int64_t, 3>& step, const Even& even, int64_t count,
                  int64_t rows) {
    const bool scattered = even.spacing > 4 || 2 * (even.last - even.first) < count;
    constexpr int64_t many = 9;
    return (rows >= many || (scattered && rows > 1)) && from.strides[2] == 1 && step[2] == 1;
  }
  // Windows from `begin` on, as many as fit; returns how many. `columns` has all but where it begins and its results.
  static int64_t run(Row columns, const int64_t* start, const int64_t* end, int64_t begin, int64_t count,
                     T* out, int64_t out_step, int64_t* indices, int64_t index_step) {
    T best[Row::kTogether];
    int64_t place[Row::kTogether];
    int64_t low = start[begin], high = end[begin], last = begin + 1;
    while (last < count && start[last] >= low && end[last] - low <= Row::kTogether)
      high = std::max(high, end[last++]);
    if (high - low > Row::kTogether || high <= low) return 0;
    columns.in += low, columns.first_place += low, columns.count = high - low;
    columns.out = best, columns.indices = place;
    at_level<Row, const Row*>(&columns);
    for (int64_t k = begin; k < last; ++k) {
      if (end[k] <= start[k]) return k - begin;
      int64_t chosen = start[k] - low;
      auto largest = C(best[chosen]);
      for (int64_t z = chosen + 1; z < end[k] - low; ++z) {
        const auto value = C(best[z]);
        // The first of equals counts, and the last NaN.
        const bool earlier = place[z] < place[chosen];
        const bool larger = (value > largest) | ((value == largest) & earlier) |
                            (math::is_nan(value) & !(math::is_nan(largest) & earlier));
        chosen = larger ? z : chosen;
        largest = larger ? value : largest;
      }
      out[k * out_step] = best[chosen];
      indices[k * index_step] = place[chosen];
    }
    return last - begin;
  }

 private:
  using C = typename Row::C;
};

template <class T>
void max_of_plane(const T* in, const Planes& from, T* out, const Planes& to, int64_t* indices,
                  const Planes& index_planes, const std::array<const int64_t*, 3>& start,
                  const std::array<const int64_t*, 3>& end, const std::array<int64_t, 3>& step, Even even) {
  using Row = RowOfWindows<T>;
  using Columns = ColumnsOfWindows<T>;
  using C = typename Row::C;
  const bool few_places = from.numel <= std::numeric_limits<typename Row::Place>::max();
  if (!few_places) even.last = even.first;
  for (int64_t i = 0; i < to.sizes[0]; ++i) {
    for (int64_t j = 0; j < to.sizes[1]; ++j) {
      T* target = out + i * to.strides[0] + j * to.strides[1];
      int64_t* index = indices + i * index_planes.strides[0] + j * index_planes.strides[1];
      const int64_t row_place = (start[0][i] * from.sizes[1] + start[1][j]) * from.sizes[2];
      const auto one = [&](int64_t k) {
        C largest = C(lowest<T>());
        int64_t found = row_place + start[2][k];
        for (int64_t x = start[0][i]; x < end[0][i]; x += step[0]) {
          for (int64_t y = start[1][j]; y < end[1][j]; y += step[1]) {
            const T* row = in + x * from.strides[0] + y * from.strides[1];
            for (int64_t z = start[2][k]; z < end[2][k]; z += step[2]) {
              const C value = C(row[z * from.strides[2]]);
              if (value > largest || math::is_nan(value)) {
                largest = value;
                found = (x * from.sizes[1] + y) * from.sizes[2] + z;
              }
            }
          }
        }
        target[k * to.strides[2]] = cast<T>(largest);
        index[k * index_planes.strides[2]] = found;
      };
      const auto taps = [&](size_t d, int64_t o) {
        return std::max<int64_t>(0, (end[d][o] - start[d][o] + step[d] - 1) / step[d]);
      };
      if (few_places && Columns::fit(from, step, even, to.sizes[2], taps(0, i) * taps(1, j))) {
        const Row columns{in + start[0][i] * from.strides[0] + start[1][j] * from.strides[1],
                          1,
                          0,
                          {taps(0, i), taps(1, j), 1},
                          {step[0] * from.strides[0], step[1] * from.strides[1], 1},
                          {step[0] * from.sizes[1] * from.sizes[2], step[1] * from.sizes[2], 1},
                          row_place,
                          1,
                          nullptr,
                          nullptr,
                          1,
                          1};
        for (int64_t k = 0; k < to.sizes[2];) {
          const int64_t done = Columns::run(columns, start[2], end[2], k, to.sizes[2], target, to.strides[2],
                                            index, index_planes.strides[2]);
          if (done == 0) one(k);
          k += std::max<int64_t>(1, done);
        }
        continue;
      }
      for (int64_t k = 0; k < even.first; ++k) one(k);
      for (int64_t begin = even.first; begin < even.last; begin += Row::kTogether) {
        const int64_t first = start[2][begin];
        const Row row{
            in + start[0][i] * from.strides[0] + start[1][j] * from.strides[1] + first * from.strides[2],
            even.spacing * from.strides[2],
            std::min(Row::kTogether, even.last - begin),
            {taps(0, i), taps(1, j), even.taps},
            {step[0] * from.strides[0], step[1] * from.strides[1], step[2] * from.strides[2]},
            {step[0] * from.sizes[1] * from.sizes[2], step[1] * from.sizes[2], step[2]},
            row_place + first,
            even.spacing,
            target + begin * to.strides[2],
            index + begin * index_planes.strides[2],
            to.strides[2],
            index_planes.strides[2]};
        at_level<Row, const Row*>(&row);
      }
      for (int64_t k = even.last; k < to.sizes[2]; ++k) one(k);
    }
  }
}

// Where a plane's elements are, in row-major order: one after the other, or as a table says.
struct DensePlaces {
  int64_t operator()(int64_t i) const { return i; }
};
struct ListedPlaces {
  std::vector<int64_t> offsets;
  explicit ListedPlaces(const Planes& planes) {
    offsets.reserve(size_t(planes.numel));
    for_each_in_plane(planes, [&](int64_t at) { offsets.push_back(at); });
  }
  int64_t operator()(int64_t i) const { return offsets[size_t(i)]; }
};

// Calls f with the places of the elements of each.
template <class F>
void with_places(const Planes& a, const Planes& b, const Planes& c, F&& f) {
  if (a.is_dense() && b.is_dense() && c.is_dense()) return f(DensePlaces{}, DensePlaces{}, DensePlaces{});
  f(ListedPlaces(a), ListedPlaces(b), ListedPlaces(c));
}

// All indices of a plane name one of its elements; looked at before they are used, without branches, in vectors.
template <class Places>
void check_all(const int64_t* index, const Places& place_at, int64_t count, const Planes& planes,
               int spatial) {
  uint64_t outside = 0;
  for (int64_t i = 0; i < count; ++i)
    outside |= uint64_t(uint64_t(index[place_at(i)]) >= uint64_t(planes.numel));
  if (!outside) [[likely]]
    return;
  int64_t i = 0;
  while (index[place_at(i)] >= 0 && index[place_at(i)] < planes.numel) ++i;
  std::string sizes;
  for (size_t d = size_t(kMaxSpatial - spatial); d < kMaxSpatial; ++d)
    sizes += (sizes.empty() ? "" : "x") + std::to_string(planes.sizes[d]);
  fail(ErrorKind::runtime, "Found an invalid max index: ", index[place_at(i)],
       " (output volumes are of size ", sizes, ")");
}

}  // namespace

Windows fixed_windows(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                      int64_t dilation) {
  Windows windows{dilation, std::vector<int64_t>(size_t(out)), std::vector<int64_t>(size_t(out)), 0};
  for (int64_t o = 0; o < out; ++o) {
    int64_t start = o * stride - padding;
    windows.end[size_t(o)] = std::min(start + (kernel - 1) * dilation + 1, in);
    if (start < 0) start += (-start + dilation - 1) / dilation * dilation;
    if (start >= in) start = windows.end[size_t(o)] = in - 1;  // nothing but padding: an empty window
    windows.start[size_t(o)] = start;
  }
  return windows;
}

Windows adaptive_windows(int64_t in, int64_t out) {
  Windows windows{1, std::vector<int64_t>(size_t(out)), std::vector<int64_t>(size_t(out)), 0};
  for (int64_t o = 0; o < out; ++o) {
    windows.start[size_t(o)] = o * in / out;
    windows.end[size_t(o)] = ((o + 1) * in + out - 1) / out;
  }
  return windows;
}

Windows fractional_windows(int64_t in, int64_t out, int64_t kernel, const View& samples, int64_t dim) {
  const int64_t planes = samples.sizes[0] * samples.sizes[1];
  Windows windows{1, {}, {}, out};  // empty tables, filled below
  windows.start.reserve(size_t(planes * out));
  dispatch<domains::floating>(samples.dtype, "fractional_max_pool", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = compute_t<T>;
    const auto rounded = [](C number) { return C(T(number)); };  // every step, as PyTorch does
    const C spread = out > 1 ? rounded(rounded(C(in - kernel)) / rounded(C(out - 1))) : C(0);
    for (int64_t plane = 0; plane < planes; ++plane) {
      const C sample =
          C(samples.as<T>()[plane / samples.sizes[1] * samples.strides[0] +
                            plane % samples.sizes[1] * samples.strides[1] + dim * samples.strides[2]]);
      for (int64_t o = 0; o < out; ++o) {
        const C at = rounded(rounded(rounded(C(o)) + sample) * spread);
        const int64_t start = o == out - 1 ? in - kernel : int64_t(at) - int64_t(rounded(sample * spread));
        windows.start.push_back(std::clamp<int64_t>(start, 0, in - kernel));
      }
    }
  });
  for (int64_t start : windows.start) windows.end.push_back(start + kernel);
  return windows;
}

namespace {

// Pictures whose channels lie side by side in all three: a window of all channels is a row of windows with one start.
// `first` and `last` count the rows of windows of all pictures.
template <class T>
void max_of_channels(const View& in, const View& out, const View& indices, int spatial,
                     const WindowSet& windows, int64_t first, int64_t last) {
  using Row = RowOfWindows<T>;
  const int64_t channels = in.sizes[1];
  const Planes from(in, spatial), to(out, spatial), index_planes(indices, spatial);
  for (int64_t row = first; row < last; ++row) {
    const int64_t j = row % to.sizes[1], i = row / to.sizes[1] % to.sizes[0];
    const int64_t picture = row / to.sizes[1] / to.sizes[0];
    const auto start = [&](size_t d, int64_t o) { return windows[d].start[size_t(o)]; };
    const auto taps = [&](size_t d, int64_t o) {
      return std::max<int64_t>(
          0, (windows[d].end[size_t(o)] - start(d, o) + windows[d].step - 1) / windows[d].step);
    };
    for (int64_t k = 0; k < to.sizes[2]; ++k) {
      const std::array<int64_t, 3> at{start(0, i), start(1, j), start(2, k)};
      const T* corner = in.as<T>() + picture * in.strides[0];
      for (size_t d = 0; d < 3; ++d) corner += at[d] * from.strides[d];
      const auto place_of = [&](const View& view, const Planes& planes) {
        return picture * view.strides[0] + i * planes.strides[0] + j * planes.strides[1] +
               k * planes.strides[2];
      };
      const int64_t line = from.sizes[2], plane = from.sizes[1] * line;
      for (int64_t begin = 0; begin < channels; begin += Row::kTogether) {
        const Row channel_row{corner + begin,
                              1,
                              std::min(Row::kTogether, channels - begin),
                              {taps(0, i), taps(1, j), taps(2, k)},
                              {windows[0].step * from.strides[0], windows[1].step * from.strides[1],
                               windows[2].step * from.strides[2]},
                              {windows[0].step * plane, windows[1].step * line, windows[2].step},
                              at[0] * plane + at[1] * line + at[2],
                              0,
                              out.as<T>() + place_of(out, to) + begin,
                              indices.as<int64_t>() + place_of(indices, index_planes) + begin,
                              1,
                              1};
        at_level<Row, const Row*>(&channel_row);
      }
    }
  }
}

bool channels_side_by_side(const View& in, const View& out, const View& indices, int spatial,
                           const WindowSet& windows, int64_t plane) {
  constexpr int64_t few = 8;  // channels that make less than a vector
  const auto fits = [](const View& view) { return view.strides[1] == 1; };
  const bool same_windows =
      std::all_of(windows.begin(), windows.end(), [](const Windows& w) { return w.per_plane == 0; });
  return in.ndim == spatial + 2 && in.sizes[1] >= few && fits(in) && fits(out) && fits(indices) &&
         same_windows && plane <= std::numeric_limits<int32_t>::max();
}

}  // namespace

void max_pool(const View& in, const View& out, const View& indices, int spatial, const WindowSet& windows) {
  if (out.numel() == 0) return;
  const Planes from(in, spatial), to(out, spatial), index_planes(indices, spatial);
  if (channels_side_by_side(in, out, indices, spatial, windows, from.numel)) {
    const int64_t rows = in.sizes[0] * to.sizes[0] * to.sizes[1];
    dispatch<domains::real>(in.dtype, "max_pool", [&](auto tag) {
      using T = typename decltype(tag)::type;
      parallel_for(0, rows, planes_per_range(in.numel() / rows * 2), [&](int64_t first, int64_t last) {
        max_of_channels<T>(in, out, indices, spatial, windows, first, last);
      });
    });
    return;
  }
  const auto even_of = [&](int64_t plane) {
    const int64_t first = plane * windows[2].per_plane;
    return evenly_spaced(windows[2].start.data() + first, windows[2].end.data() + first, to.sizes[2],
                         windows[2].step);
  };
  const Even even_in_all = even_of(0);
  dispatch<domains::real>(in.dtype, "max_pool", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(0, to.count, planes_per_range(from.numel * 2), [&](int64_t first, int64_t last) {
      for (int64_t plane = first; plane < last; ++plane) {
        std::array<const int64_t*, 3> start, end;
        std::array<int64_t, 3> step;
        for (size_t d = 0; d < 3; ++d) {
          start[d] = windows[d].start.data() + plane * windows[d].per_plane;
          end[d] = windows[d].end.data() + plane * windows[d].per_plane;
          step[d] = windows[d].step;
        }
        max_of_plane(from.at<const T>(plane), from, to.at<T>(plane), to, index_planes.at<int64_t>(plane),
                     index_planes, start, end, step, windows[2].per_plane ? even_of(plane) : even_in_all);
      }
    });
  });
}

namespace {

// Channels side by side in all three: what is added at a place goes to places of the same few lines.
template <class T>
void add_channels(const View& values, const View& indices, const View& out, int spatial, int64_t picture,
                  int64_t first, int64_t last) {
  const Planes from(values, spatial), places(indices, spatial), to(out, spatial);
  const int64_t channels = out.sizes[1];
  T* sums = out.as<T>() + picture * out.strides[0];
  for (int64_t place = 0; place < to.numel; ++place)
    std::fill(sums + place * channels + first, sums + place * channels + last, T(0));
  for (int64_t i = 0; i < from.sizes[0]; ++i)
    for (int64_t j = 0; j < from.sizes[1]; ++j)
      for (int64_t k = 0; k < from.sizes[2]; ++k) {
        const auto at = [&](const View& view, const Planes& planes) {
          return picture * view.strides[0] + i * planes.strides[0] + j * planes.strides[1] +
                 k * planes.strides[2];
        };
        const T* value = values.as<const T>() + at(values, from);
        const int64_t* index = indices.as<const int64_t>() + at(indices, places);
        uint64_t outside = 0;
        for (int64_t c = first; c < last; ++c) outside |= uint64_t(uint64_t(index[c]) >= uint64_t(to.numel));
        if (outside) [[unlikely]] {
          const auto beside = [](int64_t c) { return c; };
          check_all(index + first, beside, last - first, to, spatial);
        }
        for (int64_t c = first; c < last; ++c) sums[index[c] * channels + c] += value[c];
      }
}

// The elements of a picture follow each other place by place.
bool is_by_place(const View& view, int spatial) {
  const Planes planes(view, spatial);
  int64_t step = view.ndim == spatial + 2 ? view.sizes[1] : 0;
  if (step < 2 || view.strides[1] != 1) return false;
  for (size_t d = kMaxSpatial; d-- > 0; step *= planes.sizes[d])
    if (planes.sizes[d] != 1 && planes.strides[d] != step) return false;
  return true;
}

}  // namespace

void plane_scatter(const View& values, const View& indices, const View& out, int spatial, bool accumulate) {
  const Planes from(values, spatial), places(indices, spatial), to(out, spatial);
  const bool numbers = out.dtype == DType::float32 || out.dtype == DType::float64;
  if (accumulate && numbers && is_by_place(values, spatial) && is_by_place(indices, spatial) &&
      is_by_place(out, spatial)) {
    constexpr int64_t kBlock = 64;  // channels
    const int64_t channels = out.sizes[1], blocks = (channels + kBlock - 1) / kBlock;
    return dispatch<domains::floating>(out.dtype, "max_pool_backward", [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_floating_point_v<T>)
        parallel_for(0, out.sizes[0] * blocks, planes_per_range(to.numel * kBlock),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const int64_t first = i % blocks * kBlock;
                         add_channels<T>(values, indices, out, spatial, i / blocks, first,
                                         std::min(first + kBlock, channels));
                       }
                     });
    });
  }
  with_places(from, places, to, [&](const auto& from_at, const auto& place_at, const auto& to_at) {
    dispatch<domains::numeric>(values.dtype, "max_unpool", [&](auto tag) {
      using T = typename decltype(tag)::type;
      using C = compute_t<T>;
      const bool there = std::is_same_v<T, C> && to.is_dense();  // sums are the result itself
      parallel_for(0, to.count, planes_per_range(to.numel), [&](int64_t first, int64_t last) {
        std::vector<C> buffer(there ? 0 : size_t(to.numel));
        for (int64_t plane = first; plane < last; ++plane) {
          C* sums = there ? to.at<C>(plane) : buffer.data();
          std::fill_n(sums, to.numel, C(0));
          const T* source = from.at<const T>(plane);
          const int64_t* index = places.at<const int64_t>(plane);
          check_all(index, place_at, from.numel, to, spatial);
          if (accumulate)
            for (int64_t i = 0; i < from.numel; ++i) {
              C& sum = sums[index[place_at(i)]];
              sum = math::add(sum, C(source[from_at(i)]));
            }
          else
            for (int64_t i = 0; i < from.numel; ++i) sums[index[place_at(i)]] = C(source[from_at(i)]);
          if (there) continue;
          T* target = to.at<T>(plane);
          for (int64_t i = 0; i < to.numel; ++i) target[to_at(i)] = cast<T>(sums[i]);
        }
      });
    });
  });
}

void plane_gather(const View& in, const View& indices, const View& out, int spatial) {
  const Planes from(in, spatial), places(indices, spatial), to(out, spatial);
  with_places(from, places, to, [&](const auto& from_at, const auto& place_at, const auto& to_at) {
    dispatch<domains::numeric>(in.dtype, "max_unpool_backward", [&](auto tag) {
      using T = typename decltype(tag)::type;
      parallel_for(0, to.count, planes_per_range(to.numel), [&](int64_t first, int64_t last) {
        for (int64_t plane = first; plane < last; ++plane) {
          const T* source = from.at<const T>(plane);
          const int64_t* index = places.at<const int64_t>(plane);
          T* target = to.at<T>(plane);
          check_all(index, place_at, to.numel, from, spatial);
          for (int64_t i = 0; i < to.numel; ++i) target[to_at(i)] = source[from_at(index[place_at(i)])];
        }
      });
    });
  });
}

}  // namespace mt::kernels

// Elements moved or made without arithmetic: triangles, joins, padding, ranges, windows over images. Copies and fills with
// any strides and dtypes are elementwise.h's.
//
// Launch: block 256 and any grid (elements are strided over). V: an unsigned integer of the element's width, or
// Several<uint64_t, 2>; T: the element's type.
//   moved<V>(ShapeCall): out = in, in whichever direction the strides go (flip).
//   triangle<V>(ShapeCall): in where column - row is at least (keep_upper) or at most `diagonal`, else zero. The two
//     innermost dimensions are column and row.
//   counted<T>(CountCall): arange: start + i * step. spaced<T>: linspace, from both ends towards the middle.
//   triangle_places<T>(TriangleIndicesCall): tril_indices and triu_indices; T: int32_t or int64_t.
//   padded<V, mode>(PadCall): the walk is over the result. padded_backward<T, mode>: adds the gradient (`out` of the call,
//     which the walk is over) into `in`, which is zero before; in no fixed order, as in PyTorch.
//   joined<V>(JoinCall): cat of dense tensors, up to kMaxJoined at a time.
//   added_into<T>(ShapeCall): out += in, where places of out may overlap (unfold_backward, as_strided's); no fixed order.
//   image_to_columns<V>, columns_to_image<T>(ColumnsCall): im2col and col2im; sums in a fixed order.
#pragma once

#include "backends/cuda/device/places.h"

namespace mt::cuda {

template <class V> void moved(const ShapeCall& call) {
  walk_over(call.walk, [&](int64_t, const int64_t* at) {
    element<V>(call.walk, call.out, at) = element<V>(call.walk, call.in, at);
  });
}

template <class V> void triangle(const ShapeCall& call) {
  walk_over(call.walk, [&](int64_t, const int64_t* at) {
    const int64_t beyond = at[0] - at[1];
    const bool stays = call.keep_upper ? beyond >= call.diagonal : beyond <= call.diagonal;
    element<V>(call.walk, call.out, at) = stays ? element<V>(call.walk, call.in, at) : V{};
  });
}

template <class T> void counted(const CountCall& call) {
  using C = compute_t<T>;
  for (int64_t i = first_index(); i < call.count; i += grid_step()) {
    T& to = static_cast<T*>(call.out)[i * call.stride];
    if constexpr (std::is_integral_v<T>) to = cast<T>(int64_t(call.first + i * call.whole_step));
    else to = cast<T>(cast<C>(call.start) + cast<C>(call.step) * cast<C>(double(i)));
  }
}
template <class T> void spaced(const CountCall& call) {
  using C = std::conditional_t<std::is_integral_v<T>, double, compute_t<T>>;
  const C start = std::is_integral_v<T> ? C(double(call.first)) : cast<C>(call.start);
  const C end = std::is_integral_v<T> ? C(double(call.last)) : cast<C>(call.end);
  const C step = call.count > 1 ? (end - start) / cast<C>(double(call.count - 1)) : C(0);
  for (int64_t i = first_index(); i < call.count; i += grid_step()) {
    const bool early = i < call.count / 2 || call.count == 1;
    const C value =
        early ? start + step * cast<C>(double(i)) : end - step * cast<C>(double(call.count - 1 - i));
    static_cast<T*>(call.out)[i * call.stride] = cast<T>(value);
  }
}

// How many elements the first `rows` rows of a triangle have.
inline int64_t below_row(const TriangleIndicesCall& call, int64_t rows) {
  // Row r has clamp(r + offset + 1, 0, columns) elements up to its diagonal.
  const auto lower = [&](int64_t r) {
    const int64_t first = call.offset + 1;  // elements of row 0, before the bounds
    const int64_t begin = first < 0 ? (-first < r ? -first : r) : 0;
    int64_t full = call.columns - first;  // the first row that has all
    full = full < begin ? begin : full > r ? r : full;
    const int64_t grows = full - begin;
    return grows * (first + begin) + grows * (grows - 1) / 2 + (r - full) * call.columns;
  };
  if (!call.upper) return lower(rows);
  // The upper triangle is what the lower one of the diagonal before leaves.
  TriangleIndicesCall other = call;
  other.offset = call.offset - 1;
  other.upper = 0;
  return rows * call.columns - below_row(other, rows);
}
template <class T> void triangle_places(const TriangleIndicesCall& call) {
  for (int64_t i = first_index(); i < call.count; i += grid_step()) {
    int64_t low = 0, high = call.rows - 1;  // the last row that begins at or before i
    while (low < high) {
      const int64_t middle = (low + high + 1) / 2;
      if (below_row(call, middle) <= i) low = middle;
      else high = middle - 1;
    }
    const int64_t first = call.upper ? (low + call.offset > 0 ? low + call.offset : 0) : 0;
    static_cast<T*>(call.out)[i] = T(low);
    static_cast<T*>(call.out)[call.count + i] = T(first + i - below_row(call, low));
  }
}

enum class Padding { constant, reflect, replicate, circular };

// Where an element of the padded tensor comes from along a dimension; -1: from nowhere.
template <Padding kMode> int64_t padded_from(int64_t i, int64_t size) {
  if (i >= 0 && i < size) return i;
  if constexpr (kMode == Padding::reflect) return i < 0 ? -i : 2 * (size - 1) - i;
  else if constexpr (kMode == Padding::replicate) return i < 0 ? 0 : size - 1;
  else if constexpr (kMode == Padding::circular) return i < 0 ? i + size : i - size;
  else return -1;
}
// The offset in the tensor that is padded, or -1.
template <Padding kMode> int64_t padded_place(const PadCall& call, const int64_t* at) {
  int64_t offset = 0;
  bool inside = true;
  for (int d = 0; d < call.walk.dims; ++d) {
    const int64_t from = padded_from<kMode>(at[d] - call.before[d], call.in_sizes[d]);
    inside = inside && from >= 0;
    offset += from * call.in.strides[d];
  }
  return inside ? offset : -1;
}
template <class V, Padding kMode> void padded(const PadCall& call) {
  walk_over(call.walk, [&](int64_t, const int64_t* at) {
    const int64_t from = padded_place<kMode>(call, at);
    V value;
    if constexpr (kMode == Padding::constant) value = *reinterpret_cast<const V*>(call.value);
    if (from >= 0) value = static_cast<const V*>(call.in.data)[from];
    element<V>(call.walk, call.out, at) = value;
  });
}
template <class T, Padding kMode> void padded_backward(const PadCall& call) {
  walk_over(call.walk, [&](int64_t, const int64_t* at) {
    const int64_t from = padded_place<kMode>(call, at);
    if (from >= 0) add_at_once(static_cast<T*>(call.in.data) + from, element<T>(call.walk, call.out, at));
  });
}

template <class V> void joined(const JoinCall& call) {
  const int64_t length = call.starts[call.number];
  for (int64_t n = first_index(); n < call.outer * length; n += grid_step()) {
    const int64_t row = n / length, i = n - row * length;
    int low = 0, high = call.number - 1;  // the last tensor that begins at or before i and is not empty
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (call.starts[middle] <= i) low = middle;
      else high = middle - 1;
    }
    const int64_t own = call.starts[low + 1] - call.starts[low];
    static_cast<V*>(call.out)[n] = static_cast<const V*>(call.in[low])[row * own + i - call.starts[low]];
  }
}

template <class T> void added_into(const ShapeCall& call) {
  walk_over(call.walk, [&](int64_t, const int64_t* at) {
    add_at_once(static_cast<T*>(call.out.data) + place_of(call.walk, call.out, at),
                element<T>(call.walk, call.in, at));
  });
}

template <class V> void image_to_columns(const ColumnsCall& call) {
  const int64_t places = call.places[0] * call.places[1], taps = call.kernel[0] * call.kernel[1];
  for (int64_t n = first_index(); n < call.planes * taps * places; n += grid_step()) {
    const int64_t place = n % places, tap = n / places % taps, plane = n / places / taps;
    const int64_t y =
        place / call.places[1] * call.stride[0] - call.padding[0] + tap / call.kernel[1] * call.dilation[0];
    const int64_t x =
        place % call.places[1] * call.stride[1] - call.padding[1] + tap % call.kernel[1] * call.dilation[1];
    const bool inside = y >= 0 && y < call.size[0] && x >= 0 && x < call.size[1];
    static_cast<V*>(call.columns)[n] =
        inside ? static_cast<const V*>(call.image)[(plane * call.size[0] + y) * call.size[1] + x] : V{};
  }
}
template <class T> void columns_to_image(const ColumnsCall& call) {
  using C = compute_t<T>;
  const int64_t places = call.places[0] * call.places[1], area = call.size[0] * call.size[1];
  for (int64_t n = first_index(); n < call.planes * area; n += grid_step()) {
    const int64_t plane = n / area, y = n % area / call.size[1], x = n % call.size[1];
    C sum = C(0);
    for (int64_t ky = 0; ky < call.kernel[0]; ++ky) {
      const int64_t top = y + call.padding[0] - ky * call.dilation[0];
      if (top < 0 || top % call.stride[0] || top / call.stride[0] >= call.places[0]) continue;
      for (int64_t kx = 0; kx < call.kernel[1]; ++kx) {
        const int64_t left = x + call.padding[1] - kx * call.dilation[1];
        if (left < 0 || left % call.stride[1] || left / call.stride[1] >= call.places[1]) continue;
        const int64_t row = (plane * call.kernel[0] + ky) * call.kernel[1] + kx;
        const int64_t at = row * places + top / call.stride[0] * call.places[1] + left / call.stride[1];
        sum = kernels::math::add(sum, C(static_cast<const T*>(call.columns)[at]));
      }
    }
    static_cast<T*>(call.image)[n] = cast<T>(sum);
  }
}

}  // namespace mt::cuda

#include "kernels/common/copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/common/convert.h"
#include "kernels/common/iterate.h"
#include "kernels/common/parallel.h"
#include "kernels/common/squares.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

// Copies are bound by memory, which one core nearly saturates for small sizes: threads start later than for
// arithmetic.
constexpr int64_t kCopyGrainBytes = 512 * 1024;

void copy_dense(const char* source, char* target, int64_t bytes) {
  if (source == target) return;
  if (bytes <= kCopyGrainBytes) {
    std::memcpy(target, source, size_t(bytes));
    return;
  }
  parallel_for(0, bytes, kCopyGrainBytes, [&](int64_t begin, int64_t end) {
    std::memcpy(target + begin, source + begin, size_t(end - begin));
  });
}

// A transposed copy reads along one dimension and writes along the other, a tile at a time. Lines of a matrix whose rows
// are a power of two apart would push each other out of the cache, so that the lines of a tile are read once, into a
// block, and turned round from there: each line of the target is written once, too.
constexpr int64_t kTile = 32;

// target[r][c] = source[c][r] for up to kTile rows: target rows are `target_row` bytes apart, source rows `source_row`.
template <class U>
void transpose_tiles(const char* source, int64_t source_row, char* target, int64_t target_row, int64_t rows,
                     int64_t columns) {
  constexpr int64_t size = sizeof(U);
  alignas(64) U block[kTile * kTile];
  for (int64_t first = 0; first < columns; first += kTile) {
    const int64_t count = std::min(kTile, columns - first);
    for (int64_t c = 0; c < count; ++c) {
      const char* line = source + (first + c) * source_row;
      if (rows == kTile) std::memcpy(block + c * kTile, line, kTile * size);
      else std::memcpy(block + c * kTile, line, size_t(rows) * size);
    }
    turn_rectangle(static_cast<const U*>(block), kTile, reinterpret_cast<U*>(target) + first,
                   target_row / size, rows, count);
  }
}

using TransposeFunction = void (*)(const char*, int64_t, char*, int64_t, int64_t, int64_t);
TransposeFunction transpose_of(size_t item) {
  switch (item) {
    case 1: return transpose_tiles<uint8_t>;
    case 2: return transpose_tiles<uint16_t>;
    case 4: return transpose_tiles<float>;  // these two are turned round in squares, whatever their bits mean
    case 8: return transpose_tiles<double>;
    default: return transpose_tiles<complex128>;
  }
}

// The plan's dimension 0 is written densely; if the source is dense along another dimension, copy tiles of
// the two. The source may run backwards along that dimension: then it is walked from its end, in both.
bool copy_transposed(Plan& plan, int64_t item) {
  if (plan.ndim < 2 || plan.strides[0][0] != item || plan.strides[1][0] == item || plan.strides[1][0] == 0)
    return false;
  int dense = 0;
  for (int d = 1; d < plan.ndim; ++d) {
    if (std::llabs(plan.strides[1][d]) == item) dense = d;
  }
  if (dense == 0 || plan.sizes[0] < 4 || plan.sizes[dense] < 4) return false;
  if (plan.strides[1][dense] < 0) {
    for (int o = 0; o < 2; ++o) {
      plan.data[o] += (plan.sizes[dense] - 1) * plan.strides[o][dense];
      plan.strides[o][dense] = -plan.strides[o][dense];
    }
  }
  const TransposeFunction transpose = transpose_of(size_t(item));
  const int64_t columns = plan.sizes[0], rows = plan.sizes[dense];
  // Work items are strips of kTile rows of every matrix.
  const int64_t strips = (rows + kTile - 1) / kTile;
  const int64_t matrices = plan.numel / (rows * columns);
  const int64_t grain = std::max<int64_t>(1, kGrain / (kTile * columns));
  parallel_for(0, strips * matrices, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      char *target = plan.data[0], *source = plan.data[1];
      int64_t rest = i / strips;
      for (int d = 1; d < plan.ndim; ++d) {
        if (d == dense) continue;
        const int64_t at = rest % plan.sizes[d];
        rest /= plan.sizes[d];
        target += at * plan.strides[0][d];
        source += at * plan.strides[1][d];
      }
      const int64_t row = i % strips * kTile;
      transpose(source + row * item, plan.strides[1][0], target + row * plan.strides[0][dense],
                plan.strides[0][dense], std::min(kTile, rows - row), columns);
    }
  });
  return true;
}

// Rows of a few elements: a call for each would cost more than they do, so that rows along the next dimension do them all.
constexpr int64_t kShort = 16;
struct ShortRows {
  int64_t length, target, source;  // of the innermost dimension; strides in bytes
};

template <class U, int64_t kLength>
void copy_short_rows(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const ShortRows rows = *static_cast<const ShortRows*>(context);
  const int64_t length = kLength ? kLength : rows.length;
  char* target = data[0];
  const char* source = data[1];
  for (int64_t i = 0; i < n; ++i, target += strides[0], source += strides[1]) {
    for (int64_t j = 0; j < length; ++j)
      __builtin_memcpy(target + j * rows.target, source + j * rows.source, sizeof(U));
  }
}
template <class U> RowFunction short_rows_of(int64_t length) {
  switch (length) {
    case 1: return copy_short_rows<U, 1>;
    case 2: return copy_short_rows<U, 2>;
    case 3: return copy_short_rows<U, 3>;
    case 4: return copy_short_rows<U, 4>;
    case 8: return copy_short_rows<U, 8>;
    default: return copy_short_rows<U, 0>;
  }
}
RowFunction short_rows_of(size_t item, int64_t length) {
  switch (item) {
    case 1: return short_rows_of<uint8_t>(length);
    case 2: return short_rows_of<uint16_t>(length);
    case 4: return short_rows_of<uint32_t>(length);
    case 8: return short_rows_of<uint64_t>(length);
    default: return short_rows_of<complex128>(length);
  }
}

bool copy_of_short_rows(const Plan& plan, int64_t item) {
  const ShortRows rows{plan.sizes[0], plan.strides[0][0], plan.strides[1][0]};
  if (plan.ndim < 2 || rows.length >= kShort || plan.sizes[1] < 4) return false;
  for_each_row(without_innermost(plan), kGrain / rows.length, short_rows_of(size_t(item), rows.length),
               &rows);
  return true;
}

// The same of dense rows, which are longer before a call is nothing beside them. They go in pieces; the last ends where the
// row does.
constexpr int64_t kPiece = 16, kDenseRow = 512;  // bytes

void copy_dense_rows(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const int64_t last = *static_cast<const int64_t*>(context) - kPiece;
  char* target = data[0];
  const char* source = data[1];
  for (int64_t i = 0; i < n; ++i, target += strides[0], source += strides[1]) {
    for (int64_t j = 0; j < last; j += kPiece) std::memcpy(target + j, source + j, size_t(kPiece));
    std::memcpy(target + last, source + last, size_t(kPiece));
  }
}

bool copy_of_dense_rows(const Plan& plan, int64_t item) {
  const int64_t bytes = plan.sizes[0] * item;
  if (plan.strides[0][0] != item || plan.strides[1][0] != item) return false;
  if (plan.ndim < 2 || bytes < kPiece || bytes > kDenseRow || plan.sizes[1] < 4) return false;
  for_each_row(without_innermost(plan), std::max<int64_t>(1, kGrain / plan.sizes[0]), copy_dense_rows,
               &bytes);
  return true;
}

void copy_row(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  (*static_cast<const Converter*>(context))(data[1], strides[1], data[0], strides[0], n);
}

}  // namespace

void copy(const View& src, const View& dst) {
  int64_t numel, source_numel;
  const bool same = src.dtype == dst.dtype;
  if (same && same_shape(src, dst) && is_dense(dst, numel) && is_dense(src, source_numel)) {
    return copy_dense(src.as<char>(), dst.as<char>(), numel * int64_t(itemsize(dst.dtype)));
  }
  const View* operands[] = {&dst, &src};
  Plan plan;
  make_plan(plan, operands, 2);
  if (plan.numel == 0) return;
  const int64_t item = int64_t(itemsize(dst.dtype));
  if (same &&
      (copy_transposed(plan, item) || copy_of_dense_rows(plan, item) || copy_of_short_rows(plan, item)))
    return;
  if (same && plan.ndim == 1 && plan.strides[0][0] == item &&
      plan.strides[1][0] == item) {  // dense in another order
    return copy_dense(plan.data[1], plan.data[0], plan.numel * item);
  }
  const Converter convert = converter(src.dtype, dst.dtype);
  for_each_row(plan, kGrain, copy_row, &convert);
}

void fill(const View& dst, const Scalar& value) {
  alignas(16) char element[16];
  store_scalar(value, dst.dtype, element);
  copy({element, nullptr, nullptr, 0, dst.dtype}, dst);
}

void arange(const View& dst, const Scalar& start, const Scalar& step) {
  int64_t numel = dst.numel(), dense;
  MT_CHECK(dst.ndim == 1 || is_dense(dst, dense), "arange: the result must have one dimension or be dense");
  const int64_t stride = dst.ndim == 1 ? dst.strides[0] : 1;
  dispatch<domains::every_numeric>(dst.dtype, "arange", [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Products in a wide type: adding the step again and again would drift.
    using W = std::conditional_t<std::is_integral_v<T>, int64_t,
                                 std::conditional_t<is_complex_v<T>, complex128, double>>;
    const W first = start.to<W>(), delta = step.to<W>();
    T* out = dst.as<T>();
    parallel_for(0, numel, kGrain, [&](int64_t begin, int64_t end) {
      const auto number = [=](int64_t i) { return cast<T>(W(first + delta * cast<W>(i))); };
      if (stride != 1) {
        for (int64_t i = begin; i < end; ++i) out[i * stride] = number(i);
      } else if constexpr (std::is_integral_v<T>) {
        uint64_t next = uint64_t(first) + uint64_t(delta) * uint64_t(begin);  // sums of integers do not drift
        for (int64_t i = begin; i < end; ++i, next += uint64_t(delta)) out[i] = T(next);
      } else {
        for (int64_t i = begin; i < end; ++i) out[i] = number(i);
      }
    });
  });
}

}  // namespace mt::kernels

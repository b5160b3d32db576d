#include "kernels/matmul/pack.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/convert.h"
#include "kernels/common/squares.h"
#include "kernels/common/thread_buffer.h"

namespace mt::kernels {
namespace {

constexpr int64_t kLine = 64;   // bytes that come into the cache at once
constexpr int64_t kAhead = 12;  // rows are fetched so many before they are read: they may lie in far lines

// Lanes that lie together: rows are copied. `Bytes` of a row, if known when compiling.
template <int64_t Bytes = 0>
void copy_rows(const char* source, int64_t step, int64_t length, char* target, int64_t width,
               int64_t bytes = Bytes) {
  for (int64_t i = 0; i < length; ++i, source += step, target += width) {
    for (int64_t line = 0; line < Bytes; line += kLine) __builtin_prefetch(source + kAhead * step + line);
    std::memcpy(target, source, size_t(Bytes ? Bytes : bytes));
  }
}

// Panels of `Bytes` beside one another, a line of them at once: no line of the source is read again for the next panel.
template <int64_t Bytes>
void copy_panels(const char* source, int64_t step, int64_t panels, int64_t length, char* target) {
  constexpr int64_t together = kLine / Bytes;
  for (; panels >= together; panels -= together, source += kLine, target += length * kLine) {
    const char* from = source;
    char* to = target;
    for (int64_t i = 0; i < length; ++i, from += step, to += Bytes) {
      __builtin_prefetch(from + kAhead * step);
      for (int64_t p = 0; p < together; ++p)
        std::memcpy(to + p * length * Bytes, from + p * Bytes, size_t(Bytes));
    }
  }
  for (; panels > 0; --panels, source += Bytes, target += length * Bytes)
    copy_rows<Bytes>(source, step, length, target, Bytes);
}

}  // namespace

template <class T>
void pack_panel(const T* source, int64_t lane_stride, int64_t step, int64_t lanes, int64_t length, T* target,
                int64_t width) {
  constexpr int64_t side = Square<T>::side, size = sizeof(T);
  int64_t done = 0;    // lanes
  int64_t filled = 0;  // rows that have something behind their lanes
  if (lane_stride == 1) {
    const char* from = reinterpret_cast<const char*>(source);
    char* to = reinterpret_cast<char*>(target);
    switch (lanes * size) {  // the panels of the machine levels
      case 32: copy_rows<32>(from, step * size, length, to, width * size); break;
      case 48: copy_rows<48>(from, step * size, length, to, width * size); break;
      case 64: copy_rows<64>(from, step * size, length, to, width * size); break;
      case 96: copy_rows<96>(from, step * size, length, to, width * size); break;
      case 128: copy_rows<128>(from, step * size, length, to, width * size); break;
      case 192: copy_rows<192>(from, step * size, length, to, width * size); break;
      default: {
        // Rows that have others behind them are read to the width of the panel: a call for every row takes longer.
        const int64_t last = step > 0 ? std::min(length, (width - lanes + step - 1) / step) : length;
        const int64_t whole = width * size % kLine == 0 && width * size <= 3 * kLine ? length - last : 0;
        if (width * size == kLine) copy_rows<kLine>(from, step * size, whole, to, kLine);
        else if (width * size == 2 * kLine) copy_rows<2 * kLine>(from, step * size, whole, to, 2 * kLine);
        else if (whole) copy_rows<3 * kLine>(from, step * size, whole, to, 3 * kLine);
        copy_rows(from + whole * step * size, step * size, length - whole, to + whole * width * size,
                  width * size, lanes * size);
        filled = whole;
      }
    }
    done = lanes;
  } else if (step == 1) {
    for (; done + side <= lanes; done += side) {
      const T* from = source + done * lane_stride;
      T* to = target + done;
      int64_t i = 0;
      for (; i + side <= length; i += side) turn_square<T>(from + i, lane_stride, to + i * width, width);
      for (; i < length; ++i) {
        for (int64_t r = 0; r < side; ++r) to[i * width + r] = from[r * lane_stride + i];
      }
    }
  }
  for (; done < lanes; ++done) {
    const T* from = source + done * lane_stride;
    for (int64_t i = 0; i < length; ++i) target[i * width + done] = from[i * step];
  }
  if (lanes == width) return;
  for (int64_t i = filled; i < length; ++i) std::fill_n(target + i * width + lanes, width - lanes, T(0));
}

template <class T>
void pack_panels(const T* source, int64_t lane_stride, int64_t step, int64_t lanes, int64_t panels,
                 int64_t length, T* target) {
  constexpr int64_t size = sizeof(T);
  const char* from = reinterpret_cast<const char*>(source);
  char* to = reinterpret_cast<char*>(target);
  if (lane_stride == 1 && lanes * size == 16) return copy_panels<16>(from, step * size, panels, length, to);
  if (lane_stride == 1 && lanes * size == 32) return copy_panels<32>(from, step * size, panels, length, to);
  for (int64_t p = 0; p < panels; ++p)
    pack_panel(source + p * lanes * lane_stride, lane_stride, step, lanes, length,
               target + p * lanes * length, lanes);
}

template <class T>
void pack_converted(DType dtype, const char* source, int64_t lane_stride, int64_t step, int64_t lanes,
                    int64_t length, T* target, int64_t width) {
  const Converter convert = converter(dtype, dtype_of<T>);
  const int64_t size = int64_t(itemsize(dtype)), line = int64_t(sizeof(T));
  if (lane_stride == 1) {
    for (int64_t i = 0; i < length; ++i) {
      T* row = target + i * width;
      convert(source + i * step * size, size, reinterpret_cast<char*>(row), line, lanes);
      std::fill(row + lanes, row + width, T(0));
    }
    return;
  }
  static constinit PerThread<ThreadBuffer> buffer;
  T* converted = buffer->room<T>(lanes * length);
  for (int64_t r = 0; r < lanes; ++r) {
    convert(source + r * lane_stride * size, step * size, reinterpret_cast<char*>(converted + r * length),
            line, length);
  }
  pack_panel<T>(converted, length, 1, lanes, length, target, width);
}

template void pack_panel(const float*, int64_t, int64_t, int64_t, int64_t, float*, int64_t);
template void pack_panel(const double*, int64_t, int64_t, int64_t, int64_t, double*, int64_t);
template void pack_panels(const float*, int64_t, int64_t, int64_t, int64_t, int64_t, float*);
template void pack_panels(const double*, int64_t, int64_t, int64_t, int64_t, int64_t, double*);
template void pack_converted(DType, const char*, int64_t, int64_t, int64_t, int64_t, float*, int64_t);
template void pack_converted(DType, const char*, int64_t, int64_t, int64_t, int64_t, double*, int64_t);

}  // namespace mt::kernels

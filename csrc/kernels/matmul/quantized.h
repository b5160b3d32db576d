// Products and conversions of quantised numbers.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// out[m, n] = ((a @ b)[m, n] + bias[n]) * column_scale[n] * row_scale[m] for int8 matrices; sums are exact (int32). What
// may be null counts as 0, 1 and 1. Scales of one element serve all columns (rows). out is int32, if nothing scales,
// or floating.
void integer_product(const View& a, const View& b, const View* bias, const View* column_scale,
                     const View* row_scale, const View& out);

enum class Rounding : uint8_t { nearest_even, floor, ceil, trunc };

// out = rounded(in * scale + offset), or with `divide` rounded(in / scale + offset), cut to the range of out's dtype
// (int8, uint8, int32). The operands are float32 and broadcast to out; offset may be null.
void quantize(const View& in, const View& scale, const View* offset, const View& out, bool divide,
              Rounding rounding);
// in / scale is rounded, moved by zero, cut to [low, high], and brought back; mask says where nothing was cut off.
void fake_quantize(const View& in, const View& scale, const View& zero, int64_t low, int64_t high,
                   const View& out, const View& mask);

// One scale for each row of a matrix, from its largest magnitude: out = round(in / scale), scale = magnitude / 127. With
// `offset` from its range: scale = (max - min) / 255, offset = 127 - max / scale, out = round(in / scale + offset).
void quantize_rows(const View& in, const View& out, const View& scale, const View* offset);

}  // namespace mt::kernels

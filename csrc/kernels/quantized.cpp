#include "kernels/quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/copy.h"
#include "kernels/iterate.h"
#include "kernels/matmul.h"
#include "kernels/parallel.h"
#include "kernels/types.h"

namespace mt::kernels {
namespace {

// A dense matrix (or vector) of a C++ type, made from any view.
template <class T>
class Dense {
 public:
  explicit Dense(const View& from) : Dense(from.ndim == 2 ? from.sizes[0] : 1, last(from)) {
    const View all{memory_.get(), from.sizes, strides_ + (2 - from.ndim), from.ndim, dtype_of<T>};
    copy(from, all);
  }
  Dense(int64_t rows, int64_t columns)
      : sizes_{rows, columns}, strides_{columns, 1}, memory_(new T[size_t(rows * columns) + 1]) {}
  View view() const { return {memory_.get(), sizes_, strides_, 2, dtype_of<T>, sizes_[0] * sizes_[1]}; }
  T* data() const { return memory_.get(); }
  int64_t columns() const { return sizes_[1]; }

 private:
  static int64_t last(const View& v) { return v.ndim == 0 ? 1 : v.sizes[v.ndim - 1]; }
  int64_t sizes_[2], strides_[2];
  std::unique_ptr<T[]> memory_;
};

// A view broadcast to the shape of another as one dense line, and back.
struct LineOf {
  int64_t strides[kMaxDims];
  View view;
  LineOf(void* data, const View& shape, DType dtype) {
    MT_CHECK(shape.ndim <= kMaxDims, "tensors with more than ", kMaxDims, " dimensions are not supported");
    int64_t stride = 1;
    for (int i = shape.ndim - 1; i >= 0; --i) strides[i] = stride, stride *= shape.sizes[i];
    view = {data, shape.sizes, strides, shape.ndim, dtype};
  }
};
Dense<float> flattened(const View& from, const View& shape) {
  Dense<float> line(1, shape.numel());
  copy(from, LineOf(line.data(), shape, DType::float32).view);
  return line;
}
template <class T>
void unflatten(const Dense<T>& line, const View& to) {
  copy(LineOf(line.data(), to, dtype_of<T>).view, to);
}

std::optional<Dense<float>> scales_of(const View* view) {
  if (view == nullptr) return std::nullopt;
  return std::optional<Dense<float>>(std::in_place, *view);
}

double rounded(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::floor: return std::floor(value);
    case Rounding::ceil: return std::ceil(value);
    case Rounding::trunc: return std::trunc(value);
    default: return std::rint(value);
  }
}

// NaN has no place among integers: it becomes 0.
template <class T>
T cut(double whole) {
  constexpr double low = double(std::numeric_limits<T>::lowest()),
                   high = double(std::numeric_limits<T>::max());
  return std::isnan(whole) ? T(0) : T(std::clamp(whole, low, high));
}

float float_at(const char* place) { return *reinterpret_cast<const float*>(place); }

struct Quantizing {
  bool divide, shifted;
  Rounding rounding;
};

template <class T>
void quantize_line(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Quantizing& how = *static_cast<const Quantizing*>(context);
  for (int64_t i = 0; i < n; ++i) {
    const float x = float_at(data[1] + i * strides[1]), scale = float_at(data[2] + i * strides[2]);
    const float offset = how.shifted ? float_at(data[3] + i * strides[3]) : 0.0f;
    const float value = (how.divide ? x / scale : x * scale) + offset;
    *reinterpret_cast<T*>(data[0] + i * strides[0]) = cut<T>(rounded(value, how.rounding));
  }
}

}  // namespace

void integer_product(const View& a, const View& b, const View* bias, const View* column_scale,
                     const View* row_scale, const View& out) {
  const Dense<int32_t> left(a), right(b);
  const int64_t rows = out.sizes[0], columns = out.sizes[1];
  const Dense<int32_t> product(rows, columns);
  gemm(left.view(), right.view(), product.view(), Scalar(1), Scalar(0));
  if (column_scale == nullptr && row_scale == nullptr && bias == nullptr) return copy(product.view(), out);
  const auto by_column = scales_of(column_scale), by_row = scales_of(row_scale);
  std::optional<Dense<double>> added;
  if (bias != nullptr) added.emplace(*bias);
  const Dense<double> scaled(rows, columns);
  for (int64_t m = 0; m < rows; ++m) {
    const double row = by_row ? by_row->data()[by_row->columns() == 1 ? 0 : m] : 1;
    for (int64_t n = 0; n < columns; ++n) {
      const double column = by_column ? by_column->data()[by_column->columns() == 1 ? 0 : n] : 1;
      const double sum = product.data()[m * columns + n] + (added ? added->data()[n] : 0);
      scaled.data()[m * columns + n] = sum * column * row;
    }
  }
  copy(scaled.view(), out);
}

void quantize(const View& in, const View& scale, const View* offset, const View& out, bool divide,
              Rounding rounding) {
  const View* operands[] = {&out, &in, &scale, offset};
  for (int i = 1; i < (offset == nullptr ? 3 : 4); ++i)
    MT_CHECK(operands[i]->dtype == DType::float32, "quantize: operands must be float32");
  Plan plan;
  make_plan(plan, operands, offset == nullptr ? 3 : 4);
  if (plan.numel == 0) return;
  const Quantizing how{divide, offset != nullptr, rounding};
  dispatch<dtype_set(DType::int8, DType::uint8, DType::int32)>(out.dtype, "quantize", [&](auto tag) {
    for_each_row(plan, kGrain / 4, quantize_line<typename decltype(tag)::type>, &how);
  });
}

void fake_quantize(const View& in, const View& scale, const View& zero, int64_t low, int64_t high,
                   const View& out, const View& mask) {
  const Dense<float> x = flattened(in, out), scales = flattened(scale, out), zeros = flattened(zero, out);
  const int64_t n = out.numel();
  const Dense<float> result(1, n);
  const Dense<bool> inside(1, n);
  for (int64_t i = 0; i < n; ++i) {
    const float whole = std::nearbyint(x.data()[i] * (1.0f / scales.data()[i]) + zeros.data()[i]);
    inside.data()[i] = whole >= float(low) && whole <= float(high);
    result.data()[i] = (std::clamp(whole, float(low), float(high)) - zeros.data()[i]) * scales.data()[i];
  }
  unflatten(result, out);
  unflatten(inside, mask);
}

void quantize_rows(const View& in, const View& out, const View& scale, const View* offset) {
  const Dense<float> from(in);
  const int64_t rows = in.sizes[0], columns = in.sizes[1];
  const Dense<int8_t> to(rows, columns);
  const Dense<float> factors(1, rows), shifts(1, rows);
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / 4 / std::max<int64_t>(columns, 1)),
               [&](int64_t b, int64_t e) {
                 for (int64_t m = b; m < e; ++m) {
                   const float* row = from.data() + m * columns;
                   float low = std::numeric_limits<float>::infinity(), high = -low, most = 0;
                   for (int64_t n = 0; n < columns; ++n) {
                     low = std::min(low, row[n]), high = std::max(high, row[n]);
                     most = std::max(most, std::fabs(row[n]));
                   }
                   const float factor = offset == nullptr ? most / 127.0f : (high - low) / 255.0f;
                   const float shift = offset == nullptr || factor == 0 ? 0.0f : 127.0f - high / factor;
                   factors.data()[m] = factor, shifts.data()[m] = shift;
                   for (int64_t n = 0; n < columns; ++n)
                     to.data()[m * columns + n] =
                         factor == 0 ? int8_t(0) : cut<int8_t>(std::rint(row[n] / factor + shift));
                 }
               });
  copy(to.view(), out);
  const int64_t one = 1;
  copy({factors.data(), &rows, &one, 1, DType::float32}, scale);
  if (offset != nullptr) copy({shifts.data(), &rows, &one, 1, DType::float32}, *offset);
}

}  // namespace mt::kernels

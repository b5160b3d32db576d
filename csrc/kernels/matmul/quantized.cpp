#include "kernels/matmul/quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/common/copy.h"
#include "kernels/common/dense.h"
#include "kernels/common/iterate.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/matmul/matmul.h"

namespace mt::kernels {
namespace {

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
  const Dense left(a, DType::int32, Access::read), right(b, DType::int32, Access::read);
  const int64_t rows = out.sizes[0], columns = out.sizes[1];
  const Temporary product(out, DType::int32);
  gemm(left.view(), right.view(), product.view(), Scalar(1), Scalar(0));
  if (column_scale == nullptr && row_scale == nullptr && bias == nullptr) return copy(product.view(), out);
  std::optional<DenseInput<float>> by_column, by_row;
  if (column_scale != nullptr) by_column.emplace(*column_scale);
  if (row_scale != nullptr) by_row.emplace(*row_scale);
  std::optional<DenseInput<double>> added;
  if (bias != nullptr) added.emplace(*bias);
  const int32_t* sums = product.view().as<int32_t>();
  const DenseOutput<double> scaled(out);
  for (int64_t m = 0; m < rows; ++m) {
    const double row = by_row ? (*by_row)[by_row->numel() == 1 ? 0 : m] : 1;
    for (int64_t n = 0; n < columns; ++n) {
      const double column = by_column ? (*by_column)[by_column->numel() == 1 ? 0 : n] : 1;
      const double sum = sums[m * columns + n] + (added ? (*added)[n] : 0);
      scaled[m * columns + n] = sum * column * row;
    }
  }
  scaled.store();
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
  const Broadcast every_scale(scale, out), every_zero(zero, out);
  const DenseInput<float> x(in), scales(every_scale.view()), zeros(every_zero.view());
  const DenseOutput<float> result(out);
  const DenseOutput<bool> inside(mask);
  const int64_t n = out.numel();
  for (int64_t i = 0; i < n; ++i) {
    const float whole = std::nearbyint(x[i] * (1.0f / scales[i]) + zeros[i]);
    inside[i] = whole >= float(low) && whole <= float(high);
    result[i] = (std::clamp(whole, float(low), float(high)) - zeros[i]) * scales[i];
  }
  result.store();
  inside.store();
}

void quantize_rows(const View& in, const View& out, const View& scale, const View* offset) {
  const DenseInput<float> from(in);
  const int64_t rows = in.sizes[0], columns = in.sizes[1];
  const DenseOutput<int8_t> to(out);
  const Temporary factors({rows}, DType::float32), shifts({rows}, DType::float32);
  float *factor_of = factors.view().as<float>(), *shift_of = shifts.view().as<float>();
  parallel_for(
      0, rows, std::max<int64_t>(1, kGrain / 4 / std::max<int64_t>(columns, 1)), [&](int64_t b, int64_t e) {
        for (int64_t m = b; m < e; ++m) {
          const float* row = from.data() + m * columns;
          float low = std::numeric_limits<float>::infinity(), high = -low, most = 0;
          for (int64_t n = 0; n < columns; ++n) {
            low = std::min(low, row[n]), high = std::max(high, row[n]);
            most = std::max(most, std::fabs(row[n]));
          }
          const float factor = offset == nullptr ? most / 127.0f : (high - low) / 255.0f;
          const float shift = offset == nullptr || factor == 0 ? 0.0f : 127.0f - high / factor;
          factor_of[m] = factor, shift_of[m] = shift;
          for (int64_t n = 0; n < columns; ++n)
            to[m * columns + n] = factor == 0 ? int8_t(0) : cut<int8_t>(std::rint(row[n] / factor + shift));
        }
      });
  to.store();
  copy(factors.view(), scale);
  if (offset != nullptr) copy(shifts.view(), *offset);
}

}  // namespace mt::kernels

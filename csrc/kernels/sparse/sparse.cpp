#include "kernels/sparse/sparse.h"

#include <algorithm>
#include <optional>

#include "kernels/common/convert.h"
#include "kernels/common/dense.h"
#include "kernels/common/iterate.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"

namespace mt::kernels {
namespace {

template <class T>
struct Computed {
  using type = T;
};

// Calls f with the type to compute in: whole numbers and truth values in int64, halves in float.
template <class F>
void with_type(DType dtype, F&& f) {
  if (dtype == DType::float64) f(Computed<double>());
  else if (dtype == DType::complex128) f(Computed<complex128>());
  else if (is_complex(dtype)) f(Computed<complex64>());
  else if (is_integral(dtype, true)) f(Computed<int64_t>());
  else f(Computed<float>());
}

int64_t checked(int64_t index, int64_t size) {
  MT_CHECK_AS(index, index >= 0 && index < size, "index ", index, " is out of bounds for ", size, " rows");
  return index;
}

// How many rows of so much work one thread should get at least.
int64_t rows_at_once(int64_t rows, int64_t work) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work / std::max<int64_t>(1, rows)));
}

template <class C>
void add_row(C* to, const C* from, C weight, int64_t width) {
  for (int64_t k = 0; k < width; ++k) to[k] += weight * from[k];
}

// Four rows at a time, so that sums are read and written a quarter as often.
constexpr int64_t kTogether = 4;
struct AddRows {
  template <class C>
  [[gnu::always_inline]] static inline void run(C* to, const C* const* rows, const C* weights,
                                                int64_t width) {
    const C *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    const C p = weights[0], q = weights[1], r = weights[2], s = weights[3];
#pragma GCC ivdep
    for (int64_t k = 0; k < width; ++k) to[k] += (p * a[k] + q * b[k]) + (r * c[k] + s * d[k]);
  }
};

// Rows of a table as numbers of type C, converted one by one: few of a large table may be wanted.
template <class C>
class ChosenRows {
 public:
  explicit ChosenRows(const View& table)
      : table_(table),
        item_(int64_t(itemsize(table.dtype))),
        convert_(converter(table.dtype, dtype_of<C>)),
        as_it_is_(table.dtype == dtype_of<C> && (table.strides[1] == 1 || table.sizes[1] == 1)) {}
  // In `buffer`, if it is not in the table itself.
  const C* row(int64_t i, C* buffer) const {
    const char* source = table_.as<char>() + i * table_.strides[0] * item_;
    if (as_it_is_) return reinterpret_cast<const C*>(source);
    convert_(source, table_.strides[1] * item_, reinterpret_cast<char*>(buffer), int64_t(sizeof(C)),
             table_.sizes[1]);
    return buffer;
  }

 private:
  const View& table_;
  int64_t item_;
  Converter convert_;
  bool as_it_is_;
};

}  // namespace

void segment_sum(const View& table, const View& offsets, const View& rows, const View* weights,
                 const View& out) {
  const int64_t count = table.sizes[0], width = table.sizes[1], segments = out.sizes[0];
  with_type(out.dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const ChosenRows<C> from(table);
    const DenseInput<int64_t> begins(offsets), named(rows);
    std::optional<DenseInput<C>> scale;
    if (weights) scale.emplace(*weights);
    const DenseOutput<C> to(out);
    parallel_for(
        0, segments, rows_at_once(segments, named.numel() * width), [&](int64_t first, int64_t last) {
          Scratch<C> converted(kTogether * width);
          for (int64_t i = first; i < last; ++i) {
            C* sum = to.data() + i * width;
            std::fill_n(sum, width, C(0));
            const int64_t begin = begins[i], end = begins[i + 1];
            MT_CHECK_AS(index, begin >= 0 && begin <= end && end <= named.numel(), "the segment from ", begin,
                        " to ", end, " does not lie in the ", named.numel(), " indices");
            const auto row = [&](int64_t j, int64_t place) {
              return from.row(checked(named[j], count), converted.data() + place * width);
            };
            const auto weight = [&](int64_t j) { return scale ? (*scale)[j] : C(1); };
            int64_t j = begin;
            for (; j + kTogether <= end; j += kTogether) {
              const C* together[kTogether];
              C factors[kTogether];
              for (int64_t k = 0; k < kTogether; ++k) together[k] = row(j + k, k), factors[k] = weight(j + k);
              if constexpr (std::is_floating_point_v<C>) at_level<AddRows>(sum, together, factors, width);
              else AddRows::run(sum, together, factors, width);
            }
            for (; j < end; ++j) add_row(sum, row(j, 0), weight(j), width);
          }
        });
    to.store();
  });
}

void scatter_products(const View& table, const View& rows, const View& columns, const View& weights,
                      const View& out) {
  const int64_t count = table.sizes[0], width = table.sizes[1], targets = out.sizes[0];
  with_type(out.dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> from(table), scale(weights);
    const DenseInput<int64_t> into(rows), named(columns);
    const DenseOutput<C> to(out);
    to.fill(C(0));
    const int64_t n = named.numel();
    for (int64_t j = 0; j < n; ++j) checked(into[j], targets), checked(named[j], count);
    // Threads take columns of the table, so that no two write one place.
    constexpr int64_t kLine = 16;
    const int64_t grain = std::max(kLine, kGrain / std::max<int64_t>(1, n));
    parallel_for(0, width, grain, [&](int64_t first, int64_t last) {
      for (int64_t j = 0; j < n; ++j)
        add_row(to.data() + into[j] * width + first, from.data() + named[j] * width + first, scale[j],
                last - first);
    });
    to.store();
  });
}

void row_offsets(const View& rows, const View& out) {
  const DenseInput<int64_t> named(rows);
  const DenseOutput<int64_t> offsets(out);
  offsets.fill(0);
  const int64_t count = offsets.numel() - 1;
  for (int64_t j = 0; j < named.numel(); ++j) ++offsets[checked(named[j], count) + 1];
  for (int64_t i = 0; i < count; ++i) offsets[i + 1] += offsets[i];
  offsets.store();
}

void sampled_products(const View& left, const View& right, const View& rows, const View& columns,
                      const View& out) {
  const int64_t width = left.sizes[1], lefts = left.sizes[0], rights = right.sizes[0];
  with_type(out.dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> a(left), b(right);
    const DenseInput<int64_t> at(rows), to(columns);
    const DenseOutput<C> results(out);
    parallel_for(0, results.numel(), rows_at_once(1, width), [&](int64_t first, int64_t last) {
      for (int64_t j = first; j < last; ++j) {
        const C* x = a.data() + checked(at[j], lefts) * width;
        const C* y = b.data() + checked(to[j], rights) * width;
        C sum(0);
        for (int64_t k = 0; k < width; ++k) sum += x[k] * y[k];
        results[j] = sum;
      }
    });
    results.store();
  });
}

}  // namespace mt::kernels

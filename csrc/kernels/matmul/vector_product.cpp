#include "kernels/matmul/vector_product.h"

#include <algorithm>
#include <vector>

#include "kernels/common/convert.h"
#include "kernels/common/cpu_features.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"

namespace mt::kernels {
namespace {

constexpr int64_t kSpan =
    4096;  // elements of a row at a time: a converted piece stays in the first-level cache
constexpr int64_t kBlock = 512;    // results held at a time where columns are added up
constexpr int64_t kCached = 4096;  // results that stay in the first-level cache while columns pass
constexpr int64_t kTogether = 4;   // rows or columns at a time
constexpr int64_t kShort = 64;     // rows of at most so many elements are added up without a call for each
constexpr int64_t kNarrow = 8;     // rows of so few elements are worth less than a call for each

// The loops over dense memory, for each machine level.
template <class C>
struct Loops {
  // Sums of a few rows, which read x together. A single one has as many sums under way as four. A register holds kBytes:
  // compilers keep wider vectors in memory.
  template <int64_t kRows, int64_t kBytes, int64_t kSums>
  [[gnu::always_inline]] static inline void dot_body(const C* const* a, const C* x, int64_t n, double* sums) {
    typedef C Lanes __attribute__((vector_size(kBytes)));
    constexpr int64_t lanes = kBytes / int64_t(sizeof(C));
    constexpr int64_t kSteps = kSums / kRows;
    Lanes partial[kRows][kSteps] = {};
    int64_t i = 0;
    for (; i + kSteps * lanes <= n; i += kSteps * lanes) {
      for (int64_t step = 0; step < kSteps; ++step) {
        Lanes factor, row;
        __builtin_memcpy(&factor, x + i + step * lanes, sizeof(Lanes));
        for (int64_t r = 0; r < kRows; ++r) {
          __builtin_memcpy(&row, a[r] + i + step * lanes, sizeof(Lanes));
          partial[r][step] += row * factor;
        }
      }
    }
    C rest[kRows] = {};
    for (; i < n; ++i)
      for (int64_t r = 0; r < kRows; ++r) rest[r] += a[r][i] * x[i];
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t step = 1; step < kSteps; ++step) partial[r][0] += partial[r][step];
      C each[lanes];
      __builtin_memcpy(each, &partial[r][0], sizeof(each));
      sums[r] += double(sum_of_lanes<int(lanes)>(each)) + double(rest[r]);
    }
  }
  [[gnu::always_inline]] static inline void add_body(const C* const* a, const C* factors, C* out, int64_t n) {
    const C *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3];
    const C f0 = factors[0], f1 = factors[1], f2 = factors[2], f3 = factors[3];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] += (a0[i] * f0 + a1[i] * f1) + (a2[i] * f2 + a3[i] * f3);
  }
  // Of several short rows, a step between them.
  [[gnu::always_inline]] static inline void dots_body(const C* a, int64_t step, const C* x, int64_t n,
                                                      double* sums, int64_t rows) {
    constexpr int64_t lanes = 8;
    for (int64_t row = 0; row < rows; ++row, a += step) {
      C lane[lanes] = {};
      int64_t i = 0;
      for (; i + lanes <= n; i += lanes)
        for (int64_t l = 0; l < lanes; ++l) lane[l] += a[i + l] * x[i + l];
      for (int64_t l = 0; l < n - i; ++l) lane[l] += a[i + l] * x[i + l];
      sums[row] =
          double(((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7])));
    }
  }
  static void dots(const C* a, int64_t step, const C* x, int64_t n, double* sums, int64_t rows) {
    dots_body(a, step, x, n, sums, rows);
  }
  MT_WIDE static void dots_wide(const C* a, int64_t step, const C* x, int64_t n, double* sums, int64_t rows) {
    dots_body(a, step, x, n, sums, rows);
  }
  template <int64_t kRows>
  static void dot(const C* const* a, const C* x, int64_t n, double* sums) {
    dot_body<kRows, 16, kHasLevels ? 8 : 16>(a, x, n, sums);
  }
  template <int64_t kRows>
  MT_WIDE static void dot_wide(const C* const* a, const C* x, int64_t n, double* sums) {
    dot_body<kRows, 32, 8>(a, x, n, sums);
  }
  template <int64_t kRows>
  MT_WIDEST static void dot_widest(const C* const* a, const C* x, int64_t n, double* sums) {
    dot_body<kRows, 64, 8>(a, x, n, sums);
  }
  static void add(const C* const* a, const C* f, C* out, int64_t n) { add_body(a, f, out, n); }
  MT_WIDE static void add_wide(const C* const* a, const C* f, C* out, int64_t n) { add_body(a, f, out, n); }
  MT_WIDEST static void add_widest(const C* const* a, const C* f, C* out, int64_t n) {
    add_body(a, f, out, n);
  }
  using Dot = void (*)(const C* const*, const C*, int64_t, double*);
  static constexpr Dot kDot[kLevels] = {dot<kTogether>, dot_wide<kTogether>, dot_widest<kTogether>};
  static constexpr Dot kDotOne[kLevels] = {dot<1>, dot_wide<1>, dot_widest<1>};
  static constexpr decltype(&dots) kDots[kLevels] = {dots, dots_wide, dots_wide};
  static constexpr decltype(&add) kAdd[kLevels] = {add, add_wide, add_widest};
};

template <class C>
struct Product {
  const char* matrix;
  int64_t rows, length, row_step, step;  // in bytes
  Converter load, store;
  const char* vector;
  int64_t vector_step;  // in bytes
  const C* x;           // the same, dense, where it is used more than once; else null
  char* out;
  int64_t out_step;
  double alpha, beta;
  bool direct;

  const C* piece(const char* from, int64_t stride, int64_t n, C* buffer) const {
    if (direct && stride == int64_t(sizeof(C))) return reinterpret_cast<const C*>(from);
    load(from, stride, reinterpret_cast<char*>(buffer), sizeof(C), n);
    return buffer;
  }
  // The results of n rows, at most a block of them.
  template <class S>
  void put(int64_t first, const S* sums, int64_t n) const {
    char* target = out + first * out_step;
    alignas(64) C values[kBlock], old[kBlock];
    if (beta != 0) load(target, out_step, reinterpret_cast<char*>(old), sizeof(C), n);
    for (int64_t i = 0; i < n; ++i) {
      const double value = alpha * double(sums[i]);
      values[i] = C(beta != 0 ? value + beta * double(old[i]) : value);
    }
    store(reinterpret_cast<const char*>(values), sizeof(C), target, out_step, n);
  }
  // Elements [first, last) of up to kTogether rows; where there are more than one, the last row stands for those that
  // are not there.
  void part_of_rows(int64_t row, int64_t count, int64_t first, int64_t last, double* sums) const {
    alignas(64) C buffers[kTogether][kSpan], others[kSpan];
    double totals[kTogether] = {};
    for (int64_t begin = first; begin < last; begin += kSpan) {
      const int64_t n = std::min(kSpan, last - begin);
      const C* pieces[kTogether];
      for (int64_t r = 0; r < (count == 1 ? 1 : kTogether); ++r)
        pieces[r] = r < count ? piece(matrix + (row + r) * row_step + begin * step, step, n, buffers[r])
                              : pieces[r - 1];
      const C* v = x ? x + begin : piece(vector + begin * vector_step, vector_step, n, others);
      (count == 1 ? Loops<C>::kDotOne : Loops<C>::kDot)[cpu_level](pieces, v, n, totals);
    }
    std::copy_n(totals, count, sums);
  }

  // Rows one after the other. Few long ones are cut into pieces, whose number depends on the sizes only.
  void by_rows() const {
    const int64_t pieces = std::clamp<int64_t>(rows < 16 ? length / kGrain : 1, 1, 64);
    if (pieces == 1) {
      parallel_for(0, rows, std::max<int64_t>(1, kGrain / length), [&](int64_t begin, int64_t end) {
        constexpr int64_t some = 32;
        double sums[some];
        for (int64_t row = begin; row < end; row += some) {
          const int64_t n = std::min(some, end - row);
          if (length <= kShort && x && direct && step == int64_t(sizeof(C)))
            Loops<C>::kDots[cpu_level](reinterpret_cast<const C*>(matrix + row * row_step),
                                       row_step / int64_t(sizeof(C)), x, length, sums, n);
          else
            for (int64_t i = 0; i < n; i += kTogether)
              part_of_rows(row + i, std::min(kTogether, n - i), 0, length, sums + i);
          put(row, sums, n);
        }
      });
      return;
    }
    std::vector<double> sums(size_t(rows * pieces));
    const int64_t each = (length + pieces - 1) / pieces;
    parallel_for(0, rows * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = std::min(length, i % pieces * each);
        part_of_rows(i / pieces, 1, first, std::min(length, first + each), &sums[size_t(i)]);
      }
    });
    for (int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < pieces; ++i) sum += sums[size_t(row * pieces + i)];
      put(row, &sum, 1);
    }
  }

  // Adds columns [k, last) up into sums[0, n), those of rows from `first` on.
  void add_columns(int64_t first, int64_t n, int64_t k, int64_t last, C* sums) const {
    alignas(64) C buffers[kTogether][kBlock];
    for (; k < last; k += kTogether) {
      const C* columns[kTogether];
      C factors[kTogether];
      const int64_t count = std::min(kTogether, last - k);
      for (int64_t j = 0; j < count; ++j) {
        columns[j] = piece(matrix + first * row_step + (k + j) * step, row_step, n, buffers[j]);
        factors[j] = x[k + j];
      }
      if (count == kTogether) {
        Loops<C>::kAdd[cpu_level](columns, factors, sums, n);
      } else {
        for (int64_t j = 0; j < count; ++j)
          for (int64_t i = 0; i < n; ++i) sums[i] += columns[j][i] * factors[j];
      }
    }
  }
  // A block of results at a time or, where all of them stay in the first cache, all of them from a piece of the columns,
  // which lies together in memory; the number of pieces depends on the sizes only.
  void by_columns() const {
    const int64_t pieces = rows > kCached ? 1 : std::clamp<int64_t>(rows * length / (8 * kGrain), 1, 64);
    if (pieces > 1) return by_pieces_of_columns(pieces);
    const int64_t share = (rows / std::max(1, get_num_threads()) + 63) / 64 * 64;
    const int64_t block = std::clamp<int64_t>(share, 64, kBlock), blocks = (rows + block - 1) / block;
    parallel_for(0, blocks, std::max<int64_t>(1, kGrain / (block * length)), [&](int64_t begin, int64_t end) {
      for (int64_t first = begin * block; first < std::min(rows, end * block); first += block) {
        alignas(64) C sums[kBlock] = {};
        const int64_t n = std::min(block, rows - first);
        add_columns(first, n, 0, length, sums);
        put(first, sums, n);
      }
    });
  }
  void by_pieces_of_columns(int64_t pieces) const {
    const int64_t each = (length + pieces - 1) / pieces;
    const int64_t width = direct && row_step == int64_t(sizeof(C)) ? rows : kBlock;  // the rest is converted
    std::vector<C> sums(size_t(pieces * rows), C(0));
    parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        for (int64_t first = 0; first < rows; first += width)
          add_columns(first, std::min(width, rows - first), std::min(length, p * each),
                      std::min(length, (p + 1) * each), sums.data() + p * rows + first);
    });
    for (int64_t p = 1; p < pieces; ++p)
      for (int64_t i = 0; i < rows; ++i) sums[size_t(i)] += sums[size_t(p * rows + i)];
    for (int64_t first = 0; first < rows; first += kBlock)
      put(first, sums.data() + first, std::min(kBlock, rows - first));
  }
};

}  // namespace

void matrix_vector(const View& a, const View& x, const View& out, double alpha, double beta) {
  with_compute_type(a.dtype, "addmv_impl_cpu", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const int64_t item = int64_t(itemsize(a.dtype)), length = a.sizes[1];
    std::vector<C> vector;
    const C* dense = nullptr;
    const bool direct = a.dtype == dtype_of<C>;
    const bool upright = a.strides[0] == 1 && a.strides[1] != 1 && a.sizes[0] > 1;
    const bool by_columns = upright || (length <= kNarrow && a.sizes[0] >= kBlock);
    const Converter load = converter(a.dtype, dtype_of<C>);
    if (direct && (x.strides[0] == 1 || length == 1)) {
      dense = x.as<const C>();
    } else if (a.sizes[0] > 1) {
      vector.resize(size_t(length));
      load(x.as<char>(), x.strides[0] * item, reinterpret_cast<char*>(vector.data()), sizeof(C), length);
      dense = vector.data();
    }
    const Product<C> product{a.as<char>(),
                             a.sizes[0],
                             length,
                             a.strides[0] * item,
                             a.strides[1] * item,
                             load,
                             converter(dtype_of<C>, a.dtype),
                             x.as<char>(),
                             x.strides[0] * item,
                             dense,
                             out.as<char>(),
                             out.strides[0] * item,
                             alpha,
                             beta,
                             direct};
    if (by_columns) product.by_columns();
    else product.by_rows();
  });
}

void row_products(const View& a, const View& b, const View& out, double alpha, double beta) {
  with_compute_type(a.dtype, "bmm", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const int64_t item = int64_t(itemsize(a.dtype)), batch = a.sizes[0], length = a.sizes[2];
    const auto one = [&](int64_t i) {
      return Product<C>{a.as<char>() + i * a.strides[0] * item,
                        1,
                        length,
                        0,
                        a.strides[2] * item,
                        converter(a.dtype, dtype_of<C>),
                        converter(dtype_of<C>, a.dtype),
                        b.as<char>() + i * b.strides[0] * item,
                        b.strides[1] * item,
                        nullptr,
                        out.as<char>() + i * out.strides[0] * item,
                        out.strides[0] * item,
                        alpha,
                        beta,
                        a.dtype == dtype_of<C>};
    };
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, length));
    parallel_for(0, batch, grain, [&](int64_t begin, int64_t end) {
      constexpr int64_t some = 32;
      double sums[some];
      for (int64_t first = begin; first < end; first += some) {
        const int64_t n = std::min(some, end - first);
        for (int64_t i = 0; i < n; ++i) one(first + i).part_of_rows(0, 1, 0, length, sums + i);
        one(first).put(0, sums, n);
      }
    });
  });
}

}  // namespace mt::kernels

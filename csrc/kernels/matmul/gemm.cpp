#include "kernels/matmul/gemm.h"

#include <algorithm>
#include <vector>

#include "kernels/common/parallel.h"
#include "kernels/common/thread_buffer.h"
#include "kernels/matmul/pack.h"
#include "kernels/matmul/product_tiles.h"

namespace mt::kernels {
namespace {

// Note [Packed products]
// c is cut into tiles that stay in registers while a slice of k is added up. For that b is copied into panels that a tile
// reads from front to back. a is read where it is if its rows lie along memory; else it is packed as well, for the rows
// of a tile each. With many rows b is packed once, by all threads, into memory they share, and a by the thread that uses
// it, a block of rows at a time. A panel of b stays in the first cache while the rows of the block pass by it, the block
// in the second; while a panel is in use the next one is fetched, because all of it is needed at once. With few rows (one
// block) it is the other way round: a is packed once, and each panel of b by the thread that uses it, because nobody else
// will; where there are rows for one tile only, a panel of b that lies along memory is read where it is.
//
// The pieces that threads take are blocks of rows, cut into groups of panels where there are few blocks. There are many
// more pieces than threads, so that a core that is slowed down takes fewer of them. Sums are split only where the result
// is small, by sizes alone: it does not depend on the number of threads.
//
// Up to about a hundred rows and columns OpenBLAS multiplies without packing, which is faster; not where a few rows or
// columns are all there is of one factor.
constexpr int64_t kWorthPacking = int64_t(1) << 20, kWorthPackingFew = int64_t(1) << 16;  // multiplications
constexpr int64_t kDepth = 256;                                                           // of a slice
constexpr int64_t kBlockRows = 64;                                                        // of a block
// Thin products are turned (the transposed one is computed) up to these sizes, found by measuring: a vector or so is
// fastest as rows; a few more as columns if the large matrix can be read in place as rows, and as rows if it cannot.
constexpr int64_t kFewest = 4, kFewRows = 16, kFewColumns = 32;
constexpr int64_t kRowsAhead = 16;  // fetched ahead of a panel that is read in place
constexpr int64_t kPiecesPerThread = 8;
constexpr int64_t kGroupPanels = 4;  // at least, with many rows: each group goes over its rows of a again
constexpr int64_t kWorkPerThread = int64_t(1) << 19;  // multiplications worth waking a thread for
// What is packed of b at a time; a larger one is taken in slabs.
constexpr int64_t kSlabBytes = int64_t(16) << 20, kSlabColumns = 4080;

int64_t parts_of(int64_t length, int64_t part) { return (length + part - 1) / part; }
int64_t round_up(int64_t length, int64_t unit) { return parts_of(length, unit) * unit; }

// What all threads of a product read, and what a thread packs for itself.
constinit PerThread<ThreadBuffer> shared_buffer, own_buffer;

template <class T>
class Product {
 public:
  Product(int64_t m, int64_t n, int64_t k, T alpha, Factor a, Factor b, T beta, Result<T> c)
      : m_(m),
        n_(n),
        k_(k),
        alpha_(alpha),
        beta_(beta),
        a_(a),
        b_(b),
        c_(c),
        depth_(parts_of(k, parts_of(k, kDepth))) {
    const int64_t useful = in_parallel_region() ? 1 : m * n * k / kWorkPerThread;
    threads_ = std::clamp<int64_t>(useful, 1, get_num_threads());
  }

  void run() const {
    if (m_ <= kBlockRows) {
      const int64_t height = slab_height(kBlockRows);
      for (int64_t row = 0; row < k_; row += height) few_rows({0, n_, row, std::min(k_, row + height)});
      return;
    }
    const int64_t width = kSlabColumns / tiles_.columns * tiles_.columns;
    const int64_t height = slab_height(std::min(width, round_up(n_, tiles_.narrow)));
    for (int64_t column = 0; column < n_; column += width) {
      for (int64_t row = 0; row < k_; row += height)
        many_rows({column, std::min(n_, column + width), row, std::min(k_, row + height)});
    }
  }

 private:
  struct Slab {  // of b
    int64_t column, end_column, row, end_row;
  };
  struct Panel {
    int64_t column, count, vectors, width;  // `count` columns, padded to `width`, which is so many `vectors`
  };
  struct Columns {  // a slice of a panel, as tiles read it
    const T* data;
    int64_t leading;
    const T* next;  // to fetch for what comes after: `fetch` elements a row
    int64_t fetch;
  };
  static constexpr int kRows = ProductTiles<T>::kRowChoices[0];
  static constexpr int64_t kWidest = 3 * 64 / int64_t(sizeof(T));  // columns of the widest tile

  // Rows of a slab with so many columns.
  int64_t slab_height(int64_t columns) const {
    return std::max<int64_t>(1, kSlabBytes / int64_t(sizeof(T)) / columns / depth_) * depth_;
  }
  // As wide as one another: a tile of one vector has too few sums to keep the machine busy.
  Panel panel(const Slab& slab, int64_t index, int64_t panels) const {
    const int64_t all = parts_of(slab.end_column - slab.column, tiles_.narrow);
    const int64_t first = index * all / panels, vectors = (index + 1) * all / panels - first;
    const int64_t column = slab.column + first * tiles_.narrow, width = vectors * tiles_.narrow;
    return {column, std::min(width, slab.end_column - column), vectors, width};
  }
  T beta_at(int64_t row) const { return row == 0 ? beta_ : T(1); }
  // Calls f(i) for all pieces, on as many threads as the work is worth.
  template <class F>
  void for_pieces(int64_t pieces, F&& f) const {
    parallel_for(0, pieces, threads_ < get_num_threads() ? parts_of(pieces, threads_) : 1,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) f(i);
                 });
  }

  void many_rows(Slab slab) const {
    const int64_t columns = slab.end_column - slab.column, padded = round_up(columns, tiles_.narrow);
    const int64_t panels = parts_of(columns, tiles_.columns);
    const int64_t slices = parts_of(slab.end_row - slab.row, depth_);
    T* packed = shared_buffer->room<T>(padded * (slab.end_row - slab.row));
    // The panels of a slice lie one after the other, then those of the next slice.
    const auto place = [&](int64_t at, const Panel& columns, int64_t length) {
      return packed + (at - slab.row) * padded + (columns.column - slab.column) * length;
    };
    for_pieces(slices * panels, [&](int64_t i) {
      const int64_t at = slab.row + i / panels * depth_, length = std::min(depth_, slab.end_row - at);
      const Panel columns = panel(slab, i % panels, panels);
      pack_columns(columns, at, length, place(at, columns, length));
    });
    const int64_t wanted = threads_ == 1 ? 1 : threads_ * kPiecesPerThread;
    int64_t height = round_up(parts_of(m_, parts_of(m_, kBlockRows)), kRows);
    int64_t blocks = parts_of(m_, height);
    int64_t groups =
        std::clamp<int64_t>(parts_of(wanted, blocks), 1, std::max<int64_t>(1, panels / kGroupPanels));
    if (const int64_t least = 2 * threads_; threads_ > 1 && blocks * groups < least) {
      groups = std::min(panels, parts_of(least, blocks));
      height = std::min(height, round_up(parts_of(m_, parts_of(least, groups)), kRows));
      blocks = parts_of(m_, height);
    }
    for_pieces(blocks * groups, [&](int64_t i) {
      const int64_t row = i % blocks * height, end_row = std::min(m_, row + height), group = i / blocks;
      T* rows = rows_in_place_ ? nullptr : own_buffer->room<T>(height * depth_);
      for (int64_t at = slab.row; at < slab.end_row; at += depth_) {
        const int64_t length = std::min(depth_, slab.end_row - at);
        if (!rows_in_place_) pack_rows(row, end_row, at, length, rows);
        const T* left = rows_in_place_ ? a_.template at<T>(row, at) : rows;
        for (int64_t p = group * panels / groups; p < (group + 1) * panels / groups; ++p) {
          const Panel columns = panel(slab, p, panels);
          const T* data = place(at, columns, length);
          multiply(row, end_row, left, columns,
                   {data, columns.width, data + columns.width * length,
                    parts_of(columns.width * kRows, end_row - row)},
                   length, beta_at(at));
        }
      }
    });
  }

  void few_rows(Slab slab) const {
    T* packed = rows_in_place_ ? nullptr : shared_buffer->room<T>(m_ * (slab.end_row - slab.row));
    if (packed) {
      for_pieces(parts_of(slab.end_row - slab.row, depth_), [&](int64_t i) {
        const int64_t at = slab.row + i * depth_;
        pack_rows(0, m_, at, std::min(depth_, slab.end_row - at), packed + (at - slab.row) * m_);
      });
    }
    const int64_t vectors = parts_of(slab.end_column - slab.column, tiles_.narrow);
    const int64_t widest = tiles_.columns / tiles_.narrow;
    const int64_t fewest = parts_of(vectors, widest);
    // Threads with the same number of panels have the same to do.
    const int64_t panels = std::min(vectors, threads_ < fewest ? round_up(fewest, threads_) : fewest);
    for_pieces(panels, [&](int64_t i) {
      const Panel columns = panel(slab, i, panels);
      const bool in_place =
          m_ <= kRows && b_.column_stride == 1 && b_.dtype == dtype_of<T> && columns.count == columns.width;
      T* copy = own_buffer->room<T>(columns.width * depth_);
      for (int64_t at = slab.row; at < slab.end_row; at += depth_) {
        const int64_t length = std::min(depth_, slab.end_row - at);
        Columns right{copy, columns.width, copy, 0};
        if (in_place) {
          const T* data = b_.template at<T>(at, columns.column);
          right = {data, b_.row_stride, data + kRowsAhead * b_.row_stride, b_.row_stride};
        } else {
          pack_columns(columns, at, length, copy);
        }
        const T* left = rows_in_place_ ? a_.template at<T>(0, at) : packed + (at - slab.row) * m_;
        multiply(0, m_, left, columns, right, length, beta_at(at));
      }
    });
  }

  // In blocks of as many rows as the tiles that will read them.
  void pack_rows(int64_t row, int64_t end_row, int64_t at, int64_t length, T* target) const {
    for (int64_t i = row; i < end_row;) {
      const int64_t rows = ProductTiles<T>::kRowChoices[tiles_.choice(end_row - i)];
      const int64_t blocks = (end_row - i) / rows;
      if (a_.dtype == dtype_of<T>)
        pack_panels(a_.template at<T>(i, at), a_.row_stride, a_.column_stride, rows, blocks, length, target);
      else
        for (int64_t b = 0; b < blocks; ++b)
          convert(a_, i + b * rows, at, rows, length, target + b * rows * length, rows);
      i += blocks * rows, target += blocks * rows * length;
    }
  }

  void pack_columns(const Panel& columns, int64_t at, int64_t length, T* target) const {
    const Factor turned = b_.transposed();
    if (b_.dtype == dtype_of<T>)
      pack_panel(turned.template at<T>(columns.column, at), turned.row_stride, turned.column_stride,
                 columns.count, length, target, columns.width);
    else convert(turned, columns.column, at, columns.count, length, target, columns.width);
  }

  // Rows become lanes.
  static void convert(const Factor& from, int64_t row, int64_t column, int64_t lanes, int64_t length,
                      T* target, int64_t width) {
    const int64_t offset = row * from.row_stride + column * from.column_stride;
    pack_converted(from.dtype, static_cast<const char*>(from.data) + offset * int64_t(itemsize(from.dtype)),
                   from.row_stride, from.column_stride, lanes, length, target, width);
  }

  // The columns of one panel in rows [row, end_row) of c; `left` is packed or in place.
  void multiply(int64_t row, int64_t end_row, const T* left, const Panel& columns, Columns right,
                int64_t length, T beta) const {
    for (int64_t i = row; i < end_row;) {
      const int which = tiles_.choice(end_row - i), rows = ProductTiles<T>::kRowChoices[which];
      const auto tile = tiles_.block[!rows_in_place_][which][columns.vectors - 1];
      T* to = c_.at(i, columns.column);
      if (c_.column_stride == 1 && columns.count == columns.width) {
        tile(left, a_.row_stride, right.data, right.leading, length, right.next, right.fetch, alpha_, beta,
             to, c_.row_stride);
      } else {  // the padding must not reach c
        T edge[kRows * kWidest];
        tile(left, a_.row_stride, right.data, right.leading, length, right.next, right.fetch, alpha_, T(0),
             edge, columns.width);
        if (c_.row_stride == 1)
          add(edge, 1, columns.width, columns.count, rows, beta, to, c_.column_stride, 1);
        else add(edge, columns.width, 1, rows, columns.count, beta, to, c_.row_stride, c_.column_stride);
      }
      left += rows_in_place_ ? rows * a_.row_stride : rows * length;
      i += rows, right.next += length * right.fetch;
    }
  }

  // to[i, j] = from[i, j] + beta * to[i, j]; neighbours in j should lie together.
  static void add(const T* from, int64_t from_row, int64_t from_step, int64_t rows, int64_t count, T beta,
                  T* to, int64_t to_row, int64_t to_step) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < count; ++j) {
        const T sum = from[i * from_row + j * from_step];
        T& element = to[i * to_row + j * to_step];
        element = beta == T(0) ? sum : sum + beta * element;
      }
    }
  }

  const ProductTiles<T>& tiles_ = product_tiles<T>();
  const int64_t m_, n_, k_;
  const T alpha_, beta_;
  const Factor a_, b_;
  const Result<T> c_;
  const int64_t depth_;
  const bool rows_in_place_ = a_.column_stride == 1 && a_.dtype == dtype_of<T>;
  int64_t threads_;
};

}  // namespace

bool worth_packing(int64_t m, int64_t n, int64_t k) {
  return m * n * k > (std::min(m, n) <= kFewest ? kWorthPackingFew : kWorthPacking);
}

namespace {

// How many terms of each sum are added up apart from the others: all of them, or slices where these are more than the
// pieces that threads could share out otherwise.
constexpr int64_t kSmallResult = 128 * 128, kSliceWork = int64_t(1) << 21, kMostSlices = 64;
int64_t terms_together(int64_t m, int64_t n, int64_t k) {
  if (m * n > kSmallResult) return k;
  const int64_t terms =
      round_up(std::max({2 * kDepth, kSliceWork / (m * n), parts_of(k, kMostSlices)}), kDepth);
  return k / terms > parts_of(m, kBlockRows / 2) * parts_of(n, kBlockRows / 2) ? terms : k;
}

template <class T>
void product_of_all(int64_t m, int64_t n, int64_t k, T alpha, Factor a, Factor b, T beta, Result<T> c) {
  const bool few_columns = n < m && (a.column_stride == 1 ? n <= kFewest : n < kFewColumns);
  const bool few_rows = m < n && b.row_stride == 1 && m > kFewest && m <= kFewRows;
  const bool turn = few_columns || few_rows || (c.column_stride != 1 && c.row_stride == 1);
  if (turn) Product<T>(n, m, k, alpha, b.transposed(), a.transposed(), beta, c.transposed()).run();
  else Product<T>(m, n, k, alpha, a, b, beta, c).run();
}

template <class T>
void product_in_slices(int64_t m, int64_t n, int64_t k, int64_t terms, T alpha, Factor a, Factor b, T beta,
                       Result<T> c) {
  const int64_t slices = parts_of(k, terms), numel = m * n;
  const auto from = [](const Factor& factor, int64_t offset) {
    Factor part = factor;
    part.data = static_cast<const char*>(factor.data) + offset * int64_t(itemsize(factor.dtype));
    return part;
  };
  std::vector<T> sums(size_t(slices * numel));
  parallel_for(0, slices, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i * terms;
      product_of_all<T>(m, n, std::min(terms, k - at), alpha, from(a, at * a.column_stride),
                        from(b, at * b.row_stride), T(0), {sums.data() + i * numel, n, 1});
    }
  });
  for (int64_t i = 1; i < slices; ++i)
    for (int64_t j = 0; j < numel; ++j) sums[size_t(j)] += sums[size_t(i * numel + j)];
  for (int64_t row = 0; row < m; ++row)
    for (int64_t j = 0; j < n; ++j) {
      T& element = *c.at(row, j);
      const T sum = sums[size_t(row * n + j)];
      element = beta == T(0) ? sum : sum + beta * element;
    }
}

}  // namespace

template <class T>
void packed_product(int64_t m, int64_t n, int64_t k, T alpha, Factor a, Factor b, T beta, Result<T> c) {
  const int64_t terms = terms_together(m, n, k);
  if (terms < k) product_in_slices<T>(m, n, k, terms, alpha, a, b, beta, c);
  else product_of_all<T>(m, n, k, alpha, a, b, beta, c);
}

template void packed_product(int64_t, int64_t, int64_t, float, Factor, Factor, float, Result<float>);
template void packed_product(int64_t, int64_t, int64_t, double, Factor, Factor, double, Result<double>);

}  // namespace mt::kernels

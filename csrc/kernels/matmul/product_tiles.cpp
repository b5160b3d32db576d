#include "kernels/matmul/product_tiles.h"

#include <complex>
#include <type_traits>

#include "kernels/common/cpu_features.h"

namespace mt::kernels {
namespace {

#define MT_INLINE [[gnu::always_inline]] inline

// A register of `Bytes` bytes; types without vector arithmetic stand for themselves.
template <class T, int Bytes>
struct Register {
  typedef T type __attribute__((vector_size(Bytes)));
  typedef T unaligned __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
};
template <class R, int Bytes>
struct Register<std::complex<R>, Bytes> {
  using type = std::complex<R>;
  using unaligned = std::complex<R>;
};

// Note [Sums in slices]
// A sum of n products in one chain is off by about sqrt(n) roundings; in slices of kSlice, added up afterwards, by
// sqrt(kSlice + n / kSlice). The sums of a slice start from zero in registers, and adding them to what lies in memory
// costs one instruction in kSlice.
constexpr int64_t kSlice = 128;

template <class T, class V, class Unaligned, int Rows, int Vectors>
MT_INLINE void product_body(const T* a, const T* b, const int64_t* offsets, int64_t length, T* c, bool add) {
  constexpr int lanes = int(sizeof(V) / sizeof(T));
#pragma GCC unroll 24
  for (int v = 0; v < Rows * Vectors; ++v) __builtin_prefetch(c + v * lanes, 1);
  for (int64_t first = 0; first == 0 || first < length; first += kSlice) {
    const int64_t count = length - first < kSlice ? length - first : kSlice;
    V sums[Rows][Vectors] = {};
    for (int64_t i = first; i < first + count; ++i, a += Rows) {
      const T* line = b + offsets[i];
      V x[Vectors];
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) x[v] = *reinterpret_cast<const Unaligned*>(line + v * lanes);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) sums[r][v] += a[r] * x[v];
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) {
        Unaligned& to = *reinterpret_cast<Unaligned*>(c + (r * Vectors + v) * lanes);
        to = first == 0 && !add ? sums[r][v] : to + sums[r][v];
      }
    }
  }
}

template <class T, class V, class Unaligned, int Rows, int Vectors, bool Packed>
MT_INLINE void block_body(const T* a, int64_t row_stride, const T* b, int64_t leading, int64_t length,
                          const T* next, int64_t next_step, T alpha, T beta, T* c, int64_t c_leading) {
  constexpr int lanes = int(sizeof(V) / sizeof(T));
  const T* line = c;
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r, line += c_leading) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) __builtin_prefetch(line + v * lanes, 1);
  }
  V sums[Rows][Vectors] = {};
  const T* rows[Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) rows[r] = a + r * row_stride;
  for (int64_t i = 0; i < length; ++i, a += Rows, b += leading, next += next_step) {
    V x[Vectors];
    __builtin_prefetch(next, 0, 2);
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) x[v] = *reinterpret_cast<const Unaligned*>(b + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const T factor = Packed ? a[r] : rows[r][i];
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sums[r][v] += factor * x[v];
    }
  }
  // The addresses are computed again: kept over the loop, they would take registers from the sums.
  asm volatile("" : "+r"(c), "+r"(c_leading));
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r, c += c_leading) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      Unaligned& to = *reinterpret_cast<Unaligned*>(c + v * lanes);
      if (beta == T(0)) to = alpha * sums[r][v];
      else to = alpha * sums[r][v] + beta * to;
    }
  }
}

template <class T, class V, class Unaligned, int Rows, int Vectors>
MT_INLINE void outer_body(const T* x, const int64_t* offsets, const T* y, int64_t count, T* c,
                          int64_t leading) {
  constexpr int lanes = int(sizeof(V) / sizeof(T));
  const T* rows[Rows];
  V sums[Rows][Vectors] = {};  // added to c at the end: see Note [Sums in slices]
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) rows[r] = x + offsets[r];
  for (int64_t p = 0; p < count; ++p, y += leading) {
    V values[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) values[v] = *reinterpret_cast<const Unaligned*>(y + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sums[r][v] += rows[r][p] * values[v];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v)
      *reinterpret_cast<Unaligned*>(c + r * leading + v * lanes) += sums[r][v];
  }
}

// One set of tiles per machine level. Rows * vectors sums, the inputs and one factor fill the registers: 32 with
// AVX-512 and NEON, 16 below.
#define MT_TILE_LEVEL(level, attributes, bytes, outer_vectors)                                               \
  template <class T>                                                                                         \
  struct level {                                                                                             \
    using V = typename Register<T, bytes>::type;                                                             \
    using U = typename Register<T, bytes>::unaligned;                                                        \
    static constexpr int64_t lanes = int64_t(sizeof(V) / sizeof(T));                                         \
    static constexpr int most = outer_vectors;                                                               \
    template <int Rows>                                                                                      \
    attributes static void product(const T* a, const T* b, const int64_t* offsets, int64_t n, T* c,          \
                                   bool add) {                                                               \
      product_body<T, V, U, Rows, 3>(a, b, offsets, n, c, add);                                              \
    }                                                                                                        \
    template <int Rows, int Vectors>                                                                         \
    attributes static void outer(const T* x, const int64_t* offsets, const T* y, int64_t n, T* c,            \
                                 int64_t leading) {                                                          \
      outer_body<T, V, U, Rows, Vectors>(x, offsets, y, n, c, leading);                                      \
    }                                                                                                        \
    template <int Rows, int Vectors, bool Packed>                                                            \
    attributes static void block(const T* a, int64_t row_stride, const T* b, int64_t leading, int64_t n,     \
                                 const T* next, int64_t next_step, T alpha, T beta, T* c,                    \
                                 int64_t c_leading) {                                                        \
      block_body<T, V, U, Rows, Vectors, Packed>(a, row_stride, b, leading, n, next, next_step, alpha, beta, \
                                                 c, c_leading);                                              \
    }                                                                                                        \
  };

#if defined(__x86_64__)
constexpr bool kManyRegisters = false;
MT_TILE_LEVEL(Baseline, , 16, 2)
MT_TILE_LEVEL(Wide, MT_WIDE, 32, 2)
MT_TILE_LEVEL(Widest, MT_WIDEST, 64, 4)
#else
constexpr bool kManyRegisters = true;
MT_TILE_LEVEL(Baseline, , 16, 4)
#endif

template <class T, class Level, bool Packed, int Rows>
void add_blocks(typename ProductTiles<T>::Block* blocks) {
  blocks[0] = Level::template block<Rows, 1, Packed>;
  blocks[1] = Level::template block<Rows, 2, Packed>;
  blocks[2] = Level::template block<Rows, 3, Packed>;
}

// The tiles of so many rows, and of all choices behind.
template <class T, class Level, bool kManyRegisters, int kChoice = 0>
void add_choices(ProductTiles<T>& tiles) {
  if constexpr (kChoice < ProductTiles<T>::kChoices) {
    constexpr int rows = ProductTiles<T>::kRowChoices[kChoice];
    if constexpr (kManyRegisters || rows <= 4) {
      tiles.product[kChoice] = Level::template product<rows>;
      if constexpr (std::is_floating_point_v<T>) {
        add_blocks<T, Level, false, rows>(tiles.block[0][kChoice]);
        add_blocks<T, Level, true, rows>(tiles.block[1][kChoice]);
      }
    }
    add_choices<T, Level, kManyRegisters, kChoice + 1>(tiles);
  }
}

template <class T, class Level, bool kManyRegisters>
ProductTiles<T> table() {
  ProductTiles<T> tiles{};
  add_choices<T, Level, kManyRegisters>(tiles);
  tiles.columns = 3 * Level::lanes;
  constexpr int rows = ProductTiles<T>::kOuterRows;
  tiles.outer[0] = Level::template outer<rows, 1>;
  tiles.outer[1] = Level::template outer<rows, 2>;
  if constexpr (Level::most > 2) {
    tiles.outer[2] = Level::template outer<rows, 3>;
    tiles.outer[3] = Level::template outer<rows, 4>;
  }
  tiles.tall = Level::template outer<2 * rows, 1>;
  tiles.most = Level::most;
  tiles.narrow = Level::lanes;
  return tiles;
}

template <class T>
ProductTiles<T> choose() {
#if defined(__x86_64__)
  if (cpu_level == 2) return table<T, Widest<T>, true>();
  if (cpu_level == 1) return table<T, Wide<T>, false>();
#endif
  return table<T, Baseline<T>, kManyRegisters>();
}

}  // namespace

template <class T>
const ProductTiles<T>& product_tiles() {
  static const ProductTiles<T> tiles = choose<T>();
  return tiles;
}

template const ProductTiles<float>& product_tiles();
template const ProductTiles<double>& product_tiles();
template const ProductTiles<uint64_t>& product_tiles();
template const ProductTiles<std::complex<float>>& product_tiles();
template const ProductTiles<std::complex<double>>& product_tiles();

}  // namespace mt::kernels

#include "kernels/matmul/bfloat16_product.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/cpu_features.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/thread_buffer.h"
#include "kernels/matmul/pack.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace mt::kernels {
namespace {

// Note [Pairs]
// One instruction multiplies pairs that follow each other along k and adds both products to a float. So b is packed in
// panels of 16 columns, in which the pairs of one step lie together: panel[k / 2, 16, 2]; and a in panels of 16 rows, cut
// into blocks of 32 along k: panel[k / 32, 16, 32], which is what a tile of AMX holds. Both are padded with zeros. A square
// of 32 by 32 results is two panels by two, added up over all of k. With many rows b is packed once, by all threads, and a
// by the thread that uses it; with few rows it is the other way round, as in Note [Packed products].
constexpr int64_t kSide = PairTiles::kSide, kHalf = PairTiles::kHalf, kDepth = PairTiles::kDepth;
constexpr int64_t kFewRows = 128;
constexpr int64_t kSlabBytes = int64_t(8) << 20;   // of b, packed at a time
constexpr int64_t kBlockBytes = int64_t(1) << 19;  // the same of a, by one thread
constexpr int64_t kPiecesPerThread = 4;
constexpr int64_t kTogether = 4;  // squares along a row of b, packed at once: a row of 256 bytes at a time
constexpr int64_t kWorth = int64_t(1) << 16;          // multiplications
constexpr int64_t kWorkPerThread = int64_t(1) << 21;  // the same, worth calling a thread for

constinit PerThread<ThreadBuffer> shared_buffer, own_buffer;

int64_t parts_of(int64_t length, int64_t part) { return (length + part - 1) / part; }
int64_t round_up(int64_t length, int64_t unit) { return parts_of(length, unit) * unit; }

// panel[k / 32, 16, 32] from rows [row, row + count) of a, which are `length` long.
void pack_rows(const Factor& a, int64_t row, int64_t count, int64_t length, BFloat16* panel) {
  const int64_t blocks = parts_of(length, kDepth);
  if (count < kHalf || length % kDepth) std::fill_n(panel, blocks * kHalf * kDepth, BFloat16());
  for (int64_t r = 0; r < count; ++r) {
    const BFloat16* from = a.at<BFloat16>(row + r, 0);
    BFloat16* to = panel + r * kDepth;
    int64_t block = 0;
    for (; (block + 1) * kDepth <= length; ++block)
      std::memcpy(to + block * kHalf * kDepth, from + block * kDepth, kDepth * sizeof(BFloat16));
    const int64_t rest = length - block * kDepth;
    if (rest)
      std::memcpy(to + block * kHalf * kDepth, from + block * kDepth, size_t(rest) * sizeof(BFloat16));
  }
}

// panel[k / 2, 16, 2] from columns [column, column + count) of b, which are `length` long; padding is left alone.
void pack_columns(const Factor& b, int64_t column, int64_t count, int64_t length, BFloat16* panel) {
  uint32_t* pairs = reinterpret_cast<uint32_t*>(panel);
  const int64_t whole = length / 2;
  const BFloat16* from = b.at<BFloat16>(0, column);
  if (b.row_stride == 1 && b.column_stride % 2 == 0) {  // pairs lie together already
    pack_panel(reinterpret_cast<const float*>(from), b.column_stride / 2, 1, count, whole,
               reinterpret_cast<float*>(panel), kHalf);
    return;
  }
  for (int64_t p = 0; p < whole; ++p) {
    const BFloat16* first = from + 2 * p * b.row_stride;
    for (int64_t j = 0; j < kHalf; ++j)
      pairs[p * kHalf + j] =
          j < count ? pair_of(first[j * b.column_stride], first[j * b.column_stride + b.row_stride]) : 0;
  }
}

// The same for whole panels side by side whose rows lie along memory: row by row, as the cache has them.
struct PackRowsOfPanels {
  [[gnu::always_inline]] static inline void run(const BFloat16* from, int64_t row, int64_t panels,
                                                int64_t length, BFloat16* target, int64_t panel) {
    for (int64_t p = 0; p < length / 2; ++p, from += 2 * row) {
      for (int64_t i = 0; i < panels; ++i) {
        const BFloat16 *first = from + i * kHalf, *second = first + row;
        uint32_t* pairs = reinterpret_cast<uint32_t*>(target + i * panel) + p * kHalf;
#pragma GCC ivdep
        for (int64_t j = 0; j < kHalf; ++j) pairs[j] = pair_of(first[j], second[j]);
      }
    }
  }
};

// What is behind the last whole pair of a panel: the first half of one more, and zeros.
void pad_columns(const Factor& b, int64_t column, int64_t count, int64_t length, BFloat16* panel) {
  uint32_t* pairs = reinterpret_cast<uint32_t*>(panel);
  const int64_t whole = length / 2, end = round_up(length, kDepth) / 2;
  std::fill(pairs + whole * kHalf, pairs + end * kHalf, 0u);
  if (length % 2)
    for (int64_t j = 0; j < count; ++j)
      pairs[whole * kHalf + j] = pair_of(*b.at<BFloat16>(length - 1, column + j), BFloat16());
}

void nothing() {}

void multiply_portable(const BFloat16* a, int64_t a_half, const BFloat16* b, int64_t b_half, int64_t b_row,
                       int64_t steps, float* c) {
  for (int64_t i = 0; i < kSide; ++i) {
    for (int64_t j = 0; j < kSide; ++j) {
      const BFloat16* x = a + i / kHalf * a_half + i % kHalf * kDepth;
      const BFloat16* y = b + j / kHalf * b_half + j % kHalf * 2;
      float sum = 0;
      for (int64_t p = 0; p < steps * kDepth; ++p)
        sum += float(x[p / kDepth * kHalf * kDepth + p % kDepth]) * float(y[p / 2 * b_row + p % 2]);
      c[i * kSide + j] = sum;
    }
  }
}

#if defined(__x86_64__)

// Four tiles of sums, two of a, two of b. The offsets of a panel's blocks are those of the next 16 rows of 64 bytes.
#define MT_AMX [[gnu::target("amx-tile,amx-bf16")]]

struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

MT_AMX void begin_amx() {
  static const TileShapes shapes;
  _tile_loadconfig(&shapes);
}
MT_AMX void end_amx() { _tile_release(); }

MT_AMX void multiply_amx(const BFloat16* a, int64_t a_half, const BFloat16* b, int64_t b_half, int64_t b_row,
                         int64_t steps, float* c) {
  constexpr int64_t block = kHalf * kDepth;  // elements of a tile of a
  const int64_t b_block = kDepth / 2 * b_row, b_bytes = b_row * int64_t(sizeof(BFloat16));
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t s = 0; s < steps; ++s) {
    _tile_loadd(4, a + s * block, 64);
    _tile_loadd(6, b + s * b_block, b_bytes);
    _tile_loadd(7, b + b_half + s * b_block, b_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a + a_half + s * block, 64);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, kSide * sizeof(float));
  _tile_stored(1, c + kHalf, kSide * sizeof(float));
  _tile_stored(2, c + kHalf * kSide, kSide * sizeof(float));
  _tile_stored(3, c + kHalf * kSide + kHalf, kSide * sizeof(float));
}

// Eight rows and two vectors of columns at a time.
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]] void multiply_avx512(
    const BFloat16* a, int64_t a_half, const BFloat16* b, int64_t b_half, int64_t b_row, int64_t steps,
    float* c) {
  constexpr int rows = 8;
  for (int64_t row = 0; row < kSide; row += rows) {
    const BFloat16* from = a + row / kHalf * a_half + row % kHalf * kDepth;
    __m512 sums[rows][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
    for (int64_t s = 0; s < steps; ++s, from += kHalf * kDepth) {
      for (int64_t p = 0; p < kDepth / 2; ++p) {
        const int64_t line = (s * kDepth / 2 + p) * b_row;
        const __m512bh left = (__m512bh)_mm512_loadu_si512(b + line);
        const __m512bh right = (__m512bh)_mm512_loadu_si512(b + b_half + line);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
          int32_t pair;
          std::memcpy(&pair, from + r * kDepth + 2 * p, sizeof(pair));
          const __m512bh factor = (__m512bh)_mm512_set1_epi32(pair);
          sums[r][0] = _mm512_dpbf16_ps(sums[r][0], factor, left);
          sums[r][1] = _mm512_dpbf16_ps(sums[r][1], factor, right);
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      _mm512_storeu_ps(c + (row + r) * kSide, sums[r][0]);
      _mm512_storeu_ps(c + (row + r) * kSide + kHalf, sums[r][1]);
    }
  }
}

// Linux gives tiles to processes that ask for them.
bool tiles_granted() {
  constexpr long request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request, tile_data) == 0;
}

const PairTiles* find_tiles() {
  static constexpr PairTiles amx{multiply_amx, begin_amx, end_amx};
  static constexpr PairTiles avx512{multiply_avx512, nothing, nothing};
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (cpu_level < 2 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return nullptr;
  const bool has_amx = (d >> 24 & 1) && (d >> 22 & 1);  // AMX-TILE, AMX-BF16
  if (has_amx && tiles_granted()) return &amx;
  if (a < 1 || !__get_cpuid_count(7, 1, &a, &b, &c, &d)) return nullptr;
  return a >> 5 & 1 ? &avx512 : nullptr;  // AVX512-BF16
}

#elif defined(__aarch64__)

// One instruction multiplies two rows of four by two columns of four. Eight rows and eight columns at a time: of two lines of
// pairs, which are four steps along k, a zip makes two columns.
[[gnu::target("arch=armv8.2-a+bf16")]] void multiply_bfmmla(const BFloat16* a, int64_t a_half,
                                                            const BFloat16* b, int64_t b_half, int64_t b_row,
                                                            int64_t steps, float* c) {
  constexpr int64_t side = 8, depth = 4, squares = side / 2;
  for (int64_t row = 0; row < kSide; row += side) {
    for (int64_t column = 0; column < kSide; column += side) {
      const BFloat16* left = a + row / kHalf * a_half + row % kHalf * kDepth;
      const BFloat16* right = b + column / kHalf * b_half + column % kHalf * 2;
      float32x4_t sums[squares][squares];
#pragma GCC unroll 4
      for (int i = 0; i < squares; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < squares; ++j) sums[i][j] = vdupq_n_f32(0);
      for (int64_t s = 0; s < steps; ++s, left += kHalf * kDepth) {
        for (int64_t p = 0; p < kDepth; p += depth, right += 2 * b_row) {
          bfloat16x8_t rows[squares], columns[squares];
#pragma GCC unroll 4
          for (int i = 0; i < squares; ++i) {
            const uint16_t* from = reinterpret_cast<const uint16_t*>(left + 2 * i * kDepth + p);
            rows[i] = vreinterpretq_bf16_u16(vcombine_u16(vld1_u16(from), vld1_u16(from + kDepth)));
          }
#pragma GCC unroll 2
          for (int j = 0; j < squares; j += 2) {
            const uint32_t* from = reinterpret_cast<const uint32_t*>(right) + 2 * j;
            const uint32x4_t first = vld1q_u32(from), second = vld1q_u32(from + b_row / 2);
            columns[j] = vreinterpretq_bf16_u32(vzip1q_u32(first, second));
            columns[j + 1] = vreinterpretq_bf16_u32(vzip2q_u32(first, second));
          }
#pragma GCC unroll 4
          for (int i = 0; i < squares; ++i)
#pragma GCC unroll 4
            for (int j = 0; j < squares; ++j) sums[i][j] = vbfmmlaq_f32(sums[i][j], rows[i], columns[j]);
        }
      }
#pragma GCC unroll 4
      for (int i = 0; i < squares; ++i) {
        float* to = c + (row + 2 * i) * kSide + column;
#pragma GCC unroll 4
        for (int j = 0; j < squares; ++j) {
          vst1_f32(to + 2 * j, vget_low_f32(sums[i][j]));
          vst1_f32(to + kSide + 2 * j, vget_high_f32(sums[i][j]));
        }
      }
    }
  }
}

const PairTiles* find_tiles() {
  static constexpr PairTiles bfmmla{multiply_bfmmla, nothing, nothing};
  return getauxval(AT_HWCAP2) & HWCAP2_BF16 ? &bfmmla : nullptr;
}

#else

const PairTiles* find_tiles() { return nullptr; }

#endif

}  // namespace

const PairTiles portable_tiles{multiply_portable, nothing, nothing};

const PairTiles* pair_tiles() {
  static const PairTiles* const found = find_tiles();
  return found;
}

bool worth_pairing(int64_t m, int64_t n, int64_t k) {
  return m > 1 && n >= kHalf && k >= kDepth && m * n * k >= kWorth;
}

namespace {

struct Finish {  // c = alpha * sums + beta * c, for [rows, columns] of a square
  [[gnu::always_inline]] static inline void run(const float* sums, int64_t rows, int64_t columns, float alpha,
                                                float beta, BFloat16* c, int64_t row, int64_t step) {
    for (int64_t i = 0; i < rows; ++i, sums += kSide, c += row) {
      if (beta != 0) {
        for (int64_t j = 0; j < columns; ++j)
          c[j * step] = BFloat16(alpha * sums[j] + beta * float(c[j * step]));
      } else if (step == 1 && columns == kSide) {
#pragma GCC ivdep
        for (int64_t j = 0; j < kSide; ++j) c[j] = BFloat16(alpha * sums[j]);
      } else {
        for (int64_t j = 0; j < columns; ++j) c[j * step] = BFloat16(alpha * sums[j]);
      }
    }
  }
};

class PairProduct {
 public:
  PairProduct(const PairTiles& tiles, int64_t m, int64_t n, int64_t k, float alpha, Factor a, Factor b,
              float beta, Result<BFloat16> c)
      : tiles_(tiles), m_(m), n_(n), k_(k), alpha_(alpha), beta_(beta), a_(a), b_(b), c_(c) {
    const int64_t useful = in_parallel_region() ? 1 : m * n * k / kWorkPerThread;
    threads_ = std::clamp<int64_t>(useful, 1, get_num_threads());
  }

  void run() const {
    if (m_ <= kFewRows) return few_rows();
    const int64_t width = std::max<int64_t>(1, kSlabBytes / (2 * kSide * padded_)) * kSide;
    for (int64_t column = 0; column < n_; column += width) many_rows(column, std::min(n_, column + width));
  }

 private:
  // Calls f(i) for all pieces, on as many threads as the work is worth; `multiplies` if f does.
  template <class F>
  void for_pieces(int64_t pieces, bool multiplies, F&& f) const {
    parallel_for(0, pieces, threads_ < get_num_threads() ? parts_of(pieces, threads_) : 1,
                 [&](int64_t begin, int64_t end) {
                   if (multiplies) tiles_.begin();
                   for (int64_t i = begin; i < end; ++i) f(i);
                   if (multiplies) tiles_.end();
                 });
  }

  void many_rows(int64_t column, int64_t end_column) const {
    const int64_t squares = parts_of(end_column - column, kSide);
    BFloat16* right = shared_buffer->room<BFloat16>(2 * squares * panel_);
    for_pieces(parts_of(squares, kTogether), false, [&](int64_t i) {
      const int64_t first = i * kTogether;
      pack_right(column + first * kSide, end_column, std::min(kTogether, squares - first),
                 right + 2 * first * panel_);
    });
    const int64_t fitting = kBlockBytes / (2 * kSide * padded_) * kSide;
    const int64_t height = std::clamp<int64_t>(fitting, kSide, kFewRows), blocks = parts_of(m_, height);
    const int64_t wanted = threads_ == 1 ? 1 : threads_ * kPiecesPerThread;
    const int64_t groups = std::clamp<int64_t>(parts_of(wanted, blocks), 1, squares);
    for_pieces(blocks * groups, true, [&](int64_t i) {
      const int64_t row = i % blocks * height, end_row = std::min(m_, row + height), group = i / blocks;
      BFloat16* left = own_buffer->room<BFloat16>(height / kHalf * panel_);
      for (int64_t p = 0; p < 2 * parts_of(end_row - row, kSide); ++p)
        pack_left(row + p * kHalf, end_row, left + p * panel_);
      for (int64_t s = group * squares / groups; s < (group + 1) * squares / groups; ++s)
        multiply(row, end_row, left, column + s * kSide, end_column, right + 2 * s * panel_);
    });
  }

  void few_rows() const {
    const int64_t panels = 2 * parts_of(m_, kSide);
    BFloat16* left = shared_buffer->room<BFloat16>(panels * panel_);
    for (int64_t p = 0; p < panels; ++p) pack_left(p * kHalf, m_, left + p * panel_);
    const int64_t squares = parts_of(n_, kSide);
    for_pieces(parts_of(squares, kTogether), true, [&](int64_t i) {
      const int64_t first = i * kTogether, count = std::min(kTogether, squares - first);
      BFloat16* right = own_buffer->room<BFloat16>(2 * kTogether * panel_);
      pack_right(first * kSide, n_, count, right);
      for (int64_t s = 0; s < count; ++s)
        multiply(0, m_, left, (first + s) * kSide, n_, right + 2 * s * panel_);
    });
  }

  void pack_left(int64_t row, int64_t end_row, BFloat16* panel) const {
    const int64_t count = std::clamp<int64_t>(end_row - row, 0, kHalf);
    pack_rows(a_, row, count, k_, panel);
  }
  // The panels of so many squares.
  void pack_right(int64_t column, int64_t end_column, int64_t squares, BFloat16* target) const {
    const int64_t whole = b_.column_stride == 1 ? std::min(2 * squares, (end_column - column) / kHalf) : 0;
    at_level<PackRowsOfPanels>(b_.at<BFloat16>(0, column), b_.row_stride, whole, k_, target, panel_);
    for (int64_t i = 0; i < 2 * squares; ++i) {
      const int64_t first = column + i * kHalf, count = std::clamp<int64_t>(end_column - first, 0, kHalf);
      BFloat16* panel = target + i * panel_;
      if (count == 0) {
        std::fill_n(panel, panel_, BFloat16());
        continue;
      }
      if (i >= whole) pack_columns(b_, first, count, k_, panel);
      pad_columns(b_, first, count, k_, panel);
    }
  }

  // The squares of rows [row, end_row) over the two panels `right`.
  void multiply(int64_t row, int64_t end_row, const BFloat16* left, int64_t column, int64_t end_column,
                const BFloat16* right) const {
    alignas(64) float square[kSide * kSide];
    const int64_t width = std::min(kSide, end_column - column);
    for (int64_t first = row; first < end_row; first += kSide, left += 2 * panel_) {
      tiles_.multiply(left, panel_, right, panel_, kSide, padded_ / kDepth, square);
      at_level<Finish>(square, std::min(kSide, end_row - first), width, alpha_, beta_, c_.at(first, column),
                       c_.row_stride, c_.column_stride);
    }
  }

  const PairTiles& tiles_;
  const int64_t m_, n_, k_;
  const float alpha_, beta_;
  const Factor a_, b_;
  const Result<BFloat16> c_;
  const int64_t padded_ = round_up(k_, kDepth),
                panel_ = padded_ * kHalf;  // elements of a panel, of a and of b
  int64_t threads_;
};

}  // namespace

void pair_product(const PairTiles& tiles, int64_t m, int64_t n, int64_t k, float alpha, Factor a, Factor b,
                  float beta, Result<BFloat16> c) {
  PairProduct(tiles, m, n, k, alpha, a, b, beta, c).run();
}

}  // namespace mt::kernels

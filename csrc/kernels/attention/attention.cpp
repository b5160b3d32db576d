#include "kernels/attention/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/common/arithmetic.h"
#include "kernels/common/convert.h"
#include "kernels/common/cpu_features.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/common/vector_math.h"
#include "kernels/matmul/pack.h"
#include "kernels/matmul/packed_rows.h"
#include "kernels/matmul/small_product.h"

namespace mt::kernels {
namespace {

constexpr int64_t kPartial = 16;  // sums kept side by side, so that they run in one register

// Rows of scores, compiled for each machine level.
template <class C>
struct ScoreRow {
  // x becomes exp(x - its maximum), n being a multiple of kPartial; returns the sum, and the maximum in `top`.
  [[gnu::always_inline]] static inline C exp_body(C* x, int64_t n, C* top) {
    C tops[kPartial], sums[kPartial];
    std::fill_n(tops, kPartial, -std::numeric_limits<C>::infinity());
    std::fill_n(sums, kPartial, C(0));
    for (int64_t i = 0; i < n; i += kPartial) {
      for (int64_t k = 0; k < kPartial; ++k) tops[k] = x[i + k] > tops[k] ? x[i + k] : tops[k];
    }
    const C largest = *std::max_element(tops, tops + kPartial);
    *top = largest;
    if (largest == -std::numeric_limits<C>::infinity()) {  // everything is hidden (or NaN, which stays)
      C sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += x[i] = math::is_nan(x[i]) ? x[i] : C(0);
      return sum;
    }
    for (int64_t i = 0; i < n; i += kPartial) {
      for (int64_t k = 0; k < kPartial; ++k) sums[k] += x[i + k] = math::exp_below(x[i + k] - largest);
    }
    C sum = 0;
    for (C s : sums) sum += s;
    return sum;
  }
  // x becomes the probabilities exp(x - logsumexp).
  [[gnu::always_inline]] static inline void again_body(C* x, int64_t n, C logsumexp) {
    const bool hidden = logsumexp == -std::numeric_limits<C>::infinity();
    for (int64_t i = 0; i < n; ++i) x[i] = hidden ? C(0) : math::exp_below(x[i] - logsumexp);
  }
  // The gradient of a probability becomes that of its score: p * (slope - sum of p * slope over the row) * scale.
  [[gnu::always_inline]] static inline void slope_body(C* slope, const C* p, int64_t n, C dot, C scale) {
    for (int64_t i = 0; i < n; ++i) slope[i] = p[i] * (slope[i] - dot) * scale;
  }
  [[gnu::always_inline]] static inline C dot_body(const C* a, const C* b, int64_t n) {
    C sums[kPartial] = {};
    int64_t i = 0;
    for (; i + kPartial <= n; i += kPartial) {
      for (int64_t k = 0; k < kPartial; ++k) sums[k] += a[i + k] * b[i + k];
    }
    C sum = 0;
    for (; i < n; ++i) sum += a[i] * b[i];
    for (C s : sums) sum += s;
    return sum;
  }
  // out[j] = scale * the product of q with row j of b.
  [[gnu::always_inline]] static inline void dots_body(const C* q, const C* b, int64_t leading, int64_t rows,
                                                      int64_t n, C scale, C* out) {
    for (int64_t j = 0; j < rows; ++j, b += leading) {
      C sums[kPartial] = {};
      int64_t i = 0;
      for (; i + kPartial <= n; i += kPartial)
        for (int64_t k = 0; k < kPartial; ++k) sums[k] += q[i + k] * b[i + k];
      for (int64_t half = kPartial / 2; half > 0; half /= 2)
        for (int64_t k = 0; k < half; ++k) sums[k] += sums[k + half];
      for (; i < n; ++i) sums[0] += q[i] * b[i];
      out[j] = scale * sums[0];
    }
  }
  static void dots(const C* q, const C* b, int64_t l, int64_t r, int64_t n, C s, C* o) {
    dots_body(q, b, l, r, n, s, o);
  }
  MT_WIDE static void dots_wide(const C* q, const C* b, int64_t l, int64_t r, int64_t n, C s, C* o) {
    dots_body(q, b, l, r, n, s, o);
  }
  MT_WIDEST static void dots_widest(const C* q, const C* b, int64_t l, int64_t r, int64_t n, C s, C* o) {
    dots_body(q, b, l, r, n, s, o);
  }
  static constexpr decltype(&dots) kDots[kLevels] = {dots, dots_wide, dots_widest};
  static C exp(C* x, int64_t n, C* top) { return exp_body(x, n, top); }
  MT_WIDE static C exp_wide(C* x, int64_t n, C* top) { return exp_body(x, n, top); }
  MT_WIDEST static C exp_widest(C* x, int64_t n, C* top) { return exp_body(x, n, top); }
  static void again(C* x, int64_t n, C l) { again_body(x, n, l); }
  MT_WIDE static void again_wide(C* x, int64_t n, C l) { again_body(x, n, l); }
  MT_WIDEST static void again_widest(C* x, int64_t n, C l) { again_body(x, n, l); }
  static void slope(C* x, const C* p, int64_t n, C d, C s) { slope_body(x, p, n, d, s); }
  MT_WIDE static void slope_wide(C* x, const C* p, int64_t n, C d, C s) { slope_body(x, p, n, d, s); }
  MT_WIDEST static void slope_widest(C* x, const C* p, int64_t n, C d, C s) { slope_body(x, p, n, d, s); }
  static C dot(const C* a, const C* b, int64_t n) { return dot_body(a, b, n); }
  MT_WIDE static C dot_wide(const C* a, const C* b, int64_t n) { return dot_body(a, b, n); }
  MT_WIDEST static C dot_widest(const C* a, const C* b, int64_t n) { return dot_body(a, b, n); }
  static constexpr decltype(&dot) kDot[kLevels] = {dot, dot_wide, dot_widest};
  static constexpr decltype(&exp) kExp[kLevels] = {exp, exp_wide, exp_widest};
  static constexpr decltype(&again) kAgain[kLevels] = {again, again_wide, again_widest};
  static constexpr decltype(&slope) kSlope[kLevels] = {slope, slope_wide, slope_widest};
};

// Rows in the compute type, `leading` elements apart.
template <class C>
struct Lines {
  const C* data;
  int64_t leading;
};

// One head of a tensor: a matrix with strides.
template <class T>
struct Head {
  using C = compute_t<T>;
  T* data;
  int64_t rows, columns, row_stride, column_stride;

  Head(const View& view, int64_t batch, int64_t head)
      : data(view.as<T>() + batch * view.strides[0] + head * view.strides[1]),
        rows(view.sizes[2]),
        columns(view.sizes[3]),
        row_stride(view.strides[2]),
        column_stride(view.strides[3]) {}
  T& at(int64_t i, int64_t j) const { return data[i * row_stride + j * column_stride]; }

  // `count` rows from `first` on, to be read in whole registers: where they lie if that is possible, else in `room`.
  Lines<C> lines(int64_t first, int64_t count, C* room) const {
    const int64_t leading = padded<C>(columns);
    if constexpr (std::is_same_v<T, C>) {
      if (column_stride == 1 && columns == leading) return {data + first * row_stride, row_stride};
    }
    const Converter load = converter(dtype_of<T>, dtype_of<C>);
    if (column_stride == 1 && columns == leading && row_stride == columns) {  // one row behind the other
      load(reinterpret_cast<const char*>(data + first * row_stride), sizeof(T), reinterpret_cast<char*>(room),
           sizeof(C), count * columns);
      return {room, leading};
    }
    for (int64_t i = 0; i < count; ++i, room += leading) {
      load(reinterpret_cast<const char*>(data + (first + i) * row_stride), column_stride * int64_t(sizeof(T)),
           reinterpret_cast<char*>(room), sizeof(C), columns);
      std::fill(room + columns, room + leading, C(0));
    }
    return {room - count * leading, leading};
  }

  // All rows as columns, `leading` elements apart; halves become rows of the compute type first.
  void turn(C* to, int64_t leading) const {
    if constexpr (std::is_same_v<T, C>) {
      pack_panel(data, row_stride, column_stride, rows, columns, to, leading);
    } else {
      const auto room = block_of<C>(rows * padded<C>(columns));
      const Lines<C> all = lines(0, rows, room.get());
      pack_panel(all.data, all.leading, int64_t(1), rows, columns, to, leading);
    }
  }

  void store(Lines<C> from, int64_t first, int64_t count) const {
    const Converter put = converter(dtype_of<C>, dtype_of<T>);
    for (int64_t i = 0; i < count; ++i)
      put(reinterpret_cast<const char*>(from.data + i * from.leading), sizeof(C),
          reinterpret_cast<char*>(data + (first + i) * row_stride), column_stride * int64_t(sizeof(T)),
          columns);
  }
};

// What a mask makes of a row of scores.
struct Hide {
  template <class C>
  [[gnu::always_inline]] static inline void run(C* x, const bool* seen, int64_t n) {
    // By a mask, which the compiler makes vectors of; of a choice it makes branches.
    using Bits = std::conditional_t<sizeof(C) == 8, uint64_t, uint32_t>;
    constexpr Bits hidden = std::bit_cast<Bits>(-std::numeric_limits<C>::infinity());
    for (int64_t i = 0; i < n; ++i) {
      const Bits mask = Bits(0) - Bits(seen[i]);
      x[i] = std::bit_cast<C>((std::bit_cast<Bits>(x[i]) & mask) | (hidden & ~mask));
    }
  }
};
struct Shift {
  template <class C>
  [[gnu::always_inline]] static inline void run(C* x, const C* by, int64_t n) {
    for (int64_t i = 0; i < n; ++i) x[i] += by[i];
  }
};

template <class T>
class Attention {
 public:
  using C = compute_t<T>;

  Attention(const View& query, const View& key, const View& value, const View* mask, AttentionOptions options)
      : query_(query), key_(key), value_(value), mask_(mask), options_(options) {
    heads_ = query.sizes[1], groups_ = key.sizes[1];
    queries_ = query.sizes[2], keys_ = key.sizes[2], width_ = query.sizes[3], out_width_ = value.sizes[3];
    keys_room_ = whole(keys_), width_room_ = padded<C>(width_), out_room_ = padded<C>(out_width_);
    // As many rows of scores as stay in the second cache, in whole tiles. Fewer if each sees only the keys before it:
    // what lies beyond the block's last row is not computed.
    block_ = std::clamp<int64_t>(65536 / std::max<int64_t>(keys_, 1) / 8 * 8, 8, options.causal ? 32 : kRows);
  }

  void forward(const View& out, const View& logsumexp) const {
    parallel_for(0, query_.sizes[0] * heads_, 1, [&](int64_t begin, int64_t end) {
      // Turning the keys pays when several queries ask them. A few go through keys and values part by part.
      const bool few = queries_ <= kFew;
      const auto turned_keys = block_of<C>(few ? 0 : width_ * keys_room_),
                 room = block_of<C>((few ? kPart : keys_) * std::max(width_room_, out_room_));
      for (int64_t t = begin; t < end; ++t) {
        const int64_t batch = t / heads_, head = t % heads_;
        const Head<T> key(key_, batch, group_of(head)), value(value_, batch, group_of(head));
        if (!few) key.turn(turned_keys.get(), keys_room_);
        const Keys keys{few ? nullptr : turned_keys.get(), &key, room.get()};
        const Values values = few ? Values{{}, &value, room.get()}
                                  : Values{value.lines(0, keys_, room.get()), nullptr, nullptr};
        parallel_for(0, (queries_ + block_ - 1) / block_, 1, [&](int64_t first_block, int64_t last_block) {
          const auto scores = block_of<C>(block_ * keys_room_), sums = block_of<C>(block_ * out_room_);
          const auto queries = block_of<C>(block_ * width_room_);
          for (int64_t b = first_block; b < last_block; ++b) {
            const int64_t first = b * block_, rows = std::min(block_, queries_ - first);
            const Lines<C> asked = Head<T>(query_, batch, head).lines(first, rows, queries.get());
            forward_block(batch, head, first, rows, asked, keys, values, scores.get(), sums.get(), out,
                          logsumexp);
          }
        });
      }
    });
  }

  void backward(const View& grad, const View& out, const View& logsumexp, const View& grad_query,
                const View& grad_key, const View& grad_value) const {
    parallel_for(0, query_.sizes[0] * groups_, 1, [&](int64_t begin, int64_t end) {
      Buffers buffers(*this);
      for (int64_t t = begin; t < end; ++t) {
        const int64_t batch = t / groups_, group = t % groups_;
        buffers.load(*this, Head<T>(key_, batch, group), Head<T>(value_, batch, group));
        for (int64_t head = group * (heads_ / groups_); head < (group + 1) * (heads_ / groups_); ++head) {
          for (int64_t first = 0; first < queries_; first += block_)
            backward_block(batch, head, first, buffers, grad, out, logsumexp, grad_query);
        }
        Head<T>(grad_key, batch, group).store({buffers.grad_keys.get(), width_room_}, 0, keys_);
        Head<T>(grad_value, batch, group).store({buffers.grad_values.get(), out_room_}, 0, keys_);
      }
    });
  }

 private:
  static constexpr int64_t kRows = 64;  // of a block at most
  static constexpr int64_t kFew = 4;
  static constexpr int64_t kPart = 64;  // keys or values, which stay in the first cache

  // Turned, or to be read part by part, in a room for one.
  struct Keys {
    const C* turned;
    const Head<T>* head;
    C* room;
  };
  // All of them, or in parts.
  struct Values {
    Lines<C> all;
    const Head<T>* head;
    C* room;
  };

  struct Buffers {
    Lines<C> keys;
    std::unique_ptr<C[]> key_room, turned_keys, turned_values, grad_keys, grad_values;
    std::unique_ptr<C[]> queries, grads, results, scores, slopes, grad_queries;

    explicit Buffers(const Attention& a) {
      key_room = block_of<C>(a.keys_ * a.width_room_), turned_keys = block_of<C>(a.width_ * a.keys_room_);
      turned_values = block_of<C>(a.out_width_ * a.keys_room_);
      grad_keys = block_of<C>(a.keys_ * a.width_room_), grad_values = block_of<C>(a.keys_ * a.out_room_);
      queries = block_of<C>(a.block_ * a.width_room_), grads = block_of<C>(a.block_ * a.out_room_);
      results = block_of<C>(a.block_ * a.out_room_);
      scores = block_of<C>(a.block_ * a.keys_room_), slopes = block_of<C>(a.block_ * a.keys_room_);
      grad_queries = block_of<C>(a.block_ * a.width_room_);
    }
    void load(const Attention& a, const Head<T>& key, const Head<T>& value) {
      keys = key.lines(0, key.rows, key_room.get());
      key.turn(turned_keys.get(), a.keys_room_);
      value.turn(turned_values.get(), a.keys_room_);
      std::fill_n(grad_keys.get(), key.rows * a.width_room_, C(0));
      std::fill_n(grad_values.get(), value.rows * a.out_room_, C(0));
    }
  };

  int64_t group_of(int64_t head) const { return head / (heads_ / groups_); }
  // The keys that the rows before `row` can see at all.
  int64_t visible(int64_t row) const { return options_.causal ? std::min(keys_, row) : keys_; }

  static int64_t whole(int64_t n) { return (n + kPartial - 1) / kPartial * kPartial; }
  // Hides the scores behind the first `own`, up to `seen` and to the end of the last register. How many are left to
  // look at, in whole registers; behind those there are zeros, as if they had been.
  static int64_t hide(C* row, int64_t own, int64_t seen) {
    const int64_t end = whole(own);
    std::fill(row + own, row + end, -std::numeric_limits<C>::infinity());
    if (end < seen) std::fill(row + end, row + seen, C(0));
    return end;
  }

  // scores[rows, seen] of the queries from `first` on, scaled and masked; those a causal row cannot see are not set.
  void scores_of(int64_t batch, int64_t head, int64_t first, int64_t rows, int64_t seen, Lines<C> queries,
                 Keys keys, C* scores) const {
    if (keys.turned) {
      multiply<C>({queries.data, queries.leading, 1}, rows, keys.turned, keys_room_, width_, seen,
                  C(options_.scale), C(0), scores, keys_room_);
    } else {
      for (int64_t k = 0; k < seen; k += kPart) {
        const int64_t count = std::min(kPart, seen - k);
        const Lines<C> part = keys.head->lines(k, count, keys.room);
        for (int64_t r = 0; r < rows; ++r)
          ScoreRow<C>::kDots[cpu_level](queries.data + r * queries.leading, part.data, part.leading, count,
                                        width_, C(options_.scale), scores + r * keys_room_ + k);
      }
    }
    if (!mask_) return;
    const auto room = block_of<C>(seen);
    for (int64_t r = 0; r < rows; ++r) {
      C* row = scores + r * keys_room_;
      const int64_t at =
          batch * mask_->strides[0] + head * mask_->strides[1] + (first + r) * mask_->strides[2];
      if (mask_->dtype == DType::boolean) at_level<Hide>(row, mask_row<bool>(at, seen, room.get()), seen);
      else at_level<Shift>(row, mask_row<C>(at, seen, room.get()), seen);
    }
  }
  // A row of the mask, one element after the other.
  template <class M>
  const M* mask_row(int64_t at, int64_t n, C* room) const {
    const int64_t item = int64_t(itemsize(mask_->dtype)), step = mask_->strides[3] * item;
    const char* from = mask_->as<char>() + at * item;
    if (mask_->dtype == dtype_of<M> && step == item) return reinterpret_cast<const M*>(from);
    converter(mask_->dtype, dtype_of<M>)(from, step, reinterpret_cast<char*>(room), sizeof(M), n);
    return reinterpret_cast<const M*>(room);
  }

  static C& row_place(const View& logsumexp, int64_t batch, int64_t head, int64_t row) {
    return logsumexp
        .as<C>()[batch * logsumexp.strides[0] + head * logsumexp.strides[1] + row * logsumexp.strides[2]];
  }

  void forward_block(int64_t batch, int64_t head, int64_t first, int64_t rows, Lines<C> queries, Keys keys,
                     const Values& values, C* scores, C* sums, const View& out, const View& logsumexp) const {
    const int64_t seen = visible(first + rows);
    scores_of(batch, head, first, rows, seen, queries, keys, scores);
    C totals[kRows], tops[kRows];
    for (int64_t r = 0; r < rows; ++r) {
      C* row = scores + r * keys_room_;
      totals[r] = ScoreRow<C>::kExp[cpu_level](row, hide(row, visible(first + r + 1), seen), &tops[r]);
    }
    for (int64_t r = 0; r < rows; ++r) {
      row_place(logsumexp, batch, head, first + r) = tops[r] + math::log(totals[r]);
      totals[r] = totals[r] == C(0) ? C(0) : C(1) / totals[r];
    }
    if (values.head) {
      for (int64_t k = 0; k == 0 || k < seen; k += kPart) {
        const int64_t count = std::min(kPart, seen - k);
        const Lines<C> part = values.head->lines(k, count, values.room);
        multiply<C>({scores + k, keys_room_, 1}, rows, part.data, part.leading, count, out_width_, C(1),
                    C(k > 0), sums, out_room_);
      }
    } else {
      multiply<C>({scores, keys_room_, 1}, rows, values.all.data, values.all.leading, seen, out_width_, C(1),
                  C(0), sums, out_room_);
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < out_width_; ++j) sums[r * out_room_ + j] *= totals[r];
    }
    Head<T>(out, batch, head).store({sums, out_room_}, first, rows);
  }

  void backward_block(int64_t batch, int64_t head, int64_t first, Buffers& b, const View& grad,
                      const View& out, const View& logsumexp, const View& grad_query) const {
    const int64_t rows = std::min(block_, queries_ - first), seen = visible(first + rows);
    C *p = b.scores.get(), *slopes = b.slopes.get();
    const Lines<C> queries = Head<T>(query_, batch, head).lines(first, rows, b.queries.get());
    const Lines<C> grads = Head<T>(grad, batch, head).lines(first, rows, b.grads.get());
    scores_of(batch, head, first, rows, seen, queries, {b.turned_keys.get(), nullptr, nullptr}, p);
    multiply<C>({grads.data, grads.leading, 1}, rows, b.turned_values.get(), keys_room_, out_width_, seen,
                C(1), C(0), slopes, keys_room_);
    const Lines<C> results = Head<T>(out, batch, head).lines(first, rows, b.results.get());
    for (int64_t r = 0; r < rows; ++r) {
      C *row = p + r * keys_room_, *slope = slopes + r * keys_room_;
      const int64_t own = visible(first + r + 1);
      ScoreRow<C>::kAgain[cpu_level](row, hide(row, own, seen), row_place(logsumexp, batch, head, first + r));
      const C dot = ScoreRow<C>::kDot[cpu_level](grads.data + r * grads.leading,
                                                 results.data + r * results.leading, out_width_);
      ScoreRow<C>::kSlope[cpu_level](slope, row, own, dot, C(options_.scale));
      std::fill(slope + own, slope + seen, C(0));
    }
    multiply<C>({slopes, keys_room_, 1}, rows, b.keys.data, b.keys.leading, seen, width_, C(1), C(0),
                b.grad_queries.get(), width_room_);
    Head<T>(grad_query, batch, head).store({b.grad_queries.get(), width_room_}, first, rows);
    multiply<C>({slopes, 1, keys_room_}, seen, queries.data, queries.leading, rows, width_, C(1), C(1),
                b.grad_keys.get(), width_room_);
    multiply<C>({p, 1, keys_room_}, seen, grads.data, grads.leading, rows, out_width_, C(1), C(1),
                b.grad_values.get(), out_room_);
  }

  const View &query_, &key_, &value_, *mask_;
  AttentionOptions options_;
  int64_t heads_, groups_, queries_, keys_, width_, out_width_, block_;
  int64_t keys_room_, width_room_, out_room_;  // with the padding that whole registers want
};

}  // namespace

void attention(const View& query, const View& key, const View& value, const View* mask, const View& out,
               const View& logsumexp, AttentionOptions options) {
  dispatch<domains::floating>(query.dtype, "flash_attention", [&](auto tag) {
    Attention<typename decltype(tag)::type>(query, key, value, mask, options).forward(out, logsumexp);
  });
}

void attention_backward(const View& grad, const View& query, const View& key, const View& value,
                        const View* mask, const View& out, const View& logsumexp, const View& grad_query,
                        const View& grad_key, const View& grad_value, AttentionOptions options) {
  dispatch<domains::floating>(query.dtype, "flash_attention_backward", [&](auto tag) {
    Attention<typename decltype(tag)::type>(query, key, value, mask, options)
        .backward(grad, out, logsumexp, grad_query, grad_key, grad_value);
  });
}

}  // namespace mt::kernels

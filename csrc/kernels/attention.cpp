#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/arithmetic.h"
#include "kernels/cpu_features.h"
#include "kernels/packed_rows.h"
#include "kernels/parallel.h"
#include "kernels/types.h"

namespace mt::kernels {
namespace {

constexpr int64_t kPartial = 16;  // sums kept side by side, so that they run in one register

// Rows of scores, compiled for each machine level.
template <class C>
struct ScoreRow {
  // x becomes exp(x - its maximum); returns the sum, and the maximum in `top`.
  [[gnu::always_inline]] static inline C exp_body(C* x, int64_t n, C* top) {
    C tops[kPartial], sums[kPartial];
    std::fill_n(tops, kPartial, -std::numeric_limits<C>::infinity());
    std::fill_n(sums, kPartial, C(0));
    int64_t i = 0;
    for (; i + kPartial <= n; i += kPartial) {
      for (int64_t k = 0; k < kPartial; ++k) tops[k] = x[i + k] > tops[k] ? x[i + k] : tops[k];
    }
    for (; i < n; ++i) tops[0] = x[i] > tops[0] ? x[i] : tops[0];
    const C largest = *std::max_element(tops, tops + kPartial);
    *top = largest;
    if (largest == -std::numeric_limits<C>::infinity()) {  // everything is hidden (or NaN, which stays)
      C sum = 0;
      for (i = 0; i < n; ++i) sum += x[i] = math::is_nan(x[i]) ? x[i] : C(0);
      return sum;
    }
    for (i = 0; i + kPartial <= n; i += kPartial) {
      for (int64_t k = 0; k < kPartial; ++k) sums[k] += x[i + k] = math::exp(x[i + k] - largest);
    }
    for (; i < n; ++i) sums[0] += x[i] = math::exp(x[i] - largest);
    C sum = 0;
    for (C s : sums) sum += s;
    return sum;
  }
  // x becomes the probabilities exp(x - logsumexp).
  [[gnu::always_inline]] static inline void again_body(C* x, int64_t n, C logsumexp) {
    const bool hidden = logsumexp == -std::numeric_limits<C>::infinity();
    for (int64_t i = 0; i < n; ++i) x[i] = hidden ? C(0) : math::exp(x[i] - logsumexp);
  }
  static C exp(C* x, int64_t n, C* top) { return exp_body(x, n, top); }
  MT_WIDE static C exp_wide(C* x, int64_t n, C* top) { return exp_body(x, n, top); }
  MT_WIDEST static C exp_widest(C* x, int64_t n, C* top) { return exp_body(x, n, top); }
  static void again(C* x, int64_t n, C l) { again_body(x, n, l); }
  MT_WIDE static void again_wide(C* x, int64_t n, C l) { again_body(x, n, l); }
  MT_WIDEST static void again_widest(C* x, int64_t n, C l) { again_body(x, n, l); }
  static constexpr decltype(&exp) kExp[kLevels] = {exp, exp_wide, exp_widest};
  static constexpr decltype(&again) kAgain[kLevels] = {again, again_wide, again_widest};
};

// One head of a tensor: a matrix with strides.
template <class T>
struct Head {
  T* data;
  int64_t rows, columns, row_stride, column_stride;

  Head(const View& view, int64_t batch, int64_t head)
      : data(view.as<T>() + batch * view.strides[0] + head * view.strides[1]),
        rows(view.sizes[2]),
        columns(view.sizes[3]),
        row_stride(view.strides[2]),
        column_stride(view.strides[3]) {}
  T& at(int64_t i, int64_t j) const { return data[i * row_stride + j * column_stride]; }

  // Dense in the compute type, from row `first` on; `turned`: columns become rows.
  template <class C>
  void copy(C* to, int64_t first, int64_t count, bool turned) const {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < columns; ++j)
        to[turned ? j * count + i : i * columns + j] = cast<C>(at(first + i, j));
    }
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
    // As many rows of scores as stay in the second cache; whole tiles.
    block_ = std::clamp<int64_t>(65536 / std::max<int64_t>(keys_, 1) / 8 * 8, 8, 64);
  }

  void forward(const View& out, const View& logsumexp) const {
    parallel_for(0, query_.sizes[0] * heads_, 1, [&](int64_t begin, int64_t end) {
      const auto keys = block_of<C>(keys_ * width_ + room_), values = block_of<C>(keys_ * out_width_ + room_);
      clear_room(keys.get() + keys_ * width_);
      clear_room(values.get() + keys_ * out_width_);
      for (int64_t t = begin; t < end; ++t) {
        const int64_t batch = t / heads_, head = t % heads_;
        Head<T>(key_, batch, group_of(head)).copy(keys.get(), 0, keys_, true);
        Head<T>(value_, batch, group_of(head)).copy(values.get(), 0, keys_, false);
        parallel_for(0, (queries_ + block_ - 1) / block_, 1, [&](int64_t first_block, int64_t last_block) {
          const auto scores = block_of<C>(block_ * keys_), sums = block_of<C>(block_ * out_width_);
          for (int64_t b = first_block; b < last_block; ++b)
            forward_block(batch, head, b * block_, keys.get(), values.get(), scores.get(), sums.get(), out,
                          logsumexp);
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
        buffers.load(Head<T>(key_, batch, group), Head<T>(value_, batch, group));
        for (int64_t head = group * (heads_ / groups_); head < (group + 1) * (heads_ / groups_); ++head) {
          for (int64_t first = 0; first < queries_; first += block_)
            backward_block(batch, head, first, buffers, grad, out, logsumexp, grad_query);
        }
        store(buffers.grad_keys.get(), Head<T>(grad_key, batch, group), 0, keys_);
        store(buffers.grad_values.get(), Head<T>(grad_value, batch, group), 0, keys_);
      }
    });
  }

 private:
  struct Buffers {
    std::unique_ptr<C[]> keys, turned_keys, turned_values, grad_keys, grad_values;
    std::unique_ptr<C[]> queries, grads, scores, slopes, grad_queries;
    const Attention& parent;

    explicit Buffers(const Attention& a) : parent(a) {
      const auto with_room = [&](int64_t n) {
        auto block = block_of<C>(n + a.room_);
        a.clear_room(block.get() + n);
        return block;
      };
      keys = with_room(a.keys_ * a.width_), turned_keys = with_room(a.keys_ * a.width_);
      turned_values = with_room(a.keys_ * a.out_width_);
      grad_keys = block_of<C>(a.keys_ * a.width_), grad_values = block_of<C>(a.keys_ * a.out_width_);
      queries = with_room(a.block_ * a.width_), grads = with_room(a.block_ * a.out_width_);
      scores = block_of<C>(a.block_ * a.keys_), slopes = block_of<C>(a.block_ * a.keys_);
      grad_queries = block_of<C>(a.block_ * a.width_);
    }
    void load(const Head<T>& key, const Head<T>& value) {
      key.copy(keys.get(), 0, key.rows, false);
      key.copy(turned_keys.get(), 0, key.rows, true);
      value.copy(turned_values.get(), 0, value.rows, true);
      std::fill_n(grad_keys.get(), key.rows * key.columns, C(0));
      std::fill_n(grad_values.get(), value.rows * value.columns, C(0));
    }
  };

  int64_t group_of(int64_t head) const { return head / (heads_ / groups_); }
  void clear_room(C* at) const { std::fill_n(at, room_, C(0)); }
  // The keys that a block of queries can see at all.
  int64_t visible(int64_t first, int64_t rows) const {
    return options_.causal ? std::min(keys_, first + rows) : keys_;
  }

  static void store(const C* from, const Head<T>& to, int64_t first, int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < to.columns; ++j) to.at(first + i, j) = cast<T>(from[i * to.columns + j]);
    }
  }

  // scores[rows, seen] of the queries from `first` on, scaled and masked.
  void scores_of(int64_t batch, int64_t head, int64_t first, int64_t rows, int64_t seen, const C* turned_keys,
                 C* scores) const {
    const Head<T> query(query_, batch, head);
    const C scale = C(options_.scale);
    const auto scaled = block_of<C>(rows * width_);
    query.copy(scaled.get(), first, rows, false);
    for (int64_t i = 0; i < rows * width_; ++i) scaled[size_t(i)] *= scale;
    multiply<C>({scaled.get(), width_, 1}, rows, turned_keys, width_, keys_, seen, scores, seen, false);
    constexpr C hidden = -std::numeric_limits<C>::infinity();
    for (int64_t r = 0; r < rows; ++r) {
      C* row = scores + r * seen;
      if (options_.causal) std::fill(row + std::min(seen, first + r + 1), row + seen, hidden);
      if (!mask_) continue;
      const int64_t at =
          batch * mask_->strides[0] + head * mask_->strides[1] + (first + r) * mask_->strides[2];
      const int64_t step = mask_->strides[3];
      if (mask_->dtype == DType::boolean) {
        const bool* mask = mask_->as<bool>() + at;
        for (int64_t j = 0; j < seen; ++j) row[j] = mask[j * step] ? row[j] : hidden;
      } else {
        const T* mask = mask_->as<T>() + at;
        for (int64_t j = 0; j < seen; ++j) row[j] += cast<C>(mask[j * step]);
      }
    }
  }

  static int64_t row_place(const View& logsumexp, int64_t batch, int64_t head, int64_t row) {
    return batch * logsumexp.strides[0] + head * logsumexp.strides[1] + row * logsumexp.strides[2];
  }

  void forward_block(int64_t batch, int64_t head, int64_t first, const C* turned_keys, const C* values,
                     C* scores, C* sums, const View& out, const View& logsumexp) const {
    const int64_t rows = std::min(block_, queries_ - first), seen = visible(first, rows);
    scores_of(batch, head, first, rows, seen, turned_keys, scores);
    C totals[64];
    for (int64_t r = 0; r < rows; ++r) {
      C top;
      totals[r] = ScoreRow<C>::kExp[cpu_level](scores + r * seen, seen, &top);
      logsumexp.as<C>()[row_place(logsumexp, batch, head, first + r)] = top + std::log(totals[r]);
    }
    multiply<C>({scores, seen, 1}, rows, values, seen, out_width_, out_width_, sums, out_width_, false);
    const Head<T> to(out, batch, head);
    for (int64_t r = 0; r < rows; ++r) {
      const C factor = totals[r] == C(0) ? C(0) : C(1) / totals[r];
      for (int64_t j = 0; j < out_width_; ++j)
        to.at(first + r, j) = cast<T>(sums[r * out_width_ + j] * factor);
    }
  }

  void backward_block(int64_t batch, int64_t head, int64_t first, Buffers& b, const View& grad,
                      const View& out, const View& logsumexp, const View& grad_query) const {
    const int64_t rows = std::min(block_, queries_ - first), seen = visible(first, rows);
    C *p = b.scores.get(), *slopes = b.slopes.get();
    scores_of(batch, head, first, rows, seen, b.turned_keys.get(), p);
    for (int64_t r = 0; r < rows; ++r)
      ScoreRow<C>::kAgain[cpu_level](p + r * seen, seen,
                                     logsumexp.as<C>()[row_place(logsumexp, batch, head, first + r)]);
    Head<T>(query_, batch, head).copy(b.queries.get(), first, rows, false);
    Head<T>(grad, batch, head).copy(b.grads.get(), first, rows, false);
    // The gradient of a probability, then of its score: p * (slope - sum of p * slope over the row).
    const C* grads = b.grads.get();
    multiply<C>({grads, out_width_, 1}, rows, b.turned_values.get(), out_width_, keys_, seen, slopes, seen,
                false);
    const Head<T> result(out, batch, head);
    for (int64_t r = 0; r < rows; ++r) {
      C dot = 0;
      for (int64_t j = 0; j < out_width_; ++j)
        dot += grads[r * out_width_ + j] * cast<C>(result.at(first + r, j));
      const C scale = C(options_.scale);
      C *slope = slopes + r * seen, *probability = p + r * seen;
      for (int64_t j = 0; j < seen; ++j) slope[j] = probability[j] * (slope[j] - dot) * scale;
    }
    multiply<C>({slopes, seen, 1}, rows, b.keys.get(), seen, width_, width_, b.grad_queries.get(), width_,
                false);
    store(b.grad_queries.get(), Head<T>(grad_query, batch, head), first, rows);
    multiply<C>({slopes, 1, seen}, seen, b.queries.get(), rows, width_, width_, b.grad_keys.get(), width_,
                true);
    multiply<C>({p, 1, seen}, seen, grads, rows, out_width_, out_width_, b.grad_values.get(), out_width_,
                true);
  }

  const View &query_, &key_, &value_, *mask_;
  AttentionOptions options_;
  int64_t heads_, groups_, queries_, keys_, width_, out_width_, block_;
  int64_t room_ = conv_tiles<C>().columns;
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

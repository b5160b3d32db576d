#include "kernels/attention/fused.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/common/accumulate.h"
#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"
#include "kernels/matmul/matmul.h"

namespace mt::kernels {
namespace {

// A dense row-major matrix, or its transpose.
template <class C>
struct Matrix {
  int64_t sizes[2], strides[2];
  View view;
  Matrix(const C* data, int64_t rows, int64_t columns)
      : sizes{rows, columns},
        strides{columns, 1},
        view{const_cast<C*>(data), sizes, strides, 2, dtype_of<C>} {}
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  Matrix& transpose() {
    std::swap(sizes[0], sizes[1]);
    std::swap(strides[0], strides[1]);
    return *this;
  }
};

template <class C>
class Heads {
 public:
  explicit Heads(const FusedAttention& p)
      : problem(p),
        heads(p.query.sizes[0]),
        groups(p.key.sizes[0]),
        rows(p.query.sizes[1]),
        keys(p.key.sizes[1]),
        width(p.query.sizes[2]),
        out_width(p.value.sizes[2]),
        query(p.query),
        key(p.key),
        value(p.value),
        shape{p.query.sizes[0], p.query.sizes[1], p.key.sizes[1]} {
    if (p.slopes) slopes = numbers(*p.slopes);
    if (p.sink) sinks = numbers(*p.sink);
    if (p.bias) bias_place.reset(new Broadcast(*p.bias, scores_shape()));
    if (p.mask) mask_place.reset(new Broadcast(*p.mask, scores_shape()));
  }

  const FusedAttention& problem;
  const int64_t heads, groups, rows, keys, width, out_width;
  const DenseInput<C> query, key, value;

  int64_t group_of(int64_t head) const { return head / (heads / groups); }
  const C* query_of(int64_t head) const { return query.data() + head * rows * width; }
  const C* key_of(int64_t head) const { return key.data() + group_of(head) * keys * width; }
  const C* value_of(int64_t head) const { return value.data() + group_of(head) * keys * out_width; }
  bool has_sink() const { return problem.sink != nullptr; }
  C sink_of(int64_t head) const { return C(sinks[size_t(head)]); }

  // scores[rows, keys]; what is hidden is -infinity.
  void scores_of(int64_t head, C* scores) const {
    const bool late = problem.bias_is_scaled && problem.bias;
    gemm(Matrix<C>(query_of(head), rows, width).view, Matrix<C>(key_of(head), keys, width).transpose().view,
         Matrix<C>(scores, rows, keys).view, late ? 1.0 : problem.scale, 0.0);
    std::vector<C> row(static_cast<size_t>(keys));
    std::vector<uint8_t> hidden(static_cast<size_t>(keys));
    for (int64_t i = 0; i < rows; ++i) {
      C* to = scores + i * keys;
      if (problem.bias) {
        read_row(bias_place->view(), head, i, dtype_of<C>, row.data());
        for (int64_t j = 0; j < keys; ++j) to[j] += row[size_t(j)];
        if (late)
          for (int64_t j = 0; j < keys; ++j) to[j] *= C(problem.scale);
      }
      if (problem.slopes) add_slope(slopes[size_t(head)], i, to);
      constexpr C nothing = -std::numeric_limits<C>::infinity();
      if (problem.mask) {
        read_row(mask_place->view(), head, i, DType::boolean, hidden.data());
        for (int64_t j = 0; j < keys; ++j) to[j] = hidden[size_t(j)] ? nothing : to[j];
      }
      std::fill(to, to + std::clamp<int64_t>(i - problem.before, 0, keys), nothing);
      std::fill(to + std::clamp<int64_t>(i + problem.after + 1, 0, keys), to + keys, nothing);
    }
  }

  // What dropout makes of the probabilities (or of their gradients) of a head.
  void drop(int64_t head, C* p) const {
    if (!problem.keep_bits) return;
    const C factor = problem.keep > 0 ? C(1 / problem.keep) : C(0);
    int64_t bit = problem.first_bit + head * rows * keys;
    for (int64_t i = 0; i < rows * keys; ++i, ++bit)
      p[i] = (problem.keep_bits[bit >> 3] >> (bit & 7)) & 1 ? p[i] * factor : C(0);
  }

 private:
  View scores_shape() const { return {nullptr, shape, nullptr, 3, dtype_of<C>}; }
  void read_row(const View& from, int64_t head, int64_t i, DType dtype, void* to) const {
    const int64_t one = 1;
    const char* first =
        from.as<char>() + (head * from.strides[0] + i * from.strides[1]) * int64_t(itemsize(from.dtype));
    copy({const_cast<char*>(first), &shape[2], &from.strides[2], 1, from.dtype},
         {to, &shape[2], &one, 1, dtype});
  }
  void add_slope(double slope, int64_t i, C* to) const {
    for (int64_t j = 0; j < keys; ++j) {
      const double distance = std::fabs(double(i + problem.ahead - j));
      to[j] -= C(slope * (problem.root_of_distance ? std::sqrt(distance) : distance));
    }
  }

  int64_t shape[3];
  std::vector<double> slopes, sinks;
  std::unique_ptr<Broadcast> bias_place, mask_place;
};

// Statistics of one row, as many times as the view repeats them.
void put_row(const View& view, int64_t head, int64_t row, double value) {
  const Scalar number(value);
  const View one{
      view.as<char>() + (head * view.strides[0] + row * view.strides[1]) * int64_t(itemsize(view.dtype)),
      &view.sizes[2], &view.strides[2], 1, view.dtype};
  fill(one, number);
}

template <class C>
void forward(const FusedAttention& problem, const View& out, const View& top, const View& sum) {
  const Heads<C> h(problem);
  const DenseOutput<C> result(out);
  parallel_for(0, h.heads, 1, [&](int64_t begin, int64_t end) {
    std::vector<C> p(size_t(h.rows * h.keys));
    for (int64_t head = begin; head < end; ++head) {
      h.scores_of(head, p.data());
      for (int64_t i = 0; i < h.rows; ++i) {
        C* row = p.data() + i * h.keys;
        C largest = h.has_sink() ? h.sink_of(head) : -std::numeric_limits<C>::infinity();
        for (int64_t j = 0; j < h.keys; ++j) largest = std::max(largest, row[j]);
        double total = h.has_sink() ? std::exp(h.sink_of(head) - largest) : 0;
        const bool blind = largest == -std::numeric_limits<C>::infinity();
        for (int64_t j = 0; j < h.keys; ++j) total += row[j] = blind ? C(0) : std::exp(row[j] - largest);
        const C factor = total > 0 ? C(1 / total) : C(0);
        for (int64_t j = 0; j < h.keys; ++j) row[j] *= factor;
        put_row(top, head, i, blind ? double(std::numeric_limits<float>::lowest()) : double(largest));
        put_row(sum, head, i, total);
      }
      h.drop(head, p.data());
      gemm(Matrix<C>(p.data(), h.rows, h.keys).view, Matrix<C>(h.value_of(head), h.keys, h.out_width).view,
           Matrix<C>(result.data() + head * h.rows * h.out_width, h.rows, h.out_width).view, 1.0, 0.0);
    }
  });
  result.store();
}

template <class C>
void backward(const FusedAttention& problem, const View& grad, const View& out, const View& top,
              const View& sum, const FusedAttentionGradients& to) {
  const Heads<C> h(problem);
  const DenseInput<C> dy(grad), y(out), tops(top), sums(sum);
  const int64_t repeat = h.rows > 0 && h.heads > 0 ? tops.numel() / (h.rows * h.heads) : 1;
  const DenseOutput<C> dq(to.query), dk(to.key), dv(to.value);
  dk.fill(0);
  dv.fill(0);
  const Temporary slopes({to.bias ? h.heads : 0, h.rows, h.keys}, dtype_of<C>);
  std::vector<double> sink_slopes(static_cast<size_t>(h.heads));
  parallel_for(0, h.groups, 1, [&](int64_t begin, int64_t end) {
    const int64_t share = h.heads / h.groups;
    std::vector<C> p(size_t(h.rows * h.keys)), dropped(size_t(h.rows * h.keys)), dp(size_t(h.rows * h.keys));
    for (int64_t head = begin * share; head < end * share; ++head) {
      const C* grads = dy.data() + head * h.rows * h.out_width;
      const C* results = y.data() + head * h.rows * h.out_width;
      h.scores_of(head, p.data());
      std::vector<C> dots(static_cast<size_t>(h.rows));
      for (int64_t i = 0; i < h.rows; ++i) {
        const C largest = tops[(head * h.rows + i) * repeat], total = sums[(head * h.rows + i) * repeat];
        C* row = p.data() + i * h.keys;
        for (int64_t j = 0; j < h.keys; ++j)
          row[j] = total > C(0) ? std::exp(row[j] - largest) / total : C(0);
        double dot = 0;
        for (int64_t j = 0; j < h.out_width; ++j)
          dot += double(grads[i * h.out_width + j]) * double(results[i * h.out_width + j]);
        dots[size_t(i)] = C(dot);
        if (h.has_sink() && total > C(0))
          sink_slopes[size_t(head)] -= double(std::exp(h.sink_of(head) - largest) / total) * dot;
      }
      dropped = p;
      h.drop(head, dropped.data());
      const Matrix<C> grad_rows(grads, h.rows, h.out_width);
      C* grad_key = dk.data() + h.group_of(head) * h.keys * h.width;
      C* grad_value = dv.data() + h.group_of(head) * h.keys * h.out_width;
      gemm(Matrix<C>(dropped.data(), h.rows, h.keys).transpose().view, grad_rows.view,
           Matrix<C>(grad_value, h.keys, h.out_width).view, 1.0, 1.0);
      gemm(grad_rows.view, Matrix<C>(h.value_of(head), h.keys, h.out_width).transpose().view,
           Matrix<C>(dp.data(), h.rows, h.keys).view, 1.0, 0.0);
      h.drop(head, dp.data());
      for (int64_t i = 0; i < h.rows; ++i) {
        for (int64_t j = i * h.keys; j < (i + 1) * h.keys; ++j)
          dp[size_t(j)] = p[size_t(j)] * (dp[size_t(j)] - dots[size_t(i)]);
      }
      if (to.bias) {
        C* all = slopes.view().template as<C>() + head * h.rows * h.keys;
        const C factor = problem.bias_is_scaled ? C(problem.scale) : C(1);
        for (int64_t j = 0; j < h.rows * h.keys; ++j) all[j] = dp[size_t(j)] * factor;
      }
      const Matrix<C> slope(dp.data(), h.rows, h.keys);
      gemm(slope.view, Matrix<C>(h.key_of(head), h.keys, h.width).view,
           Matrix<C>(dq.data() + head * h.rows * h.width, h.rows, h.width).view, problem.scale, 0.0);
      gemm(Matrix<C>(dp.data(), h.rows, h.keys).transpose().view,
           Matrix<C>(h.query_of(head), h.rows, h.width).view, Matrix<C>(grad_key, h.keys, h.width).view,
           problem.scale, 1.0);
    }
  });
  dq.store();
  dk.store();
  dv.store();
  put_numbers(sink_slopes, to.sink);
  if (!to.bias) return;
  // Where the bias was repeated, its gradients add up.
  const Dense sums_of_bias(*to.bias, dtype_of<C>, Access::write);
  fill(sums_of_bias.view(), 0.0);
  add_into(slopes.view(), Broadcast(sums_of_bias.view(), slopes.view()).view(), true);
  sums_of_bias.store();
}

}  // namespace

void fused_attention(const FusedAttention& problem, const View& out, const View& top, const View& sum) {
  if (out.numel() == 0) return;
  with_compute_type(problem.query.dtype, "fused_attention",
                    [&](auto tag) { forward<typename decltype(tag)::type>(problem, out, top, sum); });
}

void fused_attention_backward(const FusedAttention& problem, const View& grad, const View& out,
                              const View& top, const View& sum, const FusedAttentionGradients& gradients) {
  with_compute_type(problem.query.dtype, "fused_attention_backward", [&](auto tag) {
    backward<typename decltype(tag)::type>(problem, grad, out, top, sum, gradients);
  });
}

}  // namespace mt::kernels

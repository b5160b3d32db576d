#include "kernels/loss/pointwise.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"
#include "kernels/loss/pointwise_math.h"

namespace mt::kernels {
namespace {

constexpr int64_t kBlock = 512;  // elements handled together: they stay in the first-level cache

#define MT_INLINE [[gnu::always_inline]] inline

enum class Part { value, slope, target_slope };

// A block of the loss or of a derivative; `pos` may be null.
template <PointwiseLoss kind, Part part>
struct Block {
  template <class C>
  MT_INLINE static void run(const C* x, const C* t, const C* pos, Width<C> width, C* out, int64_t n) {
    const auto at = [&](int64_t i, C weight) __attribute__((always_inline)) {
      if constexpr (part == Part::value) return value_of<kind>(x[i], t[i], weight, width);
      else if constexpr (part == Part::slope) return slope_of<kind>(x[i], t[i], weight, width);
      else return target_slope_of<kind>(x[i], t[i], weight);
    };
    if constexpr (kind == PointwiseLoss::logit_entropy) {
      if (pos) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) out[i] = at(i, pos[i]);
        return;
      }
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = at(i, C(1));
  }
};
struct Times {
  template <class C>
  MT_INLINE static void run(C* out, const C* factor, C number, int64_t n) {
    if (factor) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] *= factor[i];
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] *= number;
    }
  }
};
struct Sum {
  template <class C>
  MT_INLINE static void run(const C* values, int64_t n, double* sum) {
    *sum += sum_of<C>(n, [=](int64_t i) { return values[i]; });
  }
};

#undef MT_INLINE

template <class C>
using BlockFunction = void (*)(const C* x, const C* t, const C* pos, Width<C> width, C* out, int64_t n);

template <Part part, class C>
BlockFunction<C> block_of(PointwiseLoss kind) {
  switch (kind) {
#define X(name)                                                                                     \
  case PointwiseLoss::name:                                                                         \
    if constexpr (part != Part::target_slope || moves_with_target(PointwiseLoss::name))             \
      return at_level<Block<PointwiseLoss::name, part>, const C*, const C*, const C*, Width<C>, C*, \
                      int64_t>;                                                                     \
    else break;
    X(square)
    X(absolute)
    X(smooth_absolute)
    X(huber)
    X(cross_entropy)
    X(logit_entropy)
    X(divergence)
    X(log_divergence)
    X(soft_margin)
    X(hinge_embedding)
    X(hinge)
#undef X
  }
  fail(ErrorKind::runtime, "this loss has no gradient in its target");
}

// The shape that two operands broadcast to.
class JointShape {
 public:
  JointShape(const View& a, const View& b) : sizes_(size_t(std::max(a.ndim, b.ndim)), 1) {
    for (const View* v : {&a, &b})
      for (int i = 1; i <= v->ndim; ++i)
        if (v->sizes[v->ndim - i] != 1) sizes_[sizes_.size() - size_t(i)] = v->sizes[v->ndim - i];
    for (const int64_t size : sizes_) numel_ *= size;
  }
  View view() const { return {nullptr, sizes_.data(), nullptr, int(sizes_.size()), DType::float32}; }
  int64_t numel() const { return numel_; }

 private:
  std::vector<int64_t> sizes_;
  int64_t numel_ = 1;
};

// An operand, or none, as runs of C with all the elements of the joint shape.
template <class C>
class Elements {
 public:
  Elements(const View* view, const JointShape& shape) {
    if (!view) return;
    if (view->numel() == 1) {
      single_ = true;
      converter(view->dtype, dtype_of<C>)(view->as<char>(), 0, reinterpret_cast<char*>(&number_), 0, 1);
      return;
    }
    broadcast_.emplace(*view, shape.view());
    dense_.emplace(broadcast_->view(), view->dtype, Access::read);
    reader_.emplace(dense_->view());
  }
  bool is_single() const { return single_; }
  C number() const { return number_; }
  // Null where there is none.
  const C* at(int64_t begin, int64_t n, C* buffer) const {
    if (reader_) return reader_->at(begin, n, buffer);
    if (!single_) return nullptr;
    std::fill_n(buffer, n, number_);
    return buffer;
  }

 private:
  bool single_ = false;
  C number_ = 0;
  std::optional<Broadcast> broadcast_;
  std::optional<Dense> dense_;
  std::optional<RowReader<C>> reader_;
};

template <class C>
struct Operands {
  JointShape shape;
  Elements<C> in, target, weight, pos_weight;
  Width<C> width;
  Operands(const View& x, const View& t, const LossOptions& o)
      : shape(x, t),
        in(&x, shape),
        target(&t, shape),
        weight(o.weight, shape),
        pos_weight(o.pos_weight, shape),
        width{C(o.beta), C(1.0 / o.beta)} {}

  // n <= kBlock elements of the loss or a derivative, weighted.
  void block(BlockFunction<C> function, int64_t begin, int64_t n, C* out) const {
    alignas(64) C x[kBlock], t[kBlock], w[kBlock];
    function(in.at(begin, n, x), target.at(begin, n, t), pos_weight.at(begin, n, w), width, out, n);
    if (const C* factor = weight.at(begin, n, w)) at_level<Times>(out, factor, C(1), n);
  }
};

// Calls f(begin, count) for blocks of the range.
template <class F>
void for_each_block(int64_t first, int64_t last, const F& f) {
  for (int64_t begin = first; begin < last; begin += kBlock) f(begin, std::min(kBlock, last - begin));
}

// Writes what `fill` makes of each block.
template <class C, class Fill>
void write_blocks(const View& out, int64_t numel, const Fill& fill) {
  const Dense dense(out, out.dtype, Access::write);
  const RowWriter<C> writer(dense.view());
  parallel_for(0, numel, kGrain / 4, [&](int64_t first, int64_t last) {
    alignas(64) C buffer[kBlock];
    for_each_block(first, last, [&](int64_t begin, int64_t n) {
      fill(begin, n, writer.at(begin, buffer));
      writer.done(begin, n, buffer);
    });
  });
  dense.store();
}

// The sum in pieces whose number depends on the size only, so that it does not depend on the number of threads.
template <class C, class Fill>
double sum_of_blocks(int64_t numel, const Fill& fill) {
  const int64_t pieces = std::clamp<int64_t>(numel / kGrain, 1, 64);
  const int64_t each = ((numel + pieces - 1) / pieces + kBlock - 1) / kBlock * kBlock;
  std::vector<double> sums(size_t(pieces), 0.0);
  parallel_for(0, pieces, 1, [&](int64_t first, int64_t last) {
    alignas(64) C buffer[kBlock];
    for (int64_t piece = first; piece < last; ++piece)
      for_each_block(piece * each, std::min((piece + 1) * each, numel), [&](int64_t begin, int64_t n) {
        fill(begin, n, buffer);
        at_level<Sum, const C*, int64_t, double*>(buffer, n, &sums[size_t(piece)]);
      });
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

template <class F>
void with_type_of(const View& in, const View& target, F&& f) {
  with_compute_type(target.dtype == DType::float64 ? DType::float64 : in.dtype, "pointwise_loss", f);
}

template <Part part>
void backward(const View& grad, const View& in, const View& target, const LossOptions& options,
              Reduction reduction, const View& grad_in) {
  with_type_of(in, target, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Operands<C> o(in, target, options);
    const Elements<C> dy(&grad, o.shape);
    const BlockFunction<C> function = block_of<part, C>(options.kind);
    const int64_t numel = o.shape.numel();
    const C share = reduction == Reduction::mean ? C(1) / C(numel) : C(1);
    write_blocks<C>(grad_in, numel, [&](int64_t begin, int64_t n, C* out) {
      alignas(64) C buffer[kBlock];
      o.block(function, begin, n, out);
      const C* each = dy.is_single() ? nullptr : dy.at(begin, n, buffer);
      at_level<Times, C*, const C*, C, int64_t>(out, each, dy.number() * share, n);
      if (each && share != C(1)) at_level<Times, C*, const C*, C, int64_t>(out, nullptr, share, n);
    });
  });
}

}  // namespace

void pointwise_loss(const View& in, const View& target, const LossOptions& options, Reduction reduction,
                    const View& out) {
  with_type_of(in, target, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Operands<C> o(in, target, options);
    const BlockFunction<C> function = block_of<Part::value, C>(options.kind);
    const int64_t numel = o.shape.numel();
    const auto fill = [&](int64_t begin, int64_t n, C* to) { o.block(function, begin, n, to); };
    if (reduction == Reduction::none) return write_blocks<C>(out, numel, fill);
    const double sum = sum_of_blocks<C>(numel, fill);
    RowWriter<C>(out).put(0, reduction == Reduction::mean ? sum / double(numel) : sum);
  });
}

void pointwise_loss_backward(const View& grad, const View& in, const View& target, const LossOptions& options,
                             Reduction reduction, const View& grad_in) {
  backward<Part::slope>(grad, in, target, options, reduction, grad_in);
}

void pointwise_loss_target_backward(const View& grad, const View& in, const View& target,
                                    const LossOptions& options, Reduction reduction,
                                    const View& grad_target) {
  backward<Part::target_slope>(grad, in, target, options, reduction, grad_target);
}

void multilabel_margin_loss(const View& in, const View& target, Reduction reduction, const View& out,
                            const View& is_target) {
  const int64_t classes = in.ndim ? in.sizes[in.ndim - 1] : 1, samples = classes ? in.numel() / classes : 0;
  const DenseInput<double> x(in);
  const DenseInput<int64_t> named(target);
  const DenseOutput<double> y(out);
  const DenseOutput<bool> marks(is_target);
  marks.fill(false);
  double total = 0;
  for (int64_t n = 0; n < samples; ++n) {
    const int64_t at = n * classes;
    int64_t count = 0;
    for (; count < classes && named[at + count] >= 0; ++count) {
      const int64_t label = named[at + count];
      MT_CHECK_AS(index, label < classes, "multilabel_margin_loss: target ", label, " is out of bounds for ",
                  classes, " classes");
      marks[at + label] = true;
    }
    double sum = 0;
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t c = 0; c < classes; ++c)
        if (!marks[at + c]) sum += std::max(0.0, 1 - (x[at + named[at + k]] - x[at + c]));
    }
    sum /= double(classes);
    if (reduction == Reduction::none) y[n] = sum;
    total += sum;
  }
  if (reduction != Reduction::none) y[0] = reduction == Reduction::mean ? total / double(samples) : total;
  y.store();
  marks.store();
}

}  // namespace mt::kernels

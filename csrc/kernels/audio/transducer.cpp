#include "kernels/audio/transducer.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"
#include "kernels/common/vector_math.h"

namespace mt::kernels {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  const double larger = std::max(a, b);
  if (larger == kNever) return kNever;
  return larger + std::log1p(std::exp(-std::fabs(a - b)));
}

template <class C>
double log_sum_of_row(const C* row, int64_t n) {
  C largest = row[0];
  for (int64_t i = 1; i < n; ++i) largest = std::max(largest, row[i]);
  return double(largest) + std::log(sum_of<C>(n, [&](int64_t i) { return math::exp(row[i] - largest); }));
}

// One entry of the batch: the log probability of every node of the lattice (time, labels so far).
template <class C>
class Lattice {
 public:
  Lattice(const C* logits, const int32_t* targets, int64_t times, int64_t labels, int64_t row_labels,
          int64_t classes, const TransducerOptions& options)
      : logits_(logits),
        targets_(targets),
        times_(times),
        labels_(labels),
        row_labels_(row_labels),
        classes_(classes),
        options_(options) {
    const size_t nodes = size_t(times * (labels + 1));
    norm_.resize(nodes, 0);
    blank_.resize(nodes);
    label_.resize(nodes);
    forward_.resize(nodes);
    backward_.resize(nodes);
    parallel_for(0, times, std::max<int64_t>(kGrain / (8 * classes * (labels + 1)), 1),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t t = begin; t < end; ++t)
                     for (int64_t u = 0; u <= labels; ++u) read(t, u);
                 });
    run_forward();
    run_backward();
  }
  double log_probability() const { return backward_[0]; }

  void gradients(C* to) const {
    parallel_for(0, times_, std::max<int64_t>(kGrain / (8 * classes_ * (labels_ + 1)), 1),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t t = begin; t < end; ++t)
                     for (int64_t u = 0; u <= labels_; ++u)
                       gradient(t, u, to + (t * row_labels_ + u) * classes_);
                 });
  }

 private:
  size_t at(int64_t t, int64_t u) const { return size_t(t * (labels_ + 1) + u); }
  const C* row(int64_t t, int64_t u) const { return logits_ + (t * row_labels_ + u) * classes_; }

  void read(int64_t t, int64_t u) {
    const C* values = row(t, u);
    const size_t i = at(t, u);
    if (options_.fused) norm_[i] = log_sum_of_row(values, classes_);
    blank_[i] = double(values[options_.blank]) - norm_[i];
    label_[i] = u < labels_ ? double(values[targets_[u]]) - norm_[i] : kNever;
  }
  void run_forward() {
    for (int64_t t = 0; t < times_; ++t) {
      for (int64_t u = 0; u <= labels_; ++u) {
        const double waited = t > 0 ? forward_[at(t - 1, u)] + blank_[at(t - 1, u)] : kNever;
        const double spoken = u > 0 ? forward_[at(t, u - 1)] + label_[at(t, u - 1)] : kNever;
        forward_[at(t, u)] = t + u == 0 ? 0 : log_sum(waited, spoken);
      }
    }
  }
  // The log probability of what comes after a node is left by a blank.
  double after_blank(int64_t t, int64_t u) const {
    if (t + 1 < times_) return backward_[at(t + 1, u)];
    return u == labels_ ? 0 : kNever;
  }
  void run_backward() {
    for (int64_t t = times_ - 1; t >= 0; --t) {
      for (int64_t u = labels_; u >= 0; --u) {
        const double waits = after_blank(t, u) + blank_[at(t, u)];
        const double speaks = u < labels_ ? backward_[at(t, u + 1)] + label_[at(t, u)] : kNever;
        backward_[at(t, u)] = log_sum(waits, speaks);
      }
    }
  }
  void gradient(int64_t t, int64_t u, C* to) const {
    const size_t i = at(t, u);
    const double total = log_probability();
    const C* values = row(t, u);
    const C visited = C(forward_[i] + backward_[i] - total - norm_[i]);
    if (options_.fused)
      for (int64_t d = 0; d < classes_; ++d) to[d] = math::exp(values[d] + visited);
    else std::fill_n(to, classes_, C(0));
    to[options_.blank] -= C(std::exp(forward_[i] + blank_[i] + after_blank(t, u) - total));
    if (u < labels_)
      to[targets_[u]] -= C(std::exp(forward_[i] + label_[i] + backward_[at(t, u + 1)] - total));
    if (options_.clamp > 0)
      for (int64_t d = 0; d < classes_; ++d) to[d] = std::clamp(to[d], C(-options_.clamp), C(options_.clamp));
  }

  const C* logits_;
  const int32_t* targets_;
  int64_t times_, labels_, row_labels_, classes_;
  const TransducerOptions& options_;
  std::vector<double> norm_, blank_, label_, forward_, backward_;
};

}  // namespace

void transducer_loss(const View& logits, const View& targets, const View& logit_lengths,
                     const View& target_lengths, const TransducerOptions& options, const View& costs,
                     const View& gradients) {
  const int64_t batch = logits.sizes[0], most_times = logits.sizes[1], row_labels = logits.sizes[2],
                classes = logits.sizes[3];
  const DenseInput<int32_t> labels(targets), times(logit_lengths), counts(target_lengths);
  for (int64_t b = 0; b < batch; ++b) {
    MT_CHECK(times[b] > 0 && times[b] <= most_times && counts[b] >= 0 && counts[b] < row_labels,
             "rnnt_loss: entry ", b, " has ", times[b], " time steps and ", counts[b],
             " targets, wanted 1 to ", most_times, " and 0 to ", row_labels - 1);
    for (int64_t u = 0; u < counts[b]; ++u) {
      const int32_t label = labels[b * (row_labels - 1) + u];
      MT_CHECK_AS(index, label >= 0 && label < classes, "rnnt_loss: target ", label, " of entry ", b,
                  " is not one of ", classes, " classes");
    }
  }
  with_compute_type(logits.dtype, "rnnt_loss", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> x(logits);
    const DenseOutput<C> cost(costs), dx(gradients);
    dx.fill(0);
    const int64_t size = most_times * row_labels * classes;
    parallel_for(0, batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const Lattice<C> lattice(x.data() + b * size, labels.data() + b * (row_labels - 1), times[b],
                                 counts[b], row_labels, classes, options);
        cost[b] = C(-lattice.log_probability());
        lattice.gradients(dx.data() + b * size);
      }
    });
    cost.store();
    dx.store();
  });
}

}  // namespace mt::kernels

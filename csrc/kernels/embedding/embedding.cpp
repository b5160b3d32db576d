#include "kernels/embedding/embedding.h"

#include <algorithm>

#include "kernels/common/dense.h"
#include "kernels/common/rows.h"

namespace mt::kernels {
namespace {

int64_t checked_row(int64_t row, int64_t rows) {
  MT_CHECK_AS(index, row >= 0 && row < rows, "index ", row, " is out of range for a table of ", rows,
              " rows");
  return row;
}

}  // namespace

void embedding_backward(const View& grad, const View& indices, int64_t padding, bool by_frequency,
                        const View& out) {
  const int64_t rows = out.sizes[0], width = out.sizes[1];
  with_compute_type(out.dtype, "embedding_backward", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> dy(grad);
    const DenseInput<int64_t> named(indices);
    const DenseOutput<C> to(out);
    to.fill(0);
    std::vector<int64_t> counts(size_t(by_frequency ? rows : 0));
    for (int64_t i = 0; i < named.numel(); ++i) {
      if (named[i] == padding) continue;
      const int64_t row = checked_row(named[i], rows);
      if (by_frequency) ++counts[size_t(row)];
      for (int64_t j = 0; j < width; ++j) to[row * width + j] += dy[i * width + j];
    }
    for (int64_t row = 0; by_frequency && row < rows; ++row) {
      for (int64_t j = 0; counts[size_t(row)] > 1 && j < width; ++j)
        to[row * width + j] /= C(counts[size_t(row)]);
    }
    to.store();
  });
}

void embedding_bag(const View& table, const View& indices, const View& offsets, const BagOptions& options,
                   const View& out, const View* bag_of, const View* sizes, const View* places) {
  const int64_t rows = table.sizes[0], width = table.sizes[1], bags = out.sizes[0];
  with_compute_type(table.dtype, "embedding_bag", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> values(table);
    const DenseInput<int64_t> named(indices), starts(offsets);
    const DenseOutput<C> to(out);
    to.fill(0);
    std::vector<double> owner(size_t(named.numel())), counted(static_cast<size_t>(bags)),
        from(size_t(bags * width));
    const std::vector<double> weights = numbers_or(options.weights, named.numel(), 1);
    for (int64_t bag = 0; bag < bags; ++bag) {
      const bool last = bag + 1 == starts.numel();
      const int64_t begin = starts[bag], end = last ? named.numel() : starts[bag + 1];
      MT_CHECK_AS(index, begin >= 0 && begin <= end && end <= named.numel(), "embedding_bag: the bag from ",
                  begin, " to ", end, " does not lie in the ", named.numel(), " indices");
      int64_t count = 0;
      for (int64_t i = begin; i < end; ++i) {
        owner[size_t(i)] = double(bag);
        if (named[i] == options.padding) continue;
        const int64_t row = checked_row(named[i], rows);
        for (int64_t j = 0; j < width; ++j) {
          C& target = to[bag * width + j];
          const C value = values[row * width + j];
          if (options.mode != BagMode::max) target += value * C(weights[size_t(i)]);
          else if (count == 0 || value > target) target = value, from[size_t(bag * width + j)] = double(row);
        }
        ++count;
      }
      counted[size_t(bag)] = double(count);
      for (int64_t j = 0; options.mode == BagMode::mean && count > 0 && j < width; ++j)
        to[bag * width + j] /= C(count);
    }
    to.store();
    put_numbers(owner, bag_of);
    put_numbers(counted, sizes);
    put_numbers(from, places);
  });
}

}  // namespace mt::kernels

#include "kernels/reduce/renorm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/dense.h"
#include "kernels/common/window.h"

namespace mt::kernels {
namespace {

double norm_of(const DenseInput<double>& x, double p) {
  double total = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double size = std::fabs(x[i]);
    if (p == std::numeric_limits<double>::infinity()) total = std::max(total, size);
    else if (p == 0) total += size != 0;
    else if (p == 1) total += size;
    else if (p == 2) total += size * size;
    else total += std::pow(size, p);
  }
  if (p == 2) return std::sqrt(total);
  return p == 0 || p == 1 || p == std::numeric_limits<double>::infinity() ? total : std::pow(total, 1 / p);
}

void shorten(const View& from, const View& to, double p, double max_norm) {
  const DenseInput<double> x(from);
  const double norm = norm_of(x, p);
  if (norm <= max_norm) {
    if (from.data != to.data) copy(from, to);
    return;
  }
  const double factor = max_norm / (norm + 1e-7);
  const DenseOutput<double> y(to);
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] * factor;
  y.store();
}

}  // namespace

void renorm(const View& in, const View& out, int dim, double p, double max_norm) {
  const Window from(in), to(out);
  for (int64_t i = 0; i < in.sizes[dim]; ++i)
    shorten(from.part(dim, i, 1).view(), to.part(dim, i, 1).view(), p, max_norm);
}

void renorm_rows(const View& table, const View& indices, double p, double max_norm) {
  const DenseInput<int64_t> named(indices);
  std::vector<int64_t> rows(named.data(), named.data() + named.numel());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const Window all(table);
  for (const int64_t row : rows) {
    MT_CHECK_AS(index, row >= 0 && row < table.sizes[0], "index ", row, " is out of range for a table of ",
                table.sizes[0], " rows");
    const Window one = all.part(0, row, 1);
    shorten(one.view(), one.view(), p, max_norm);
  }
}

}  // namespace mt::kernels

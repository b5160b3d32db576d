#include <cmath>

#include "kernels/common/iterate.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/normalization/normalization.h"
#include "kernels/normalization/rows.h"

namespace mt::kernels {
namespace {

// Channels inside (or nothing but channels): rows of channels, one after the other.
bool in_columns(const ChannelLayout& layout) { return layout.channels_inside || layout.space == 1; }

int64_t plane_grain(const ChannelLayout& layout) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, layout.space));
}
int64_t channel_grain(const ChannelLayout& layout) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, layout.space * layout.batch));
}

// Calls f(first_row, last_row, piece) over rows of channels, cut in pieces whose number depends on sizes only.
template <class F>
void over_row_pieces(int64_t rows, int64_t pieces, F f) {
  const int64_t step = (rows + pieces - 1) / pieces;
  parallel_for(0, pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) f(std::min(p * step, rows), std::min((p + 1) * step, rows), p);
  });
}
int64_t row_pieces(int64_t rows, int64_t channels) {
  return std::clamp<int64_t>(rows * channels / kGrain, 1, 32);
}

// totals[c] = the sum over pieces.
void add_up(const std::vector<double>& partial, int64_t pieces, int64_t channels, double* totals) {
  std::fill_n(totals, channels, 0.0);
  for (int64_t p = 0; p < pieces; ++p) {
    for (int64_t c = 0; c < channels; ++c) totals[c] += partial[size_t(p * channels + c)];
  }
}

// Loops over rows of channels that follow each other. Sums take four rows at a time: loading and storing them for each one
// would take longer than adding.
template <class C>
struct ColumnSums {
  template <class Term>
  [[gnu::always_inline]] static inline void add(int64_t rows, int64_t channels, double* sums, Term term) {
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      const int64_t at = r * channels;
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c)
        sums[c] += (term(at + c, c) + term(at + channels + c, c)) +
                   (term(at + 2 * channels + c, c) + term(at + 3 * channels + c, c));
    }
    for (; r < rows; ++r) {
      const int64_t at = r * channels;
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) sums[c] += term(at + c, c);
    }
  }
  [[gnu::always_inline]] static inline void run(const C* x, int64_t rows, int64_t channels, double* sums) {
    add(rows, channels, sums, [x](int64_t i, int64_t) { return double(x[i]); });
  }
};
template <class C>
struct ColumnSquares {
  [[gnu::always_inline]] static inline void run(const C* x, int64_t rows, int64_t channels,
                                                const double* center, double* sums) {
    ColumnSums<C>::add(rows, channels, sums, [x, center](int64_t i, int64_t c) {
      const double gap = double(x[i]) - center[c];
      return gap * gap;
    });
  }
};
template <class C>
struct ColumnProducts {
  [[gnu::always_inline]] static inline void run(const C* dy, const C* x, int64_t rows, int64_t channels,
                                                const double* center, double* sums, double* products) {
    ColumnSums<C>::run(dy, rows, channels, sums);
    ColumnSums<C>::add(rows, channels, products, [dy, x, center](int64_t i, int64_t c) {
      return double(dy[i]) * (double(x[i]) - center[c]);
    });
  }
};
template <class C>
struct ColumnAffine {
  [[gnu::always_inline]] static inline void run(const C* x, int64_t rows, int64_t channels, const C* scale,
                                                const C* shift, C* y) {
    for (int64_t r = 0; r < rows; ++r, x += channels, y += channels) {
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) y[c] = x[c] * scale[c] + shift[c];
    }
  }
};
template <class C>
struct ColumnBlend {
  [[gnu::always_inline]] static inline void run(const C* dy, const C* x, int64_t rows, int64_t channels,
                                                const C* a, const C* b, const C* constant, C* y) {
    for (int64_t r = 0; r < rows; ++r, dy += channels, x += channels, y += channels) {
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) y[c] = dy[c] * a[c] + x[c] * b[c] + constant[c];
    }
  }
};

// Rows that loops take at once: so many that those that are read or written several times stay in a cache.
constexpr int64_t kRowsTogether = 16;
template <class F>
void over_rows(int64_t begin, int64_t end, F f) {
  for (int64_t r = begin; r < end; r += kRowsTogether) f(r, std::min(kRowsTogether, end - r));
}

template <class C>
void column_moments(const RowReader<C>& x, int64_t rows, int64_t channels, double* mean, double* variance) {
  const int64_t pieces = row_pieces(rows, channels);
  std::vector<double> partial(size_t(pieces * channels));
  const auto pass = [&](auto sum_rows, double* totals) {
    std::fill(partial.begin(), partial.end(), 0.0);
    over_row_pieces(rows, pieces, [&](int64_t begin, int64_t end, int64_t piece) {
      std::vector<C> buffer(size_t(x.direct ? 0 : kRowsTogether * channels));
      over_rows(begin, end, [&](int64_t r, int64_t count) {
        sum_rows(x.at(r * channels, count * channels, buffer.data()), count,
                 partial.data() + piece * channels);
      });
    });
    add_up(partial, pieces, channels, totals);
    for (int64_t c = 0; c < channels; ++c) totals[c] /= double(rows);
  };
  pass([=](const C* some, int64_t count,
           double* sums) { at_level<ColumnSums<C>>(some, count, channels, sums); },
       mean);
  pass(
      [=](const C* some, int64_t count, double* sums) {
        at_level<ColumnSquares<C>>(some, count, channels, static_cast<const double*>(mean), sums);
      },
      variance);
}

template <class C>
std::vector<C> converted(const double* values, int64_t n) {
  std::vector<C> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) out[size_t(i)] = C(values[i]);
  return out;
}

}  // namespace

void channel_moments(const View& in, const ChannelLayout& layout, double* mean, double* variance) {
  with_compute_type(in.dtype, "batch_norm", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const RowReader<C> x(in);
    if (in_columns(layout))
      return column_moments(x, layout.batch * layout.space, layout.channels, mean, variance);
    const auto moments = NormRows<C>::moments[cpu_level];
    parallel_for(0, layout.channels, channel_grain(layout), [&](int64_t first, int64_t last) {
      Scratch<C> buffer(x.direct ? 0 : layout.space);
      for (int64_t c = first; c < last; ++c) {
        // Planes merge exactly: the squares around the common mean are those around each plane's own and the
        // distances of the means.
        double count = 0, center = 0, squares = 0;
        for (int64_t b = 0; b < layout.batch; ++b) {
          double plane_mean = 0, plane_variance = 0;
          moments(x.at((b * layout.channels + c) * layout.space, layout.space, buffer.data()), layout.space,
                  &plane_mean, &plane_variance);
          const double n = double(layout.space), gap = plane_mean - center, share = n / (count + n);
          center += gap * share;
          squares += plane_variance * n + gap * gap * count * share;
          count += n;
        }
        mean[c] = center;
        variance[c] = squares / count;
      }
    });
  });
}

void channel_affine(const View& in, const View& out, const ChannelLayout& layout, const double* scale,
                    const double* shift) {
  if (layout.numel() == 0) return;
  with_compute_type(in.dtype, "batch_norm", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const RowReader<C> x(in);
    const RowWriter<C> y(out);
    const int64_t channels = layout.channels, space = layout.space;
    if (in_columns(layout)) {
      const std::vector<C> a = converted<C>(scale, channels), b = converted<C>(shift, channels);
      const int64_t rows = layout.batch * space;
      parallel_for(0, rows, std::max<int64_t>(1, kGrain / channels), [&](int64_t first, int64_t last) {
        std::vector<C> from(size_t(x.direct ? 0 : kRowsTogether * channels)),
            to(size_t(y.direct ? 0 : kRowsTogether * channels));
        over_rows(first, last, [&](int64_t r, int64_t count) {
          C* target = y.at(r * channels, to.data());
          at_level<ColumnAffine<C>>(x.at(r * channels, count * channels, from.data()), count, channels,
                                    a.data(), b.data(), target);
          y.done(r * channels, count * channels, target);
        });
      });
      return;
    }
    const auto affine = NormRows<C>::affine[cpu_level];
    parallel_for(0, layout.batch * channels, plane_grain(layout), [&](int64_t first, int64_t last) {
      Scratch<C> from(x.direct ? 0 : space), to(y.direct ? 0 : space);
      for (int64_t plane = first; plane < last; ++plane) {
        const int64_t c = plane % channels;
        C* target = y.at(plane * space, to.data());
        affine(x.at(plane * space, space, from.data()), target, space, C(scale[c]), C(shift[c]));
        y.done(plane * space, space, target);
      }
    });
  });
}

void channel_products(const View& grad, const View& in, const ChannelLayout& layout, const double* center,
                      double* sums, double* products) {
  with_compute_type(in.dtype, "batch_norm", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const RowReader<C> g(grad), x(in);
    const int64_t channels = layout.channels, space = layout.space;
    if (in_columns(layout)) {
      const int64_t rows = layout.batch * space, pieces = row_pieces(rows, channels);
      std::vector<double> partial_sums(size_t(pieces * channels)),
          partial_products(size_t(pieces * channels));
      over_row_pieces(rows, pieces, [&](int64_t begin, int64_t end, int64_t piece) {
        std::vector<C> grads(size_t(g.direct ? 0 : kRowsTogether * channels)),
            inputs(size_t(x.direct ? 0 : kRowsTogether * channels));
        over_rows(begin, end, [&](int64_t r, int64_t count) {
          at_level<ColumnProducts<C>>(g.at(r * channels, count * channels, grads.data()),
                                      x.at(r * channels, count * channels, inputs.data()), count, channels,
                                      center, partial_sums.data() + piece * channels,
                                      partial_products.data() + piece * channels);
        });
      });
      add_up(partial_sums, pieces, channels, sums);
      return add_up(partial_products, pieces, channels, products);
    }
    const auto both = NormRows<C>::products[cpu_level];
    parallel_for(0, channels, channel_grain(layout), [&](int64_t first, int64_t last) {
      Scratch<C> grads(g.direct ? 0 : space), inputs(x.direct ? 0 : space);
      for (int64_t c = first; c < last; ++c) {
        sums[c] = products[c] = 0;
        for (int64_t b = 0; b < layout.batch; ++b) {
          const int64_t at = (b * channels + c) * space;
          both(g.at(at, space, grads.data()), x.at(at, space, inputs.data()), space, C(center[c]), &sums[c],
               &products[c]);
        }
      }
    });
  });
}

void channel_blend(const View& grad, const View& in, const View& out, const ChannelLayout& layout,
                   const double* a, const double* b, const double* c) {
  if (layout.numel() == 0) return;
  with_compute_type(in.dtype, "batch_norm", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const RowReader<C> g(grad), x(in);
    const RowWriter<C> y(out);
    const int64_t channels = layout.channels, space = layout.space;
    if (in_columns(layout)) {
      const std::vector<C> first_factor = converted<C>(a, channels),
                           second_factor = converted<C>(b, channels), constant = converted<C>(c, channels);
      const int64_t rows = layout.batch * space;
      parallel_for(0, rows, std::max<int64_t>(1, kGrain / channels), [&](int64_t first, int64_t last) {
        std::vector<C> grads(size_t(g.direct ? 0 : kRowsTogether * channels)),
            inputs(size_t(x.direct ? 0 : kRowsTogether * channels)),
            results(size_t(y.direct ? 0 : kRowsTogether * channels));
        over_rows(first, last, [&](int64_t r, int64_t count) {
          C* target = y.at(r * channels, results.data());
          at_level<ColumnBlend<C>>(g.at(r * channels, count * channels, grads.data()),
                                   x.at(r * channels, count * channels, inputs.data()), count, channels,
                                   first_factor.data(), second_factor.data(), constant.data(), target);
          y.done(r * channels, count * channels, target);
        });
      });
      return;
    }
    const auto blend = NormRows<C>::blend[cpu_level];
    parallel_for(0, layout.batch * channels, plane_grain(layout), [&](int64_t first, int64_t last) {
      Scratch<C> grads(g.direct ? 0 : space), inputs(x.direct ? 0 : space), results(y.direct ? 0 : space);
      for (int64_t plane = first; plane < last; ++plane) {
        const int64_t at = plane * space, i = plane % channels;
        C* target = y.at(at, results.data());
        blend(g.at(at, space, grads.data()), x.at(at, space, inputs.data()), target, space, C(a[i]), C(b[i]),
              C(c[i]));
        y.done(at, space, target);
      }
    });
  });
}

}  // namespace mt::kernels

// The generator is locked while a tensor is filled.
#include "generated/cpu/random.h"

#include <cmath>

#include "backends/cpu/generator.h"
#include "backends/cpu/kernel_view.h"
#include "core/views.h"
#include "infer/layout.h"
#include "kernels/random/distributions.h"
#include "kernels/random/random.h"
#include "kernels/random/slopes.h"

namespace mt::cpu {
namespace {

// A complex tensor as pairs of real numbers: one more dimension, of size 2.
struct Pairs {
  Dims sizes, strides;
  kernels::View view;

  explicit Pairs(const Tensor& t) : sizes(t.sizes()), strides(t.strides()) {
    for (int64_t& s : strides) s *= 2;
    sizes.push_back(2);
    strides.push_back(1);
    view = {memory(t), sizes.data(), strides.data(), int(sizes.size()), real_type(t.dtype())};
  }
};

}  // namespace

void uniform(const Tensor& self, double from, double to, Generator* generator) {
  with_engine(generator, [&](kernels::Mt19937& engine) {
    kernels::uniform(is_complex(self.dtype()) ? Pairs(self).view : view(self), from, to, engine);
  });
}
void normal(const Tensor& self, double mean, double std, Generator* generator) {
  with_engine(generator, [&](kernels::Mt19937& engine) {
    if (!is_complex(self.dtype())) return kernels::normal(view(self), mean, std, engine);
    const Pairs pairs(self);  // both parts have half the variance
    kernels::normal(pairs.view, mean, std / std::sqrt(2.0), engine);
  });
}
void bernoulli(const Tensor& self, double p, Generator* generator) {
  with_engine(generator, [&](kernels::Mt19937& engine) { kernels::bernoulli(view(self), p, engine); });
}
void bernoulli_tensor(const Tensor& self, const Tensor& p, Generator* generator) {
  const Tensor expanded = views::expand(p, self.sizes(), false);
  with_engine(generator,
              [&](kernels::Mt19937& engine) { kernels::bernoulli(view(self), view(expanded), engine); });
}
void bernoulli_self(const Tensor& self, Generator* generator, const Tensor& out) {
  with_engine(generator,
              [&](kernels::Mt19937& engine) { kernels::bernoulli(view(out), view(self), engine); });
}
void bernoulli_p(const Tensor&, double p, Generator* generator, const Tensor& out) {
  bernoulli(out, p, generator);
}
void exponential(const Tensor& self, double lambd, Generator* generator) {
  with_engine(generator, [&](kernels::Mt19937& engine) { kernels::exponential(view(self), lambd, engine); });
}
void cauchy(const Tensor& self, double median, double sigma, Generator* generator) {
  with_engine(generator,
              [&](kernels::Mt19937& engine) { kernels::cauchy(view(self), median, sigma, engine); });
}
void log_normal(const Tensor& self, double mean, double std, Generator* generator) {
  with_engine(generator,
              [&](kernels::Mt19937& engine) { kernels::log_normal(view(self), mean, std, engine); });
}
void geometric(const Tensor& self, double p, Generator* generator) {
  with_engine(generator, [&](kernels::Mt19937& engine) { kernels::geometric(view(self), p, engine); });
}
void random_from(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* generator) {
  with_engine(generator,
              [&](kernels::Mt19937& engine) { kernels::random_ints(view(self), from, to, engine); });
}
void random_to(const Tensor& self, int64_t to, Generator* generator) { random_from(self, 0, to, generator); }
void random_full(const Tensor& self, Generator* generator) {
  with_engine(generator, [&](kernels::Mt19937& engine) { kernels::random_full(view(self), engine); });
}

void poisson(const Tensor& self, Generator* generator, const Tensor& out) {
  const Tensor rates = dense(self, out.dtype()), drawn = dense(out, out.dtype());
  with_engine(generator,
              [&](kernels::Mt19937& engine) { kernels::poisson(view(rates), view(drawn), engine); });
  if (!drawn.same(out)) kernels::copy(view(drawn), view(out));
}
void binomial(const Tensor& count, const Tensor& prob, Generator* generator, const Tensor& out) {
  const Tensor counts = dense(views::expand(count, out.sizes(), false), out.dtype());
  const Tensor probabilities = dense(views::expand(prob, out.sizes(), false), out.dtype());
  const Tensor drawn = dense(out, out.dtype());
  with_engine(generator, [&](kernels::Mt19937& engine) {
    kernels::binomial(view(counts), view(probabilities), view(drawn), engine);
  });
  if (!drawn.same(out)) kernels::copy(view(drawn), view(out));
}
void standard_gamma(const Tensor& self, Generator* generator, const Tensor& out) {
  const Tensor concentrations = dense(self, out.dtype());
  into_dense(out, [&](const Tensor& drawn) {
    with_engine(generator, [&](kernels::Mt19937& engine) {
      kernels::standard_gamma(view(concentrations), view(drawn), engine);
    });
  });
}
void standard_gamma_grad(const Tensor& self, const Tensor& output, const Tensor& out) {
  const Tensor concentrations = dense(views::expand(self, out.sizes(), false));
  const Tensor samples = dense(views::expand(output, out.sizes(), false));
  into_dense(out, [&](const Tensor& slopes) {
    kernels::gamma_slopes(view(concentrations), view(samples), view(slopes));
  });
}
void dirichlet_grad(const Tensor& x, const Tensor& alpha, const Tensor& total, const Tensor& out) {
  const Tensor samples = dense(views::expand(x, out.sizes(), false));
  const Tensor concentrations = dense(views::expand(alpha, out.sizes(), false));
  const Tensor totals = dense(views::expand(total, out.sizes(), false));
  into_dense(out, [&](const Tensor& slopes) {
    kernels::dirichlet_slopes(view(samples), view(concentrations), view(totals), view(slopes));
  });
}
void multinomial(const Tensor& self, int64_t, bool replacement, Generator* generator, const Tensor& out) {
  const bool single = self.dim() == 1;
  const Tensor weights = dense(single ? views::unsqueeze(self, 0) : self, self.dtype());
  const Tensor drawn = dense(single ? views::unsqueeze(out, 0) : out, DType::int64);
  // In the order in which the weights lie, as PyTorch fills a tensor like them.
  const Dims strides = infer::dense_strides(self.sizes(), {&self});
  const bool by_columns = !single && strides[0] < strides[1];
  with_engine(generator, [&](kernels::Mt19937& engine) {
    kernels::multinomial(view(weights), replacement, view(drawn), engine, by_columns);
  });
  const Tensor target = single ? views::unsqueeze(out, 0) : out;
  if (drawn.data() != target.data()) kernels::copy(view(drawn), view(target));
}

void randperm(int64_t, const Tensor& out, Generator* generator) {
  with_engine(generator, [&](kernels::Mt19937& engine) { kernels::randperm(view(out), engine); });
}

}  // namespace mt::cpu

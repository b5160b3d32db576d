// Rules of single operators: special functions and random numbers. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

// A draw per element: the input's shape and dtype.
void drawn_like(const Tensor& self, const Generator* generator, Output& out);
void drawn_like(const Tensor& self, double p, const Generator* generator, Output& out);
void binomial(const Tensor& count, const Tensor& prob, const Generator* generator, Output& out);
void multinomial(const Tensor& self, int64_t num_samples, bool replacement, const Generator* generator,
                 Output& out);

void check_probabilities(const Tensor& self, const Tensor& p, const Generator* generator);
void check_random_end(const Tensor& self, int64_t to, const Generator* generator);
void check_exponential(const Tensor& self, double lambd, const Generator* generator);
void check_cauchy(const Tensor& self, double median, double sigma, const Generator* generator);

}  // namespace mt::infer

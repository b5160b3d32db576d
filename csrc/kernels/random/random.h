// Random fills. The Mt19937 versions give PyTorch's CPU values for the same seed; the philox versions are for
// devices: counter-based, so that every element can be computed by itself.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/common/view.h"
#include "kernels/random/mt19937.h"

namespace mt::kernels {

void uniform(const View& out, double low, double high, Mt19937& generator);
void normal(const View& out, double mean, double deviation, Mt19937& generator);
void bernoulli(const View& out, double probability, Mt19937& generator);
// Element i is 1 with the probability probabilities[i] (same shape, floating).
void bernoulli(const View& out, const View& probabilities, Mt19937& generator);
void exponential(const View& out, double rate, Mt19937& generator);
void cauchy(const View& out, double median, double sigma, Mt19937& generator);
void log_normal(const View& out, double mean, double deviation, Mt19937& generator);
// The number of trials up to the first success.
void geometric(const View& out, double probability, Mt19937& generator);
// Integers in [low, high); without `high` up to the largest that the dtype represents exactly.
void random_ints(const View& out, int64_t low, std::optional<int64_t> high, Mt19937& generator);
// Integers from 0 to the largest the dtype represents exactly: Tensor.random_() without arguments.
void random_full(const View& out, Mt19937& generator);
// A permutation of 0 … n-1, n = number of elements; out has one dimension.
void randperm(const View& out, Mt19937& generator);

// `offset` counts blocks of four 32-bit numbers already used under this seed; philox_blocks tells how many a
// fill uses.
uint64_t philox_blocks(const View& out);
void philox_uniform(const View& out, double low, double high, uint64_t seed, uint64_t offset);
void philox_normal(const View& out, double mean, double deviation, uint64_t seed, uint64_t offset);
void philox_exponential(const View& out, double rate, uint64_t seed, uint64_t offset);
void philox_bernoulli(const View& out, double probability, uint64_t seed, uint64_t offset);
void philox_random(const View& out, int64_t low, int64_t high, uint64_t seed, uint64_t offset);

}  // namespace mt::kernels

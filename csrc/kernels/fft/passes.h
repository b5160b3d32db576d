// One pass of a transform: butterflies of one radix over all lanes. See Note [Lanes] in plan.h.
#pragma once

#include "kernels/fft/plan.h"

namespace mt::kernels::fft_passes {

// Whether a radix has code of its own.
inline bool has_butterfly(int radix) { return radix <= 13 || radix == 16; }

// For each group p and each q < stride: the `radix` numbers from[q + stride * (p + j * groups)] become, transformed
// and turned by the group's twiddles, to[q + stride * (radix * p + k)].
template <class T>
struct Step {
  Planes<T> from, to;
  int64_t groups, stride;
  int radix;
  const T* twiddles;
  const T* roots;
};

// Reads `from` and writes `to`, or pairs where there are any: the first pass reads them, if reads_pairs() says so, and
// the last one writes them, if lanes are as many as columns().
template <class T> void run(const Step<T>& step, const Pairs<T>& pairs);
template <class T> bool reads_pairs(int radix, int64_t lanes);
// How many columns a single signal is laid out in: see Note [Columns] in plan.h.
template <class T> int64_t columns();
// Rows of that many numbers, turned by as many twiddles and transformed: number r of row k becomes to[k + rows * r],
// or that number of the pairs to write.
template <class T>
void run_rows(Planes<T> from, Planes<T> to, int64_t rows, const T* re, const T* im, const Pairs<T>& pairs);
// Row i of the planes times the complex number i.
template <class T> void multiply(Planes<T> data, const T* re, const T* im, int64_t rows, int64_t lanes);

}  // namespace mt::kernels::fft_passes

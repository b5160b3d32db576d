// Transforms of one length, prepared once and kept.
//
// Note [Lanes]: several signals are transformed side by side. Real and imaginary parts lie in two planes of
// [length][lanes], so that every loop runs along memory and vectorises, and a backward transform is a forward one with
// the planes exchanged.
//
// Note [Columns]: a single signal of a length that is a multiple of a vector's is a table with rows of one vector. Its
// columns are lanes, transformed as such; what is left is to turn and transform every row, which vectors of numbers from
// as many rows do side by side, and the result comes out in order. It needs no more room than the signal, so it is what
// long lines that lie side by side are transformed by, one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace mt::kernels {

// As many lanes as the widest vectors have.
template <class T> inline constexpr int64_t kFullLanes = 64 / int64_t(sizeof(T));

template <class T>
struct Planes {
  T* re;
  T* im;
  Planes exchanged() const { return {im, re}; }
};

// Where signals are read and written as complex numbers side by side instead of planes, if a plan can: by its first and
// last pass, which saves two passes more. A row is one number of each lane.
template <class T>
struct Pairs {
  const T* in = nullptr;
  int64_t in_row = 0;  // from one row to the next
  T* out = nullptr;
  int64_t out_row = 0;
  T scale = 1;           // of what is written
  bool swapped = false;  // the imaginary part is read and written as the real one
};

// A length whose prime factors are small is split into passes over them, from one buffer into another that comes out
// in order (Stockham). Of a prime length p where p - 1 is such a length, all but the first number, in the order of the
// powers of a generator modulo p, are convolved with the roots in that order, by transforms of length p - 1 (Rader).
// Other lengths become a convolution, done by transforms of a convenient longer length (Bluestein).
template <class T>
class FftPlan {
 public:
  explicit FftPlan(int64_t length);
  static std::shared_ptr<const FftPlan> of(int64_t length);  // kept for the next time

  // X[k] = sum over j of x[j] exp(-2 pi i j k / n). Both buffers have room for room() * lanes numbers per plane; the
  // result is in the one returned, unless it was written as pairs.
  Planes<T> run(Planes<T> data, Planes<T> work, int64_t lanes, const Pairs<T>& pairs = {}) const;
  bool reads_pairs(int64_t lanes) const;
  bool writes_pairs(int64_t lanes) const;
  int64_t length() const { return length_; }
  int64_t room() const { return inner_ ? std::max(length_, inner_->length()) : length_; }
  bool has_columns() const { return columns_ != nullptr; }

 private:
  struct Pass {
    int radix;
    int64_t groups;           // length left after this pass
    std::vector<T> twiddles;  // for outputs 1 … radix - 1, the cos of every group, then the sin
    std::vector<T> roots;     // cos and sin of the radix's own roots, for radices without code of their own
  };
  void prepare_passes(const std::vector<int>& radices);
  void prepare_columns(int64_t columns);
  void prepare_convolution();
  void prepare_powers(int64_t generator);
  Planes<T> run_passes(Planes<T> data, Planes<T> work, int64_t lanes, const Pairs<T>& pairs) const;
  Planes<T> run_columns(Planes<T> data, Planes<T> work, const Pairs<T>& pairs) const;
  Planes<T> run_convolution(Planes<T> data, Planes<T> work, int64_t lanes) const;
  Planes<T> run_powers(Planes<T> data, Planes<T> work, int64_t lanes) const;

  int64_t length_;
  std::vector<Pass> passes_;
  std::shared_ptr<const FftPlan> columns_;  // of a single signal; null where it has none
  std::vector<T> turn_re_, turn_im_;        // of the numbers of its rows
  std::shared_ptr<const FftPlan> inner_;    // of the convolution
  std::vector<T> chirp_re_, chirp_im_, kernel_re_, kernel_im_;
  std::vector<int32_t> powers_, inverses_;  // of the generator, for prime lengths
};

// exp(-2 pi i k / n) for k = 0 … n/2: what joins the halves of a real transform.
template <class T>
struct HalfTurn {
  std::vector<T> re, im;
  explicit HalfTurn(int64_t n);
  static std::shared_ptr<const HalfTurn> of(int64_t n);
};

}  // namespace mt::kernels

#include "kernels/fft/plan.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <numbers>
#include <unordered_map>

#include "kernels/fft/passes.h"

namespace mt::kernels {
namespace {

constexpr int kLargestRadix = 47;                  // beyond, a convolution is cheaper
constexpr size_t kKeptPlans = 32;                  // per type
constexpr int64_t kKeptLength = int64_t(1) << 20;  // longer plans are as quick to make as to run

// Plans by length; the oldest makes room for a new one.
template <class Plan>
std::shared_ptr<const Plan> kept(int64_t length) {
  static std::mutex mutex;
  static std::unordered_map<int64_t, std::shared_ptr<const Plan>> plans;
  static std::deque<int64_t> order;
  {
    std::lock_guard lock(mutex);
    if (const auto found = plans.find(length); found != plans.end()) return found->second;
  }
  auto made = std::make_shared<const Plan>(length);
  if (length > kKeptLength) return made;
  std::lock_guard lock(mutex);
  if (plans.emplace(length, made).second) order.push_back(length);
  if (order.size() > kKeptPlans) {
    plans.erase(order.front());
    order.pop_front();
  }
  return made;
}

// exp(-2 pi i k / n), with the angle brought into an eighth of a turn first, where cos and sin are exact to the last bit.
template <class T>
void root(int64_t k, int64_t n, T& re, T& im) {
  k %= n;
  const int64_t eighth = 8 * k / n;
  const int64_t quarter = (eighth + 1) / 2;  // nearest multiple of a quarter turn
  const double angle = 2 * std::numbers::pi * double(4 * k - quarter * n) / (4 * double(n));
  const double c = std::cos(angle), s = std::sin(angle);
  const double turned[4][2] = {{c, s}, {-s, c}, {-c, -s}, {s, -c}};
  re = T(turned[quarter % 4][0]);
  im = T(-turned[quarter % 4][1]);
}

// The radices a length is made of; empty if a prime factor is too large.
std::vector<int> radices_of(int64_t length) {
  std::vector<int> radices;
  int twos = 0;
  for (; length % 2 == 0; length /= 2) ++twos;
  // Twos go together in few passes of much the same radix: 8 at most, or 16 where there are registers for it.
  const int most = fft_passes::columns<float>() == 16 ? 4 : 3, passes = (twos + most - 1) / most;
  for (int i = 0; i < passes; ++i) radices.push_back(1 << (twos + i) / passes);
  for (int radix = 2; radix <= kLargestRadix && length > 1; ++radix)
    while (length % radix == 0) radices.push_back(radix), length /= radix;
  if (length > 1) radices.clear();
  return radices;
}

int64_t power_modulo(int64_t base, int64_t exponent, int64_t modulus) {
  int64_t result = 1;
  for (base %= modulus; exponent; exponent >>= 1) {
    if (exponent & 1) result = result * base % modulus;
    base = base * base % modulus;
  }
  return result;
}

// A number whose powers modulo a prime are all others, where the transform of that many is passes; 0 where there is none.
int64_t generator_of(int64_t length) {
  if (length > std::numeric_limits<int32_t>::max()) return 0;
  for (int64_t d = 2; d * d <= length; ++d)
    if (length % d == 0) return 0;
  const std::vector<int> radices = radices_of(length - 1);
  // Radices without code of their own would cost more than the longer transforms of a convolution.
  if (radices.empty() || !std::all_of(radices.begin(), radices.end(), fft_passes::has_butterfly)) return 0;
  for (int64_t g = 2;; ++g) {
    const bool all = std::none_of(radices.begin(), radices.end(), [&](int radix) {
      const int prime = radix % 2 == 0 ? 2 : radix;
      return power_modulo(g, (length - 1) / prime, length) == 1;
    });
    if (all) return g;
  }
}

int64_t convenient_length(int64_t at_least) {
  for (int64_t n = at_least;; ++n) {
    int64_t rest = n;
    for (int64_t radix : {2, 3, 5})
      while (rest % radix == 0) rest /= radix;
    if (rest == 1) return n;
  }
}

}  // namespace

template <class T>
FftPlan<T>::FftPlan(int64_t length) : length_(length) {
  if (length == 1) return;
  const std::vector<int> radices = radices_of(length);
  if (!radices.empty()) {
    prepare_passes(radices);
    const int64_t columns = fft_passes::columns<T>();
    if (length % columns == 0 && length >= columns * columns) prepare_columns(columns);
  } else if (const int64_t generator = generator_of(length)) prepare_powers(generator);
  else prepare_convolution();
}

template <class T>
std::shared_ptr<const FftPlan<T>> FftPlan<T>::of(int64_t length) {
  return kept<FftPlan>(length);
}

template <class T>
void FftPlan<T>::prepare_passes(const std::vector<int>& radices) {
  int64_t left = length_;
  for (int radix : radices) {
    Pass pass{radix, left / radix, {}, {}};
    const int64_t groups = pass.groups;
    pass.twiddles.resize(size_t(2 * groups * (radix - 1)));
    for (int64_t k = 1; k < radix; ++k) {
      T* at = pass.twiddles.data() + 2 * groups * (k - 1);
      for (int64_t p = 0; p < groups; ++p) root(p * k, left, at[p], at[groups + p]);
    }
    pass.roots.resize(size_t(2 * radix));
    for (int k = 0; k < radix; ++k) root(k, radix, pass.roots[size_t(2 * k)], pass.roots[size_t(2 * k + 1)]);
    left = pass.groups;
    passes_.push_back(std::move(pass));
  }
}

template <class T>
void FftPlan<T>::prepare_columns(int64_t columns) {
  columns_ = of(length_ / columns);
  turn_re_.resize(size_t(length_)), turn_im_.resize(size_t(length_));
  for (int64_t i = 0; i < length_; ++i)
    root(i / columns * (i % columns), length_, turn_re_[size_t(i)], turn_im_[size_t(i)]);
}

template <class T>
void FftPlan<T>::prepare_convolution() {
  const size_t n = size_t(length_);
  inner_ = of(convenient_length(2 * length_ - 1));
  const size_t m = size_t(inner_->length());
  chirp_re_.resize(n), chirp_im_.resize(n);
  // k^2 modulo 2n, kept up by adding odd numbers, is exact where k^2 itself would overflow.
  int64_t square = 0;
  for (size_t k = 0; k < n; ++k) {
    root(square, 2 * length_, chirp_re_[k], chirp_im_[k]);
    square = (square + 2 * int64_t(k) + 1) % (2 * length_);
  }
  std::vector<T> re(m), im(m), work_re(m), work_im(m);
  for (size_t k = 0; k < n; ++k) {
    re[k] = chirp_re_[k], im[k] = -chirp_im_[k];
    if (k > 0) re[m - k] = re[k], im[m - k] = im[k];
  }
  const Planes<T> made = inner_->run({re.data(), im.data()}, {work_re.data(), work_im.data()}, 1);
  kernel_re_.resize(m), kernel_im_.resize(m);
  for (size_t k = 0; k < m; ++k) {  // the backward transform's 1/m is put in here
    kernel_re_[k] = made.re[k] / T(m), kernel_im_[k] = made.im[k] / T(m);
  }
}

template <class T>
void FftPlan<T>::prepare_powers(int64_t generator) {
  const size_t m = size_t(length_ - 1);
  inner_ = of(length_ - 1);
  powers_.resize(m), inverses_.resize(m);
  int64_t power = 1;
  for (size_t k = 0; k < m; ++k) {
    powers_[k] = int32_t(power), inverses_[k ? m - k : 0] = int32_t(power);
    power = power * generator % length_;
  }
  std::vector<T> re(m), im(m), work_re(m), work_im(m);
  for (size_t k = 0; k < m; ++k) root(inverses_[k], length_, re[k], im[k]);
  const Planes<T> made = inner_->run({re.data(), im.data()}, {work_re.data(), work_im.data()}, 1);
  kernel_re_.resize(m), kernel_im_.resize(m);
  for (size_t k = 0; k < m; ++k) kernel_re_[k] = made.re[k] / T(m), kernel_im_[k] = made.im[k] / T(m);
}

template <class T>
bool FftPlan<T>::reads_pairs(int64_t lanes) const {
  if (columns_ && lanes == 1) return columns_->reads_pairs(length_ / columns_->length());
  return !passes_.empty() && fft_passes::reads_pairs<T>(passes_.front().radix, lanes);
}

template <class T>
bool FftPlan<T>::writes_pairs(int64_t lanes) const {
  if (columns_ && lanes == 1) return true;
  return !passes_.empty() && fft_passes::has_butterfly(passes_.back().radix) &&
         lanes == fft_passes::columns<T>();
}

template <class T>
Planes<T> FftPlan<T>::run(Planes<T> data, Planes<T> work, int64_t lanes, const Pairs<T>& pairs) const {
  if (columns_ && lanes == 1) return run_columns(data, work, pairs);
  if (!inner_) return run_passes(data, work, lanes, pairs);
  return powers_.empty() ? run_convolution(data, work, lanes) : run_powers(data, work, lanes);
}

template <class T>
Planes<T> FftPlan<T>::run_passes(Planes<T> data, Planes<T> work, int64_t lanes, const Pairs<T>& pairs) const {
  int64_t stride = lanes;
  for (const Pass& pass : passes_) {
    const fft_passes::Step<T> step{
        data, work, pass.groups, stride, pass.radix, pass.twiddles.data(), pass.roots.data()};
    Pairs<T> ends = pairs;
    if (stride != lanes) ends.in = nullptr;
    if (pass.groups != 1) ends.out = nullptr;
    fft_passes::run(step, ends);
    std::swap(data, work);
    stride *= pass.radix;
  }
  return data;
}

template <class T>
Planes<T> FftPlan<T>::run_columns(Planes<T> data, Planes<T> work, const Pairs<T>& pairs) const {
  const int64_t columns = length_ / columns_->length();
  Pairs<T> in_columns = pairs;
  in_columns.in_row = 2 * columns, in_columns.out = nullptr;
  const Planes<T> rows = columns_->run(data, work, columns, in_columns);
  const Planes<T> to = rows.re == data.re ? work : data;
  fft_passes::run_rows(rows, to, columns_->length(), turn_re_.data(), turn_im_.data(), pairs);
  return to;
}

template <class T>
Planes<T> FftPlan<T>::run_convolution(Planes<T> data, Planes<T> work, int64_t lanes) const {
  const int64_t n = length_, m = inner_->length();
  fft_passes::multiply(data, chirp_re_.data(), chirp_im_.data(), n, lanes);
  std::fill(data.re + n * lanes, data.re + m * lanes, T(0));
  std::fill(data.im + n * lanes, data.im + m * lanes, T(0));
  const Planes<T> there = inner_->run(data, work, lanes);
  const Planes<T> spare = there.re == data.re ? work : data;
  fft_passes::multiply(there, kernel_re_.data(), kernel_im_.data(), m, lanes);
  const Planes<T> back = inner_->run(there.exchanged(), spare.exchanged(), lanes).exchanged();
  fft_passes::multiply(back, chirp_re_.data(), chirp_im_.data(), n, lanes);
  return back;
}

template <class T>
Planes<T> FftPlan<T>::run_powers(Planes<T> data, Planes<T> work, int64_t lanes) const {
  const int64_t m = inner_->length();
  const auto copy_row = [lanes](Planes<T> from, int64_t row, Planes<T> to, int64_t to_row) {
    if (lanes == 1) {
      to.re[to_row] = from.re[row], to.im[to_row] = from.im[row];
      return;
    }
    std::copy_n(from.re + row * lanes, lanes, to.re + to_row * lanes);
    std::copy_n(from.im + row * lanes, lanes, to.im + to_row * lanes);
  };
  for (int64_t k = 0; k < m; ++k) copy_row(data, powers_[size_t(k)], work, k);
  // The inner transforms leave row m alone: in one buffer it keeps the first number, in the other the sum of all.
  const Planes<T> first{work.re + m * lanes, work.im + m * lanes},
      sum{data.re + m * lanes, data.im + m * lanes};
  copy_row(data, 0, first, 0);
  const Planes<T> there = inner_->run(work, data, lanes), spare = there.re == data.re ? work : data;
  for (int64_t q = 0; q < lanes; ++q) {
    sum.re[q] = first.re[q] + there.re[q], sum.im[q] = first.im[q] + there.im[q];
  }
  fft_passes::multiply(there, kernel_re_.data(), kernel_im_.data(), m, lanes);
  for (int64_t q = 0; q < lanes; ++q) there.re[q] += first.re[q], there.im[q] += first.im[q];
  const Planes<T> back = inner_->run(there.exchanged(), spare.exchanged(), lanes).exchanged();
  const Planes<T> to = back.re == data.re ? work : data;
  copy_row(sum, 0, to, 0);
  for (int64_t k = 0; k < m; ++k) copy_row(back, k, to, inverses_[size_t(k)]);
  return to;
}

template <class T>
HalfTurn<T>::HalfTurn(int64_t n) : re(size_t(n / 2 + 1)), im(size_t(n / 2 + 1)) {
  for (int64_t k = 0; k <= n / 2; ++k) root(k, n, re[size_t(k)], im[size_t(k)]);
}

template <class T>
std::shared_ptr<const HalfTurn<T>> HalfTurn<T>::of(int64_t n) {
  return kept<HalfTurn>(n);
}

template class FftPlan<float>;
template class FftPlan<double>;
template struct HalfTurn<float>;
template struct HalfTurn<double>;

}  // namespace mt::kernels

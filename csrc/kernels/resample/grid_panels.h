// Sampling by a grid where channels lie side by side.
#pragma once

#include <algorithm>
#include <type_traits>

#include "base/per_thread.h"
#include "kernels/common/squares.h"
#include "kernels/common/thread_buffer.h"
#include "kernels/resample/grid_terms.h"

namespace mt::kernels {

// Note [Channels side by side]
// A position reads the same places of all channels. In planes these are numbers far from each other, read one by one;
// side by side they are a vector. So the input is laid out in panels of some channels, [places + 1][kLanes], where the
// last place stands for all that is outside: it is read as zeros, and what is added to it is dropped. Channels that a
// panel has no more of are zeros, too. This costs as much as reading each place once or twice.
inline int lanes_for(int64_t channels) {
  if (channels <= 4) return 4;
  return (channels - 1) % 16 < 8 ? 8 : 16;
}

// [channels][positions] -> [positions][kLanes]; the steps are the input's.
template <class T, int kLanes>
struct ToPanel {
  using C = compute_t<T>;
  [[gnu::always_inline]] static inline void run(const T* from, int64_t step, int64_t between,
                                                int64_t positions, int64_t channels, C* panel) {
    const bool turned = std::is_same_v<T, C> && step == 1;
    if constexpr (std::is_same_v<T, C>)
      if (turned) turn_rectangle(from, between, panel, kLanes, positions, channels);
    for (int64_t p = 0; p < positions; ++p) {
      for (int64_t c = turned ? channels : 0; c < channels; ++c)
        panel[p * kLanes + c] = C(from[c * between + p * step]);
      for (int64_t c = channels; c < kLanes; ++c) panel[p * kLanes + c] = 0;
    }
  }
};

// [positions][kLanes] -> [channels][positions]; the steps are the output's.
template <class T, int kLanes>
struct FromPanel {
  using C = compute_t<T>;
  [[gnu::always_inline]] static inline void run(const C* panel, int64_t positions, int64_t channels, T* to,
                                                int64_t step, int64_t between) {
    if constexpr (std::is_same_v<T, C>)
      if (step == 1) return turn_rectangle(panel, int64_t(kLanes), to, between, channels, positions);
    for (int64_t p = 0; p < positions; ++p)
      for (int64_t c = 0; c < channels; ++c) to[c * between + p * step] = cast<T>(panel[p * kLanes + c]);
  }
};

// Offsets are as wide as the numbers: where they are half as wide, GCC 12 writes both addresses as one, and then takes the
// loops that add to panels for functions without effect.
template <class C> using PanelOffset = std::conditional_t<sizeof(C) == 8, int64_t, int32_t>;
template <class C> using PanelTerms = Terms<C, PanelOffset<C>>;

// What positions read, [positions][kLanes]. Terms are taken kGroup at a time, so that their weights stay in registers.
template <class C, int kLanes, int kGroup>
struct SamplePanel {
  [[gnu::always_inline]] static inline void run(const C* panel, const PanelTerms<C>* terms, int64_t positions,
                                                C* out) {
    for (int64_t p = 0; p < positions; ++p, out += kLanes)
      for (int t = 0; t < terms->count; t += kGroup) {
        const C* place[kGroup];
        C weight[kGroup];
#pragma GCC unroll 4
        for (int k = 0; k < kGroup; ++k) {
          place[k] = panel + int64_t(terms->offset[t + k][p]) * kLanes;
          weight[k] = terms->weight[t + k][p];
        }
#pragma GCC ivdep
        for (int c = 0; c < kLanes; ++c) {
          C sum = t == 0 ? C(0) : out[c];
#pragma GCC unroll 4
          for (int k = 0; k < kGroup; ++k) sum += weight[k] * place[k][c];
          out[c] = sum;
        }
      }
  }
};

// Adds gradients, [positions][kLanes], to the places that the positions read.
template <class C, int kLanes>
struct AddToPanel {
  [[gnu::always_inline]] static inline void run(const C* grad, const PanelTerms<C>* terms, int64_t positions,
                                                C* panel) {
    for (int64_t p = 0; p < positions; ++p, grad += kLanes)
      for (int t = 0; t < terms->count; ++t) {
        C* place = panel + int64_t(terms->offset[t][p]) * kLanes;
        const C weight = terms->weight[t][p];
#pragma GCC ivdep
        for (int c = 0; c < kLanes; ++c) place[c] += weight * grad[c];
      }
  }
};

// What the channels of a panel add to the derivatives by the coordinates: sums over channels, four of them at a time
// until all positions have theirs.
template <class C, int kLanes, int kSpatial>
struct AddPanelSlopes {
  using Slopes = C[3][kTogether];
  [[gnu::always_inline]] static inline void run(const C* panel, const C* grad, const PanelTerms<C>* terms,
                                                int64_t positions, Slopes* slopes) {
    C quarters[kSpatial][kTogether][4];
    for (int64_t p = 0; p < positions; ++p, grad += kLanes) {
      C moved[kSpatial][kLanes] = {};  // what a step along each dimension changes in each channel
      for (int t = 0; t < terms->count; t += 4) {
        const C* place[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) place[k] = panel + int64_t(terms->offset[t + k][p]) * kLanes;
#pragma GCC unroll 3
        for (int d = 0; d < kSpatial; ++d) {
          C slope[4];
#pragma GCC unroll 4
          for (int k = 0; k < 4; ++k) slope[k] = terms->slope[t + k][d][p];
#pragma GCC ivdep
          for (int c = 0; c < kLanes; ++c) {
            C sum = t == 0 ? C(0) : moved[d][c];
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) sum += slope[k] * place[k][c];
            moved[d][c] = sum;
          }
        }
      }
#pragma GCC unroll 3
      for (int d = 0; d < kSpatial; ++d)
        for (int c = 0; c < 4; ++c) {
          C sum = 0;
#pragma GCC unroll 4
          for (int k = 0; k < kLanes; k += 4) sum += moved[d][k + c] * grad[k + c];
          quarters[d][p][c] = sum;
        }
    }
    for (int d = 0; d < kSpatial; ++d)
      for (int64_t p = 0; p < positions; ++p) {
        const C* four = quarters[d][p];
        (*slopes)[d][p] += (four[0] + four[1]) + (four[2] + four[3]);
      }
  }
};

inline constinit PerThread<ThreadBuffer> panels_memory;
inline constexpr int64_t kMostPanelBytes = int64_t(32) << 20;  // threads keep that memory

// Calls f with the number of lanes as a constant where the channels of an entry go into panels; false where they do not:
// where places are read less often than `least` times, laying them out takes longer than it saves.
template <class T, class F>
bool with_panels(const View& in, int64_t positions, int64_t channels, GridMode mode, int64_t least, F&& f) {
  int64_t places = 1, terms = 1;
  for (int d = 2; d < in.ndim; ++d) {
    places *= in.sizes[d];
    terms *= reads_of(mode);
  }
  const int lanes = lanes_for(channels);
  const int64_t bytes = (places + 1) * (channels + lanes - 1) / lanes * lanes * int64_t(sizeof(compute_t<T>));
  if (channels < 3 || positions * terms < least * places || bytes > kMostPanelBytes) return false;
  if (lanes == 4) f.template operator()<4>();
  else if (lanes == 8) f.template operator()<8>();
  else f.template operator()<16>();
  return true;
}

// Channels [first, last) of a batch entry in panels; see Note [Channels side by side].
template <class T, int kSpatial, int kLanes>
class Panels {
 public:
  using C = compute_t<T>;

  explicit Panels(const View& in) : places_{nullptr, in.sizes, strides_, in.ndim, in.dtype} {
    for (int d = 1 + kSpatial; d >= 2; --d) {
      strides_[d] = count_;
      count_ *= in.sizes[d];
    }
  }
  Panels(const Panels&) = delete;
  Panels& operator=(const Panels&) = delete;

  int64_t panel() const { return (count_ + 1) * kLanes; }
  int64_t size(int64_t channels) const { return (channels + kLanes - 1) / kLanes * panel(); }

  template <bool kSlopes>
  void find(const T* grid, int64_t step, int64_t between, int64_t positions, GridOptions options,
            PanelTerms<C>* terms) const {
    find_terms<kSpatial, kSlopes>(places_, PanelOffset<C>(count_), grid, step, between, positions, options,
                                  terms);
  }
  // Some places of the channels, from where they are in planes and back.
  void fill(const View& in, const Runs<1>::Run& run, int64_t first, int64_t last, C* to) const {
    for (int64_t c = first; c < last; c += kLanes, to += panel()) {
      load(in.as<const T>() + run.offset[0] + c * in.strides[1], run.step[0], in.strides[1], run.length,
           last - c, to + run.first * kLanes);
      if (run.first == 0) std::fill_n(to + count_ * kLanes, kLanes, C(0));
    }
  }
  void take(const C* from, const Runs<1>::Run& run, int64_t first, int64_t last, const View& out) const {
    for (int64_t c = first; c < last; c += kLanes, from += panel())
      store(from + run.first * kLanes, run.length, last - c, out.as<T>() + run.offset[0] + c * out.strides[1],
            run.step[0], out.strides[1]);
  }

  static void load(const T* from, int64_t step, int64_t between, int64_t positions, int64_t channels, C* to) {
    at_level<ToPanel<T, kLanes>>(from, step, between, positions, std::min<int64_t>(kLanes, channels), to);
  }
  static void store(const C* from, int64_t positions, int64_t channels, T* to, int64_t step,
                    int64_t between) {
    at_level<FromPanel<T, kLanes>>(from, positions, std::min<int64_t>(kLanes, channels), to, step, between);
  }
  static void sample(const C* panel, const PanelTerms<C>& terms, int64_t positions, C* out) {
    if (terms.count == 1) at_level<SamplePanel<C, kLanes, 1>>(panel, &terms, positions, out);
    else at_level<SamplePanel<C, kLanes, 4>>(panel, &terms, positions, out);
  }

 private:
  int64_t count_ = 1;
  int64_t strides_[2 + kSpatial] = {};
  View places_;
};

}  // namespace mt::kernels

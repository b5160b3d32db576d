// Definitions of the elementwise templates: one dense loop per functor, dtype and machine level.
//
// Note [Staging]: only dense runs of a single dtype reach a functor's loop. Everything else (other dtypes,
// strides, broadcast scalars) is brought into small blocks on the stack and written back from one, by code
// that is not a template (elementwise.cpp). Half types go that way too, unless the functor takes them: they are converted
// to float and back around the float loop. This keeps a functor's compile time and code size a tenth of what a loop per
// combination would need, and the extra pass stays in the first-level cache.
//
// Note [Loops of halves]: where that pass costs as much as the functor itself, which is an expression and no loop of its
// own, dense halves of one dtype have a loop after all. It takes a few vectors at a time, so that the processor converts
// some while it computes others. AVX-512 converts in few instructions, and computes so fast that this is every functor;
// with AVX2 it is the cheapest ones.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/common/cpu_features.h"
#include "kernels/common/halves.h"
#include "kernels/common/types.h"
#include "kernels/elementwise/costs.h"
#include "kernels/elementwise/elementwise.h"

namespace mt::kernels {

// out[i] = f(in[0][i], in[1][i], …) for i < n, dense. `parameters` are in the compute type.
using DenseLoop = void (*)(char* out, const char* const* in, int64_t n, const void* parameters);

// See Note [Loops of halves]; null where there is none.
struct HalfLoops {
  DenseLoop alone;
  DenseLoop by_number;  // the right operand, a number that is not rounded, is in float
};

struct ElementwiseKernel {
  const char* name;
  int parameters;
  int64_t grain, complex_grain;  // costs.h; kept, because a division takes as long as a short loop
  bool exact_right;              // these two: Note [Numbers and half precision]
  int operand_of_alpha;
  DTypeSet domain;
  DenseLoop loops
      [kLevels]
      [kDTypeCount];  // by machine level, then dtype; null outside the domain and for what is computed in float
  HalfLoops float16[kLevels], bfloat16[kLevels];  // by machine level, too
};

constexpr int kMaxParameters = 4;

void run_unary(const ElementwiseKernel& kernel, bool to_bool, const View& in, const View& out,
               const Scalar* params);
void run_binary(const ElementwiseKernel& kernel, bool to_bool, const View& a, const View& b, const View& out,
                DType compute, const Scalar* params);
// The one number that b is, as the right operand of a kernel: false if there are several.
bool number_of(const View& b, DType compute, Scalar& number);
void run_ternary(const ElementwiseKernel& kernel, const View& a, const View& b, const View& c,
                 const View& out, DType compute, const Scalar* params);

namespace detail {

// The pragma says that iterations do not depend on each other, which holds even when the result is one of the
// operands (in-place); without it the compiler would guard against overlap and take the scalar loop then.
template <class Op, class T, int kInputs, bool kToBool>
struct Loop {
  using C = T;
  using R = std::conditional_t<kToBool, bool, T>;
  static constexpr int64_t kUsualBlock = 256;
  using Bits =
      std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;  // as wide as an element, as vectors want it
  // What is usual is asked for, not what is not: "not less" is true for NaN, and five instructions of NEON.
  [[gnu::always_inline]] static inline Bits mask_of(bool usual) { return Bits(0) - Bits(usual); }
  // A check waits for memory, and memory for the computation behind it. So memory is asked for the block after the next.
  [[gnu::always_inline]] static inline void ask_ahead(const T* x, int64_t begin, int64_t n) {
    constexpr int64_t line = 64 / int64_t(sizeof(T));
    if (begin + 3 * kUsualBlock > n) return;
    for (int64_t i = 0; i < kUsualBlock; i += line) __builtin_prefetch(x + begin + 2 * kUsualBlock + i);
  }

  // A shorter version that holds for usual arguments only (see MT_UNARY_USUAL), checked block by block.
  template <class F>
  [[gnu::always_inline]] static inline void usual_blocks(R* out, const T* a, int64_t n, const C* p,
                                                         const F& is_usual) {
    for (int64_t begin = 0; begin < n; begin += kUsualBlock) {
      const int64_t end = std::min(begin + kUsualBlock, n);
      ask_ahead(a, begin, n);
      Bits usual = ~Bits(0);
      for (int64_t i = begin; i < end; ++i) usual &= mask_of(is_usual(a[i]));
      if (!usual) {
        for (int64_t i = begin; i < end; ++i) out[i] = cast<R>(Op::apply(C(a[i]), p));
      } else {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) out[i] = cast<R>(Op::apply_usual(a[i]));
      }
    }
  }

  template <bool kWidest = false>
  [[gnu::always_inline]] static inline void body(char* out_bytes, const char* const* in, int64_t n,
                                                 const void* parameters) {
    C p[Op::parameters + 1] = {};
    for (int i = 0; i < Op::parameters; ++i) p[i] = static_cast<const C*>(parameters)[i];
    R* out = reinterpret_cast<R*>(out_bytes);
    const T* a = reinterpret_cast<const T*>(in[0]);
    if constexpr (kInputs == 3) {
      const T* b = reinterpret_cast<const T*>(in[1]);
      const T* c = reinterpret_cast<const T*>(in[2]);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = cast<R>(Op::apply(C(a[i]), C(b[i]), C(c[i]), p));
    } else if constexpr (kInputs == 2 && requires { Op::is_usual(T(), T()); }) {
      const T* b = reinterpret_cast<const T*>(in[1]);
      for (int64_t begin = 0; begin < n; begin += kUsualBlock) {
        const int64_t end = std::min(begin + kUsualBlock, n);
        ask_ahead(a, begin, n), ask_ahead(b, begin, n);
        Bits usual = ~Bits(0);
        for (int64_t i = begin; i < end; ++i) usual &= mask_of(Op::is_usual(a[i], b[i]));
        if (!usual) {
          for (int64_t i = begin; i < end; ++i) out[i] = cast<R>(Op::apply(C(a[i]), C(b[i]), p));
        } else {
#pragma GCC ivdep
          for (int64_t i = begin; i < end; ++i) out[i] = cast<R>(Op::apply_usual(a[i], b[i]));
        }
      }
    } else if constexpr (kInputs == 2 && requires(const T* b) { Op::run_pairs(out, a, b, n); }) {
      Op::run_pairs(out, a, reinterpret_cast<const T*>(in[1]), n);
    } else if constexpr (kInputs == 2) {
      const T* b = reinterpret_cast<const T*>(in[1]);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = cast<R>(Op::apply(C(a[i]), C(b[i]), p));
    } else if constexpr (requires { Op::run(out, a, n, p); }) {
      Op::run(out, a, n, p);
    } else if constexpr (requires { Op::is_usual(T()); }) {
      usual_blocks(out, a, n, p, [](T x) __attribute__((always_inline)) { return Op::is_usual(x); });
    } else if constexpr (kWidest && requires { Op::is_usual_in_widest(T()); }) {
      usual_blocks(out, a, n, p,
                   [](T x) __attribute__((always_inline)) { return Op::is_usual_in_widest(x); });
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = cast<R>(Op::apply(C(a[i]), p));
    }
  }
  static void base(char* out, const char* const* in, int64_t n, const void* parameters) {
    body(out, in, n, parameters);
  }
  MT_WIDE static void wide(char* out, const char* const* in, int64_t n, const void* parameters) {
    body(out, in, n, parameters);
  }
  MT_WIDEST static void widest(char* out, const char* const* in, int64_t n, const void* parameters) {
    body<true>(out, in, n, parameters);
  }
};

template <class Op, class H, int kInputs, bool kToBool, bool kByNumber>
struct LoopOfHalves {
#if defined(__x86_64__)
  static constexpr int64_t kBlock = 64;
  using R = std::conditional_t<kToBool, bool, float>;

  MT_WIDE [[gnu::flatten]] static void wide(char* out, const char* const* in, int64_t n,
                                            const void* parameters) {
    body<halves::Wide>(out, in, n, parameters);
  }
  MT_WIDEST [[gnu::flatten]] static void widest(char* out, const char* const* in, int64_t n,
                                                const void* parameters) {
    body<halves::Widest>(out, in, n, parameters);
  }

 private:
  template <class Level>
  [[gnu::always_inline]] static inline void body(char* out_bytes, const char* const* in, int64_t n,
                                                 const void* parameters) {
    float p[Op::parameters + 1] = {};
    for (int i = 0; i < Op::parameters; ++i) p[i] = static_cast<const float*>(parameters)[i];
    const int64_t whole = n / kBlock * kBlock;
    for (int64_t begin = 0; begin < whole; begin += kBlock) {
      alignas(64) float block[kInputs][kBlock];
      alignas(64) R made[kBlock];
      const float* x[3] = {};
      for (int i = 0; i < kInputs; ++i) x[i] = floats<Level>(in, i, begin, kBlock, block[i]);
      R* result = made;
      if constexpr (kToBool) result = reinterpret_cast<bool*>(out_bytes) + begin;
      if constexpr (requires { Op::takes_blocks; }) Op::run(result, x[0], kBlock, p);
      else
#pragma GCC ivdep
        for (int64_t i = 0; i < kBlock; ++i) {
          if constexpr (kInputs == 1) result[i] = cast<R>(Op::apply(x[0][i], p));
          else if constexpr (kInputs == 2) result[i] = cast<R>(Op::apply(x[0][i], x[1][i], p));
          else result[i] = cast<R>(Op::apply(x[0][i], x[1][i], x[2][i], p));
        }
      if constexpr (!kToBool) Level::convert(result, reinterpret_cast<H*>(out_bytes) + begin, kBlock);
    }
    if (whole < n) rest<Level>(out_bytes, in, whole, n - whole, parameters);
  }
  template <class Level>
  [[gnu::always_inline]] static inline const float* floats(const char* const* in, int i, int64_t begin,
                                                           int64_t count, float* block) {
    if (kByNumber && i == 1) return reinterpret_cast<const float*>(in[i]) + begin;
    Level::convert(reinterpret_cast<const H*>(in[i]) + begin, block, count);
    return block;
  }
  // Less than a block, by the loop of floats.
  template <class Level>
  [[gnu::noinline]] static void rest(char* out_bytes, const char* const* in, int64_t begin, int64_t count,
                                     const void* parameters) {
    alignas(64) float block[kInputs][kBlock];
    alignas(64) R made[kBlock];
    const char* x[kInputs];
    for (int i = 0; i < kInputs; ++i)
      x[i] = reinterpret_cast<const char*>(floats<Level>(in, i, begin, count, block[i]));
    char* result = kToBool ? out_bytes + begin : reinterpret_cast<char*>(made);
    using Floats = Loop<Op, float, kInputs, kToBool>;
    if constexpr (std::is_same_v<Level, halves::Wide>) Floats::wide(result, x, count, parameters);
    else Floats::widest(result, x, count, parameters);
    if constexpr (!kToBool) Level::convert(made, reinterpret_cast<H*>(out_bytes) + begin, count);
  }
#endif
};

template <class Op, class H, int kInputs, bool kToBool>
constexpr HalfLoops half_loops([[maybe_unused]] int level) {
  HalfLoops loops{};
#if defined(__x86_64__)
  constexpr bool loop_of_its_own = requires(const float* in, float* out) { Op::run(out, in, 1, in); } ||
                                   requires(const float* in, float* out) { Op::run_pairs(out, in, in, 1); } ||
                                   requires(float x) { Op::is_usual(x); } ||
                                   requires(float x) { Op::is_usual(x, x); };
  constexpr bool fits = !loop_of_its_own || requires { Op::takes_blocks; };
  if constexpr (contains(Op::domain, dtype_of<H>) && fits && !requires { Op::takes_halves; }) {
    using Alone = LoopOfHalves<Op, H, kInputs, kToBool, false>;
    using ByNumber = LoopOfHalves<Op, H, kInputs, kToBool, exact_right<Op>>;
    if (level == 2) {
      loops.alone = &Alone::widest;
      if constexpr (exact_right<Op>) loops.by_number = &ByNumber::widest;
    }
    if constexpr (cost_of<Op>() == 1) {
      if (level == 1) {
        loops.alone = &Alone::wide;
        if constexpr (exact_right<Op>) loops.by_number = &ByNumber::wide;
      }
    }
  }
#endif
  return loops;
}

// AVX-512 pays for floats, and for int64: AVX2 has no products, shifts by sign and extremes of these.
template <class Op, class T, int kInputs, bool kToBool>
constexpr DenseLoop loop_for(int level) {
  using L = Loop<Op, T, kInputs, kToBool>;
  constexpr bool as_float = (is_half_v<T> && !requires { Op::takes_halves; }) || is_float8_v<T>;
  if constexpr (!contains(Op::domain, dtype_of<T>) || as_float) return nullptr;
  else if constexpr (!kHasLevels) return &L::base;
  else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, int64_t>)
    return level == 0 ? &L::base : level == 1 ? &L::wide : &L::widest;
  else return level == 0 ? &L::base : &L::wide;
}

template <class Op, int kInputs, bool kToBool>
inline constexpr ElementwiseKernel kernel_of = {
    Op::name,
    Op::parameters,
    grain_for(cost_of<Op>()),
    complex_grain_for(cost_of<Op>()),
    exact_right<Op>,
    operand_of_alpha<Op>,
    Op::domain,
    {
#define X(name, type, legacy) loop_for<Op, type, kInputs, kToBool>(level_or_only(0)),
        {MT_FORALL_DTYPES(X)},
#undef X
#define X(name, type, legacy) loop_for<Op, type, kInputs, kToBool>(level_or_only(1)),
        {MT_FORALL_DTYPES(X)},
#undef X
#define X(name, type, legacy) loop_for<Op, type, kInputs, kToBool>(level_or_only(2)),
        {MT_FORALL_DTYPES(X)},
#undef X
    },
    {half_loops<Op, Half, kInputs, kToBool>(level_or_only(0)),
     half_loops<Op, Half, kInputs, kToBool>(level_or_only(1)),
     half_loops<Op, Half, kInputs, kToBool>(level_or_only(2))},
    {half_loops<Op, BFloat16, kInputs, kToBool>(level_or_only(0)),
     half_loops<Op, BFloat16, kInputs, kToBool>(level_or_only(1)),
     half_loops<Op, BFloat16, kInputs, kToBool>(level_or_only(2))}};

}  // namespace detail

template <class Op>
void unary(const View& in, const View& out, const Scalar* params) {
  static_assert(Op::parameters <= kMaxParameters);
  run_unary(detail::kernel_of<Op, 1, false>, false, in, out, params);
}
// A binary functor's of_number has its instantiation by hand.
extern template void unary<pow_scalar_op>(const View&, const View&, const Scalar*);
template <class Op>
void predicate(const View& in, const View& out) {
  run_unary(detail::kernel_of<Op, 1, true>, true, in, out, nullptr);
}
template <class Op>
void binary(const View& a, const View& b, const View& out, DType compute, const Scalar* params) {
  static_assert(Op::parameters <= kMaxParameters);
  static_assert(operand_of_alpha<Op> < 0 || Op::parameters == 1, "alpha is the only parameter");
  if constexpr (requires { typename Op::of_number; }) {
    Scalar number;
    if (a.dtype == compute && out.dtype == compute && number_of(b, compute, number))
      return unary<typename Op::of_number>(a, out, &number);
  }
  run_binary(detail::kernel_of<Op, 2, false>, false, a, b, out, compute, params);
}
template <class Op>
void ternary(const View& a, const View& b, const View& c, const View& out, DType compute,
             const Scalar* params) {
  static_assert(Op::parameters <= kMaxParameters);
  run_ternary(detail::kernel_of<Op, 3, false>, a, b, c, out, compute, params);
}
template <class Op>
void compare(const View& a, const View& b, const View& out, DType compute) {
  run_binary(detail::kernel_of<Op, 2, true>, true, a, b, out, compute, nullptr);
}

}  // namespace mt::kernels

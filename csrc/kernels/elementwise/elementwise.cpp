#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/compute_dtype.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "kernels/common/arithmetic.h"
#include "kernels/common/convert.h"
#include "kernels/common/copy.h"
#include "kernels/common/iterate.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/squares.h"
#include "kernels/common/temporary.h"
#include "kernels/elementwise/elementwise_impl.h"

namespace mt::kernels {

void math::fail_zero_division() { fail(ErrorKind::runtime, "ZeroDivisionError"); }

namespace {

constexpr int64_t kBlock = 256;        // elements of the widest dtype staged at a time: 4 KiB per operand
constexpr int64_t kBlockBytes = 4096;  // as many bytes are more elements of the narrower ones
constexpr int kMaxInputs = 3;

// How one operand travels between the caller's memory and a block (see Note [Staging]). Between equal dtypes
// the converter gathers or scatters.
struct Stage {
  Converter move;
  int64_t outer, inner;  // bytes per element in the caller's memory and in the block
  bool converts;
  bool needed(int64_t stride, int64_t n) const { return converts || (stride != outer && n != 1); }
};

// A loop and how many elements a thread should get of it at least.
struct GrainedLoop {
  DenseLoop run;
  int64_t grain = kGrain;
};

struct StagedLoop {
  DenseLoop loop;
  const void* parameters;
  int inputs;
  Stage in[kMaxInputs];
  Stage out;
  int64_t block;                       // elements staged at a time
  const char* repeated[kMaxInputs];    // a block of an operand that is one element; null for others
  int64_t length, within[kMaxInputs];  // of the rows of a band: their elements, and the strides between these
};

[[gnu::noinline]] void staged_row(char* const* data, const int64_t* strides, int64_t n, const StagedLoop& s) {
  const char* in[kMaxInputs];
  bool staged[kMaxInputs];
  int64_t together = s.block;
  for (int i = 0; i < s.inputs; ++i) {
    in[i] = s.repeated[i] ? s.repeated[i] : data[i + 1];
    staged[i] = !s.repeated[i] && s.in[i].needed(strides[i + 1], n);
    // A value for a short row (of an outer product) is expanded for each: into a small block that is used several times.
    if (staged[i] && strides[i + 1] == 0 && n < 8 * s.block) together = std::min(together, kBlock / 2);
  }
  const bool staged_out = s.out.needed(strides[0], n);
  alignas(64) char block[kMaxInputs + 1][kBlockBytes];
  for (int64_t begin = 0; begin < n; begin += together) {
    const int64_t count = std::min(together, n - begin);
    for (int i = 0; i < s.inputs; ++i) {
      if (s.repeated[i]) continue;
      const Stage& stage = s.in[i];
      const int64_t stride = strides[i + 1];
      const char* source = data[i + 1] + begin * stride;
      if (!staged[i]) {
        in[i] = source;
        continue;
      }
      in[i] = block[i];
      if (stride != 0) {
        stage.move(source, stride, block[i], stage.inner, count);
      } else if (begin == 0) {  // a broadcast value is expanded once and serves every block
        if (stage.converts) stage.move(source, 0, block[i], stage.inner, 1);
        repeat(stage.converts ? block[i] : source, size_t(stage.inner), block[i], count);
      }
    }
    char* target = data[0] + begin * strides[0];
    s.loop(staged_out ? block[kMaxInputs] : target, in, count, s.parameters);
    if (staged_out) s.out.move(block[kMaxInputs], s.out.inner, target, strides[0], count);
  }
}

// Where nothing is staged a row is the loop's own, and nothing but the result is written for it.
void any_row(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const StagedLoop& s = *static_cast<const StagedLoop*>(context);
  bool direct = !s.out.needed(strides[0], n);
  for (int i = 0; i < s.inputs; ++i) direct &= !s.repeated[i] && !s.in[i].needed(strides[i + 1], n);
  if (direct) s.loop(data[0], data + 1, n, s.parameters);
  else staged_row(data, strides, n, s);
}

// Note [Bands]
// A short row takes less time than a call for it, or than expanding a value for it. Where the result's rows follow each
// other without a gap, the loop gets a band of them at once: operands that are the same for every row, or for every
// element of a row, are expanded to a band, and the others lie like the result.
bool is_in_bands(const Plan& plan, const StagedLoop& s) {
  if (plan.numel == 0 || plan.ndim < 2 || plan.sizes[0] > s.block) return false;
  const auto follow = [&](int o, int64_t item) {
    return plan.strides[o][0] == item && plan.strides[o][1] == item * plan.sizes[0];
  };
  for (int i = 0; i < s.inputs; ++i) {
    const bool expanded = s.repeated[i] || plan.strides[i + 1][0] == 0 || plan.strides[i + 1][1] == 0;
    if (!expanded && !follow(i + 1, s.in[i].outer)) return false;
  }
  return follow(0, s.out.outer);
}

// One row, and copies of it behind.
void stage_same_row(const Stage& stage, const char* source, int64_t stride, int64_t length, int64_t rows,
                    char* block) {
  stage.move(source, stride, block, stage.inner, length);
  const int64_t bytes = length * stage.inner;
  for (int64_t made = 1; made < rows; made *= 2)
    std::memcpy(block + made * bytes, block, size_t(std::min(made, rows - made) * bytes));
}

// A row of an element each.
void stage_elements(const Stage& stage, const char* source, int64_t stride, int64_t length, int64_t rows,
                    char* block) {
  alignas(64) char elements[kBlockBytes];
  stage.move(source, stride, elements, stage.inner, rows);
  repeat_each(elements, size_t(stage.inner), rows, length, block);
}

// n rows, `strides` bytes apart.
void band_of_rows(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const StagedLoop& s = *static_cast<const StagedLoop*>(context);
  const int64_t together = std::min(n, s.block / s.length);
  alignas(64) char block[kMaxInputs + 1][kBlockBytes + kRoomBehindRepeated];
  const char* in[kMaxInputs];
  for (int i = 0; i < s.inputs; ++i) {
    in[i] = s.repeated[i] ? s.repeated[i] : block[i];
    if (!s.repeated[i] && strides[i + 1] == 0)
      stage_same_row(s.in[i], data[i + 1], s.within[i], s.length, together, block[i]);
  }
  for (int64_t begin = 0; begin < n; begin += together) {
    const int64_t rows = std::min(together, n - begin), count = rows * s.length;
    for (int i = 0; i < s.inputs; ++i) {
      if (s.repeated[i] || strides[i + 1] == 0) continue;
      const Stage& stage = s.in[i];
      const char* source = data[i + 1] + begin * strides[i + 1];
      if (s.within[i] == 0) stage_elements(stage, source, strides[i + 1], s.length, rows, block[i]);
      else if (stage.converts) stage.move(source, stage.outer, block[i], stage.inner, count);
      else in[i] = source;
    }
    char* target = data[0] + begin * strides[0];
    s.loop(s.out.converts ? block[kMaxInputs] : target, in, count, s.parameters);
    if (s.out.converts) s.out.move(block[kMaxInputs], s.out.inner, target, s.out.outer, count);
  }
}

// Note [Operands across memory]
// An operand that is transposed has the elements of a row of the result far apart, and those of neighbouring rows side by
// side. Gathered row by row, each line of the cache would be fetched for every row, and lines a power of two apart would
// drive each other out. So a piece of several rows is turned round into a block first.
constexpr int64_t kTurnedRows = 16, kTurnedColumns = 128;

struct Turn {
  template <class T>
  [[gnu::always_inline]] static inline void run(const T* from, int64_t step, int64_t rows, int64_t columns,
                                                T* to) {
    constexpr int64_t few = 8;  // lines a power of two apart that a cache has room for
    for (int64_t j = 0; j < columns; j += few)
      turn_rectangle(from + j * step, step, to + j, kTurnedColumns, rows, std::min(few, columns - j));
  }
};

bool lies_across(const Plan& plan, const StagedLoop& s, int input) {
  const int64_t item = s.in[input].outer;
  const auto& strides = plan.strides[input + 1];
  return !s.repeated[input] && !s.in[input].converts && (item == 4 || item == 8) && strides[1] == item &&
         strides[0] >= kTurnedRows * item && strides[0] % item == 0;
}
bool is_across(const Plan& plan, const StagedLoop& s) {
  if (plan.numel == 0 || plan.ndim < 2 || plan.sizes[0] < kTurnedRows || plan.sizes[1] < kTurnedRows)
    return false;
  if (s.out.converts || plan.strides[0][0] != s.out.outer) return false;
  bool any = false;
  for (int i = 0; i < s.inputs; ++i) {
    const bool across = lies_across(plan, s, i);
    const bool as_it_is = s.repeated[i] || (!s.in[i].converts && plan.strides[i + 1][0] == s.in[i].outer);
    if (!across && !as_it_is) return false;
    any |= across;
  }
  return any;
}

// n rows, `strides` bytes apart.
void turned_rows(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const StagedLoop& s = *static_cast<const StagedLoop*>(context);
  alignas(64) char block[kMaxInputs][kTurnedRows * kTurnedColumns * 8];
  for (int64_t row = 0; row < n; row += kTurnedRows) {
    const int64_t rows = std::min(kTurnedRows, n - row);
    for (int64_t column = 0; column < s.length; column += kTurnedColumns) {
      const int64_t columns = std::min(kTurnedColumns, s.length - column);
      const char* in[kMaxInputs];
      int64_t step[kMaxInputs];
      for (int i = 0; i < s.inputs; ++i) {
        const int64_t item = s.in[i].outer, within = s.within[i];
        const char* source = data[i + 1] + row * strides[i + 1] + column * within;
        in[i] = s.repeated[i] ? s.repeated[i] : source, step[i] = s.repeated[i] ? 0 : strides[i + 1];
        if (s.repeated[i] || within == item) continue;
        in[i] = block[i], step[i] = kTurnedColumns * item;
        if (item == 4)
          at_level<Turn>(reinterpret_cast<const float*>(source), within / item, rows, columns,
                         reinterpret_cast<float*>(block[i]));
        else
          at_level<Turn>(reinterpret_cast<const double*>(source), within / item, rows, columns,
                         reinterpret_cast<double*>(block[i]));
      }
      char* target = data[0] + row * strides[0] + column * s.out.outer;
      for (int64_t r = 0; r < rows; ++r) {
        s.loop(target + r * strides[0], in, columns, s.parameters);
        for (int i = 0; i < s.inputs; ++i) in[i] += step[i];
      }
    }
  }
}

void run_by_rows(const Plan& plan, int64_t grain, StagedLoop& s, RowFunction rows_of) {
  s.length = plan.sizes[0];
  for (int i = 0; i < s.inputs; ++i) s.within[i] = plan.strides[i + 1][0];
  const Plan rows = without_innermost(plan);
  parallel_for(0, rows.numel, std::max<int64_t>(1, grain / s.length),
               [&](int64_t begin, int64_t end) { for_each_row_in(rows, begin, end, rows_of, &s); });
}

// One element, maybe expanded.
bool is_single(const View& view) {
  if (view.dense >= 0) [[likely]]
    return view.dense == 1;
  for (int i = 0; i < view.ndim; ++i) {
    if (view.sizes[i] != 1 && (view.strides[i] != 0 || view.sizes[i] == 0)) return false;
  }
  return true;
}

// The general way: any strides, dtypes and broadcasts.
[[gnu::noinline]] void run_staged(GrainedLoop loop, DType result, const View& out, const View* const* in,
                                  const DType* in_types, int inputs, const void* parameters) {
  const View* operands[kMaxInputs + 1] = {&out};
  StagedLoop staged{loop.run, parameters, inputs, {}, {}, kBlockBytes / int64_t(itemsize(result)), {}, 0, {}};
  for (int i = 0; i < inputs; ++i) {
    operands[i + 1] = in[i];
    staged.in[i] = {converter(in[i]->dtype, in_types[i]), int64_t(itemsize(in[i]->dtype)),
                    int64_t(itemsize(in_types[i])), in[i]->dtype != in_types[i]};
    staged.block = std::min(staged.block, kBlockBytes / staged.in[i].inner);
  }
  staged.out = {converter(result, out.dtype), int64_t(itemsize(out.dtype)), int64_t(itemsize(result)),
                result != out.dtype};
  Plan plan;
  make_plan(plan, operands, inputs + 1);
  alignas(64) char repeated[kMaxInputs][kBlockBytes];
  for (int i = 0; i < inputs; ++i) {
    if (plan.numel <= 1 || !is_single(*in[i])) continue;
    staged.in[i].move(in[i]->as<char>(), 0, repeated[i], staged.in[i].inner, 1);
    repeat(repeated[i], size_t(staged.in[i].inner), repeated[i], std::min(staged.block, plan.numel));
    staged.repeated[i] = repeated[i];
  }
  if (is_in_bands(plan, staged)) run_by_rows(plan, loop.grain, staged, band_of_rows);
  else if (is_across(plan, staged)) run_by_rows(plan, loop.grain, staged, turned_rows);
  else for_each_row(plan, loop.grain, any_row, &staged);
}

// One operand is a single element of the right dtype, the rest dense: blocks against an expanded copy of it.
[[gnu::hot]] void run_with_constant(GrainedLoop loop, const View& out, const View* const* in,
                                    const bool* constant, int inputs, int64_t numel, const void* parameters) {
  if (numel == 0) return;  // a single element that is repeated no times may have no memory
  const auto range = [&](int64_t begin, int64_t end) __attribute__((always_inline)) {
    alignas(64) char block[kMaxInputs][kBlockBytes];
    const char* source[kMaxInputs];
    int64_t step[kMaxInputs], together = kBlock;
    const int64_t out_item = int64_t(itemsize(out.dtype));
    if (end - begin > kBlock) {
      int64_t widest = 1;
      for (int i = 0; i < inputs; ++i) widest = std::max(widest, int64_t(itemsize(in[i]->dtype)));
      together = kBlockBytes / widest;
    }
    for (int i = 0; i < inputs; ++i) {
      const int64_t item = int64_t(itemsize(in[i]->dtype));
      step[i] = constant[i] ? 0 : item;
      source[i] = constant[i] ? block[i] : in[i]->as<char>() + begin * item;
      if (constant[i]) repeat(in[i]->as<char>(), size_t(item), block[i], std::min(together, end - begin));
    }
    for (int64_t i = begin; i < end; i += together) {
      const int64_t count = std::min(together, end - i);
      loop.run(out.as<char>() + i * out_item, source, count, parameters);
      for (int j = 0; j < inputs; ++j) source[j] += step[j] * count;
    }
  };
  if (numel <= loop.grain) [[likely]]
    return range(0, numel);
  parallel_for(0, numel, loop.grain, range);
}

[[gnu::noinline]] void run_dense_parallel(GrainedLoop loop, const View& out, const View* const* in,
                                          int inputs, int64_t numel, const void* parameters) {
  parallel_for(0, numel, loop.grain, [&](int64_t begin, int64_t end) {
    const char* source[kMaxInputs];
    for (int i = 0; i < inputs; ++i) source[i] = in[i]->as<char>() + begin * int64_t(itemsize(in[i]->dtype));
    loop.run(out.as<char>() + begin * int64_t(itemsize(out.dtype)), source, end - begin, parameters);
  });
}

// Whether `in` has the shape and the (dense) layout of `out`.
bool same_layout(const View& in, const View& out) {
  // What broadcasts to a shape and has as many elements has that shape, up to leading ones.
  if (in.dense >= 0 && out.dense >= 0) [[likely]]
    return in.dense == out.dense;
  if (in.ndim != out.ndim) return false;
  for (int i = 0; i < out.ndim; ++i) {
    if (in.sizes[i] != out.sizes[i] || (in.strides[i] != out.strides[i] && in.sizes[i] != 1)) return false;
  }
  return true;
}

DType widened(DType t) { return t == DType::complex32 ? DType::complex64 : t; }

int64_t grain_of(const ElementwiseKernel& kernel, DType compute) {
  return is_complex(compute) ? kernel.complex_grain : kernel.grain;
}

// The loop for `compute`, which becomes float for half types and narrower ones (see Note [Staging]).
GrainedLoop loop_of(const ElementwiseKernel& kernel, DType& compute) {
  compute = widened(compute);
  if (!contains(kernel.domain, compute)) [[unlikely]]
    fail_unsupported(kernel.name, compute);
  const int64_t grain = grain_of(kernel, compute);
  if (const DenseLoop own = kernel.loops[cpu_level][int(compute)]) return {own, grain};
  compute = DType::float32;
  return {kernel.loops[cpu_level][int(compute)], grain};
}

// The kernel's loops of a half type; see Note [Loops of halves].
HalfLoops half_loops_of(const ElementwiseKernel& kernel, DType half) {
  const bool is_half = half == DType::bfloat16 || half == DType::float16;
  if (!is_half) [[likely]]
    return {};
  return (half == DType::bfloat16 ? kernel.bfloat16 : kernel.float16)[cpu_level];
}

// Dense results with operands that are dense, single elements or neither.
[[gnu::hot, gnu::noinline]] void run_mixed(GrainedLoop loop, DType result, const View& out,
                                           const View* const* in, const DType* in_types, int inputs,
                                           const void* parameters) {
  int64_t numel = 0;
  if (is_dense(out, numel) && out.dtype == result) {
    bool constant[kMaxInputs], any_constant = false, simple = true;
    for (int i = 0; i < inputs; ++i) {
      constant[i] = !same_layout(*in[i], out);
      any_constant |= constant[i];
      simple = simple && in[i]->dtype == in_types[i] &&
               (!constant[i] || (in[i]->ndim <= out.ndim && is_single(*in[i])));
    }
    if (simple && any_constant) return run_with_constant(loop, out, in, constant, inputs, numel, parameters);
    if (simple) return run_dense_parallel(loop, out, in, inputs, numel, parameters);
  }
  run_staged(loop, result, out, in, in_types, inputs, parameters);
}

// Small dense calls are the common case and must cost nanoseconds: they are decided here, everything else is
// a call.
[[gnu::always_inline]] inline void run_elementwise(GrainedLoop loop, DType compute, DType result,
                                                   const View& out, const View* const* in,
                                                   const DType* in_types, int inputs, int parameters,
                                                   const Scalar* params) {
  alignas(16) char storage[kMaxParameters * 16];
  char* stored = nullptr;
  if (parameters) {
    stored = storage;
    MT_CHECK(params, "elementwise kernel needs ", parameters, " scalar parameters, got none");
    if (compute == DType::float32 && parameters == 1) *reinterpret_cast<float*>(stored) = params->to<float>();
    else store_parameters(params, parameters, compute, stored);
  }
  bool uniform = uint64_t(out.dense) <= uint64_t(loop.grain) && out.dtype == result;
  const char* source[kMaxInputs];
  for (int i = 0; i < inputs; ++i) {
    source[i] = in[i]->as<char>();
    uniform = uniform && in[i]->dense == out.dense && in[i]->dtype == in_types[i];
  }
  if (uniform) [[likely]]
    return loop.run(out.as<char>(), source, out.dense, stored);
  run_mixed(loop, result, out, in, in_types, inputs, stored);
}

}  // namespace

[[gnu::hot]] void run_unary(const ElementwiseKernel& kernel, bool to_bool, const View& in, const View& out,
                            const Scalar* params) {
  DType compute =
      to_bool ? in.dtype
              : unary_compute_dtype(kernel.domain, kernel.parameters, widened(in.dtype), widened(out.dtype));
  GrainedLoop loop = {half_loops_of(kernel, in.dtype).alone, grain_of(kernel, in.dtype)};
  if (!loop.run || out.dtype != (to_bool ? DType::boolean : in.dtype)) loop = loop_of(kernel, compute);
  const View* operands[] = {&in};
  run_elementwise(loop, compute, to_bool ? DType::boolean : compute, out, operands, &compute, 1,
                  kernel.parameters, params);
}

namespace {

Scalar rounded(const Scalar& value, DType half) {
  if (half == DType::float16) return double(float(value.to<Half>()));
  return double(float(value.to<BFloat16>()));
}

// A single element of another dtype, rounded into `memory`; any other view as it is.
View rounded(const View& view, DType half, char* memory) {
  if (view.dtype == half || !view.data || !is_single(view)) return view;
  converter(view.dtype, half)(view.as<char>(), 0, memory, 0, 1);
  return {memory, nullptr, nullptr, 0, half, 1};
}

// Integers of several bytes beside tensors of a half type are rounded to it, which staging, to float, would not do.
const View& rounded_integers(const View& view, DType half, std::optional<Temporary>& made) {
  if (!is_integral(view.dtype, false) || itemsize(view.dtype) == 1 || is_single(view)) return view;
  copy(view, made.emplace(view, half).view());
  return made->view();
}

// A sum whose product with alpha is rounded to a half type before it is added.
struct RoundedProduct {
  DenseLoop sum;  // gets 1 for alpha
  float alpha;
  int operand;  // the one that alpha multiplies
  Converter narrow, widen;
};

void sum_with_rounded_product(char* out, const char* const* in, int64_t n, const void* context) {
  const RoundedProduct& steps = *static_cast<const RoundedProduct*>(context);
  const float* factor = reinterpret_cast<const float*>(in[steps.operand]);
  const float one = 1.0f;
  alignas(64) float product[kBlock];
  alignas(64) uint16_t half[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    for (int64_t i = 0; i < count; ++i) product[i] = steps.alpha * factor[begin + i];
    steps.narrow(reinterpret_cast<char*>(product), 4, reinterpret_cast<char*>(half), 2, count);
    steps.widen(reinterpret_cast<char*>(half), 2, reinterpret_cast<char*>(product), 4, count);
    const char* terms[] = {in[0] + begin * 4, in[1] + begin * 4};
    terms[steps.operand] = reinterpret_cast<char*>(product);
    steps.sum(out + begin * 4, terms, count, &one);
  }
}

#if defined(__x86_64__)
constexpr bool kRoundsProducts = false;
#else
constexpr bool kRoundsProducts = true;
#endif

// See Note [Numbers and half precision].
[[gnu::noinline]] void run_half_binary(const ElementwiseKernel& kernel, bool to_bool, const View& a,
                                       const View& b, const View& out, DType half, const Scalar* params) {
  alignas(16) char left[16], right[16];
  std::optional<Temporary> integers[2];
  const View first = rounded(rounded_integers(a, half, integers[0]), half, left);
  View second = rounded_integers(b, half, integers[1]);
  if (!kernel.exact_right) second = rounded(second, half, right);
  const View* operands[] = {&first, &second};
  DType compute = half;
  GrainedLoop loop = {nullptr, grain_of(kernel, half)};
  DType types[] = {half, second.dtype};
  if (first.dtype == half && out.dtype == (to_bool ? DType::boolean : half)) {
    const HalfLoops loops = half_loops_of(kernel, half);
    if (second.dtype == half) loop.run = loops.alone;
    else if (second.dtype == DType::float32) loop.run = loops.by_number;
  }
  if (!loop.run) {
    loop = loop_of(kernel, compute);
    types[0] = types[1] = compute;
  }
  Scalar alpha;
  if (kernel.operand_of_alpha >= 0 && params) {
    alpha = rounded(params[0], half);
    params = &alpha;
    const float value = alpha.to<float>();
    if (kRoundsProducts && value != 1.0f) {
      const RoundedProduct steps = {loop.run, value, kernel.operand_of_alpha, converter(compute, half),
                                    converter(half, compute)};
      return run_mixed({sum_with_rounded_product, loop.grain}, compute, out, operands, types, 2, &steps);
    }
  }
  run_elementwise(loop, compute, to_bool ? DType::boolean : compute, out, operands, types, 2,
                  kernel.parameters, params);
}

}  // namespace

bool number_of(const View& b, DType compute, Scalar& number) {
  if (!b.data || !is_single(b) || !contains(domains::any, compute)) return false;
  dispatch<domains::any>(compute, "number", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T value;
    converter(b.dtype, compute)(b.as<char>(), 0, reinterpret_cast<char*>(&value), 0, 1);
    if constexpr (is_half_v<T>) number = double(float(value));
    else if constexpr (is_complex_v<T>) number = complex128(value);
    else number = value;
  });
  return true;
}

[[gnu::hot]] void run_binary(const ElementwiseKernel& kernel, bool to_bool, const View& a, const View& b,
                             const View& out, DType compute, const Scalar* params) {
  if (compute == DType::float16 || compute == DType::bfloat16) [[unlikely]]
    return run_half_binary(kernel, to_bool, a, b, out, compute, params);
  const GrainedLoop loop = loop_of(kernel, compute);
  const View* operands[] = {&a, &b};
  const DType types[] = {compute, compute};
  run_elementwise(loop, compute, to_bool ? DType::boolean : compute, out, operands, types, 2,
                  kernel.parameters, params);
}

void run_ternary(const ElementwiseKernel& kernel, const View& a, const View& b, const View& c,
                 const View& out, DType compute, const Scalar* params) {
  const View* operands[] = {&a, &b, &c};
  std::optional<Temporary> integers[3];
  if (compute == DType::float16 || compute == DType::bfloat16)
    for (int i = 0; i < 3; ++i) operands[i] = &rounded_integers(*operands[i], compute, integers[i]);
  const bool alike = out.dtype == compute && std::all_of(operands, operands + 3, [&](const View* operand) {
                       return operand->dtype == compute;
                     });
  GrainedLoop loop = {alike ? half_loops_of(kernel, compute).alone : nullptr, grain_of(kernel, compute)};
  if (!loop.run) loop = loop_of(kernel, compute);
  const DType types[] = {compute, compute, compute};
  run_elementwise(loop, compute, compute, out, operands, types, 3, kernel.parameters, params);
}

namespace {

// Selecting only moves bytes, so one loop per element size is enough.
template <class U>
void where_loop(char* out_bytes, const char* const* in, int64_t n, const void*) {
  U* out = reinterpret_cast<U*>(out_bytes);
  const bool* condition = reinterpret_cast<const bool*>(in[0]);
  const U* a = reinterpret_cast<const U*>(in[1]);
  const U* b = reinterpret_cast<const U*>(in[2]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    // By a mask, which the compiler makes vectors of; of a choice it makes branches.
    const U x = a[i], y = b[i], mask = U(U(0) - U(condition[i]));
    out[i] = U((x & mask) | (y & ~mask));
  }
}
template <>
void where_loop<complex128>(char* out_bytes, const char* const* in, int64_t n, const void*) {
  complex128* out = reinterpret_cast<complex128*>(out_bytes);
  const bool* condition = reinterpret_cast<const bool*>(in[0]);
  const complex128* a = reinterpret_cast<const complex128*>(in[1]);
  const complex128* b = reinterpret_cast<const complex128*>(in[2]);
  for (int64_t i = 0; i < n; ++i) out[i] = condition[i] ? a[i] : b[i];
}

}  // namespace

void where(const View& cond, const View& a, const View& b, const View& out) {
  const View* operands[] = {&cond, &a, &b};
  const DType types[] = {DType::boolean, out.dtype, out.dtype};
  DenseLoop loop;
  switch (itemsize(out.dtype)) {
    case 1: loop = where_loop<uint8_t>; break;
    case 2: loop = where_loop<uint16_t>; break;
    case 4: loop = where_loop<uint32_t>; break;
    case 8: loop = where_loop<uint64_t>; break;
    default: loop = where_loop<complex128>; break;
  }
  run_elementwise({loop}, out.dtype, out.dtype, out, operands, types, 3, 0, nullptr);
}

}  // namespace mt::kernels

#include "generated/cuda/cumulative.h"

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"
#include "kernels/common/types.h"

namespace mt::cuda {
namespace {

constexpr int64_t kShortestPart = 4096, kPartUnit = 1024;

// How many elements of a row a block takes: whole rows where there are enough of them for the chip.
int64_t part_of(const Place& place, int64_t rows, int64_t length) {
  const int64_t processors = driver().attribute(place.index(), kProcessors);
  const int64_t parts =
      std::clamp<int64_t>(processors * 4 / rows, 1, std::max<int64_t>(length / kShortestPart, 1));
  if (parts == 1) return length;
  return ((length + parts - 1) / parts + kPartUnit - 1) / kPartUnit * kPartUnit;
}

// op: a template of device/cumulative.h over the type that it adds up in.
void running(Variants& variants, const char* name, const char* op, kernels::DTypeSet domain,
             const Tensor& self, int64_t dim, bool reverse, const Tensor& out) {
  const DType to = out.dtype();
  if (!kernels::contains(domain, to)) kernels::fail_unsupported(name, to);
  if (out.numel() == 0) return;
  const Place place(out);
  // Integers become wider as they are read; other conversions come first, as they round.
  const bool widens = is_integral(self.dtype(), true) && to == DType::int64;
  const Tensor in = widens ? dense(self) : dense(self, to);
  const DType from = in.dtype(), state = compute_dtype(to);
  const Along along(in, dim);
  const bool rows = along.inner == 1;
  const Loaded& program = find_program(
      variants, key_of({int(from), int(to), rows, reverse}), place, "cumulative.h", rows ? 3 : 1,
      [&]() -> std::vector<FamilyKernel> {
        const std::string way = join_text(op, "<", type_text(state), ">");
        const std::string last = reverse ? ", true>" : ", false>";
        const std::string whole = join_text(type_text(from), ", ", type_text(to), ", ", way, last);
        if (!rows) return {{"running_columns<" + whole, "RunningCall"}};
        return {{"running_rows<" + whole, "RunningCall"},
                {join_text("running_folded<", type_text(from), ", ", way, last), "RunningCall"},
                {join_text("running_carried<", type_text(from), ", ", way, ">"), "RunningCall", 32}};
      });
  into_dense(out, [&](const Tensor& made) {
    RunningCall call{};
    call.in = memory(in);
    call.out = memory(made);
    call.outer = along.outer;
    call.length = call.part = along.length;
    call.inner = along.inner;
    if (!rows)
      return launch_with(program.entries[0], name, place.index(), {blocks_for(along.outer * along.inner)},
                         {256}, 0, call);
    call.part = part_of(place, along.outer, along.length);
    const int64_t parts = (along.length + call.part - 1) / call.part;
    const Scratch carries(place, parts > 1 ? size_t(along.outer * parts) * itemsize(state) : 0);
    const Shape grid{unsigned(along.outer), unsigned(parts)};
    if (parts > 1) {
      call.carries = carries.address();
      launch_with(program.entries[1], name, place.index(), grid, {256}, 0, call);
      launch_with(program.entries[2], name, place.index(), {blocks_for(along.outer, 32)}, {32}, 0, call);
    }
    launch_with(program.entries[0], name, place.index(), grid, {256}, 0, call);
  });
}

}  // namespace

void cumsum(const Tensor& self, int64_t dim, std::optional<DType>, const Tensor& out) {
  static Variants variants;
  running(variants, "cumsum", "RunningSum", kernels::domains::any, self, dim, false, out);
}
void cumprod(const Tensor& self, int64_t dim, std::optional<DType>, const Tensor& out) {
  static Variants variants;
  running(variants, "cumprod", "RunningProduct", kernels::domains::any, self, dim, false, out);
}
void logcumsumexp(const Tensor& self, int64_t dim, const Tensor& out) {
  static Variants variants;
  running(variants, "logcumsumexp", "RunningLogSumExp", kernels::domains::inexact, self, dim, false, out);
}
void reverse_cumsum(const Tensor& self, int64_t dim, const Tensor& out) {
  static Variants variants;
  running(variants, "reverse_cumsum", "RunningSum", kernels::domains::any, self, dim, true, out);
}
void reverse_logcumsumexp(const Tensor& self, int64_t dim, const Tensor& out) {
  static Variants variants;
  running(variants, "reverse_logcumsumexp", "RunningLogSumExp", kernels::domains::inexact, self, dim, true,
          out);
}

}  // namespace mt::cuda

#include "generated/cuda/embedding.h"

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"

namespace mt::cuda {
namespace {

// The widest unit that rows of both tensors are made of.
int64_t unit_of(const void* table, const void* out, int64_t row_bytes, int64_t pitch_bytes) {
  const auto all = uint64_t(reinterpret_cast<uintptr_t>(table)) | uint64_t(reinterpret_cast<uintptr_t>(out)) |
                   uint64_t(row_bytes) | uint64_t(pitch_bytes) | 16;
  return int64_t(all & (~all + 1));
}

}  // namespace

void embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool, const Tensor& out) {
  if (out.numel() == 0) return;
  const Place place(out);
  const Tensor table = weight.stride(1) == 1 ? weight : dense(weight);
  const Tensor index = dense(indices, DType::int64);
  const DenseResult made(out);
  const int64_t item = int64_t(table.itemsize()), row = table.size(1) * item, pitch = table.stride(0) * item;
  const int64_t unit = unit_of(memory(table), made.data(), row, pitch);
  static Variants variants;
  const Loaded& program =
      find_program(variants, key_of({int(unit)}), place, "index.h", 1, [&]() -> std::vector<FamilyKernel> {
        return {{join_text("rows_gathered<", unit_text(unit), ">"), "RowsCall"}};
      });
  RowsCall call{};
  call.table = memory(table);
  call.index = static_cast<const long long*>(memory(index));
  call.out = made.data();
  call.rows = index.numel();
  call.width = row / unit;
  call.pitch = pitch / unit;
  call.size = table.size(0);
  launch_with(program.entries[0], "embedding", place.index(), {blocks_for(call.rows, 1)},
              {whole_warps(call.width, 256)}, 0, call);
  made.finish();
}

}  // namespace mt::cuda

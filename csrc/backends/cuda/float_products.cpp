#include "backends/cuda/float_products.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "backends/cuda/device/calls.h"
#include "backends/cuda/device/float_products_tile.h"
#include "backends/cuda/program.h"

namespace mt::cuda {
namespace {

// Note [Which products of floats]
// float32, without TF32 allowed, on chips of sm_90, and where the time that is expected here is less than cuBLASLt's,
// which is what both took on an H200 for GPTs' shapes. What is small, or has little to sum over, is cuBLASLt's. Where
// tiles do not fill the processors, the inner dimension is split, and the parts are added in their order.
// Microseconds:
constexpr double kAtLeast = 3, kOfTile = 2.5,
                 kOfAdding = 3;  // a launch, a tile's beginning and end, a second launch
constexpr double kBytesAtOnce = 2.5e6, kCublasFlops = 42e6 / 132;  // in one; of a processor

// For each of the tiles; step: 32 of the inner dimension, without and with a right side that lies along the columns.
struct TileCost {
  const char* text;
  int columns, memory;
  double step, turned_step;
};
template <class Tile>
constexpr TileCost cost_of(const char* text, double step, double turned_step) {
  return {text, Tile::kColumns, Tile::kMemory, step, turned_step};
}
constexpr TileCost kTiles[] = {cost_of<FloatProductWide>("FloatProductWide", 1.38, 1.40),
                               cost_of<FloatProductNarrow>("FloatProductNarrow", 1.10, 1.29)};
constexpr double kNotWhole = 1.4;  // times as long, where 16 bytes may not be read at once
constexpr int kRows = FloatProductWide::kRows, kInner = FloatProductWide::kInner,
              kThreads = FloatProductWide::kThreads;
constexpr int64_t kMostPieces = 32, kMost = 0x7fff0000;

int64_t parts(int64_t all, int64_t each) { return (all + each - 1) / each; }

// Of processors; 0: of a chip without such products.
int processors(int device) {
  static std::array<std::atomic<int>, 64> known;  // and one more
  if (device >= int(known.size())) return 0;
  std::atomic<int>& number = known[size_t(device)];
  if (const int found = number.load(std::memory_order_relaxed)) return found - 1;
  CudaDriver& chip = driver();
  const bool multiplies = chip.attribute(device, kMajor) == 9 && chip.attribute(device, kMinor) == 0;
  const int found = multiplies ? chip.attribute(device, kProcessors) : 0;
  number.store(found + 1, std::memory_order_relaxed);
  return found;
}

bool whole(const void* data, const BlasMatrix& matrix) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && matrix.leading % 4 == 0 &&
         matrix.batch_stride % 4 == 0;
}

// How a product is shared out. cuBLASLt's matrices lie by columns and ours by rows: what is d^T there is d here.
struct Plan {
  const TileCost* tile = nullptr;
  int64_t pieces = 1, each = 0;  // of the inner dimension
  double time;                   // has to be less
  bool right_along, slowly;

  Plan(const ProductShape& shape, const ProductPointers& pointers, int processors)
      : time(2 * double(shape.rows) * double(shape.columns) * double(shape.inner) * double(shape.batch) /
             (kCublasFlops * processors)),
        right_along(shape.a.transposed != 0),
        slowly(!whole(pointers.a, shape.a) || !whole(pointers.b, shape.b)) {
    for (const TileCost& tile : kTiles) consider(tile, shape, processors);
  }

  void consider(const TileCost& candidate, const ProductShape& shape, int processors) {
    const double step = (right_along ? candidate.step : candidate.turned_step) * (slowly ? kNotWhole : 1);
    if (kAtLeast + kOfTile + step >= time) return;  // most of what is small, at once
    const int64_t tiles = parts(shape.columns, kRows) * parts(shape.rows, candidate.columns) * shape.batch;
    if (tiles > kMost / kMostPieces) return;
    const int64_t steps = parts(shape.inner, kInner);
    const double bytes = 16.0 * double(parts(shape.rows, 4)) * double(shape.columns) * double(shape.batch);
    for (int64_t number = 1; number <= std::min(kMostPieces, steps); ++number) {
      const int64_t of_piece = parts(steps, number);
      if (number > 1 && (tiles >= 4 * processors || double(number) * bytes > double(StreamScratch::kBytes)))
        break;
      if (parts(steps, of_piece) != number) continue;
      const double adding = number == 1 ? 0 : kOfAdding + double(number + 1) * bytes / kBytesAtOnce;
      const double expected =
          kAtLeast + double(parts(tiles * number, processors)) * (double(of_piece) * step + kOfTile) + adding;
      if (expected >= time) continue;
      time = expected;
      tile = &candidate;
      pieces = number;
      each = of_piece * kInner;
    }
  }
};

bool takes(const ProductShape& shape) {
  return shape.number == blas::kFloat32 && shape.arithmetic == blas::kCompute32 &&
         shape.inner >= 2 * kInner &&
         std::max({shape.rows, shape.columns, shape.inner, shape.batch}) <= kMost && !shape.d.transposed;
}

float factor(const void* bytes) {
  float value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

FloatProductCall call_of(const ProductShape& shape, const ProductPointers& pointers, const Plan& plan) {
  FloatProductCall call{};
  call.left = static_cast<const float*>(pointers.b);
  call.right = static_cast<const float*>(pointers.a);
  call.out = static_cast<float*>(pointers.d);
  call.bias = static_cast<const float*>(pointers.bias);
  call.alpha = factor(pointers.alpha);
  call.beta = factor(pointers.beta);
  if (call.beta != 0) call.self = static_cast<const float*>(pointers.c);
  call.left_step = shape.b.leading;
  call.right_step = shape.a.leading;
  call.self_step = shape.c.leading;
  call.out_step = shape.d.leading;
  call.left_batch = shape.b.batch_stride;
  call.right_batch = shape.a.batch_stride;
  call.self_batch = shape.c.batch_stride;
  call.out_batch = shape.d.batch_stride;
  call.rows = int(shape.columns);
  call.columns = int(shape.rows);
  call.inner = int(shape.inner);
  call.batch = int(shape.batch);
  call.each = int(plan.each);
  call.pieces = int(plan.pieces);
  call.row_tiles = int(parts(call.rows, kRows));
  call.column_tiles = int(parts(call.columns, plan.tile->columns));
  call.shares = int(call.row_tiles * call.column_tiles * plan.pieces * shape.batch);
  call.whole_out = whole(pointers.d, shape.d);
  return call;
}

// The same product into parts that lie behind each other.
FloatProductCall into_parts(FloatProductCall call, void* room) {
  call.out = static_cast<float*>(room);
  call.out_step = parts(call.columns, 4) * 4;
  call.out_batch = call.rows * call.out_step;
  call.whole_out = 1;
  call.self = call.bias = nullptr;
  call.alpha = 1;
  return call;
}

const Loaded& program_for(const Place& place, const ProductShape& shape, const ProductPointers& pointers,
                          const Plan& plan) {
  static Variants variants;
  const int forms[] = {!shape.b.transposed, plan.right_along, whole(pointers.b, shape.b),
                       whole(pointers.a, shape.a)};
  const uint64_t key =
      key_of({int(plan.tile - kTiles), forms[0] | forms[1] << 1 | forms[2] << 2 | forms[3] << 3});
  return find_program(variants, key, place, "float_products.h", 2, [&]() -> std::vector<FamilyKernel> {
    std::string body = join_text("FloatProduct<", plan.tile->text);
    for (const int form : forms) body += form ? ", true" : ", false";
    return {{body + ">::run", "FloatProductCall", kThreads, 1}, {"float_product_added", "FloatProductCall"}};
  });
}

}  // namespace

bool multiply_floats(const Place& place, const ProductShape& shape, const ProductPointers& pointers,
                     const char* name) {
  if (!takes(shape)) return false;
  const int there = processors(shape.device);
  if (there == 0) return false;
  const Plan plan(shape, pointers, there);
  if (!plan.tile) return false;
  const Loaded& program = program_for(place, shape, pointers, plan);
  FloatProductCall call = call_of(shape, pointers, plan);
  const auto launch_product = [&](const FloatProductCall& given) {
    launch_with(program.entries[0], name, place.index(), {unsigned(std::min(there, given.shares))},
                {unsigned(kThreads)}, unsigned(plan.tile->memory), given);
  };
  if (plan.pieces == 1) {
    launch_product(call);
    return true;
  }
  const int64_t of_part = int64_t(call.rows) * parts(call.columns, 4) * 4;
  const StreamScratch room(place, size_t(plan.pieces * shape.batch * of_part) * sizeof(float));
  const FloatProductCall apart = into_parts(call, room.address());
  launch_product(apart);
  call.left = apart.out;
  call.left_step = apart.out_step;
  call.left_batch = apart.out_batch;
  launch_with(program.entries[1], name, place.index(), {blocks_for(shape.batch * of_part / 4)}, {256}, 0,
              call);
  return true;
}

}  // namespace mt::cuda

// Caches of keys and values in blocks: rows written to their slots, and read back.
#include <cmath>

#include "kernels/attention/rotary.h"
#include "kernels/common/copy.h"
#include "kernels/common/dense.h"
#include "op_plans.h"
#include "ops/common/arguments.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

constexpr DTypeSet kIndices = k::dtype_set(DType::int32, DType::int64);

// A cache seen as [blocks, slots of a block, heads, columns together, columns of one]: a row of it is what a token has.
// On a card in NZ form, 32 bytes of columns lie together; other forms have all of them together.
struct BlockCache {
  Operand whole;

  int64_t slots() const { return whole.sizes[0] * whole.sizes[1]; }
  // [heads, pieces, columns]
  Operand row(int64_t slot) const {
    return selected(selected(whole, 0, slot / whole.sizes[1]), 0, slot % whole.sizes[1]);
  }
};

// [heads, width] in as many pieces as the cache's rows.
Operand in_pieces(const Operand& row, int64_t pieces) {
  Operand result = unsqueezed(row, 1);
  result.sizes[1] = pieces, result.sizes[2] = row.sizes[1] / pieces;
  result.strides[1] = result.sizes[2] * row.strides[1], result.strides[2] = row.strides[1];
  return result;
}

// [blocks, block size, heads, width]
BlockCache plain_cache(const Plan& plan, const Operand& cache, const char* name, int64_t heads,
                       int64_t width) {
  plan.require_ndim(cache, name, 4);
  if (cache.sizes[2] != heads || cache.sizes[3] != width)
    plan.invalid("tensor '", name, "' has shape ", shape_text(cache), ", wanted [blocks, block size, ", heads,
                 ", ", width, "]");
  return {unsqueezed(cache, 3)};
}
// [blocks, heads, block size, width]
BlockCache heads_first_cache(const Plan& plan, const Operand& cache, const char* name, int64_t heads,
                             int64_t width) {
  plan.require_ndim(cache, name, 4);
  return plain_cache(plan, permuted(cache, {0, 2, 1, 3}), name, heads, width);
}
// [blocks, heads * width / c, block size, c] or [blocks, heads, width / c, block size, c]
BlockCache pieces_cache(const Plan& plan, const Operand& cache, const char* name, int64_t heads,
                        int64_t width) {
  Operand five = cache;
  if (cache.ndim == 4 && heads > 0 && cache.sizes[1] % heads == 0) {
    five = unsqueezed(cache, 1);
    five.sizes[1] = heads, five.sizes[2] = cache.sizes[1] / heads;
    five.strides[1] = five.sizes[2] * cache.strides[1];
  }
  plan.require_ndim(five, name, 5);
  if (five.sizes[1] != heads || five.sizes[2] * five.sizes[4] != width)
    plan.invalid("tensor '", name, "' has shape ", shape_text(cache), ", wanted ", heads, " heads of ", width,
                 " columns in pieces");
  return {permuted(five, {0, 3, 1, 2, 4})};
}

void check_slot(int64_t slot, int64_t slots) {
  if (slot >= slots)
    mt::fail(mt::ErrorKind::index, "slot ", slot, " does not lie in the cache of ", slots, " slots");
}

void require_cache(const Plan& plan, const Operand& tokens, const char* name, const Operand& cache,
                   const char* cache_name) {
  plan.require_ndim(tokens, name, 3);
  plan.require_same_dtype(tokens, name, cache, cache_name);
}

// The two parts of a token that KvRmsNormRopeCache computes.
struct NormRope {
  Operand kv, gamma, cos, sin, index, rope_cache, norm_cache;
  std::optional<Operand> rope_out, norm_out;
  double epsilon;
  bool paged, by_blocks, in_pieces;

  int64_t batch() const { return kv.sizes[0]; }
  int64_t steps() const { return kv.sizes[2]; }
  int64_t block_size() const { return rope_cache.sizes[1]; }

  // Where a token goes: -1 for nowhere.
  int64_t slot(const k::DenseInput<int64_t>& at, int64_t b, int64_t s) const {
    if (!by_blocks) return at[b * steps() + s];
    const int64_t size = block_size(), blocks = (steps() + size - 1) / size;
    const int64_t first = at[b * blocks + s / size];
    return first < 0 ? -1 : first / size * size + s % size;
  }
};

// One row of a result into its cache.
void store_row(const NormRope& c, const Operand& cache, const float* row, int64_t b, int64_t slot,
               const aclOpExecutor& e) {
  const int64_t width = cache.sizes[3];
  const int64_t sizes[1] = {width}, strides[1] = {1};
  const View from{const_cast<float*>(row), sizes, strides, 1, DType::float32, width};
  if (!c.paged) {
    check_slot(slot, cache.sizes[2]);
    const Operand to = selected(selected(selected(cache, 0, b), 0, 0), 0, slot);
    return k::copy(from, to.view(e));
  }
  check_slot(slot, cache.sizes[0] * cache.sizes[1]);
  const int64_t size = cache.sizes[1];
  Operand to = selected(selected(selected(cache, 0, slot / size), 0, slot % size), 0, 0);
  if (!c.in_pieces) return k::copy(from, to.view(e));
  // The block's memory holds its columns in pieces of 32 bytes, each for all slots.
  const int64_t together = 32 / int64_t(mt::itemsize(cache.dtype));
  to = selected(selected(selected(cache, 0, slot / size), 0, 0), 0, 0);
  for (int64_t piece = 0; piece < width / together; ++piece) {
    Operand part = narrowed(to, 0, 0, together);
    part.offset += (piece * size + slot % size) * together * int64_t(mt::itemsize(cache.dtype));
    const View columns{const_cast<float*>(row + piece * together), part.sizes, strides, 1, DType::float32};
    k::copy(columns, part.view(e));
  }
}

void run(const NormRope& c, const aclOpExecutor& e) {
  const int64_t norm_width = c.gamma.sizes[0], rope_width = c.kv.sizes[3] - norm_width;
  const k::DenseInput<float> gamma(c.gamma.view(e));
  const k::DenseInput<int64_t> at(c.index.view(e));
  const Operand norm_part = narrowed(c.kv, 3, 0, norm_width),
                rope_part = narrowed(c.kv, 3, norm_width, rope_width);
  const k::DenseInput<float> values(norm_part.view(e));
  const k::Temporary normed({c.batch(), 1, c.steps(), norm_width}, DType::float32),
      turned({c.batch(), 1, c.steps(), rope_width}, DType::float32);
  k::rotary(rope_part.view(e), c.cos.view(e), c.sin.view(e), k::Rotation::neighbours_to_halves,
            turned.view());
  for (int64_t row = 0; row < c.batch() * c.steps(); ++row) {
    const float* from = values.data() + row * norm_width;
    float* to = normed.view().as<float>() + row * norm_width;
    float squares = 0;
    for (int64_t i = 0; i < norm_width; ++i) squares += from[i] * from[i];
    const float divisor = std::sqrt(squares / float(norm_width) + float(c.epsilon));
    for (int64_t i = 0; i < norm_width; ++i) to[i] = from[i] / divisor * gamma[i];
  }
  for (int64_t b = 0; b < c.batch(); ++b)
    for (int64_t s = 0; s < c.steps(); ++s) {
      const int64_t slot = c.slot(at, b, s), row = b * c.steps() + s;
      if (slot < 0) continue;
      store_row(c, c.norm_cache, normed.view().as<float>() + row * norm_width, b, slot, e);
      store_row(c, c.rope_cache, turned.view().as<float>() + row * rope_width, b, slot, e);
    }
  if (c.norm_out) k::copy(normed.view(), c.norm_out->view(e));
  if (c.rope_out) k::copy(turned.view(), c.rope_out->view(e));
}

void norm_and_rope(Plan& plan, const aclTensor* kv, const aclTensor* gamma, const aclTensor* cos,
                   const aclTensor* sin, const aclTensor* index, const aclTensor* kCacheRef,
                   const aclTensor* ckvCacheRef, std::initializer_list<const aclTensor*> refused,
                   double epsilon, const char* cacheMode, bool isOutputKv, const aclTensor* kRopeOut,
                   const aclTensor* cKvOut) {
  NormRope c;
  c.kv = plan.input(kv, "kv"), c.gamma = plan.input(gamma, "gamma"), c.cos = plan.input(cos, "cos"),
  c.sin = plan.input(sin, "sin"), c.index = plan.input(index, "index");
  c.rope_cache = plan.output(kCacheRef, "kCacheRef"), c.norm_cache = plan.output(ckvCacheRef, "ckvCacheRef");
  for (const aclTensor* tensor : refused)
    if (unless_empty(plan.optional_input(tensor, "scale")))
      plan.invalid("quantised caches and separate values are not supported by the software NPU");
  c.rope_out = masked_output(plan, kRopeOut, "kRopeOut", isOutputKv);
  c.norm_out = masked_output(plan, cKvOut, "cKvOut", isOutputKv);
  const std::string_view mode = text_of(cacheMode, "Norm");
  c.by_blocks = mode == "PA_BLK_BNSD" || mode == "PA_BLK_NZ",
  c.in_pieces = mode == "PA_NZ" || mode == "PA_BLK_NZ";
  c.paged = c.by_blocks || c.in_pieces || mode == "PA" || mode == "PA_BNSD";
  if (!c.paged && mode != "Norm")
    plan.invalid("cacheMode is '", mode, "', wanted Norm, PA, PA_BNSD, PA_NZ, PA_BLK_BNSD or PA_BLK_NZ");
  plan.require_ndim(c.kv, "kv", 4);
  plan.require_dtype(c.kv, "kv", domains::floating);
  plan.require_ndim(c.gamma, "gamma", 1);
  plan.require_dtype(c.index, "index", kIndices);
  const int64_t norm_width = c.gamma.sizes[0], rope_width = c.kv.sizes[3] - norm_width;
  if (c.kv.sizes[1] != 1 || rope_width < 2 || rope_width % 2 != 0)
    plan.invalid("tensor 'kv' has shape ", shape_text(c.kv), ", wanted one head with ", norm_width,
                 " columns and an even number more");
  for (const auto& [angle, name] : {std::pair{&c.cos, "cos"}, std::pair{&c.sin, "sin"}}) {
    plan.require_ndim(*angle, name, 4);
    plan.require_shape(*angle, name, {c.batch(), 1, angle->sizes[2] == 1 ? 1 : c.steps(), rope_width});
  }
  for (const auto& [cache, name, width] : {std::tuple{&c.rope_cache, "kCacheRef", rope_width},
                                           std::tuple{&c.norm_cache, "ckvCacheRef", norm_width}}) {
    plan.require_same_dtype(*cache, name, c.kv, "kv");
    plan.require_ndim(*cache, name, 4);
    if (cache->sizes[c.paged ? 2 : 1] != 1 || cache->sizes[3] != width ||
        (!c.paged && cache->sizes[0] < c.batch()))
      plan.invalid("tensor '", name, "' has shape ", shape_text(*cache), ", wanted one head of ", width);
    if (c.in_pieces && !is_contiguous(*cache))
      plan.invalid("cacheMode ", mode, " wants tensor '", name, "' to be contiguous");
    if (c.in_pieces && (width * int64_t(mt::itemsize(cache->dtype))) % 32 != 0)
      plan.invalid("cacheMode ", mode, " wants rows of a multiple of 32 bytes, tensor '", name, "' has ",
                   width, " columns");
  }
  const int64_t size = c.paged ? c.rope_cache.sizes[1] : 1;
  if (!c.paged) plan.require_shape(c.index, "index", {c.batch(), c.steps()});
  else if (c.by_blocks) plan.require_shape(c.index, "index", {c.batch() * ((c.steps() + size - 1) / size)});
  else plan.require_shape(c.index, "index", {c.batch() * c.steps()});
  if (c.rope_out) plan.require_shape(*c.rope_out, "kRopeOut", {c.batch(), 1, c.steps(), rope_width});
  if (c.norm_out) plan.require_shape(*c.norm_out, "cKvOut", {c.batch(), 1, c.steps(), norm_width});
  c.epsilon = epsilon;
  plan.run([call = std::make_shared<const NormRope>(c)](const aclOpExecutor& e) { run(*call, e); });
}

}  // namespace

void KvRmsNormRopeCache(Plan& plan, const aclTensor* kv, const aclTensor* gamma, const aclTensor* cos,
                        const aclTensor* sin, const aclTensor* index, aclTensor* kCacheRef,
                        aclTensor* ckvCacheRef, const aclTensor* kRopeScaleOptional,
                        const aclTensor* cKvScaleOptional, const aclTensor* kRopeOffsetOptional,
                        const aclTensor* cKvOffsetOptional, double epsilon, char* cacheModeOptional,
                        bool isOutputKv, const aclTensor* kRopeOut, const aclTensor* cKvOut) {
  norm_and_rope(plan, kv, gamma, cos, sin, index, kCacheRef, ckvCacheRef,
                {kRopeScaleOptional, cKvScaleOptional, kRopeOffsetOptional, cKvOffsetOptional}, epsilon,
                cacheModeOptional, isOutputKv, kRopeOut, cKvOut);
}
void KvRmsNormRopeCacheV2(Plan& plan, const aclTensor* kv, const aclTensor* gamma, const aclTensor* cos,
                          const aclTensor* sin, const aclTensor* index, aclTensor* kCacheRef,
                          aclTensor* ckvCacheRef, const aclTensor* kRopeScaleOptional,
                          const aclTensor* cKvScaleOptional, const aclTensor* kRopeOffsetOptional,
                          const aclTensor* cKvOffsetOptional, const aclTensor* vOptional, double epsilon,
                          char* cacheModeOptional, bool isOutputKv, const aclTensor* kRopeOut,
                          const aclTensor* cKvOut) {
  norm_and_rope(plan, kv, gamma, cos, sin, index, kCacheRef, ckvCacheRef,
                {kRopeScaleOptional, cKvScaleOptional, kRopeOffsetOptional, cKvOffsetOptional, vOptional},
                epsilon, cacheModeOptional, isOutputKv, kRopeOut, cKvOut);
}

void ScatterPaKvCache(Plan& plan, const aclTensor* key, aclTensor* keyCacheRef, const aclTensor* slotMapping,
                      const aclTensor* value, aclTensor* valueCacheRef, const aclTensor* compressLensOptional,
                      const aclTensor* compressSeqOffsetOptional, const aclTensor* seqLensOptional,
                      char* cacheModeOptional, char* scatterModeOptional, const aclIntArray* stridesOptional,
                      const aclIntArray* offsetsOptional) {
  const Operand keys = plan.input(key, "key"), key_cache = plan.output(keyCacheRef, "keyCacheRef"),
                slots = plan.input(slotMapping, "slotMapping");
  const std::optional<Operand> values = unless_empty(plan.optional_input(value, "value")),
                               value_cache =
                                   unless_empty(optional_output(plan, valueCacheRef, "valueCacheRef"));
  for (const aclTensor* tensor : {compressLensOptional, compressSeqOffsetOptional, seqLensOptional})
    if (unless_empty(plan.optional_input(tensor, "compressLens")))
      plan.invalid("compressed keys and values are not supported by the software NPU");
  const std::string_view form = text_of(cacheModeOptional, "Norm"),
                         mode = text_of(scatterModeOptional, "None");
  if (form != "Norm" && form != "PA_NZ") plan.invalid("cacheMode is '", form, "', wanted Norm or PA_NZ");
  if (mode != "None" && mode != "NHSD")
    plan.invalid("scatterMode is '", mode, "', the software NPU supports None and NHSD");
  require_cache(plan, keys, "key", key_cache, "keyCacheRef");
  plan.require_dtype(slots, "slotMapping", kIndices);
  plan.require_shape(slots, "slotMapping", {keys.sizes[0]});
  if (values && !value_cache) plan.null_argument("valueCacheRef");
  struct Pair {
    Operand tokens;
    BlockCache cache;
  };
  auto pairs = std::make_shared<std::vector<Pair>>();
  const auto add = [&](const Operand& tokens, const char* name, const Operand& cache,
                       const char* cache_name) {
    require_cache(plan, tokens, name, cache, cache_name);
    const auto made = form == "PA_NZ" ? pieces_cache : mode == "NHSD" ? heads_first_cache : plain_cache;
    pairs->push_back({tokens, made(plan, cache, cache_name, tokens.sizes[1], tokens.sizes[2])});
  };
  add(keys, "key", key_cache, "keyCacheRef");
  if (values) {
    add(*values, "value", *value_cache, "valueCacheRef");
    if (values->sizes[0] != keys.sizes[0])
      plan.invalid("tensors 'key' and 'value' have shapes ", shape_text(keys), " and ", shape_text(*values),
                   ", wanted as many tokens");
  }
  plan.run([pairs = std::shared_ptr<const std::vector<Pair>>(pairs), slots](const aclOpExecutor& e) {
    const k::DenseInput<int64_t> at(slots.view(e));
    for (const Pair& pair : *pairs)
      for (int64_t token = 0; token < at.numel(); ++token) {
        if (at[token] < 0) continue;  // padding
        check_slot(at[token], pair.cache.slots());
        const Operand to = pair.cache.row(at[token]),
                      from = in_pieces(selected(pair.tokens, 0, token), to.sizes[1]);
        k::copy(from.view(e), to.view(e));
      }
  });
}

void GatherPaKvCache(Plan& plan, const aclTensor* keyCache, const aclTensor* valueCache,
                     const aclTensor* blockTables, const aclTensor* seqLens, aclTensor* keyRef,
                     aclTensor* valueRef, const aclTensor* seqOffsetOptional, char* cacheMode,
                     bool isSeqLensCumsum) {
  const Operand key_cache = plan.input(keyCache, "keyCache"),
                value_cache = plan.input(valueCache, "valueCache"),
                tables = plan.input(blockTables, "blockTables"), lengths = plan.input(seqLens, "seqLens"),
                keys = plan.output(keyRef, "keyRef"), values = plan.output(valueRef, "valueRef");
  if (unless_empty(plan.optional_input(seqOffsetOptional, "seqOffset")))
    plan.invalid("'seqOffset' is not supported by the software NPU, wanted NULL");
  const std::string_view form = text_of(cacheMode, "Norm");
  if (form != "Norm" && form != "PA_NZ") plan.invalid("cacheMode is '", form, "', wanted Norm or PA_NZ");
  plan.require_ndim(tables, "blockTables", 2);
  plan.require_dtype(tables, "blockTables", kIndices);
  plan.require_dtype(lengths, "seqLens", kIndices);
  plan.require_shape(lengths, "seqLens", {tables.sizes[0] + (isSeqLensCumsum ? 1 : 0)});
  struct Pair {
    Operand tokens;
    BlockCache cache;
  };
  auto pairs = std::make_shared<std::vector<Pair>>();
  for (const auto& [tokens, name, cache, cache_name] :
       {std::tuple{&keys, "keyRef", &key_cache, "keyCache"},
        std::tuple{&values, "valueRef", &value_cache, "valueCache"}}) {
    require_cache(plan, *tokens, name, *cache, cache_name);
    const auto made = form == "PA_NZ" ? pieces_cache : plain_cache;
    pairs->push_back({*tokens, made(plan, *cache, cache_name, tokens->sizes[1], tokens->sizes[2])});
  }
  plan.run([=](const aclOpExecutor& e) {
    const k::DenseInput<int64_t> table(tables.view(e)), length(lengths.view(e));
    for (const Pair& pair : *pairs) {
      const int64_t size = pair.cache.whole.sizes[1], columns = tables.sizes[1];
      int64_t next = 0;
      for (int64_t b = 0; b < tables.sizes[0]; ++b) {
        const int64_t count = isSeqLensCumsum ? length[b + 1] - length[b] : length[b];
        MT_CHECK(count >= 0 && count <= columns * size && next + count <= pair.tokens.sizes[0], "sequence ",
                 b, " has ", count, " tokens, which do not fit ", columns, " blocks of ", size,
                 " and the result");
        for (int64_t i = 0; i < count; ++i, ++next) {
          const int64_t block = table[b * columns + i / size];
          MT_CHECK(block >= 0 && block < pair.cache.whole.sizes[0], "block ", block, " of sequence ", b,
                   " does not lie in the cache of ", pair.cache.whole.sizes[0], " blocks");
          const Operand from = pair.cache.row(block * size + i % size),
                        to = in_pieces(selected(pair.tokens, 0, next), from.sizes[1]);
          k::copy(from.view(e), to.view(e));
        }
      }
    }
  });
}

}  // namespace softnpu::ops

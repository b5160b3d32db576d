#include "ops/attention/infer.h"

#include <cmath>

#include "kernels/attention/fused.h"
#include "ops/attention/call.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// Note [Layouts of inference]
// A layout such as BNSD_BSND reads BNSD and writes BSND. Lengths are per sequence (of which the first stands for all),
// cumulative in TND and NTD. With a block table, key and value are pools of blocks, [blocks, block size, H],
// [blocks, heads, block size, D] or [blocks, heads, D / 16, block size, 16] (NZ: any number of columns together), row b of
// the table names the blocks of sequence b, and the lengths of keys are never cumulative. Rotary parts are further
// columns of query and key.
struct InferCall {
  HeadSequences query, out, logsumexp, query_rope;
  std::vector<HeadSequences> keys, values, key_ropes;  // one for all sequences, or one for each
  std::optional<Operand> bias, mask, table, sink;
  Operand key_pool, value_pool, rope_pool;
  std::vector<int64_t> query_lengths, key_lengths;
  Sparsity sparsity;
  double scale;
  int64_t groups, rope_width = 0;
  bool wants_logsumexp = false;

  int64_t rows(int64_t b) const { return query_lengths.empty() ? query.length(b) : query_lengths[size_t(b)]; }

  Operand own(const std::vector<HeadSequences>& of, int64_t b) const {
    return of.size() == 1 ? of[0].at(b) : of[size_t(b)].at(0);
  }
  int64_t stored_keys(int64_t b) const { return own(keys, b).sizes[1]; }
  int64_t key_count(int64_t b) const { return key_lengths.empty() ? stored_keys(b) : key_lengths[size_t(b)]; }

  // The blocks of a sequence one after the other: [heads, length, width].
  void gather(const Operand& pool, const aclOpExecutor& e, int64_t b, const View& to) const {
    const k::DenseInput<int64_t> blocks(table->view(e));
    const bool in_columns = pool.ndim == 5;
    const int64_t size = pool.sizes[in_columns ? 3 : 2], length = to.sizes[1], columns = table->sizes[1];
    for (int64_t first = 0; first < length; first += size) {
      const int64_t block = blocks[b * columns + first / size], count = std::min(size, length - first);
      if (block < 0 || block >= pool.sizes[0])
        mt::fail(mt::ErrorKind::index, "block ", block, " of sequence ", b, " does not lie in the pool of ",
                 pool.sizes[0], " blocks");
      const Operand found = selected(pool, 0, block);
      const Operand part =
          in_columns ? permuted(narrowed(found, 2, 0, count), {0, 2, 1, 3}) : narrowed(found, 1, 0, count);
      char* at = to.as<char>() + first * to.strides[1] * int64_t(mt::itemsize(to.dtype));
      const int64_t strides[4] = {to.strides[0], to.strides[1],
                                  in_columns ? part.sizes[3] * to.strides[2] : to.strides[2], to.strides[2]};
      k::copy(part.view(e), {at, part.sizes, strides, part.ndim, to.dtype});
    }
  }
};

// Some of the last dimension of a tensor of three.
struct Columns {
  int64_t sizes[3];
  View view;
  Columns(const View& of, int64_t first, int64_t count)
      : sizes{of.sizes[0], of.sizes[1], count},
        view{of.as<char>() + first * of.strides[2] * int64_t(mt::itemsize(of.dtype)), sizes, of.strides, 3,
             of.dtype} {}
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;
};

int64_t pool_width(const Operand& pool) {
  return pool.ndim == 5 ? pool.sizes[2] * pool.sizes[4] : pool.sizes[3];
}

std::vector<int64_t> lengths_for(const Plan& plan, const aclIntArray* array, const char* name, int64_t count,
                                 int64_t most) {
  std::vector<int64_t> lengths = optional_list(array);
  if (lengths.empty()) return lengths;
  if (lengths.size() == 1) lengths.assign(size_t(count), lengths[0]);
  if (int64_t(lengths.size()) < count)
    plan.invalid("'", name, "' has ", lengths.size(), " numbers, wanted ", count);
  lengths.resize(size_t(count));
  for (const int64_t length : lengths)
    if (length < 0 || length > most) plan.invalid("'", name, "' holds ", length, ", wanted 0 to ", most);
  return lengths;
}

// A pool of blocks as [blocks, heads, block size, width], or as it is with five dimensions.
Operand pool_of(const Plan& plan, const Operand& pool, const char* name, int64_t groups, int64_t block_size) {
  Operand result = pool;
  if (pool.ndim == 3) {
    if (pool.sizes[2] % groups != 0)
      plan.invalid("tensor '", name, "' has shape ", shape_text(pool), ", which is no multiple of ", groups,
                   " heads");
    result = permuted(unsqueezed(pool, 2), {0, 2, 1, 3});
    result.sizes[1] = groups, result.strides[1] = pool.strides[2] * (pool.sizes[2] / groups);
    result.sizes[3] = pool.sizes[2] / groups;
  }
  if (pool.ndim != 5) plan.require_ndim(result, name, 4);
  if (result.sizes[1] != groups || result.sizes[pool.ndim == 5 ? 3 : 2] != block_size || block_size < 1)
    plan.invalid("tensor '", name, "' has shape ", shape_text(pool), ", wanted blocks of ", block_size,
                 " rows for ", groups, " heads");
  return result;
}

std::vector<Operand> tensors_of(Plan& plan, const aclTensor* single, const aclTensorList* list,
                                const char* name) {
  return list != nullptr ? plan.inputs(list, name) : std::vector{plan.input(single, name)};
}

void run(const InferCall& c, const aclOpExecutor& e) {
  const OptionalView sinks(c.sink, e);
  for (int64_t b = 0; b < c.query.count(); ++b) {
    const int64_t rows = c.rows(b);
    const Operand whole = c.out.at(b);
    // Rows beyond a sequence's length are 0.
    if (rows < whole.sizes[1]) {
      const Operand beyond = narrowed(whole, 1, rows, whole.sizes[1] - rows);
      k::fill(beyond.view(e), 0);
    }
    const int64_t count = c.table ? c.key_lengths[size_t(b)] : c.key_count(b);
    const DType dtype = c.query.dtype();
    const int64_t width = c.query.width(), extra = c.rope_width;
    // Keys and values that do not lie in one tensor.
    const bool joins = extra > 0, collects = c.table.has_value();
    const k::Temporary joined_query({c.query.heads(), joins ? rows : 0, width + extra}, dtype),
        joined_keys({c.groups, joins || collects ? count : 0, width + extra}, dtype),
        joined_values({c.groups, collects ? count : 0, collects ? pool_width(c.value_pool) : 0}, dtype);
    k::FusedAttention problem;
    const Operand query = narrowed(c.query.at(b), 1, 0, rows), out = narrowed(whole, 1, 0, rows);
    Operand keys, values;
    problem.query = query.view(e);
    if (joins) {
      const Operand rope = narrowed(c.query_rope.at(b), 1, 0, rows);
      k::copy(problem.query, Columns(joined_query.view(), 0, width).view);
      k::copy(rope.view(e), Columns(joined_query.view(), width, extra).view);
      problem.query = joined_query.view();
    }
    if (collects) {
      c.gather(c.key_pool, e, b, Columns(joined_keys.view(), 0, width).view);
      if (joins) c.gather(c.rope_pool, e, b, Columns(joined_keys.view(), width, extra).view);
      c.gather(c.value_pool, e, b, joined_values.view());
      problem.key = joined_keys.view(), problem.value = joined_values.view();
    } else {
      keys = narrowed(c.own(c.keys, b), 1, 0, count), values = narrowed(c.own(c.values, b), 1, 0, count);
      problem.key = keys.view(e), problem.value = values.view(e);
      if (joins) {
        const Operand rope = narrowed(c.own(c.key_ropes, b), 1, 0, count);
        k::copy(problem.key, Columns(joined_keys.view(), 0, width).view);
        k::copy(rope.view(e), Columns(joined_keys.view(), width, extra).view);
        problem.key = joined_keys.view();
      }
    }
    problem.scale = c.scale;
    c.sparsity.apply(problem, rows, count);
    const auto part = [&](const std::optional<Operand>& of) {
      return of ? std::optional(part_for(*of, b, rows, count)) : std::nullopt;
    };
    const std::optional<Operand> bias_part = part(c.bias), mask_part = part(c.mask);
    const OptionalView bias(bias_part, e), mask(mask_part, e);
    problem.bias = bias.get(), problem.mask = mask.get(), problem.sink = sinks.get();
    const k::Temporary tops({c.query.heads(), rows, 1}, DType::float32),
        sums({c.query.heads(), rows, 1}, DType::float32);
    k::fused_attention(problem, out.view(e), tops.view(), sums.view());
    if (!c.wants_logsumexp) continue;
    const Operand to = narrowed(c.logsumexp.at(b), 1, 0, rows);
    const k::DenseOutput<float> logs(to.view(e));
    for (int64_t i = 0; i < c.query.heads() * rows; ++i) {
      const float sum = sums.view().as<float>()[i];
      logs[i] = sum > 0 ? tops.view().as<float>()[i] + std::log(sum) : HUGE_VALF;
    }
    logs.store();
  }
}

}  // namespace

void infer_attention(Plan& plan, const InferArguments& a) {
  auto call = std::make_shared<InferCall>();
  InferCall& c = *call;
  const Operand query = plan.input(a.query, "query");
  const std::vector<Operand> keys = tensors_of(plan, a.key, a.keys, "key"),
                             values = tensors_of(plan, a.value, a.values, "value");
  c.bias = unless_empty(plan.optional_input(a.bias, "pseShift"));
  c.mask = unless_empty(plan.optional_input(a.mask, "attenMask"));
  for (const aclTensor* tensor : a.refused)
    if (unless_empty(plan.optional_input(tensor, "scale")))
      plan.invalid(
          "quantised tensors, padding sizes and shared prefixes are not supported by the software NPU");
  c.table = unless_empty(plan.optional_input(a.block_table, "blockTable"));
  const std::optional<Operand> query_rope = unless_empty(plan.optional_input(a.query_rope, "queryRope")),
                               key_rope = unless_empty(plan.optional_input(a.key_rope, "keyRope"));
  if (query_rope.has_value() != key_rope.has_value())
    plan.null_argument(query_rope ? "keyRope" : "queryRope");
  c.sink = unless_empty(plan.optional_input(a.sink, "learnableSink"));
  const Operand out = plan.output(a.out, "attentionOut");
  const std::optional<Operand> logs = masked_output(plan, a.logsumexp, "softmaxLse", a.wants_logsumexp);

  if (a.layout == nullptr) plan.null_argument("inputLayout");
  const std::string_view both = a.layout;
  const size_t mark = both.find('_');
  const std::string_view layout = both.substr(0, mark),
                         out_layout = mark == both.npos ? both : both.substr(mark + 1);
  const bool packed = layout == "TND" || layout == "NTD";
  if (packed != (out_layout == "TND" || out_layout == "NTD"))
    plan.invalid("the layout is '", both,
                 "', which reads packed sequences and writes others, or the reverse");
  if (a.heads < 1 || a.groups < 0) plan.invalid("numHeads is ", a.heads, " and numKeyValueHeads ", a.groups);
  c.groups = a.groups == 0 ? a.heads : a.groups;
  if (a.heads % c.groups != 0) plan.invalid(a.heads, " heads cannot share ", c.groups, " of key and value");
  if (keys.empty() || keys.size() != values.size())
    plan.invalid("there are ", keys.size(), " tensors of keys and ", values.size(), " of values");
  for (const auto& [operand, name] : {std::pair{&query, "query"}, std::pair{&keys[0], "key"},
                                      std::pair{&values[0], "value"}, std::pair{&out, "attentionOut"}})
    plan.require_dtype(*operand, name, domains::floating);
  const std::vector<int64_t> ends = packed ? optional_list(a.query_lengths) : std::vector<int64_t>(),
                             key_ends = packed ? optional_list(a.key_lengths) : std::vector<int64_t>();
  c.query = HeadSequences(plan, query, "query", layout, a.heads, ends);
  c.out = HeadSequences(plan, out, "attentionOut", out_layout, a.heads, ends);
  if (query_rope) {
    plan.require_same_dtype(*query_rope, "queryRope", query, "query");
    c.query_rope = HeadSequences(plan, *query_rope, "queryRope", layout, a.heads, ends);
    c.rope_width = c.query_rope.width();
    if (c.query_rope.count() != c.query.count() ||
        (c.query.count() > 0 && c.query_rope.length(0) != c.query.length(0)))
      plan.invalid("tensor 'queryRope' has shape ", shape_text(*query_rope),
                   ", which does not fit the query of shape ", shape_text(query));
  }
  const int64_t count = c.query.count();
  int64_t longest_query = 0;
  for (int64_t b = 0; b < count; ++b) longest_query = std::max(longest_query, c.query.length(b));
  if (!packed) c.query_lengths = lengths_for(plan, a.query_lengths, "actualSeqLengths", count, longest_query);
  int64_t most = 0;
  if (c.table) {
    plan.require_ndim(*c.table, "blockTable", 2);
    plan.require_dtype(*c.table, "blockTable", k::dtype_set(DType::int32, DType::int64));
    if (c.table->sizes[0] != count)
      plan.invalid("tensor 'blockTable' has shape ", shape_text(*c.table), ", wanted a row for each of ",
                   count, " sequences");
    c.key_pool = pool_of(plan, keys[0], "key", c.groups, a.block_size);
    c.value_pool = pool_of(plan, values[0], "value", c.groups, a.block_size);
    c.rope_pool.ndim = 0;
    if (key_rope) c.rope_pool = pool_of(plan, *key_rope, "keyRope", c.groups, a.block_size);
    most = c.table->sizes[1] * a.block_size;
    c.key_lengths = lengths_for(plan, a.key_lengths, "actualSeqLengthsKv", count, most);
    if (c.key_lengths.empty()) plan.invalid("a block table needs the lengths of keys and values");
  } else {
    c.key_pool.ndim = c.value_pool.ndim = c.rope_pool.ndim = 0;
    if (key_rope) c.key_ropes.emplace_back(plan, *key_rope, "keyRope", layout, c.groups, key_ends);
    for (size_t i = 0; i < keys.size(); ++i) {
      c.keys.emplace_back(plan, keys[i], "key", layout, c.groups, key_ends);
      c.values.emplace_back(plan, values[i], "value", layout, c.groups, key_ends);
    }
    const bool fits = keys.size() == 1 ? c.keys[0].count() == count && c.values[0].count() == count
                                       : int64_t(keys.size()) == count && !packed;
    if (!fits) plan.invalid("keys and values do not have the ", count, " sequences of the query");
    for (int64_t b = 0; b < count; ++b) {
      if (c.stored_keys(b) != c.own(c.values, b).sizes[1] || c.own(c.keys, b).sizes[2] != c.query.width())
        plan.invalid("tensors 'query', 'key' and 'value' do not fit each other: ", shape_text(query), ", ",
                     shape_text(keys[0]), " and ", shape_text(values[0]));
      most = std::max(most, c.stored_keys(b));
    }
    if (!packed) c.key_lengths = lengths_for(plan, a.key_lengths, "actualSeqLengthsKv", count, most);
    for (int64_t b = 0; b < count && !c.key_lengths.empty(); ++b)
      if (c.key_lengths[size_t(b)] > c.stored_keys(b))
        plan.invalid("sequence ", b, " has ", c.stored_keys(b), " keys, not ", c.key_lengths[size_t(b)]);
  }
  if (key_rope) {
    const int64_t rope_width = c.table ? pool_width(c.rope_pool) : c.key_ropes[0].width();
    bool fits = rope_width == c.rope_width && (c.table || keys.size() == 1);
    for (int64_t b = 0; b < count && fits && !c.table; ++b)
      fits = c.key_ropes[0].count() == count && c.key_ropes[0].length(b) == c.stored_keys(b);
    if (!fits)
      plan.invalid("tensor 'keyRope' has shape ", shape_text(*key_rope),
                   ", which does not fit the keys of shape ", shape_text(keys[0]),
                   " and 'queryRope' of shape ", shape_text(*query_rope));
  }
  const int64_t value_width = c.table ? pool_width(c.value_pool) : c.values[0].width();
  if (c.out.count() != count || c.out.heads() != a.heads || c.out.width() != value_width ||
      (count > 0 && c.out.length(0) != c.query.length(0)))
    plan.invalid("tensor 'attentionOut' has shape ", shape_text(out),
                 ", which does not fit the query of shape ", shape_text(query));
  if (c.table && pool_width(c.key_pool) != c.query.width())
    plan.invalid("the blocks of keys have width ", pool_width(c.key_pool), ", wanted ", c.query.width());
  c.scale = a.scale;
  c.sparsity = Sparsity::checked(plan, a.sparse_mode, a.before, a.after, c.mask.has_value());
  if (c.mask) {
    plan.require_dtype(*c.mask, "attenMask",
                       k::dtype_set(DType::boolean, DType::uint8, DType::int8) | domains::floating);
    if (a.mask_by_batch && c.mask->ndim == 2) c.mask = unsqueezed(*c.mask, 1);
  }
  if (!c.sparsity.uses_mask()) c.mask.reset();
  for (const auto& [whole, name] : {std::pair{&c.mask, "attenMask"}, std::pair{&c.bias, "pseShift"}}) {
    if (!*whole) continue;
    const Operand& w = **whole;
    const int n = w.ndim;
    const bool fits = n >= 2 && n <= 4 && (n == 2 || w.sizes[0] == 1 || w.sizes[0] == count) &&
                      (n < 4 || w.sizes[1] == 1 || w.sizes[1] == a.heads) &&
                      (w.sizes[n - 2] == 1 || w.sizes[n - 2] >= longest_query) &&
                      (w.sizes[n - 1] == 1 || w.sizes[n - 1] >= most);
    if (!fits)
      plan.invalid("tensor '", name, "' has shape ", shape_text(w), ", which does not fit the scores");
  }
  if (c.sink) plan.require_shape(*c.sink, "learnableSink", {a.heads});
  if (logs) {
    plan.require_dtype(*logs, "softmaxLse", k::dtype_set(DType::float32));
    if (packed) plan.require_shape(*logs, "softmaxLse", {c.query.total(), a.heads, 1});
    else plan.require_shape(*logs, "softmaxLse", {count, a.heads, longest_query, 1});
    c.logsumexp = HeadSequences::statistics(plan, *logs, "softmaxLse", packed, ends);
    c.wants_logsumexp = true;
  }
  plan.run([call = std::shared_ptr<const InferCall>(call)](const aclOpExecutor& e) { run(*call, e); });
}

}  // namespace softnpu::ops

// FlashAttentionScore and its gradient.
#include "ops/attention/flash.h"
#include "kernels/attention/fused.h"
#include "kernels/common/accumulate.h"
#include "ops/attention/call.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// What both directions check and run.
struct Score {
  HeadSequences query, key, value;
  std::optional<Operand> bias, slopes, drop, mask, sink;
  std::optional<Operand> grad, max, sum, out;
  Sparsity sparsity;
  double scale, keep;
  int64_t ahead;
  bool bias_is_scaled, root_of_distance;
  std::vector<int64_t> query_ends, key_ends;
  std::string layout;

  int64_t bits(int64_t sequence) const {
    return query.heads() * query.length(sequence) * key.length(sequence);
  }

  // Calls f(sequence, its problem).
  template <class F>
  void for_each(const aclOpExecutor& e, const F& f) const {
    const OptionalDense keep_bits(drop, e, k::Access::read);
    const OptionalView sinks(sink, e);
    int64_t first_bit = 0;
    for (int64_t b = 0; b < query.count(); first_bit += bits(b++)) {
      k::FusedAttention problem;
      const Operand q = query.at(b), keys = key.at(b), values = value.at(b);
      problem.query = q.view(e), problem.key = keys.view(e), problem.value = values.view(e);
      problem.scale = scale, problem.bias_is_scaled = bias_is_scaled;
      sparsity.apply(problem, query.length(b), key.length(b));
      const auto part = [&](const std::optional<Operand>& whole) {
        return whole ? std::optional(part_for(*whole, b, query.length(b), key.length(b))) : std::nullopt;
      };
      const std::optional<Operand> bias_part = part(bias), mask_part = part(mask);
      const OptionalView bias_view(bias_part, e), mask_view(mask_part, e);
      std::optional<Operand> slope_part = slopes;
      if (slopes && slopes->ndim == 2) slope_part = selected(*slopes, 0, std::min(b, slopes->sizes[0] - 1));
      const OptionalView slope_view(slope_part, e);
      problem.bias = bias_view.get(), problem.mask = mask_view.get(), problem.slopes = slope_view.get();
      problem.root_of_distance = root_of_distance, problem.ahead = ahead;
      problem.sink = sinks.get();
      if (keep_bits.get()) {
        problem.keep_bits = keep_bits.get()->as<uint8_t>();
        problem.first_bit = first_bit, problem.keep = keep;
      }
      f(b, problem);
    }
  }
};

Score read_score(Plan& plan, const ScoreArguments& a) {
  Score s;
  const Operand query = plan.input(a.query, "query"), key = plan.input(a.key, "key"),
                value = plan.input(a.value, "value");
  if (a.backward) s.grad = plan.input(a.grad, "dy");
  const std::optional<Operand> bias = unless_empty(plan.optional_input(a.bias, "realShift")),
                               drop = unless_empty(plan.optional_input(a.drop, "dropMask"));
  if (unless_empty(plan.optional_input(a.padding, "paddingMask")))
    plan.invalid("paddingMask is not supported, as on the card");
  s.mask = unless_empty(plan.optional_input(a.mask, "attenMask"));
  if (a.backward) {
    s.max = plan.input(a.max, "softmaxMax"), s.sum = plan.input(a.sum, "softmaxSum");
    plan.optional_input(a.softmax, "softmaxIn");
    s.out = plan.input(a.out, "attentionIn");
  }
  for (const aclTensor* tensor : a.refused)
    if (unless_empty(plan.optional_input(tensor, "queryRope")))
      plan.invalid("rotary parts and scales of quantised tensors are not supported by the software NPU");
  s.sink = unless_empty(plan.optional_input(a.sink, "sink"));
  for (const auto& [operand, name] :
       {std::pair{&query, "query"}, std::pair{&key, "key"}, std::pair{&value, "value"}})
    plan.require_dtype(*operand, name, domains::floating);
  plan.require_same_dtype(query, "query", key, "key");
  plan.require_same_dtype(query, "query", value, "value");
  if (a.layout == nullptr) plan.null_argument("inputLayout");
  if (!(a.keep >= 0 && a.keep <= 1)) plan.invalid("keepProb is ", a.keep, ", wanted 0 to 1");
  if (a.heads < 1) plan.invalid("headNum is ", a.heads, ", wanted at least 1");
  s.layout = a.layout;
  s.query_ends = optional_list(a.query_lengths), s.key_ends = optional_list(a.key_lengths);
  s.query = HeadSequences(plan, query, "query", s.layout, a.heads, s.query_ends);
  // The heads of key and value follow from the width, which is the query's.
  const bool hidden = s.layout == "BSH" || s.layout == "SBH";
  const int64_t groups = hidden ? key.sizes[2] / std::max<int64_t>(s.query.width(), 1)
                                : key.sizes[s.layout == "BNSD" || s.layout == "TND" ? 1 : 2];
  s.key = HeadSequences(plan, key, "key", s.layout, groups, s.key_ends);
  s.value = HeadSequences(plan, value, "value", s.layout, groups, s.key_ends);
  if (groups < 1 || a.heads % groups != 0 || s.key.width() != s.query.width() ||
      s.key.count() != s.query.count() || s.value.count() != s.query.count() ||
      (s.query.count() > 0 && s.value.length(0) != s.key.length(0)))
    plan.invalid("tensors 'query', 'key' and 'value' of shapes ", shape_text(query), ", ", shape_text(key),
                 " and ", shape_text(value), " in layout ", s.layout, " do not fit each other with ", a.heads,
                 " heads");
  s.scale = a.scale, s.keep = a.keep;
  s.sparsity = Sparsity::checked(plan, a.sparse_mode, a.before, a.after, s.mask.has_value());
  if (s.mask) plan.require_dtype(*s.mask, "attenMask", k::dtype_set(DType::boolean, DType::uint8));
  if (!s.sparsity.uses_mask()) s.mask.reset();
  if (s.mask) require_part(plan, *s.mask, "attenMask", s.query, s.key);
  if (s.sink) plan.require_shape(*s.sink, "sink", {a.heads});
  if (a.bias_type < 0 || a.bias_type > 3) plan.invalid("pseType is ", a.bias_type, ", wanted 0 to 3");
  s.bias_is_scaled = a.bias_type == 1, s.root_of_distance = a.bias_type == 3;
  const std::vector<int64_t> start = optional_list(a.query_start), key_start = optional_list(a.key_start);
  s.ahead = (start.empty() ? 0 : start[0]) - (key_start.empty() ? 0 : key_start[0]);
  if (bias && a.bias_type >= 2) {
    const bool fits = bias->ndim >= 1 && bias->ndim <= 2 && bias->sizes[bias->ndim - 1] == a.heads;
    if (!fits)
      plan.invalid("tensor 'realShift' has shape ", shape_text(*bias), ", wanted the slopes of ", a.heads,
                   " heads");
    s.slopes = bias;
  } else if (bias) {
    plan.require_dtype(*bias, "realShift", domains::floating);
    require_part(plan, *bias, "realShift", s.query, s.key);
    s.bias = bias;
  }
  if (a.keep < 1) {
    if (!drop) plan.invalid("keepProb is ", a.keep, ", so dropMask must not be NULL");
    plan.require_dtype(*drop, "dropMask", k::dtype_set(DType::uint8));
    int64_t bits = 0;
    for (int64_t b = 0; b < s.query.count(); ++b) bits += s.bits(b);
    if (drop->numel() * 8 < bits)
      plan.invalid("tensor 'dropMask' has ", drop->numel(), " bytes, wanted a bit for each of ", bits,
                   " scores");
    s.drop = drop;
  }
  return s;
}

// The rows of a result, a gradient or statistics are those of the query.
void require_rows(const Plan& plan, const HeadSequences& query, const HeadSequences& rows, const char* name) {
  bool fits = rows.count() == query.count() && rows.heads() == query.heads();
  for (int64_t b = 0; fits && b < query.count(); ++b) fits = rows.length(b) == query.length(b);
  if (!fits)
    plan.invalid("tensor '", name, "' has not the ", query.heads(), " heads and the lengths of the query");
}

HeadSequences rows_of(const Plan& plan, const Score& s, const Operand& tensor, const char* name) {
  plan.require_dtype(tensor, name, domains::floating);
  const HeadSequences rows(plan, tensor, name, s.layout, s.query.heads(), s.query_ends);
  require_rows(plan, s.query, rows, name);
  if (rows.width() != s.value.width())
    plan.invalid("tensor '", name, "' has heads of width ", rows.width(), ", wanted ", s.value.width());
  return rows;
}
HeadSequences statistics_of(const Plan& plan, const Score& s, const Operand& tensor, const char* name) {
  const HeadSequences rows = HeadSequences::statistics(plan, tensor, name, s.query.packed(), s.query_ends);
  require_rows(plan, s.query, rows, name);
  if (rows.width() < 1) plan.invalid("tensor '", name, "' has shape ", shape_text(tensor));
  return rows;
}

}  // namespace

void attention_score(Plan& plan, const ScoreArguments& arguments, const aclTensor* softmaxMax,
                     const aclTensor* softmaxSum, const aclTensor* softmaxOut,
                     const aclTensor* attentionOut) {
  const Score s = read_score(plan, arguments);
  const Operand max = plan.output(softmaxMax, "softmaxMaxOut"),
                sum = plan.output(softmaxSum, "softmaxSumOut");
  optional_output(plan, softmaxOut, "softmaxOutOut");  // reserved: nothing is written to it
  const HeadSequences result =
                          rows_of(plan, s, plan.output(attentionOut, "attentionOutOut"), "attentionOutOut"),
                      tops = statistics_of(plan, s, max, "softmaxMaxOut"),
                      sums = statistics_of(plan, s, sum, "softmaxSumOut");
  plan.run([=, s = std::make_shared<const Score>(s)](const aclOpExecutor& e) {
    s->for_each(e, [&](int64_t b, const k::FusedAttention& problem) {
      const Operand to = result.at(b), top = tops.at(b), total = sums.at(b);
      k::fused_attention(problem, to.view(e), top.view(e), total.view(e));
    });
  });
}

namespace {

struct ScoreGradients {
  HeadSequences query, key, value;
  std::optional<Operand> bias, sink;
};

HeadSequences like(const Plan& plan, const Score& s, const HeadSequences& model,
                   const std::vector<int64_t>& ends, const Operand& tensor, const char* name) {
  plan.require_dtype(tensor, name, domains::floating);
  const HeadSequences result(plan, tensor, name, s.layout, model.heads(), ends);
  if (result.shape() != model.shape())
    plan.invalid("tensor '", name, "' has shape ", shape_text(tensor), ", which is not that of its tensor");
  return result;
}

}  // namespace

void attention_score_backward(Plan& plan, ScoreArguments arguments, const aclTensor* dqOut,
                              const aclTensor* dkOut, const aclTensor* dvOut, const aclTensor* dpseOut,
                              const aclTensor* dsinkOut) {
  arguments.backward = true;
  const Score s = read_score(plan, arguments);
  ScoreGradients to;
  to.query = like(plan, s, s.query, s.query_ends, plan.output(dqOut, "dqOut"), "dqOut");
  to.key = like(plan, s, s.key, s.key_ends, plan.output(dkOut, "dkOut"), "dkOut");
  to.value = like(plan, s, s.value, s.key_ends, plan.output(dvOut, "dvOut"), "dvOut");
  to.bias = unless_empty(optional_output(plan, dpseOut, "dpseOut"));
  to.sink = unless_empty(optional_output(plan, dsinkOut, "dsinkOut"));
  if (!s.bias) to.bias.reset();
  if (to.bias) plan.require_same_shape(*to.bias, "dpseOut", *s.bias, "pseShift");
  if (to.sink) plan.require_shape(*to.sink, "dsinkOut", {s.query.heads()});
  const HeadSequences grad = rows_of(plan, s, *s.grad, "dy"), out = rows_of(plan, s, *s.out, "attentionIn"),
                      tops = statistics_of(plan, s, *s.max, "softmaxMax"),
                      sums = statistics_of(plan, s, *s.sum, "softmaxSum");
  struct Call {
    Score score;
    ScoreGradients to;
    HeadSequences grad, out, tops, sums;
  };
  plan.run([c = std::make_shared<const Call>(Call{s, to, grad, out, tops, sums})](const aclOpExecutor& e) {
    // Gradients of what several sequences share add up.
    if (c->to.bias) k::fill(c->to.bias->view(e), 0.0);
    std::vector<double> sink_total(size_t(c->score.query.heads()));
    c->score.for_each(e, [&](int64_t b, const k::FusedAttention& problem) {
      const Operand dy = c->grad.at(b), y = c->out.at(b), top = c->tops.at(b), sum = c->sums.at(b),
                    dq = c->to.query.at(b), dk = c->to.key.at(b), dv = c->to.value.at(b);
      k::FusedAttentionGradients gradients{dq.view(e), dk.view(e), dv.view(e)};
      std::optional<Operand> bias_part;
      if (c->to.bias) bias_part = part_for(*c->to.bias, b, c->score.query.length(b), c->score.key.length(b));
      const k::Temporary bias(bias_part ? sizes_of(*bias_part) : std::vector<int64_t>{0},
                              bias_part ? bias_part->dtype : DType::float32);
      const k::Temporary sink({c->score.query.heads()}, DType::float64);
      if (bias_part) gradients.bias = &bias.view();
      if (c->to.sink) gradients.sink = &sink.view();
      k::fused_attention_backward(problem, dy.view(e), y.view(e), top.view(e), sum.view(e), gradients);
      if (bias_part) k::add_into(bias.view(), bias_part->view(e), false);
      for (size_t h = 0; c->to.sink && h < sink_total.size(); ++h)
        sink_total[h] += sink.view().as<double>()[h];
    });
    const OptionalView to_sink(c->to.sink, e);
    k::put_numbers(sink_total, to_sink.get());
  });
}

}  // namespace softnpu::ops

#include "transforms/batch.h"

#include "autograd/node.h"
#include "core/intercept.h"
#include "core/warn.h"
#include "generated/ops/shape.h"
#include "generated/ops/view.h"
#include "transforms/register_transforms.h"

namespace mt::batch {
namespace {

template <class Visit>
void for_each_tensor(const Values& values, Visit visit) {
  for (const Value& value : values) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) visit(*tensor);
    else if (const auto* list = std::get_if<std::vector<Tensor>>(&value))
      for (const Tensor& t : *list)
        if (t.defined()) visit(t);
  }
}

// The values with each tensor replaced.
template <class Make>
Values replaced(const Values& values, Make make) {
  Values made(values);
  for (Value& value : made) {
    if (auto* tensor = std::get_if<Tensor>(&value)) *tensor = make(*tensor);
    else if (auto* list = std::get_if<std::vector<Tensor>>(&value))
      for (Tensor& t : *list)
        if (t.defined()) t = make(t);
  }
  return made;
}

// What lies below is wrapped as what it shares memory with was.
Tensor wrapped_again(const Tensor& value, const Values& arguments, int level, bool same_for_all) {
  Tensor found;
  for_each_tensor(arguments, [&](const Tensor& given) {
    if (!is_of(given, level)) return;
    const Transformed& state = *transformed(given);
    if (state.value.same(value)) found = given;
    else if (!found.defined() && state.value.storage_ref() == value.storage_ref())
      found = wrapped(value, level, same_for_all, &given.storage_ref());
  });
  return found.defined() ? found : wrapped(value, level, same_for_all);
}

// After a write that may have changed the shape of the batch itself (t_, resize_).
void fit(const Tensor& tensor) {
  const Transformed& state = *transformed(tensor);
  TensorImpl &to = *tensor.impl(), &from = *state.value.impl();
  const size_t skipped = state.same_for_all ? 0 : 1;
  if (std::ranges::equal(tensor.sizes(), state.value.sizes().subspan(skipped)) &&
      std::ranges::equal(tensor.strides(), state.value.strides().subspan(skipped)) &&
      to.offset == from.offset)
    return;
  to.set_ndim(from.ndim - skipped);
  std::copy_n(from.sizes() + skipped, to.ndim, to.sizes());
  std::copy_n(from.strides() + skipped, to.ndim, to.strides());
  to.offset = from.offset;
  to.refresh();
}

void check_written(const Call& call) {
  const size_t written = size_t(call.rule.written);
  if (call.batched(written)) return;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    if (i == written || !std::holds_alternative<Tensor>(call.arguments[i]) || !call.batched(i)) continue;
    refuse_write(call.op, "self", "other");
  }
}

Values intercept(const Operator& op, Values arguments, int level) {
  MT_CHECK(!std::string_view(op.overload).ends_with("out"), "Batching rule not implemented for ", op.name,
           ".", op.overload, "; the fallback path doesn't work on out= or view ops.");
  bool any = false;
  int64_t size = 0;
  for_each_tensor(arguments, [&](const Tensor& t) {
    if (is_batched(t, level)) any = true, size = value_of(t, level).sizes()[0];
  });
  if (const MappedLevel* mapped = mapped_level(level)) size = mapped->size;
  const BatchRule* rule = op.batch;
  const LevelsBelow below(level);
  if (!any && !draws(op)) {  // all slices are alike
    const Values results = op.call(replaced(arguments, [&](const Tensor& t) { return value_of(t, level); }));
    return replaced(results,
                    [&](const Tensor& value) { return wrapped_again(value, arguments, level, true); });
  }
  if (!rule) return loop(op, arguments, level, size);
  Call call{op, *rule, std::move(arguments), level, size};
  if (rule->written < 0) {
    const Values results = rule->apply(call);
    if (call.same_for_all) return results;
    return replaced(results,
                    [&](const Tensor& value) { return wrapped_again(value, call.arguments, level, false); });
  }
  check_written(call);
  rule->apply(call);
  const Tensor& written = call.given(size_t(rule->written));
  if (is_of(written, level)) fit(written);
  return {written};
}

// A second tensor outside every graph; the batch below keeps its own.
Tensor copied(const Tensor& tensor) {
  const Transformed& state = *transformed(tensor);
  Tensor made = wrapped(state.value, state.batch_level, state.same_for_all, &tensor.storage_ref());
  transformed(made)->tangents = state.tangents;
  made.impl()->special = tensor.impl()->special;
  return made;
}

}  // namespace

Fallback g_fallback;

Tensor wrapped(const Tensor& value, int level, bool same_for_all, const StorageRef* storage) {
  const size_t skipped = same_for_all ? 0 : 1;
  const IntList sizes = value.sizes().subspan(skipped), strides = value.strides().subspan(skipped);
  const auto room = [&] {
    return size_t(checked_reach(sizes, strides, value.offset(), 1)) * value.itemsize();
  };
  Tensor made = tensor_over(storage ? *storage : new_storage({DeviceType::meta}, room()), value.dtype(),
                            sizes, strides, value.offset());
  TensorImpl* impl = made.impl();
  impl->device = value.device();
  impl->wrapped_number = value.impl()->wrapped_number;
  impl->special = kBatched;
  auto state = std::make_unique<Transformed>();
  state->batch_level = level;
  state->value = value;
  state->same_for_all = same_for_all;
  autograd::leaf_state(made).transformed = std::move(state);
  return made;
}

bool is_of(const Tensor& tensor, int level) {
  return (special(tensor) & kBatched) && transformed(tensor)->batch_level == level;
}
bool is_batched(const Tensor& tensor, int level) {
  return is_of(tensor, level) && !transformed(tensor)->same_for_all;
}
const Tensor& value_of(const Tensor& tensor, int level) {
  return tensor.defined() && is_of(tensor, level) ? transformed(tensor)->value : tensor;
}

Tensor Call::batch_of(const Tensor& tensor) const {
  const Tensor& value = value_of(tensor, level);
  if (!tensor.defined() || is_batched(tensor, level)) return value;
  return ops::expand(ops::unsqueeze(value, 0), with_batch(size, value.sizes()));
}

Tensor with_rank(const Tensor& batch, int64_t rank) {
  const int64_t missing = rank - (batch.dim() - 1);
  if (missing <= 0) return batch;
  Dims sizes{batch.sizes()[0]};
  for (int64_t i = 0; i < missing; ++i) sizes.push_back(1);
  for (int64_t s : batch.sizes().subspan(1)) sizes.push_back(s);
  return ops::view(batch, sizes);
}

int64_t below(int64_t dim, int64_t rank) { return wrap_dim(dim, rank) + 1; }
Dims below(IntList dims, int64_t rank) {
  Dims made;
  for (int64_t d : dims) made.push_back(below(d, rank));
  return made;
}
Dims with_batch(int64_t size, IntList sizes) {
  Dims made{size};
  for (int64_t s : sizes) made.push_back(s);
  return made;
}

Tensor folded(const Tensor& batch) {
  Dims sizes{batch.sizes()[0] * batch.sizes()[1]};
  for (int64_t s : batch.sizes().subspan(2)) sizes.push_back(s);
  return batch.reshape(sizes);
}
Tensor unfolded(const Tensor& tensor, int64_t size) {
  MT_CHECK(size > 0, "vmap: this operator does not support vmap over dims of size 0");
  Dims sizes{size, tensor.sizes()[0] / size};
  for (int64_t s : tensor.sizes().subspan(1)) sizes.push_back(s);
  return tensor.reshape(sizes);
}

void refuse_write(const Operator& op, const char* written, const char* other) {
  const bool arithmetic = op.batch && op.batch->apply == &elementwise;
  const std::string_view name = arithmetic ? "inplace arithmetic" : op.name;
  fail(ErrorKind::runtime, "vmap: ", name, "(", written,
       ", *extra_args) is not possible because there exists a Tensor `", other,
       "` in extra_args that has more elements than `", written, "`. This happened due to `", other,
       "` being vmapped over but `", written,
       "` not being vmapped over in a vmap. Please try to use out-of-place operators instead of ", name,
       ". If said operator is being called inside the PyTorch framework, please file a bug report instead.");
}

// Note: views and writes act on the slices of the batch itself.
Values loop(const Operator& op, const Values& arguments, int level, int64_t size) {
  MT_CHECK(g_fallback.allowed.load(std::memory_order_relaxed), op.name,
           " hit the vmap fallback which is currently disabled");
  const std::string_view schema = op.schema;
  MT_CHECK(size > 0, "Batching rule not implemented for ", op.name,
           ". The fallback path does not support vmap over dims of size 0.");
  if (g_fallback.warns.load(std::memory_order_relaxed))
    warn(join_text("There is a performance drop because we have not yet implemented the batching rule for ",
                   op.name,
                   ". Please file us an issue on GitHub so that we can prioritize its implementation."));
  g_fallback.count.fetch_add(1, std::memory_order_relaxed);
  const bool writes = schema.find("(a!)") != std::string_view::npos;
  if (writes) {
    const auto* target = std::get_if<Tensor>(&arguments.at(0));
    for_each_tensor(arguments, [&](const Tensor& t) {
      if (target && is_batched(t, level) && !is_batched(*target, level)) refuse_write(op, "self", "other");
    });
  }
  std::vector<Values> parts;
  for (int64_t i = 0; i < size; ++i)
    parts.push_back(op.call(replaced(arguments, [&](const Tensor& t) {
      return is_batched(t, level) ? ops::select(value_of(t, level), 0, i) : value_of(t, level);
    })));
  Values results(parts[0].size());
  if (writes) {
    if (!results.empty()) results[0] = arguments[0];
    return results;
  }
  const auto joined = [&](auto part) {
    std::vector<Tensor> slices;
    for (const Values& each : parts) slices.push_back(part(each));
    return wrapped(ops::stack(slices, 0), level);
  };
  for (size_t r = 0; r < results.size(); ++r) {
    if (const auto* list = std::get_if<std::vector<Tensor>>(&parts[0][r])) {
      std::vector<Tensor> tensors;
      for (size_t k = 0; k < list->size(); ++k)
        tensors.push_back(
            joined([&](const Values& each) { return std::get<std::vector<Tensor>>(each[r]).at(k); }));
      results[r] = std::move(tensors);
    } else if (std::holds_alternative<Tensor>(parts[0][r])) {
      results[r] = joined([&](const Values& each) { return std::get<Tensor>(each[r]); });
    }
  }
  return results;
}

void install() {
  g_batch_interceptor = &intercept;
  g_copy_transformed = &copied;
  register_rules();
}

}  // namespace mt::batch

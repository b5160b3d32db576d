// The rules that many operators share.
#include "generated/ops/copy.h"
#include "generated/ops/view.h"
#include "infer/infer.h"
#include "transforms/batch.h"

namespace mt::batch {
namespace {

int64_t highest_rank(const Call& call) {
  int64_t rank = 0;
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (const auto* tensor = std::get_if<Tensor>(&call.arguments[i])) rank = std::max(rank, tensor->dim());
  return rank;
}

// Memory formats speak of images; a batch of images has one more dimension.
void plain_format(Value& value) {
  if (const auto* format = std::get_if<MemoryFormat>(&value); format && *format != MemoryFormat::preserve)
    value = MemoryFormat::contiguous;
}

// What operands with dimensions are promoted to; nothing if there are none.
std::optional<DType> promoted(const Call& call) {
  std::optional<DType> dtype;
  for (const Value& value : call.arguments)
    if (const auto* t = std::get_if<Tensor>(&value); t && t->dim() > 0)
      dtype = dtype ? promote(*dtype, t->dtype()) : t->dtype();
  return dtype;
}

// The batches of all tensors, with at least `rank` dimensions in a slice.
void batch_all(const Call& call, Values& values, int64_t rank) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::holds_alternative<Tensor>(values[i])) values[i] = with_rank(call.batch(i), rank);
    else if (auto* list = std::get_if<std::vector<Tensor>>(&values[i]))
      for (Tensor& t : *list)
        if (t.defined()) t = with_rank(call.batch_of(t), rank);
    plain_format(values[i]);
  }
}

template <class Change>
Values changed(Values&& results, Change change) {
  for (Value& value : results) {
    if (auto* tensor = std::get_if<Tensor>(&value)) *tensor = change(*tensor);
    else if (auto* list = std::get_if<std::vector<Tensor>>(&value))
      for (Tensor& t : *list) t = change(t);
  }
  return std::move(results);
}

}  // namespace

// A slice without dimensions counts as a number in promotion; its batch has one, so it is cast beforehand.
Values elementwise(Call& call) {
  const int64_t rank = highest_rank(call);
  const std::optional<DType> wanted = promoted(call);
  Values values(call.arguments);
  for (size_t i = 0; i < values.size(); ++i) {
    plain_format(values[i]);
    auto* tensor = std::get_if<Tensor>(&values[i]);
    if (!tensor) continue;
    const bool batched = is_batched(*tensor, call.level);
    const bool number = tensor->dim() == 0;
    const bool is_written = int(i) == call.rule.written;
    Tensor value = value_of(*tensor, call.level);
    if (batched && !is_written) value = with_rank(value, rank);
    if (number && batched && wanted && !is_written && value.dtype() != DType::boolean &&
        value.dtype() != *wanted && category(value.dtype()) <= category(*wanted))
      value = ops::_to_copy(value, *wanted);
    if (number && !batched && !wanted && !value.impl()->wrapped_number) value = ops::unsqueeze(value, 0);
    *tensor = std::move(value);
  }
  return call.run(std::move(values));
}

Values dims(Call& call) {
  const int64_t rank = highest_rank(call), inside = std::max<int64_t>(rank, 1);
  Values values(call.arguments);
  batch_all(call, values, inside);
  for (size_t i = 0; i < values.size(); ++i) {
    switch (call.role(i)) {
      case 'd': values[i] = below(std::get<int64_t>(values[i]), inside); break;
      case 'D': values[i] = below(std::get<Dims>(values[i]), inside); break;
      case 's': values[i] = with_batch(call.size, std::get<Dims>(values[i])); break;
      case 'A': {
        const auto* given = std::get_if<Dims>(&values[i]);
        Dims made = given ? below(*given, inside) : Dims();
        for (int64_t d = 1; (!given || given->empty()) && d <= inside; ++d) made.push_back(d);
        values[i] = made;
        break;
      }
    }
  }
  Values results = call.run(std::move(values));
  if (rank > 0) return results;
  return changed(std::move(results),
                 [&](const Tensor& t) { return t.dim() == 2 ? ops::view(t, with_batch(call.size, {})) : t; });
}

Values leading(Call& call) {
  Values values(call.arguments);
  batch_all(call, values, 0);
  for (size_t i = 0; i < values.size(); ++i)
    if (call.role(i) == 's') values[i] = with_batch(call.size, std::get<Dims>(values[i]));
  return call.run(std::move(values));
}

Values fold(Call& call) {
  Values values(call.arguments);
  batch_all(call, values, 1);
  int64_t inner = -1;  // how many of a slice are folded: the batch may be empty
  for (size_t i = 0; i < values.size(); ++i) {
    if (auto* tensor = std::get_if<Tensor>(&values[i])) {
      if (inner < 0) inner = tensor->sizes()[1];
      *tensor = folded(*tensor);
    } else if (call.role(i) == 's') std::get<Dims>(values[i])[0] *= call.size;
  }
  return changed(call.run(std::move(values)), [&](const Tensor& t) {
    Dims sizes{call.size, inner};
    for (int64_t s : t.sizes().subspan(1)) sizes.push_back(s);
    return t.reshape(sizes);
  });
}

Values by_slices(Call& call) {
  return changed(loop(call.op, call.arguments, call.level, call.size),
                 [&](const Tensor& t) { return value_of(t, call.level); });
}

}  // namespace mt::batch

// Note [Forward mode] in forward.h.
#include "transforms/forward.h"

#include "autograd/node.h"
#include "core/intercept.h"
#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/view.h"
#include "transforms/forward_rule.h"

namespace mt::forward {
namespace {

bool is_out(const Operator& op) {
  const std::string_view overload = op.overload;
  return overload == "out" || overload.ends_with("_out");
}

// Which argument an operator writes, -1 for none; lists are counted too.
int written_by(const Operator& op) {
  const std::string_view schema = op.schema;
  const size_t mark = schema.find("!)");
  if (mark == std::string_view::npos || mark > schema.rfind("->")) return -1;
  int index = 0;
  bool keywords = false;
  for (size_t i = 1; i < mark; ++i) {
    index += schema[i] == ',';
    keywords |= schema.substr(i, 3) == "*, ";
  }
  return index - int(keywords);
}

// The operator with a result of its own that one in place does the same as.
const Operator* with_fresh_result(const Operator& op) {
  const std::string_view name = op.name;
  return name.ends_with('_') ? find_operator(name.substr(0, name.size() - 1), op.overload) : nullptr;
}

Value tangent_of_value(const Value& value, int level, bool view) {
  if (const auto* tensor = std::get_if<Tensor>(&value))
    return boxed(view ? tangent_to_view(*tensor, level) : tangent_of(*tensor, level));
  const auto* list = std::get_if<std::vector<Tensor>>(&value);
  if (!list) return {};
  std::vector<Tensor> found;
  bool any = false;
  for (const Tensor& t : *list) {
    found.push_back(tangent_of(t, level));
    any |= found.back().defined();
  }
  return any ? Value(std::move(found)) : Value();
}

Values tangents_of(const Values& arguments, int level, bool view) {
  Values found;
  found.reserve(arguments.size());
  for (const Value& each : arguments) found.push_back(tangent_of_value(each, level, view));
  return found;
}

template <class F>
void for_each_tensor(const Values& values, F&& call) {
  for (const Value& value : values) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) call(*tensor);
    else if (const auto* list = std::get_if<std::vector<Tensor>>(&value))
      for (const Tensor& t : *list)
        if (t.defined()) call(t);
  }
}

bool any_differentiable(const Values& results) {
  bool any = false;
  for_each_tensor(results, [&](const Tensor& t) { any |= is_differentiable(t.dtype()); });
  return any;
}

// The tensor that holds the numbers.
const Tensor& held(const Tensor& tensor) {
  const Tensor* at = &tensor;
  while (special(*at) & kBatched) at = &transformed(*at)->value;
  return *at;
}

bool shares_memory(const Tensor& tensor, const Values& others) {
  bool shares = false;
  const StorageRef& own = held(tensor).storage_ref();
  for_each_tensor(others, [&](const Tensor& t) { shares |= held(t).storage_ref() == own; });
  return shares;
}

void attach(const Tensor& result, const Tensor& made, const Values& arguments, const Values& tangents,
            int level) {
  if (!made.defined() || !is_differentiable(result.dtype())) return;
  Tensor tangent = fitted(made, result);
  // x + 1 moves as x does, but writing to its tangent must not write to that of x.
  if ((shares_memory(tangent, tangents) || shares_memory(tangent, arguments)) &&
      !shares_memory(result, arguments))
    tangent = ops::clone(tangent, std::nullopt);
  set_tangent(result, tangent, level);
}

void attach_all(const Values& results, const Values& made, const Values& arguments, const Values& tangents,
                int level) {
  for (size_t i = 0; i < results.size() && i < made.size(); ++i) {
    if (is_none(made[i])) continue;
    if (const auto* result = std::get_if<Tensor>(&results[i])) {
      attach(*result, tensor_in(made[i]), arguments, tangents, level);
    } else if (const auto* list = std::get_if<std::vector<Tensor>>(&results[i])) {
      const auto& parts = std::get<std::vector<Tensor>>(made[i]);
      for (size_t k = 0; k < list->size(); ++k) attach((*list)[k], parts.at(k), arguments, tangents, level);
    }
  }
}

// The arguments with copies of those that the write changes, if they are read afterwards.
Values before_write(Values arguments, int at, bool reads_written) {
  const Tensor written = tensor_in(arguments[size_t(at)]);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* tensor = std::get_if<Tensor>(&arguments[i]);
    if (!tensor ||
        !(int(i) == at ? reads_written : held(*tensor).storage_ref() == held(written).storage_ref()))
      continue;
    arguments[i] = ops::clone(*tensor, std::nullopt);
  }
  return arguments;
}

Values write_in_place(const Operator& op, Values arguments, int at, int level) {
  const auto* target = std::get_if<Tensor>(&arguments.at(size_t(at)));
  const Operator* fresh = op.forward ? nullptr : with_fresh_result(op);
  if (!target || (!op.forward && !fresh)) refuse(op.name, kNotImplemented);
  const Tensor written = *target;
  const Values tangents = tangents_of(arguments, level, false);
  const Values before = before_write(arguments, at, fresh || op.forward->reads_written);
  Values results = op.call(arguments);
  if (!is_differentiable(written.dtype())) return results;
  const Values made = op.forward ? op.forward->tangents(before, tangents, {Value(written)})
                                 : tangents_by_gradient(*fresh, before, tangents);
  const Tensor& tangent = made.empty() ? Tensor() : tensor_in(made[0]);
  Tensor own = tangent.defined() ? fitted(tangent, written) : tangent;
  if (own.defined() && !(op.forward && op.forward->is_view) && shares_memory(own, tangents))
    own = ops::clone(own, std::nullopt);
  write_tangent(written, own, level);
  return results;
}

}  // namespace

void refuse(std::string_view op, const char* why) {
  fail(ErrorKind::not_implemented, "Trying to use forward AD with ", op.substr(op.find("::") + 2),
       " that does not support it because ", why);
}

Tensor tangent_or_zeros(const Value& tangent, const Tensor& argument) {
  if (!is_none(tangent)) return tensor_in(tangent);
  return argument.defined() ? ops::zeros_like(argument, std::nullopt, TensorOptions{}) : Tensor();
}

std::vector<Tensor> tangent_or_zeros(const Value& tangent, TensorList arguments) {
  std::vector<Tensor> made;
  const auto* given = std::get_if<std::vector<Tensor>>(&tangent);
  for (size_t i = 0; i < arguments.size(); ++i)
    made.push_back(given && (*given)[i].defined() ? (*given)[i] : tangent_or_zeros(Value(), arguments[i]));
  return made;
}

void Terms::add(const Tensor& term) {
  if (term.defined()) sum_ = sum_.defined() ? ops::add(sum_, term) : term;
}

Value Terms::total() const { return boxed(sum_); }

Tensor picked(const Tensor& self, int64_t dim, const Tensor& indices, bool keepdim) {
  if (self.dim() == 0) return self;
  if (keepdim) return ops::gather(self, dim, indices);
  return ops::squeeze(ops::gather(self, dim, ops::unsqueeze(indices, dim)), dim);
}

Values forward_interceptor(const Operator& op, Values arguments, int level) {
  const LevelsBelow below(level);
  if (is_out(op)) refuse(std::string(op.name) + "_out", "it is an out= function");
  if (const int at = written_by(op); at >= 0) return write_in_place(op, std::move(arguments), at, level);
  Values results = op.call(arguments);
  if (!any_differentiable(results)) return results;
  const Values tangents = tangents_of(arguments, level, op.forward && op.forward->is_view);
  const Values made = op.forward ? op.forward->tangents(arguments, tangents, results)
                                 : tangents_by_gradient(op, arguments, tangents);
  attach_all(results, made, arguments, tangents, level);
  return results;
}

}  // namespace mt::forward

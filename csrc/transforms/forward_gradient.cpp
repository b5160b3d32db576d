// Tangents of operators whose rows say nothing of them.
//
// Note [Tangents by gradients]
// The gradient of an operator is linear in the gradients u of its results: v = Jᵀu. So the gradient of <v, t> with
// respect to u is J t, the tangent of the results where the arguments move along t. That takes an operator whose
// gradient can be differentiated, and runs it once more.
#include <string_view>

#include "autograd/engine.h"
#include "generated/ops/creation.h"
#include "generated/ops/view.h"
#include "transforms/forward.h"
#include "transforms/forward_rule.h"

namespace mt::forward {
namespace {

class GradMode {
 public:
  explicit GradMode(bool on) : before_(std::exchange(thread_state().grad_enabled, on)) {}
  ~GradMode() { thread_state().grad_enabled = before_; }
  GradMode(const GradMode&) = delete;
  bool before() const { return before_; }

 private:
  bool before_;
};

// The argument at the head of a graph, which goes on to where the argument came from if history is kept.
Tensor differentiated(const Tensor& argument, bool keeps_history) {
  const GradMode mode(keeps_history);
  const Tensor made = ops::alias(argument);
  if (!made.requires_grad()) made.impl()->requires_grad = true;  // also where only its base does
  return made;
}

struct Inputs {
  std::vector<Tensor> tensors, directions;
  bool keeps_history;

  Tensor take(const Tensor& argument, const Tensor& tangent) {
    if (!tangent.defined()) return argument;
    tensors.push_back(differentiated(argument, keeps_history));
    directions.push_back(tangent);
    return tensors.back();
  }
};

Value taken(Inputs& inputs, const Value& argument, const Value& tangent) {
  if (const auto* tensor = std::get_if<Tensor>(&tangent)) return inputs.take(tensor_in(argument), *tensor);
  const auto* tangents = std::get_if<std::vector<Tensor>>(&tangent);
  if (!tangents) return argument;
  std::vector<Tensor> list = std::get<std::vector<Tensor>>(argument);
  for (size_t i = 0; i < list.size(); ++i) list[i] = inputs.take(list[i], (*tangents)[i]);
  return list;
}

bool has_gradient(const Operator& op, const Tensor& result) {
  if (!result.defined() || !autograd::requires_grad(result) || !is_differentiable(result.dtype()))
    return false;
  const auto* node = static_cast<const autograd::Node*>(result.impl()->grad_fn);
  if (!node) return false;
  if (std::string_view(node->name()) == "NotImplemented") refuse(op.name, kNotImplemented);
  return true;
}

}  // namespace

Values tangents_by_gradient(const Operator& op, const Values& arguments, const Values& tangents) {
  // It would draw other numbers than the operator did.
  if (std::string_view(op.schema).find("Generator") != std::string_view::npos)
    refuse(op.name, kNotImplemented);
  const GradMode mode(true);
  Inputs inputs{{}, {}, mode.before()};
  Values given;
  for (size_t i = 0; i < arguments.size(); ++i) given.push_back(taken(inputs, arguments[i], tangents[i]));
  const Values results = op.call(given);

  std::vector<Tensor> outputs, weights;
  const auto weight = [&](const Tensor& result) {
    if (!has_gradient(op, result)) return;
    outputs.push_back(result);
    weights.push_back(ops::zeros_like(result, std::nullopt, TensorOptions{}));
    weights.back().impl()->requires_grad = true;
  };
  for (const Value& value : results) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) weight(*tensor);
    else if (const auto* list = std::get_if<std::vector<Tensor>>(&value))
      for (const Tensor& t : *list) weight(t);
  }
  if (outputs.empty()) return {};

  autograd::BackwardOptions options{.retain_graph = true, .create_graph = true, .allow_unused = true};
  const std::vector<Tensor> gradients = autograd::grad(outputs, weights, inputs.tensors, options);
  std::vector<Tensor> roots, directions;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined() || !autograd::requires_grad(gradients[i])) continue;
    roots.push_back(gradients[i]);
    directions.push_back(fitted(inputs.directions[i], gradients[i]));
  }
  if (roots.empty()) return {};
  options.create_graph = mode.before();
  std::vector<Tensor> moved = autograd::grad(roots, directions, weights, options);

  Values made;
  size_t next = 0;
  const auto tangent = [&](const Tensor& result) {
    return has_gradient(op, result) ? moved[next++] : Tensor();
  };
  for (const Value& value : results) {
    if (const auto* list = std::get_if<std::vector<Tensor>>(&value)) {
      std::vector<Tensor> parts;
      for (const Tensor& t : *list) parts.push_back(tangent(t));
      made.emplace_back(std::move(parts));
    } else {
      made.push_back(boxed(tangent(tensor_in(value))));
    }
  }
  return made;
}

}  // namespace mt::forward

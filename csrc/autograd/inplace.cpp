// In-place writes and views.
//
// Note [Views and in-place writes]
// A view remembers its base. A write through the view changes the base, so the base's history must say so: it
// becomes CopySlices, which runs the write's node on the window's gradient and leaves the rest alone. The
// histories of the base's other views are then out of date; each is rebuilt as a window of the base when it is
// next asked for, which is noticed by the version counter they share. That makes a tensor that requires a gradient of
// a view that was made before its base had any history. Views whose history cannot be rebuilt are refused instead, as
// in PyTorch: of those that one node made together (unbind, split) the others would be left with the node, one that a
// Function made would lose the Function's backward, and one that was made where nothing was recorded (no_grad,
// inference mode) says by that that its writes are not to be seen. Views of such views are like them.
// A change of the window alone (transpose_) writes nothing: only the view's own history gets a node.
#include "autograd/operation_name.h"
#include "core/copy_on_write.h"
#include "core/views.h"
#include "generated/ops/binary.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/view.h"

namespace mt::autograd {
namespace {

// The window `view` had on `base`, on a tensor that lies like `base` in a storage of its own. A view may see the
// parts of complex numbers, or pairs of reals as complex numbers; its offset and strides then count its own elements.
Tensor window_on(const Tensor& whole, const Geometry& base, const Geometry& view) {
  if (is_complex(base.dtype) == is_complex(view.dtype))
    return ops::as_strided(whole, view.sizes, view.strides, view.offset - base.offset);
  if (is_complex(base.dtype))
    return ops::as_strided(ops::view_as_real(whole), view.sizes, view.strides, view.offset - 2 * base.offset);
  Dims sizes(view.sizes), strides(view.strides);
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2), strides.push_back(1);
  return ops::view_as_complex(ops::as_strided(whole, sizes, strides, 2 * view.offset - base.offset));
}

class CopySlices final : public Node {
 public:
  CopySlices(const Tensor& base, const Tensor& view, NodeRef&& write)
      : base_(geometry_of(base)), view_(geometry_of(view)), write_(std::move(write)) {
    connect(edges, base);
    Node* inner = this->write();
    for (size_t i = 1; i < inner->edges.size(); ++i) {
      const Edge& edge = inner->edges[i];
      if (edge.node) edges.add(NodeRef::share(edge.node), edge.input);
      else edges.add_none();
    }
  }
  const char* name() const override { return "CopySlices"; }
  void release_saved() override { write()->release_saved(); }

  void apply(Grads grads, Grads out, uint64_t wanted) override {
    if (!grads[0].defined()) return;
    Tensor whole = ops::new_empty_strided(grads[0], base_.sizes, base_.strides);
    ops::copy_(whole, grads[0], false);
    const Tensor part = window_on(whole, base_, view_);
    Node* inner = write();
    std::vector<Tensor> into(1), made(inner->edges.size());
    into[0] = ops::clone(part, std::nullopt);
    // Where the window had no history, the write saved nothing for it.
    const bool had_history = inner->edges.size() > 0 && inner->edges[0].node;
    inner->apply(into, made, had_history ? wanted : wanted & ~uint64_t(1));
    if (wants(wanted, 0)) {
      if (!made.empty() && made[0].defined()) ops::copy_(part, made[0], false);
      else ops::zero_(part);
      out[0] = whole;
    }
    for (size_t i = 1; i < made.size(); ++i) out[i] = std::move(made[i]);
  }

 private:
  Node* write() { return static_cast<Node*>(write_.get()); }
  Geometry base_, view_;
  NodeRef write_;
};

// The history of a view, derived from its base's present one.
class WindowOfBase final : public Node {
 public:
  WindowOfBase(const Tensor& base, const Tensor& view) : base_(geometry_of(base)), view_(geometry_of(view)) {
    connect(edges, base);
  }
  const char* name() const override { return "AsStridedBackward0"; }
  void apply(Grads grads, Grads out, uint64_t) override {
    if (!grads[0].defined()) return;
    Tensor whole = ops::new_empty_strided(grads[0], base_.sizes, base_.strides, {base_.dtype});
    ops::zero_(whole);
    ops::copy_(window_on(whole, base_, view_), grads[0], false);
    out[0] = whole;
  }

 private:
  Geometry base_, view_;
};

// Adds the hook that keeps the gradient, at the node that makes the tensor now.
void add_retaining_hook(const Tensor& tensor, LeafState& state) {
  state.retaining_hook =
      static_cast<Node*>(tensor.impl()->grad_fn)
          ->add_pre_hook(
              tensor.impl()->output_nr,
              [token = std::weak_ptr(state.token)](const Tensor& grad) {
                if (const auto alive = token.lock(); alive && grad.defined()) {
                  Tensor& kept = (*alive)->grad;
                  kept = kept.defined() ? ops::add(kept, grad) : ops::clone(grad, std::nullopt);
                }
                return Tensor();
              },
              true);
}

void replace_grad_fn(const Tensor& tensor, Node* node, uint32_t output) {
  TensorImpl* impl = tensor.impl();
  LeafState* state = find_leaf_state(tensor);
  const bool retains = state && state->retains_grad;
  if (retains && impl->grad_fn) static_cast<Node*>(impl->grad_fn)->remove_hook(state->retaining_hook);
  NodeRef::retain(node);
  NodeRef::release(impl->grad_fn);
  impl->grad_fn = node;
  impl->output_nr = output;
  impl->view_version = tensor.version();
  if (retains) add_retaining_hook(tensor, *state);
}

// What a write that changes the history of this view is told; `indirect` if it was a write to its base.
[[noreturn]] void refuse_write(const TensorImpl& view, bool indirect) {
  const ViewMaking making = view.view_making;
  const bool in_mode = making == ViewMaking::in_inference || making == ViewMaking::without_grad;
  const char* how = indirect ? "its base or another view of its base has been" : "is being";
  std::string what = "A view was created in";
  if (view.grad_fn)
    what = join_text("Output ", view.output_nr, " of ", operation_name(*static_cast<Node*>(view.grad_fn)),
                     in_mode ? " is a view of a view which was created in" : " is a view and ");
  if (making == ViewMaking::in_inference)
    what += join_text(" inference mode and ", how, " modified inplace in normal mode.");
  else if (in_mode || !view.grad_fn)
    what += join_text(" no_grad mode and ", how, " modified inplace with grad mode enabled.");
  else what += join_text(how, " modified inplace.");
  if (in_mode) {
    const char* block = making == ViewMaking::without_grad ? "no_grad" : "inference_mode";
    what += join_text(
        " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code "
        "by moving both the view and the inplace either both inside the ",
        block,
        " block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
        "tracked).");
  } else if (making == ViewMaking::one_of_many) {
    what +=
        " This view is the output of a function that returns multiple views. Such functions do not allow the "
        "output views to be modified inplace. You should replace the inplace operation by an out-of-place "
        "one.";
  } else {
    what +=
        " This view was created inside a custom Function (or because an input was returned as-is) and the "
        "autograd logic to handle view+inplace would override the custom backward associated with the custom "
        "Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning "
        "the output of the custom Function.";
  }
  fail(ErrorKind::runtime, what);
}

}  // namespace

void as_view(const Tensor& base, const Tensor& view) {
  if (base.storage().made_in_inference()) return;  // nobody keeps track of such tensors
  TensorImpl* root = base.impl()->base ? base.impl()->base : base.impl();
  Ref<TensorImpl>::retain(root);
  view.impl()->base = root;
  view.impl()->view_version = base.version();
  const ThreadState& thread = thread_state();
  if (thread.grad_enabled) [[likely]]
    view.impl()->view_making = base.impl()->view_making;
  else view.impl()->view_making = thread.inference ? ViewMaking::in_inference : ViewMaking::without_grad;
}

void as_views(const Tensor& base, TensorList views) {
  for (const Tensor& view : views) {
    as_view(base, view);
    if (grad_mode() && view.is_view()) view.impl()->view_making = ViewMaking::one_of_many;
  }
}

void adopt_view(const Tensor& base, const Tensor& view) {
  if (view.same(base) || view.storage_ref() != base.storage_ref()) return;
  if (TensorImpl* before = std::exchange(view.impl()->base, nullptr)) Ref<TensorImpl>::release(before);
  as_view(base, view);
}

void adopt_views(const Tensor& base, TensorList views) {
  for (const Tensor& view : views) {
    adopt_view(base, view);
    if (grad_mode()) view.impl()->view_making = ViewMaking::one_of_many;
  }
}

void with_own_versions(std::vector<Tensor>& windows) {
  for (Tensor& window : windows) window = shallow_copy(window, true);
}

[[gnu::hot]] Node* current_grad_fn(const Tensor& tensor) {
  TensorImpl* impl = tensor.impl();
  if (impl->base && impl->view_version != tensor.version()) [[unlikely]] {
    const Tensor base = Tensor::share(impl->base);
    if (impl->view_making != ViewMaking::plain && (impl->grad_fn || base.requires_grad()))
      refuse_write(*impl, true);
    if (base.requires_grad() && base.impl()->grad_fn) {
      WindowOfBase* node;
      const NodeRef ref = new_node(node, base, tensor);
      node->sequence =
          static_cast<Node*>(base.impl()->grad_fn)->sequence + 1;  // older than whoever asks for it
      replace_grad_fn(tensor, node, node->add_output(tensor));
    }
  }
  return static_cast<Node*>(impl->grad_fn);
}

void check_inplace_in_graph(const Tensor& self) {
  const TensorImpl* impl = self.impl();
  before_write(*impl->storage);
  check_inference_write(self);
  if (!grad_mode()) return;
  MT_CHECK(!(impl->requires_grad && !impl->grad_fn),
           "a leaf Variable that requires grad is being used in an in-place operation.");
  if (!impl->base) return;
  if (requires_grad(self)) check_rebase(self);
  MT_CHECK(!(impl->base->requires_grad && !impl->base->grad_fn),
           "a view of a leaf Variable that requires grad is being used in an in-place operation.");
}

void check_rebase(const Tensor& self) {
  const TensorImpl* impl = self.impl();
  if (impl->base && impl->view_making != ViewMaking::plain) refuse_write(*impl, false);
}

void retain_grad(const Tensor& tensor) {
  LeafState& state = leaf_state(tensor);
  if (is_leaf(tensor) || state.retains_grad) return;
  current_grad_fn(tensor);
  state.retains_grad = true;
  // The hook must not keep the tensor alive (the tensor owns the node); the graph may outlive the tensor.
  state.token = std::make_shared<LeafState*>(&state);
  add_retaining_hook(tensor, state);
}

void rebase_history(const Tensor& self, NodeRef&& node) {
  Node* write = static_cast<Node*>(node.get());
  if (self.impl()->base) {
    const Tensor base = Tensor::share(self.impl()->base);
    CopySlices* slices;
    write->add_output(self);
    const NodeRef ref = new_node(slices, base, self, std::move(node));
    slices->device = write->device;
    replace_grad_fn(base, slices, slices->add_output(base));
    slices->runs_on(base.device());
    WindowOfBase* window;
    const NodeRef window_ref = new_node(window, base, self);
    replace_grad_fn(self, window, window->add_output(self));
    return;
  }
  change_history(self, std::move(node));
}

void change_history(const Tensor& self, NodeRef&& node) {
  Node* change = static_cast<Node*>(node.get());
  replace_grad_fn(self, change, change->add_output(self));
  change->runs_on(self.device());
}

}  // namespace mt::autograd

#include "autograd/node.h"

#include <algorithm>
#include <atomic>

#include "autograd/accumulate.h"
#include "autograd/engine.h"
#include "autograd/operation_name.h"
#include "core/intercept.h"
#include "core/observe.h"
#include "core/transform.h"

namespace mt::autograd {
namespace {
std::atomic<uint64_t> g_sequence{1};
std::atomic<uint64_t> g_hook_id{1};
}  // namespace

EdgeList::~EdgeList() {
  for (size_t i = 0; i < size_; ++i) NodeRef::release((*this)[i].node);
}

void EdgeList::push(Edge edge) {
  if (size_ < kInline) inline_[size_] = edge;
  else more_.push_back(edge);
  ++size_;
}

void EdgeList::add(NodeRef&& node, uint32_t input) { push({static_cast<Node*>(node.detach()), input}); }

AnomalyMode g_anomaly;

// In steps of two: the number between is for a view's history that is made later but belongs right after its base's.
[[gnu::hot]] Node::Node() : sequence(g_sequence.fetch_add(2, std::memory_order_relaxed)) {
  if (g_anomaly.on.load(std::memory_order_relaxed)) [[unlikely]]
    g_anomaly.remember(*this, running_node());
  if (Observer* watching = observer()) [[unlikely]]
    watching->node_made(sequence);
}
Node::~Node() = default;

uint64_t next_sequence() { return g_sequence.load(std::memory_order_relaxed); }

uint32_t Node::add_output(const Tensor& tensor) { return add_output(meta_of(tensor)); }

[[gnu::hot]] uint32_t Node::add_output(OutputMeta meta) {
  if (outputs == 0) first_output = std::move(meta);
  else more_outputs.push_back(std::move(meta));
  return outputs++;
}

uint64_t Node::add_pre_hook(uint32_t input, GradHook hook, bool last) {
  if (!hooks) hooks = std::make_shared<NodeHooks>();
  const uint64_t id = g_hook_id.fetch_add(1);
  auto at = hooks->pre.end();
  if (!last) at = std::find_if(hooks->pre.begin(), hooks->pre.end(), [](const auto& h) { return h.last; });
  hooks->pre.insert(at, {id, input, std::move(hook), last});
  return id;
}

uint64_t Node::add_node_pre_hook(PreHook hook) {
  if (!hooks) hooks = std::make_shared<NodeHooks>();
  const uint64_t id = g_hook_id.fetch_add(1);
  hooks->node_pre.emplace_back(id, std::move(hook));
  return id;
}

uint64_t Node::add_post_hook(PostHook hook) {
  if (!hooks) hooks = std::make_shared<NodeHooks>();
  const uint64_t id = g_hook_id.fetch_add(1);
  hooks->post.emplace_back(id, std::move(hook));
  return id;
}

uint64_t Node::add_accumulated_hook(PostHook hook) {
  if (!hooks) hooks = std::make_shared<NodeHooks>();
  const uint64_t id = g_hook_id.fetch_add(1);
  hooks->post.emplace(hooks->post.begin() + ptrdiff_t(hooks->accumulated++), id, std::move(hook));
  return id;
}

void NodeHooks::remove(uint64_t id) {
  for (size_t i = 0; i < accumulated; ++i)
    if (post[i].first == id) {
      --accumulated;
      break;
    }
  std::erase_if(pre, [id](const auto& h) { return h.id == id; });
  std::erase_if(node_pre, [id](const auto& h) { return h.first == id; });
  std::erase_if(post, [id](const auto& h) { return h.first == id; });
}

namespace {

void refuse_inference(const Tensor& tensor) {
  MT_CHECK(
      !tensor.storage().made_in_inference(),
      "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode "
      "in "
      "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
      "use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.");
}

}  // namespace

[[gnu::hot]] void SavedTensor::save(const Tensor& tensor) {
  if (!tensor.defined()) return;
  if (tensor.storage().made_in_inference()) [[unlikely]]
    refuse_inference(tensor);
  if (void* packer = thread_state().packer) [[unlikely]]
    return pack(tensor, *static_cast<SavedTensorPacker*>(packer));
  tensor_ = tensor;
  version_ = tensor.version();
  had_history_ = tensor.impl()->grad_fn != nullptr;
}

void SavedTensor::pack(const Tensor& tensor, SavedTensorPacker& packer) {
  Node* node = is_output_ ? nullptr : gradient_node(tensor);
  packed_ = packer.pack(tensor);
  if (!node) return;
  packed_->node = NodeRef::share(node);
  packed_->leaf = is_leaf(tensor);
  packed_->output = packed_->leaf ? 0 : tensor.impl()->output_nr;
}

Tensor SavedTensor::unpacked(Node& node, bool with_history) const {
  Tensor out = packed_->unpack();
  if (!with_history || (!is_output_ && !packed_->node)) return out;
  out = shallow_copy(out);
  if (packed_->leaf) {
    out.impl()->requires_grad = true;
    leaf_state(out).accumulator = packed_->node;
    leaf_state(out).owns_accumulator = false;
  } else {
    Node* producer = is_output_ ? &node : static_cast<Node*>(packed_->node.get());
    NodeRef::retain(producer);
    out.impl()->grad_fn = producer;
    out.impl()->output_nr = is_output_ ? output_ : packed_->output;
  }
  return out;
}

namespace {

// Lets a copy of a result have the tangents that the result will get: an operator is recorded before they are known.
void share_tangents(const Tensor& from, const Tensor& to) {
  std::unique_ptr<Transformed>& state = leaf_state(from).transformed;
  if (!state) state = std::make_unique<Transformed>();
  if (!state->tangents) state->tangents = std::make_shared<Tangents>();
  std::unique_ptr<Transformed>& copy = leaf_state(to).transformed;
  if (!copy) copy = std::make_unique<Transformed>();
  copy->tangents = state->tangents;
}

void notice_tangents(const Tensor& tensor) {
  const Transformed* state = transformed(tensor);
  if (state && state->tangents && !state->tangents->empty()) tensor.impl()->special |= kDual;
}

}  // namespace

void SavedTensor::save_output(const Tensor& tensor, uint32_t output) {
  output_ = output;
  is_output_ = true;
  if (void* packer = thread_state().packer) [[unlikely]]
    return pack(tensor, *static_cast<SavedTensorPacker*>(packer));
  tensor_ = shallow_copy(tensor);
  version_ = tensor_.version();
  if (thread_state().transform_levels) [[unlikely]]
    share_tangents(tensor, tensor_);
}

std::string operation_name(const Node& node) {
  std::string name = node.name();
  const size_t end = name.rfind("Backward");
  if (end != std::string::npos && name.find_first_not_of("0123456789", end + 8) == std::string::npos)
    name.resize(end);
  return name;
}

namespace {

std::string legacy_type(const Tensor& t) {
  const std::string place = t.device().is_cpu() ? "" : std::string(name_of(t.device().type)) + ".";
  return "torch." + place + info(t.dtype()).legacy + "Tensor";
}

// Which operation a tensor is the result of now, for the message of a write that came too early.
std::string made_by(const Node* node, uint32_t output) {
  return node ? join_text(", which is output ", output, " of ", operation_name(*node), ",") : std::string();
}

}  // namespace

const char* const kFreedText =
    "Trying to backward through the graph a second time (or directly access saved tensors after they have "
    "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
    "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or "
    "if "
    "you need to access saved tensors after calling backward.";

Tensor SavedTensor::unpack(Node& node) const { return unpack(node, grad_mode()); }

[[gnu::hot]] Tensor SavedTensor::unpack(Node& node, bool with_history) const {
  MT_CHECK(!freed_, kFreedText);
  if (packed_) return unpacked(node, with_history);
  if (!tensor_.defined()) return Tensor();
  const uint32_t now = tensor_.version();
  if (now != version_) [[unlikely]]
    fail(ErrorKind::runtime,
         "one of the variables needed for gradient computation has been modified by an inplace operation: [",
         legacy_type(tensor_), " ", to_string(tensor_.sizes()), "]",
         is_output_ ? made_by(&node, output_) : made_by(current_grad_fn(tensor_), tensor_.impl()->output_nr),
         " is at version ", now, "; expected version ", version_, " instead.",
         g_anomaly.on.load(std::memory_order_relaxed)
             ? " Hint: the backtrace further above shows the operation that failed to compute its gradient. "
               "The variable in question was changed in there or anywhere later. Good luck!"
             : " Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
               "with torch.autograd.set_detect_anomaly(True, check_nan=False).");
  MT_CHECK(!had_history_ || tensor_.impl()->grad_fn || tensor_.impl()->requires_grad,
           "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not "
           "supported, please use out-of-place `.detach()` instead");
  if (!is_output_) return tensor_;
  const bool may_be_dual = tensor_.impl()->grad_state;
  if (may_be_dual) [[unlikely]]
    notice_tangents(tensor_);
  if (!with_history) return tensor_;
  // Double backward: give the saved output its edge back.
  Tensor out = shallow_copy(tensor_);
  if (may_be_dual) [[unlikely]] {
    share_tangents(tensor_, out);
    notice_tangents(out);
  }
  NodeRef::retain(&node);
  out.impl()->grad_fn = &node;
  out.impl()->output_nr = output_;
  return out;
}

void SavedTensor::repack(Node& node, SavedTensorPacker& packer) {
  MT_CHECK(
      !freed_,
      "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the "
      "graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need "
      "to backward through the graph a second time or if you need to access saved variables after calling "
      "backward.");
  MT_CHECK(!packed_,
           "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair "
           "of hooks is allowed at a time.");
  MT_CHECK(tensor_.defined(), "Calling register_hooks on a saved tensor with value None is forbidden");
  unpack(node);  // whether it is as it was
  pack(tensor_, packer);
  tensor_ = Tensor();
}

void SavedList::save(TensorList tensors) {
  tensors_.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].defined()) tensors_[i].save(tensors[i]);
}

std::vector<Tensor> SavedList::unpack(Node& node) const {
  std::vector<Tensor> out;
  for (const SavedTensor& t : tensors_) out.push_back(t.unpack(node));
  return out;
}

LeafState::~LeafState() {
  if (accumulator && owns_accumulator) static_cast<AccumulateGrad*>(accumulator.get())->forget_variable();
}

LeafState* find_leaf_state(const Tensor& tensor) {
  return static_cast<LeafState*>(tensor.impl()->grad_state);
}

void forget_accumulator(const Tensor& tensor) {
  LeafState* state = find_leaf_state(tensor);
  if (!state || !state->accumulator) return;
  if (state->owns_accumulator) static_cast<AccumulateGrad*>(state->accumulator.get())->forget_variable();
  state->accumulator = NodeRef();
  state->owns_accumulator = true;
}

LeafState& leaf_state(const Tensor& tensor) {
  TensorImpl* impl = tensor.impl();
  if (!impl->grad_state) impl->grad_state = new LeafState;
  return *static_cast<LeafState*>(impl->grad_state);
}

[[gnu::hot]] Node* gradient_node(const Tensor& tensor) {
  if (Node* node = current_grad_fn(tensor)) return node;
  if (!tensor.impl()->requires_grad) return nullptr;
  LeafState& state = leaf_state(tensor);
  if (!state.accumulator) {
    AccumulateGrad* node;
    state.accumulator = new_node(node, tensor);
  }
  return static_cast<Node*>(state.accumulator.get());
}

[[gnu::hot]] void connect(EdgeList& edges, const Tensor& tensor) {
  if (!tensor.defined()) return edges.add_none();
  Node* node = gradient_node(tensor);
  if (!node) return edges.add_none();
  edges.add(NodeRef::share(node), tensor.impl()->grad_fn ? tensor.impl()->output_nr : 0);
}

[[gnu::hot]] void set_history(const Tensor& output, NodeRef&& ref) {
  Node* node = static_cast<Node*>(ref.get());
  if (!is_differentiable(output.dtype())) {
    node->add_output(output);
    return;
  }
  TensorImpl* impl = output.impl();
  if (impl->storage->made_in_inference() && !thread_state().inference) [[unlikely]]
    return;  // a view of a tensor that nobody keeps track of
  impl->output_nr = node->add_output(output);
  impl->view_version = output.version();
  node->runs_on(impl->device);
  impl->grad_fn = ref.detach();
}

namespace {

class NotImplemented final : public Node {
 public:
  explicit NotImplemented(const char* op) : op_(op) {}
  const char* name() const override { return "NotImplemented"; }
  void apply(Grads, Grads, uint64_t) override {
    fail(ErrorKind::not_implemented, "derivative for ", op_, " is not implemented");
  }

 private:
  const char* op_;
};

class Refusing final : public Node {
 public:
  explicit Refusing(const char* why) : why_(why) {}
  const char* name() const override { return "Error"; }
  void apply(Grads, Grads, uint64_t) override { fail(ErrorKind::runtime, why_); }

 private:
  const char* why_;
};

}  // namespace

void fail_not_differentiable(const char* function, const char* argument) {
  fail(ErrorKind::runtime, "The function '", function, "' is not differentiable with respect to argument '",
       argument, "'. This input cannot have requires_grad True.");
}

NodeRef not_implemented_node(const char* op) {
  NotImplemented* node;
  return new_node(node, op);
}

Tensor differentiable_once(const Tensor& grad, const char* why) {
  if (!grad_mode() || !needs_grad(grad)) return grad;
  Refusing* node;
  const NodeRef ref = new_node(node, why);
  connect(node->edges, grad);
  const Tensor made = shallow_copy(grad);
  set_history(made, node);
  return made;
}

}  // namespace mt::autograd

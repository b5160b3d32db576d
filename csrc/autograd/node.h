// The autograd graph: nodes, edges and what nodes save.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "core/current_stream.h"
#include "core/dispatch.h"
#include "core/host_memory.h"
#include "core/value.h"

namespace mt::autograd {

class Node;
using NodeRef = Ref<GraphNode>;

struct Edge {
  Node* node = nullptr;  // owned by the EdgeList that holds the edge
  uint32_t input = 0;    // which of the node's inputs (outputs of its forward) this leads to
};

// Edges of a node; most operators have at most three.
class EdgeList {
 public:
  EdgeList() = default;
  EdgeList(const EdgeList&) = delete;
  ~EdgeList();
  void add(NodeRef&& node, uint32_t input);
  void add_none() { push({}); }
  size_t size() const { return size_; }
  Edge& operator[](size_t i) { return i < kInline ? inline_[i] : more_[i - kInline]; }
  const Edge& operator[](size_t i) const { return i < kInline ? inline_[i] : more_[i - kInline]; }

 private:
  static constexpr size_t kInline = 3;
  void push(Edge edge);
  uint32_t size_ = 0;
  Edge inline_[kInline];
  std::vector<Edge> more_;
};

// Shape, dtype and device of a forward output: what its gradient must look like.
struct OutputMeta {
  Dims sizes;
  DType dtype;
  Device device;
};

inline OutputMeta meta_of(const Tensor& t) { return {Dims(t.sizes()), t.dtype(), t.device()}; }

// Where a tensor lies in its storage.
struct Geometry {
  Dims sizes, strides;
  int64_t offset = 0;
  int64_t room = 0;  // elements the storage holds
  DType dtype = DType::float32;
};
inline Geometry geometry_of(const Tensor& t) {
  return {Dims(t.sizes()), Dims(t.strides()), t.offset(), int64_t(t.storage().nbytes / t.itemsize()),
          t.dtype()};
}

// A matrix that lies in memory by columns: the weight of a linear layer, as the product gets it.
inline bool turned(const Tensor& t) {
  return t.dim() == 2 && t.strides()[0] == 1 && t.strides()[1] >= std::max<int64_t>(t.sizes()[0], 2);
}

using Grads = std::span<Tensor>;
using GradHook = std::function<Tensor(const Tensor&)>;  // undefined result: keep the gradient
using PreHook = std::function<void(Grads grads)>;       // may replace them
using PostHook = std::function<void(Grads grad_inputs, Grads grad_outputs)>;

struct NodeHooks {
  struct Pre {
    uint64_t id;
    uint32_t input;
    GradHook call;
    bool last;  // retain_grad sees what the other hooks made
  };
  std::vector<Pre> pre;                                // of tensors
  std::vector<std::pair<uint64_t, PreHook>> node_pre;  // of the node: all gradients, after those of tensors
  std::vector<std::pair<uint64_t, PostHook>> post;
  size_t accumulated = 0;  // how many of them, at the front, are told that a leaf's gradient is complete
  void remove(uint64_t id);
};

// What one backward pass keeps for a node. Note [Embedded pass state] in engine.cpp.
struct PassState {
  uint32_t pending = 0;  // edges into the node that have not delivered yet
  uint32_t met = 0;      // edges into the node that were met on the way through the graph
  bool seen = false;
  bool needed = true;
  std::vector<Tensor> more;  // gradients of inputs 1…
  Tensor first;              // gradient of input 0
  void reset() {
    pending = met = 0, seen = false, needed = true;
    if (!more.empty()) more.clear();
    if (first.defined()) first = Tensor();
  }
  Tensor& slot(uint32_t input) {
    if (input == 0) return first;
    if (more.size() < input) more.resize(input);
    return more[input - 1];
  }
};

// What the bindings keep with a node as long as it lives.
class NodeCompanion {
 public:
  virtual ~NodeCompanion() = default;
};

// Note [Anomaly mode]
// While it is on, nodes remember the Python stack of their forward and the node of a backward pass that they were made
// in; errors in backward report both, and gradients are searched for NaN. The bindings supply the two functions, because
// the stack is Python's.
struct AnomalyMode {
  std::atomic<bool> on{false};
  bool check_nan = true;
  void (*remember)(Node& made_now, Node* running) = nullptr;
  void (*report)(Node& node) = nullptr;  // called while the error is in flight
};
extern AnomalyMode g_anomaly;

class SavedReader;

class Node : public GraphNode {
 public:
  Node();
  ~Node() override;
  virtual const char* name() const = 0;
  // `grads`: one per forward output, may be undefined. `out`: one per edge; only those in `wanted` matter.
  virtual void apply(Grads grads, Grads out, uint64_t wanted) = 0;
  virtual void release_saved() {}
  virtual void read_saved(SavedReader&) {}  // shows what it keeps, by name
  // Numbers among its inputs that PyTorch has as tensors: programs that walk the graph see an edge to nothing for each.
  virtual uint32_t number_edges() const { return 0; }

  uint64_t sequence;  // creation order; the engine runs the newest ready node first
  void* stream = nullptr;
  Device device;  // where its forward ran
  void runs_on(Device where) {
    if (where.is_accelerator()) device = where, stream = current_stream(where);
  }
  EdgeList edges;
  uint32_t outputs = 0;
  OutputMeta first_output;
  std::vector<OutputMeta> more_outputs;
  std::shared_ptr<NodeHooks> hooks;  // shared: who may remove a hook knows them without owning the node
  std::unique_ptr<NodeCompanion> companion;
  PassState pass;

  const OutputMeta& output_meta(uint32_t i) const { return i == 0 ? first_output : more_outputs[i - 1]; }
  uint32_t add_output(OutputMeta meta);
  uint32_t add_output(const Tensor& tensor);
  uint64_t add_pre_hook(uint32_t input, GradHook hook, bool last = false);
  uint64_t add_node_pre_hook(PreHook hook);
  uint64_t add_post_hook(PostHook hook);
  uint64_t add_accumulated_hook(PostHook hook);
  void remove_hook(uint64_t id) {
    if (hooks) hooks->remove(id);
  }
};

inline bool wants(uint64_t mask, size_t i) { return i >= 64 || (mask >> i & 1); }

template <class T, class... Args>
Ref<GraphNode> new_node(T*& typed, Args&&... args) {
  typed = new (host_allocate(sizeof(T))) T(std::forward<Args>(args)...);
  typed->block = sizeof(T);
  return NodeRef::adopt(typed);
}

// Note [Saved tensor hooks]
// torch.autograd.graph.saved_tensors_hooks lets a program keep something else than the tensor: a copy on the host, or
// a recipe. While a packer is set for the thread, what would be saved goes through it; the edge that the tensor had
// is kept beside, so that double backward still finds its way.
class PackedTensor {
 public:
  virtual ~PackedTensor() = default;
  virtual Tensor unpack() = 0;
  NodeRef node;  // what produced it, or the accumulator of a leaf
  uint32_t output = 0;
  bool leaf = false;
};
class SavedTensorPacker {
 public:
  virtual ~SavedTensorPacker() = default;
  virtual std::unique_ptr<PackedTensor> pack(const Tensor& tensor) = 0;
};

extern const char* const kFreedText;  // what is said of something that a pass has freed

// A tensor kept for backward, with the version it had.
class SavedTensor {
 public:
  void save(const Tensor& tensor);                          // an input
  void save_output(const Tensor& tensor, uint32_t output);  // an output: kept without its edge to the node
  // Throws if it was freed or changed since. A result gets its edge to the node back while gradients are recorded, or as told.
  Tensor unpack(Node& node) const;
  Tensor unpack(Node& node, bool with_history) const;
  void repack(Node& node, SavedTensorPacker& packer);     // what is there already goes through a packer
  PackedTensor* packed() const { return packed_.get(); }  // null if no packer has it
  bool freed() const { return freed_; }
  void release() { tensor_ = Tensor(), packed_.reset(), freed_ = true; }

 private:
  void pack(const Tensor& tensor, SavedTensorPacker& packer);
  Tensor unpacked(Node& node, bool with_history) const;

  Tensor tensor_;
  std::unique_ptr<PackedTensor> packed_;
  uint32_t version_ = 0;
  uint32_t output_ = 0;
  bool is_output_ = false;
  bool freed_ = false;
  bool had_history_ = false;  // an input that some node had made
};

// The same for a list, some of whose tensors may be undefined.
class SavedList {
 public:
  void save(TensorList tensors);
  std::vector<Tensor> unpack(Node& node) const;
  void release() {
    for (SavedTensor& t : tensors_) t.release();
  }
  std::span<SavedTensor> tensors() { return tensors_; }

 private:
  std::vector<SavedTensor> tensors_;
};

// Sees what a node keeps: `grad_fn._saved_self` is what is shown as "self".
class SavedReader {
 public:
  virtual ~SavedReader() = default;
  virtual void tensor(const char* name, SavedTensor& kept) = 0;
  virtual void list(const char* name, std::span<SavedTensor> kept) = 0;
  virtual void value(const char* name, const Value& kept) = 0;
  void show(const char* name, SavedTensor& kept) { tensor(name, kept); }
  void show(const char* name, SavedList& kept) { list(name, kept.tensors()); }
  template <class T>
  void show(const char* name, const T& kept) {
    value(name, boxed(kept));
  }
};

// Gradient, accumulator and hooks of a tensor.
struct LeafState final : GradState {
  Tensor grad;
  NodeRef accumulator;
  bool owns_accumulator = true;  // false for what hooks unpacked: it feeds the accumulator of another leaf
  bool retains_grad = false;
  uint64_t retaining_hook = 0;        // of retain_grad, on the tensor's node
  std::shared_ptr<LeafState*> token;  // lets retain_grad's hook find this state while it lives
  ~LeafState() override;
};
LeafState& leaf_state(const Tensor& tensor);       // created on first use
LeafState* find_leaf_state(const Tensor& tensor);  // null when there is none
// The tensor is another from now on: graphs that lead to what it was do not reach it any more.
void forget_accumulator(const Tensor& tensor);

// Edge to whatever produced `tensor`: its node, its accumulator, or nothing.
void connect(EdgeList& edges, const Tensor& tensor);
inline void connect_all(EdgeList& edges, const Tensor& tensor) { connect(edges, tensor); }
inline void connect_all(EdgeList& edges, TensorList tensors) {
  for (const Tensor& t : tensors) connect(edges, t);
}
Node* gradient_node(const Tensor& tensor);  // creates the accumulator of a leaf; null if no grad is required
Node* current_grad_fn(const Tensor& tensor);  // regenerated for a view whose base was written in place

// Whether a write since the view was made gave its base a history, which is then the view's too.
// Note [Views and in-place writes] in inplace.cpp
inline bool base_has_new_history(const Tensor& view) {
  const TensorImpl* impl = view.impl();
  return impl->base && impl->base->grad_fn && impl->view_version != view.version();
}
// A view requires what its base does, even one that was made where nothing was recorded.
inline bool base_requires_grad(const Tensor& view) {
  const TensorImpl* base = view.impl()->base;
  return base && (base->requires_grad || base->grad_fn) && is_differentiable(view.dtype());
}
inline bool requires_grad(const Tensor& t) { return t.requires_grad() || base_requires_grad(t); }
inline bool is_leaf(const Tensor& t) { return t.is_leaf() && !base_has_new_history(t); }

inline bool grad_mode() { return thread_state().grad_enabled; }
inline bool needs_grad(const Tensor& t) {
  return t.defined() && requires_grad(t) && is_differentiable(t.dtype());
}
inline bool needs_grad(TensorList list) {
  for (const Tensor& t : list)
    if (needs_grad(t)) return true;
  return false;
}
template <class... T>
[[gnu::always_inline]] inline bool any_needs_grad(const T&... tensors) {
  return grad_mode() && (needs_grad(tensors) || ...);
}

// An argument that no formula differentiates by cannot require a gradient: it would silently get none.
[[noreturn]] void fail_not_differentiable(const char* function, const char* argument);
inline void refuse_gradient(const Tensor& t, const char* function, const char* argument) {
  if (any_needs_grad(t)) [[unlikely]]
    fail_not_differentiable(function, argument);
}

inline bool none_defined(Grads grads) {
  return std::none_of(grads.begin(), grads.end(), [](const Tensor& grad) { return grad.defined(); });
}
void set_history(const Tensor& output, NodeRef&& node);  // a fresh result
inline void set_history(const Tensor& output, Node* node) { set_history(output, NodeRef::share(node)); }
// Results of an operator without formulas: backward says so instead of leaving a gradient out.
NodeRef not_implemented_node(const char* op);
// `grad` with a history that cannot be followed: `why` says so when somebody tries.
Tensor differentiable_once(const Tensor& grad, const char* why);
template <class... T>
void set_not_implemented(std::initializer_list<const Tensor*> outputs, const char* op, const T&... inputs) {
  const NodeRef ref = not_implemented_node(op);
  Node* node = static_cast<Node*>(ref.get());
  (connect_all(node->edges, inputs), ...);
  for (const Tensor* output : outputs) set_history(*output, node);
}
// Undefined for an output that took no part.
inline Tensor gradient_of_output(Grads grads, size_t output) {
  return output < grads.size() ? grads[output] : Tensor();
}
void retain_grad(const Tensor& tensor);  // keeps the gradient of a result, whatever node makes it by then
void check_inplace_in_graph(const Tensor& self);
inline void check_inplace(const Tensor& self) {  // before an in-place write
  const TensorImpl* impl = self.impl();
  if (impl->requires_grad || impl->base || impl->storage->guards) [[unlikely]]
    check_inplace_in_graph(self);
}
void check_rebase(const Tensor& self);                    // before one that gives `self` a history
void rebase_history(const Tensor& self, NodeRef&& node);  // after an in-place write
// After a change of the window alone, which writes nothing: the base's history stays.
void change_history(const Tensor& self, NodeRef&& node);
void as_view(const Tensor& base, const Tensor& view);  // remembers what the view is a view of
void as_views(const Tensor& base, TensorList views);   // the same for views that have one node together
// The same for views that were made somewhere else, if they share the base's memory. Note [Interception]
void adopt_view(const Tensor& base, const Tensor& view);
void adopt_views(const Tensor& base, TensorList views);
void with_own_versions(std::vector<Tensor>& windows);  // pieces that are not to be known as views

}  // namespace mt::autograd

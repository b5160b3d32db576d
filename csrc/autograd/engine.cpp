#include "autograd/engine.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>

#include "autograd/accumulate.h"
#include "base/per_thread.h"
#include "core/accelerator.h"
#include "core/observe.h"
#include "core/warn.h"
#include "generated/ops/binary.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/unary.h"

namespace mt::autograd {
namespace {

// Note [Embedded pass state]
// A backward pass needs a counter and gradient buffers per node. They live inside the nodes, because a hash
// map would cost more than the rest of the engine. Only one pass at a time may use them: the one that holds
// g_embedded. A second pass (another thread, or backward called from a hook) uses a map instead.
std::mutex g_embedded;

struct Capture {
  Node* node;
  uint32_t input;
  Tensor* into;
};

// The lists of a pass. A thread keeps those of its last one, so that the next allocates nothing.
struct Lists {
  std::vector<Node*> visited;
  std::vector<Node*> ready;  // heap, newest first
  std::vector<NodeRef> roots;
  std::vector<Tensor> in, out;  // a node uses the first of them and leaves them undefined

  void clear() { visited.clear(), ready.clear(), roots.clear(), in.clear(), out.clear(); }
};
class Pass;
struct OfThread {
  std::unique_ptr<Lists> lists;
  Pass* running = nullptr;  // the innermost
};
constinit PerThread<OfThread> t_own;
std::atomic<int64_t> g_passes{0};

class Pass {
 public:
  explicit Pass(const BackwardOptions& options)
      : options_(options),
        embedded_(g_embedded, std::try_to_lock),
        lists_(t_own->lists ? std::move(t_own->lists) : std::make_unique<Lists>()) {}
  ~Pass() {
    if (embedded_)
      for (Node* node : visited_) node->pass.reset();
    lists_->clear();
    t_own->lists = std::move(lists_);
    t_own->running = outer_;
  }

  void add_root(const Tensor& root, const Tensor& grad);
  void capture(const Tensor& input, Tensor* into);
  void run_up_to(const Tensor& input);  // the node that makes it runs too, so that `.grad` is filled
  void run();

  Node* now() const { return now_; }
  int64_t number() {
    if (number_ < 0) number_ = g_passes.fetch_add(1, std::memory_order_relaxed);
    return number_;
  }
  bool comes_by(const Node& node);
  std::vector<Node*> order();
  bool takes_leaf(const Node& node) const {
    return node.edges.size() == 0 &&
           std::ranges::any_of(captures_, [&](const Capture& c) { return c.node == &node; });
  }
  bool limited() const { return limited_; }
  bool keeps_graph() const { return options_.retain_graph; }
  void at_end(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }

 private:
  PassState& state(Node* node) { return embedded_ ? node->pass : map_[node]; }
  void see(Node* node);
  void count_edges();
  void mark_needed();
  void push(Node* node);
  Node* pop();
  void call_tensor_hooks(Node* node);
  void call_node_hooks(Node* node);
  void take_captures(Node* node);
  void visit(Node* node);
  void run_nodes();
  void run_node(Node* node);
  void take_in(Node* node);
  void run_hooked(Node* node, uint64_t wanted, bool runs);
  void call_post_hooks(Node* node, std::vector<Tensor>&& arrived);
  // Whether a gradient that goes there is wanted: not where it leads to no given input.
  bool goes_to(Node* next) { return next && (!limited_ || state(next).needed); }
  void apply(Node* node, uint64_t wanted);
  void apply_watched(Node* node, uint64_t wanted);
  void deliver(Node* from, size_t at, Tensor& grad);
  void enter_stream(Node* node);

  BackwardOptions options_;
  std::unique_lock<std::mutex> embedded_;
  std::unordered_map<Node*, PassState> map_;
  std::unique_ptr<Lists> lists_;
  std::vector<Node*>& visited_ = lists_->visited;
  std::vector<Node*>& ready_ = lists_->ready;
  std::vector<NodeRef>& roots_ = lists_->roots;
  Grads in_, out_;  // of the node that runs; a single gradient stays where it arrived
  std::vector<Capture> captures_;
  std::vector<Node*> last_;  // the pass ends with them
  std::vector<std::pair<Device, void*>> used_streams_;
  std::vector<std::function<void()>> callbacks_;
  bool limited_ = false;  // to what leads to given inputs
  Node* now_ = nullptr;
  Pass* outer_ = std::exchange(t_own->running, this);
  int64_t number_ = -1;  // given when it is asked for
};

bool older(const Node* a, const Node* b) { return a->sequence < b->sequence; }

void Pass::push(Node* node) {
  ready_.push_back(node);
  if (ready_.size() == 1) return;
  std::push_heap(ready_.begin(), ready_.end(), older);
}

Node* Pass::pop() {
  if (ready_.size() > 1) std::pop_heap(ready_.begin(), ready_.end(), older);
  Node* node = ready_.back();
  ready_.pop_back();
  return node;
}

// Makes a gradient fit the output it belongs to: the engine sums over broadcast dims and casts, so that
// formulas need not. A real input of a complex operator keeps the real part of its gradient.
// `from` and `at` name the function that made it in the message.
void fit(Tensor& grad, const Node& node, uint32_t input, const Node& from, size_t at) {
  const OutputMeta& meta = node.output_meta(input);
  if (std::ranges::equal(grad.sizes(), IntList(meta.sizes))) [[likely]] {
  } else {
    const int64_t lead = grad.dim() - int64_t(meta.sizes.size());
    bool fits = lead >= 0;
    Dims summed;
    for (int64_t i = 0; fits && i < grad.dim(); ++i) {
      const int64_t want = i < lead ? 1 : meta.sizes[size_t(i - lead)];
      if (i < lead || (want == 1 && grad.sizes()[size_t(i)] != 1)) summed.push_back(i);
      else fits = want == grad.sizes()[size_t(i)];
    }
    MT_CHECK(fits, "Function ", from.name(), " returned an invalid gradient at index ", at, " - got ",
             to_string(grad.sizes()), " but expected shape compatible with ", to_string(meta.sizes));
    grad = ops::sum(grad, DimList(summed), true, std::nullopt).reshape(meta.sizes);
  }
  if (is_complex(grad.dtype()) && !is_complex(meta.dtype)) [[unlikely]]
    grad = ops::real(grad);
  if (grad.dtype() != meta.dtype) [[unlikely]]
    grad = ops::_to_copy(grad, meta.dtype, std::nullopt, false, std::nullopt);
}

// For a gradient made on one stream and used by a node of another: the node's work comes after what made it, and the
// memory is not reused before the node's stream is done with it.
void hand_over(const Tensor& grad, const Node& to, Device from, void* from_stream) {
  Accelerator& there = accelerator(to.device.type);
  // From a device of another type the gradient came through the host, on the stream that is current here.
  if (from.type != to.device.type) from_stream = current_stream(to.device);
  if (from_stream != to.stream) there.wait(to.device.index, to.stream, from_stream);
  if (grad.device().type == to.device.type) there.record_stream(grad.storage(), to.stream);
}

void Pass::add_root(const Tensor& root, const Tensor& grad) {
  Node* node = gradient_node(root);
  MT_CHECK(node, "element ", roots_.size(), " of tensors does not require grad and does not have a grad_fn");
  Tensor seed = grad;
  if (!seed.defined()) {
    MT_CHECK(root.numel() == 1, "grad can be implicitly created only for scalar outputs");
    MT_CHECK(!is_complex(root.dtype()),
             "grad can be implicitly created only for real scalar outputs but got torch.",
             info(root.dtype()).name);
    seed = ops::ones_like(root, std::nullopt, TensorOptions{});
  } else {
    MT_CHECK(std::ranges::equal(seed.sizes(), root.sizes()), "Mismatch in shape: grad_output[", roots_.size(),
             "] has a shape of torch.Size(", to_string(seed.sizes()), ") and output[", roots_.size(),
             "] has a shape of torch.Size(", to_string(root.sizes()), ").");
    MT_CHECK(
        is_complex(seed.dtype()) == is_complex(root.dtype()),
        "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
        "dtype: grad_output[",
        roots_.size(), "] has a dtype of torch.", info(seed.dtype()).name, " and output[", roots_.size(),
        "] has a dtype of torch.", info(root.dtype()).name, ".");
  }
  roots_.push_back(NodeRef::share(node));
  const uint32_t input = root.impl()->grad_fn ? root.impl()->output_nr : 0;
  see(node);
  Tensor& slot = state(node).slot(input);
  accumulate(slot, std::move(seed));
  if (!node->device.is_accelerator()) return;
  void* here = current_stream(node->device);
  if (here != node->stream) hand_over(slot, *node, node->device, here);
}

void Pass::capture(const Tensor& input, Tensor* into) {
  Node* node = gradient_node(input);
  MT_CHECK(node, "One of the differentiated Tensors does not require grad");
  captures_.push_back({node, input.impl()->grad_fn ? input.impl()->output_nr : 0, into});
}

void Pass::run_up_to(const Tensor& input) {
  Node* node = gradient_node(input);
  MT_CHECK(node, "One of the differentiated Tensors does not require grad");
  last_.push_back(node);
}

// Nodes seen are put back as they were when the pass ends, however it ends.
void Pass::see(Node* node) {
  PassState& s = state(node);
  if (s.seen) return;
  s.seen = true;
  visited_.push_back(node);
}

void Pass::count_edges() {
  for (size_t at = 0; at < visited_.size(); ++at) {
    const EdgeList& edges = visited_[at]->edges;
    for (size_t i = 0; i < edges.size(); ++i) {
      if (!edges[i].node) continue;
      see(edges[i].node);
      ++state(edges[i].node).pending;
    }
  }
}

// With given inputs, only nodes on a path to one of them run. Nodes are walked after all that lead to them, then back.
void Pass::mark_needed() {
  std::vector<Node*> order;
  order.reserve(visited_.size());
  for (Node* node : visited_) {
    state(node).needed = false;
    if (state(node).pending == 0) order.push_back(node);
  }
  for (const Capture& c : captures_) state(c.node).needed = true;
  for (Node* node : last_) state(node).needed = true;
  for (size_t at = 0; at < order.size(); ++at) {
    const EdgeList& edges = order[at]->edges;
    for (size_t i = 0; i < edges.size(); ++i) {
      Node* next = edges[i].node;
      if (next && ++state(next).met == state(next).pending) order.push_back(next);
    }
  }
  for (size_t at = order.size(); at-- > 0;) {
    const EdgeList& edges = order[at]->edges;
    PassState& s = state(order[at]);
    for (size_t i = 0; i < edges.size() && !s.needed; ++i)
      if (Node* next = edges[i].node) s.needed = state(next).needed;
  }
}

bool Pass::comes_by(const Node& node) {
  Node* asked = const_cast<Node*>(&node);
  if (!embedded_ && !map_.contains(asked)) return false;
  return state(asked).seen && state(asked).needed;
}

// The nodes in the order in which they run from now on, the one that is running first.
std::vector<Node*> Pass::order() {
  std::vector<Node*> found, waiting(ready_);
  std::unordered_map<Node*, uint32_t> pending;
  const auto take = [&](Node* node) {
    found.push_back(node);
    for (size_t i = 0; i < node->edges.size(); ++i) {
      Node* next = node->edges[i].node;
      if (!goes_to(next)) continue;
      const auto [left, first] = pending.try_emplace(next, state(next).pending);
      if (--left->second > 0) continue;
      waiting.push_back(next);
      std::push_heap(waiting.begin(), waiting.end(), older);
    }
  };
  if (now_) take(now_);
  while (!waiting.empty()) {
    std::pop_heap(waiting.begin(), waiting.end(), older);
    Node* node = waiting.back();
    waiting.pop_back();
    take(node);
  }
  return found;
}

void Pass::enter_stream(Node* node) {
  if (!node->device.is_accelerator()) return;
  set_current_stream(node->device, node->stream);
  const std::pair<Device, void*> key{node->device, node->stream};
  if (std::ranges::find(used_streams_, key) == used_streams_.end()) used_streams_.push_back(key);
}

[[gnu::hot]] void Pass::deliver(Node* from, size_t at, Tensor& grad) {
  const Edge& edge = from->edges[at];
  PassState& target = state(edge.node);
  if (grad.defined()) {
    fit(grad, *edge.node, edge.input, *from, at);
    const bool crosses = edge.node->device.is_accelerator() && from->device.is_accelerator() &&
                         from->stream != edge.node->stream;
    if (crosses) [[unlikely]] {
      // What is there already belongs to the node's stream, so the sum is made there.
      hand_over(grad, *edge.node, from->device, from->stream);
      enter_stream(edge.node);
    }
    accumulate(target.slot(edge.input), std::move(grad));
    if (crosses) [[unlikely]]
      enter_stream(from);
  }
  if (--target.pending == 0) push(edge.node);
}

// Hooks see gradients that are not there, too: an output that nothing depended on.
void Pass::call_tensor_hooks(Node* node) {
  const auto pre = node->hooks->pre;  // a copy: a hook may remove itself or others
  for (const auto& hook : pre)
    if (Tensor changed = hook.call(in_[hook.input]); changed.defined()) in_[hook.input] = std::move(changed);
}

void Pass::call_node_hooks(Node* node) {
  const auto all = node->hooks->node_pre;
  for (const auto& [id, call] : all) call(in_);
}

void Pass::take_captures(Node* node) {
  for (const Capture& c : captures_)
    if (c.node == node) *c.into = in_[c.input];
}

// Note [Anomaly mode] in node.h.
void Pass::apply_watched(Node* node, uint64_t wanted) {
  try {
    node->apply(in_, out_, wanted);
    for (size_t i = 0; i < out_.size() && g_anomaly.check_nan; ++i) {
      if (!out_[i].defined() || out_[i].device().is_meta()) continue;
      const Tensor found = ops::any(ops::isnan(out_[i]), DimList(), false);
      MT_CHECK(!item(found).to<bool>(), "Function '", node->name(), "' returned nan values in its ", i,
               "th output.");
    }
  } catch (...) {
    g_anomaly.report(*node);
    throw;
  }
}

// What an observer sees of a node. Accumulators have no place in the order of operators.
struct Seen {
  explicit Seen(const Node& node) {
    if (node.sequence == UINT64_MAX) return;
    name = node.name();
    sequence = node.sequence;
  }
  std::string_view name = "torch::autograd::AccumulateGrad";
  std::optional<uint64_t> sequence;
};

// Ends what the observer was told of the beginning of, however it ends.
struct Observed {
  Observer* observer;
  ~Observed() { observer->end(); }
};

void Pass::visit(Node* node) {
  Observer* watching = observer();
  if (!watching) [[likely]]
    return run_node(node);
  const Seen seen(*node);
  watching->begin_visit(seen.name, seen.sequence);
  Observed ending{watching};
  run_node(node);
}

[[gnu::hot]] void Pass::apply(Node* node, uint64_t wanted) {
  std::optional<Observed> ending;
  if (Observer* watching = observer()) [[unlikely]] {
    const Seen seen(*node);
    watching->begin_run(seen.name, seen.sequence, in_);
    ending.emplace(watching);
  }
  if (g_anomaly.on.load(std::memory_order_relaxed)) [[unlikely]]
    return apply_watched(node, wanted);
  node->apply(in_, out_, wanted);
}

void Pass::call_post_hooks(Node* node, std::vector<Tensor>&& arrived) {
  const auto post = node->hooks->post;
  arrived.resize(in_.size());  // those that came while it ran see no gradients
  for (const auto& [id, call] : post) call(out_, arrived);
}

// A gradient asked for with grad() is taken as it arrives when the pass goes on from here, and as the hooks left it when
// it ends here: PyTorch's order.
[[gnu::noinline]] void Pass::run_hooked(Node* node, uint64_t wanted, bool runs) {
  if (runs) take_captures(node);
  call_tensor_hooks(node);
  if (!runs) return take_captures(node);
  call_node_hooks(node);
  std::vector<Tensor> arrived;
  if (!node->hooks->post.empty())
    arrived.assign(in_.begin(), in_.end());  // an accumulator takes what it is given
  apply(node, wanted);
  call_post_hooks(node, std::move(arrived));
}

void Pass::take_in(Node* node) {
  PassState& s = state(node);
  if (node->outputs <= 1) {
    in_ = {&s.first, 1};
    return;
  }
  std::vector<Tensor>& all = lists_->in;
  if (all.size() < node->outputs) all.resize(node->outputs);
  all[0] = std::move(s.first);
  for (size_t i = 0; i < s.more.size(); ++i) all[i + 1] = std::move(s.more[i]);
  in_ = {all.data(), node->outputs};
}

[[gnu::hot]] void Pass::run_node(Node* node) {
  now_ = node;
  take_in(node);
  enter_stream(node);
  const size_t n = node->edges.size();
  if (lists_->out.size() < n) lists_->out.resize(n);
  out_ = {lists_->out.data(), n};
  uint64_t wanted = 0;
  for (size_t i = 0; i < n; ++i)
    if (goes_to(node->edges[i].node)) wanted |= i < 64 ? uint64_t(1) << i : 0;
  // A pass with given inputs ends at them: what lies below stays as it is.
  const bool runs = wanted || n > 64 || !limited_ || std::ranges::find(last_, node) != last_.end();
  if (node->hooks) [[unlikely]] {
    run_hooked(node, wanted, runs);
  } else {
    take_captures(node);
    if (runs) apply(node, wanted);
    if (node->hooks) [[unlikely]]
      call_post_hooks(node, {});
  }
  if (runs && !options_.retain_graph && n) node->release_saved();  // an accumulator keeps nothing
  for (Tensor& grad : in_) grad = Tensor();
  // A hook or a nested pass may have run while `out_` was filled, but they have their own Pass.
  for (size_t i = 0; i < n; ++i) {
    if (goes_to(node->edges[i].node)) deliver(node, i, out_[i]);
    out_[i] = Tensor();
  }
}

[[gnu::hot]] void Pass::run() {
  count_edges();
  limited_ = !captures_.empty() || !last_.empty();
  if (limited_) mark_needed();
  run_nodes();
  // A callback may add another.
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    const auto callback = std::move(callbacks_[i]);
    callback();
  }
}

[[gnu::hot]] void Pass::run_nodes() {
  struct Restore {
    ThreadState& thread = thread_state();
    bool grad_enabled = thread.grad_enabled;
    std::array<CurrentDevice, kDeviceTypes> current = std::to_array(thread.current);
    ~Restore() {
      thread.grad_enabled = grad_enabled;
      for (int type = 0; type < kDeviceTypes; ++type) {
        thread.current[type].index = current[type].index;
        thread.current[type].stream = current[type].stream;
      }
    }
  } restore;
  restore.thread.grad_enabled = options_.create_graph;
  for (NodeRef& root : roots_) {
    Node* node = static_cast<Node*>(root.get());
    if (state(node).pending == 0 && std::ranges::find(ready_, node) == ready_.end()) push(node);
  }
  while (!ready_.empty()) visit(pop());
  now_ = nullptr;
  // Whoever reads the gradients on the caller's stream comes after every stream that wrote them.
  for (const auto& [device, stream] : used_streams_)
    if (void* callers = restore.current[int(device.type)].stream; stream != callers)
      accelerator(device.type).wait(device.index, callers, stream);
}

}  // namespace

bool in_backward() { return t_own->running; }

Node* running_node() { return t_own->running ? t_own->running->now() : nullptr; }

int64_t running_pass() { return t_own->running ? t_own->running->number() : -1; }

bool running_pass_keeps_graph() { return !t_own->running || t_own->running->keeps_graph(); }

bool will_run(const Node& node) {
  MT_CHECK(t_own->running, "whether a node will be run is known only during the backward pass");
  MT_CHECK(!t_own->running->takes_leaf(node),
           "You are asking while you are currently running autograd.grad(), which takes the gradient of this "
           "leaf and does not run its "
           "node; ask in a backward() instead");
  return t_own->running->comes_by(node);
}

bool runs_everything() { return !t_own->running || !t_own->running->limited(); }

std::vector<Node*> nodes_to_run() {
  MT_CHECK(t_own->running,
           "_current_graph_task_execution_order should only be called during the backward pass");
  return t_own->running->order();
}

bool comes_by(const Node& node) {
  MT_CHECK(t_own->running, "outside of a backward pass no node is run");
  return t_own->running->comes_by(node);
}

void at_end_of_pass(std::function<void()> callback) {
  MT_CHECK(t_own->running, "Final callbacks can only be installed during backward pass.");
  t_own->running->at_end(std::move(callback));
}

void backward(TensorList roots, TensorList grads, TensorList inputs, const BackwardOptions& options) {
  static bool told = false;
  if (options.create_graph && first_time(told)) [[unlikely]]
    warn(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
        "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to "
        "avoid this. If you have to use this function, make sure to reset the .grad fields of your "
        "parameters "
        "to None after use to break the cycle and avoid the leak.");
  Pass pass(options);
  for (size_t i = 0; i < roots.size(); ++i) pass.add_root(roots[i], i < grads.size() ? grads[i] : Tensor());
  for (const Tensor& input : inputs) {
    if (!is_leaf(input)) retain_grad(input);
    pass.run_up_to(input);
  }
  pass.run();
}

std::vector<Tensor> grad(TensorList roots, TensorList grads, TensorList inputs,
                         const BackwardOptions& options) {
  std::vector<Tensor> found(inputs.size());
  {
    Pass pass(options);
    for (size_t i = 0; i < roots.size(); ++i) pass.add_root(roots[i], i < grads.size() ? grads[i] : Tensor());
    for (size_t i = 0; i < inputs.size(); ++i) pass.capture(inputs[i], &found[i]);
    pass.run();
  }
  for (size_t i = 0; i < found.size(); ++i)
    MT_CHECK(found[i].defined() || options.allow_unused, "The differentiated Tensor at index ", i,
             " appears to not have been used in the graph. Set allow_unused=True if this is the desired "
             "behavior.");
  return found;
}

}  // namespace mt::autograd

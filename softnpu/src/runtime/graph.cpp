#include "runtime/graph.h"

#include <map>
#include <sstream>

#include "runtime/condition.h"
#include "runtime/error.h"
#include "runtime/hook.h"
#include "runtime/stream.h"

namespace softnpu {
namespace {

std::atomic<uint32_t> next_graph_id{0};

const char* type_text(aclmdlRITaskType type) {
  switch (type) {
    case ACL_MODEL_RI_TASK_KERNEL: return "KERNEL";
    case ACL_MODEL_RI_TASK_EVENT_RECORD: return "EVENT_RECORD";
    case ACL_MODEL_RI_TASK_EVENT_WAIT: return "EVENT_WAIT";
    case ACL_MODEL_RI_TASK_EVENT_RESET: return "EVENT_RESET";
    default: return "DEFAULT";
  }
}

}  // namespace

Graph::Graph(int device_index, bool is_body)
    : device(device_index), body(is_body), id(next_graph_id.fetch_add(1)) {}

Graph::~Graph() = default;

void Graph::add(GraphNode node) {
  std::lock_guard lock(nodes_mutex_);
  nodes_.push_back(std::move(node));
}

size_t Graph::size() const {
  std::lock_guard lock(nodes_mutex_);
  return nodes_.size();
}

void Graph::run(Stream& stream) {
  {
    std::lock_guard lock(mutex);
    for (const auto& condition : conditions) condition->begin();
  }
  for (size_t i = 0;; ++i) {
    GraphNode node;  // a copy: the task may be replaced while it runs
    {
      std::lock_guard lock(nodes_mutex_);
      if (i >= nodes_.size()) return;
      node = nodes_[i];
    }
    if (node.task == nullptr) continue;
    stream.perform(
        node.name, node.kind, !task_should_give_up(),
        [](void* task, bool execute) {
          if (execute) static_cast<RepeatableTask*>(task)->run();
        },
        node.task.get());
  }
}

void Graph::replace(const std::vector<size_t>& nodes,
                    const std::vector<std::shared_ptr<RepeatableTask>>& tasks) {
  std::lock_guard lock(nodes_mutex_);
  for (size_t i = 0; i < nodes.size(); ++i) nodes_[nodes[i]].task = tasks[i];
}

std::vector<const char*> Graph::names(const std::vector<size_t>& nodes) const {
  std::lock_guard lock(nodes_mutex_);
  std::vector<const char*> found;
  for (const size_t node : nodes) found.push_back(nodes_[node].name);
  return found;
}

// In the format of chrome://tracing: a row per recorded stream, a box per task.
std::string Graph::json() const {
  std::ostringstream out;
  out << "[";
  std::lock_guard lock(nodes_mutex_);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const GraphNode& node = nodes_[i];
    out << (i == 0 ? "\n" : ",\n") << "  {\"name\": " << json_text(node.name)
        << ", \"ph\": \"X\", \"ts\": " << i << ", \"dur\": 1, \"pid\": \"device " << device << ", model "
        << id << "\", \"tid\": \"stream " << node.stream << "\", \"args\": {\"Model Id\": " << id
        << ", \"Stream Id\": " << node.stream << ", \"Task Id\": " << i << ", \"Task Type\": \""
        << type_text(node.type) << "\"}}";
  }
  out << "\n]\n";
  return out.str();
}

std::string Graph::text() const {
  std::ostringstream out;
  std::lock_guard lock(nodes_mutex_);
  out << "model " << id << " on device " << device << ": " << nodes_.size() << " tasks\n";
  for (size_t i = 0; i < nodes_.size(); ++i)
    out << "  task " << i << ", stream " << nodes_[i].stream << ", " << type_text(nodes_[i].type) << ": "
        << nodes_[i].name << "\n";
  return out.str();
}

GraphTable& graph_table() {
  static auto* instance = new GraphTable;
  return *instance;
}

TaskGroupTable& task_group_table() {
  static auto* instance = new TaskGroupTable;
  return *instance;
}

std::shared_ptr<Graph> find_graph(const char* function, aclmdlRI handle, int* code) {
  if (const GraphHandle* found = graph_table().find(handle)) return found->graph;
  *code = fail(ACL_ERROR_RT_PARAM_INVALID, function, ": ", handle, " is no model, or was destroyed");
  return nullptr;
}

bool insert_graph(const std::shared_ptr<Graph>& graph) {
  auto handle = std::make_unique<GraphHandle>(GraphHandle{graph});
  graph->handle = graph_table().insert(handle.get());
  if (graph->handle == nullptr) return false;
  handle.release();
  return true;
}

void end_graph(const std::shared_ptr<Graph>& graph) {
  delete graph_table().remove(graph->handle);
  std::vector<std::pair<aclrtCallback, void*>> calls;
  std::vector<std::shared_ptr<Graph>> bodies;
  {
    std::lock_guard lock(graph->mutex);
    for (void* group : graph->groups) delete task_group_table().remove(group);
    graph->groups.clear();
    calls.swap(graph->at_end);
    bodies = graph->bodies;
  }
  for (const auto& [function, argument] : calls) function(argument);
  for (const auto& body : bodies) end_graph(body);
}

}  // namespace softnpu

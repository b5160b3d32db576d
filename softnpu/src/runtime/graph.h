// A graph (aclmdlRI): tasks that were recorded from streams, to be run again and again.
//
// Note [Order of a replay]
// Nodes are kept in the order in which they were recorded, and a replay runs them one after the other in the
// stream it was launched into. A stream that waits for another one was recorded after it, so this order obeys
// every event between the recorded streams; it only gives up running them side by side.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "acl_abi.h"
#include "runtime/repeatable_task.h"
#include "runtime/slot_table.h"
#include "runtime/task_ring.h"

namespace softnpu {

class Stream;
struct Condition;

struct GraphNode {
  const char* name;
  Task::Kind kind;
  aclmdlRITaskType type;
  int32_t stream;                        // id of the stream it was recorded from
  std::shared_ptr<RepeatableTask> task;  // empty: only order, which the replay keeps anyway
};

// Nodes that can be replaced later, in their order.
struct TaskGroup {
  class Graph* graph;
  std::vector<size_t> nodes;
};

class Graph : public std::enable_shared_from_this<Graph> {
 public:
  Graph(int device_index, bool is_body);
  ~Graph();

  void add(GraphNode node);
  size_t size() const;
  // In the thread of `stream`.
  void run(Stream& stream);
  // Puts other tasks in the place of a group's; to be called in the order of some stream.
  void replace(const std::vector<size_t>& nodes, const std::vector<std::shared_ptr<RepeatableTask>>& tasks);
  // Names of a group's tasks, to compare with those that are to replace them.
  std::vector<const char*> names(const std::vector<size_t>& nodes) const;
  std::string json() const;
  std::string text() const;

  const int device;
  const bool body;  // of a conditional task: ends with the graph it belongs to
  const uint32_t id;
  void* handle = nullptr;
  std::atomic<bool> capturing{false};

  std::mutex mutex;  // guards what follows
  std::string name;
  std::vector<std::pair<aclrtCallback, void*>> at_end;
  std::vector<void*> groups;                           // handles
  std::vector<std::unique_ptr<Condition>> conditions;  // see condition.cpp
  std::vector<std::shared_ptr<Graph>> bodies;

 private:
  mutable std::mutex nodes_mutex_;
  std::vector<GraphNode> nodes_;
};

// Holds what the handle owns; replays own the graph as well.
struct GraphHandle {
  std::shared_ptr<Graph> graph;
};
using GraphTable = SlotTable<GraphHandle, 16384>;
GraphTable& graph_table();
using TaskGroupTable = SlotTable<TaskGroup, 65536>;
TaskGroupTable& task_group_table();

// The graph of a handle, or nullptr with *code.
std::shared_ptr<Graph> find_graph(const char* function, aclmdlRI handle, int* code);
// Gives a graph its handle; false when none is left.
bool insert_graph(const std::shared_ptr<Graph>& graph);
// Takes the handle away, calls what was registered, ends groups and bodies.
void end_graph(const std::shared_ptr<Graph>& graph);

}  // namespace softnpu

// Conditional tasks of graphs: if, while and switch over graphs of their own ("bodies").
#include "runtime/condition.h"

#include "runtime/capture.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/graph.h"
#include "runtime/hook.h"

namespace softnpu {
namespace {

using ConditionTable = SlotTable<Condition, 16384>;
ConditionTable& condition_table() {
  static auto* instance = new ConditionTable;
  return *instance;
}

}  // namespace

Condition::Condition(Graph& of, uint64_t value, bool set_at_begin)
    : graph(of),
      initial(value),
      assign(set_at_begin),
      address(device(of.device).memory.allocate(sizeof(uint64_t), &generation)) {
  if (address != nullptr) store(value);
}

Condition::~Condition() {
  condition_table().remove(handle);
  if (address != nullptr) device(graph.device).memory.release(address, generation);
}

uint64_t Condition::load() const {
  return __atomic_load_n(static_cast<uint64_t*>(host_address(address)), __ATOMIC_ACQUIRE);
}

void Condition::store(uint64_t value) const {
  __atomic_store_n(static_cast<uint64_t*>(host_address(address)), value, __ATOMIC_RELEASE);
}

namespace {

// What the stream does: the graph that owns the condition and the bodies is alive while it runs.
struct ConditionalTask {
  const Condition* condition;
  aclmdlRICondTaskType type;
  std::vector<Graph*> bodies;

  void operator()() const {
    Stream& stream = *current_stream();
    const uint64_t value = condition->load();
    switch (type) {
      case ACL_MODEL_RI_COND_TYPE_IF:
        if (value != 0) bodies[0]->run(stream);
        else if (bodies.size() > 1) bodies[1]->run(stream);
        break;
      case ACL_MODEL_RI_COND_TYPE_WHILE:
        while (condition->load() != 0 && !task_should_give_up()) bodies[0]->run(stream);
        break;
      case ACL_MODEL_RI_COND_TYPE_SWITCH:
        if (value < bodies.size()) bodies[value]->run(stream);
        break;
    }
  }
};

int check_params(const char* function, const aclmdlRICondTaskParams& params) {
  if (params.modelRIArray == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, function, ": modelRIArray is NULL");
  const uint32_t most = params.type == ACL_MODEL_RI_COND_TYPE_IF       ? 2
                        : params.type == ACL_MODEL_RI_COND_TYPE_WHILE  ? 1
                        : params.type == ACL_MODEL_RI_COND_TYPE_SWITCH ? 1024
                                                                       : 0;
  if (params.size == 0 || params.size > most)
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": type is ", int(params.type), " and size ",
                params.size, "; wanted if (0) with 1 or 2 bodies, while (1) with 1, or switch (2) with some");
  return 0;
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclmdlRICondHandleCreate(aclmdlRI modelRI, uint32_t defaultLaunchValue,
                                                 aclmdlRICondHandleFlag flag, aclmdlRICondHandle* handle) {
  SOFTNPU_ENTER(aclmdlRICondHandleCreate, modelRI, defaultLaunchValue, flag);
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclmdlRICondHandleCreate: handle is NULL");
  int code = 0;
  const auto graph = find_graph("aclmdlRICondHandleCreate", modelRI, &code);
  if (graph == nullptr) return code;
  if (uint32_t(flag) > ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICondHandleCreate: flag is ", int(flag),
                ", wanted 0 or 1 (the default value is assigned before each run)");
  auto made = std::make_unique<Condition>(*graph, defaultLaunchValue, flag != 0);
  if (made->address == nullptr)
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclmdlRICondHandleCreate: device ", graph->device,
                " is out of memory");
  made->handle = condition_table().insert(made.get());
  if (made->handle == nullptr)
    return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "aclmdlRICondHandleCreate: 16384 handles exist");
  *handle = made->handle;
  std::lock_guard lock(graph->mutex);
  graph->conditions.push_back(std::move(made));
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRICondHandleGetCondPtr(aclmdlRICondHandle handle, uint64_t** ptr) {
  SOFTNPU_ENTER(aclmdlRICondHandleGetCondPtr, handle);
  if (ptr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclmdlRICondHandleGetCondPtr: ptr is NULL");
  const Condition* found = condition_table().find(handle);
  if (found == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICondHandleGetCondPtr: ", handle,
                " is no handle of a condition, or its model was destroyed");
  *ptr = static_cast<uint64_t*>(found->address);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRIAddCondTask(aclmdlRICondTaskParams params, aclrtStream stream,
                                            uint32_t flags) {
  SOFTNPU_ENTER(aclmdlRIAddCondTask, stream, flags);
  if (const int code = check_params("aclmdlRIAddCondTask", params)) return code;
  if (flags != 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRIAddCondTask: flags is ", flags, ", wanted 0");
  int code = 0;
  Stream* found = use_stream("aclmdlRIAddCondTask", stream, &code);
  if (found == nullptr) return code;
  const Condition* condition = condition_table().find(params.handle);
  if (condition == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRIAddCondTask: ", params.handle,
                " is no handle of a condition, or its model was destroyed");
  std::lock_guard lock(capture_mutex());
  if (found->capture == nullptr)
    return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "aclmdlRIAddCondTask: stream ", found->id,
                " is not being captured");
  Graph& graph = *found->capture->graph;
  ConditionalTask task{condition, params.type, {}};
  std::vector<std::shared_ptr<Graph>> bodies;
  for (uint32_t i = 0; i < params.size; ++i) {
    bodies.push_back(std::make_shared<Graph>(graph.device, true));
    if (!insert_graph(bodies.back())) {
      bodies.pop_back();
      for (const auto& made : bodies) end_graph(made);
      return fail(ACL_ERROR_RT_NO_MODEL_RESOURCE, "aclmdlRIAddCondTask: no model is left; destroy some");
    }
    params.modelRIArray[i] = bodies.back()->handle;
    task.bodies.push_back(bodies.back().get());
  }
  {
    std::lock_guard graph_lock(graph.mutex);
    graph.bodies.insert(graph.bodies.end(), bodies.begin(), bodies.end());
  }
  found->capture->add(*found, {"aclmdlRIAddCondTask", Task::Kind::order, ACL_MODEL_RI_TASK_DEFAULT, found->id,
                               std::make_shared<HeldTask<ConditionalTask>>(std::move(task))});
  return ACL_SUCCESS;
}

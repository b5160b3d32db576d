// The C functions about graphs: capture, replay, task groups and their update, printing.
#include <cstdio>
#include <cstring>

#include "runtime/capture.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/hook.h"

namespace softnpu {
namespace {

bool is_mode(aclmdlRICaptureMode mode) {
  return mode >= ACL_MODEL_RI_CAPTURE_MODE_GLOBAL && mode <= ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
}

int begin_capture(const char* function, aclrtStream handle, std::shared_ptr<Graph> graph,
                  aclmdlRICaptureMode mode) {
  if (!is_mode(mode))
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": mode is ", int(mode),
                ", wanted 0 (global), 1 (thread local) or 2 (relaxed)");
  int code = 0;
  Stream* stream = use_stream(function, handle, &code);
  if (stream == nullptr) return code;
  if (handle == nullptr || handle == stream->context.default_stream_handle)
    return fail(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, function, ": the default stream cannot be captured");
  std::lock_guard lock(capture_mutex());
  if (stream->recording())
    return fail(ACL_ERROR_RT_STREAM_CAPTURED, function, ": stream ", stream->id,
                " is being captured already");
  if (graph == nullptr) {
    graph = std::make_shared<Graph>(stream->device, false);
    if (!insert_graph(graph))
      return fail(ACL_ERROR_RT_NO_MODEL_RESOURCE, function, ": 16384 models exist; destroy some");
  }
  graph->capturing.store(true);
  set_capture(*stream, std::make_shared<Capture>(*stream, std::move(graph), mode));
  return ACL_SUCCESS;
}

// The stream and its capture, for functions that need one; nullptr with *code. Call with capture_mutex.
Capture* capture_of(const char* function, const Stream& stream, int* code) {
  if (stream.capture == nullptr) {
    *code =
        fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, function, ": stream ", stream.id, " is not being captured");
    return nullptr;
  }
  return stream.capture.get();
}

// What stands against the end of a capture, once it may be ended here; 0 or the code.
int check_complete(const char* function, const Capture& capture) {
  if (capture.invalidated)
    return fail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, function,
                ": a stream of the capture was destroyed meanwhile, so there is no model");
  for (const auto& [id, member] : capture.members)
    if (member.in_group)
      return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, function, ": the task group of stream ", id,
                  " was not ended (aclmdlRICaptureTaskGrpEnd), so there is no model");
  if (!capture.all_joined())
    return fail(ACL_ERROR_RT_STREAM_UNJOINED, function,
                ": a stream joined the capture, but the first stream does not wait for it in the end; record "
                "an event in it and wait for it");
  return 0;
}

// A graph that can be replayed or destroyed now.
std::shared_ptr<Graph> find_complete(const char* function, aclmdlRI handle, int* code) {
  auto graph = find_graph(function, handle, code);
  if (graph != nullptr && graph->capturing.load()) {
    *code = fail(ACL_ERROR_RT_MODEL_CAPTURED, function, ": model ", graph->id, " is still being captured");
    return nullptr;
  }
  return graph;
}

uint64_t replay(const char* function, Stream& stream, std::shared_ptr<Graph> graph) {
  return stream.enqueue(function, Task::Kind::order,
                        [graph = std::move(graph)] { graph->run(*current_stream()); });
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
  SOFTNPU_ENTER(aclmdlRICaptureBegin, stream, mode);
  return begin_capture("aclmdlRICaptureBegin", stream, nullptr, mode);
}

SOFTNPU_EXPORT aclError aclmdlRICaptureToModelRIBegin(aclrtStream stream, aclmdlRI modelRI,
                                                      aclmdlRICaptureMode mode) {
  SOFTNPU_ENTER(aclmdlRICaptureToModelRIBegin, stream, modelRI, mode);
  int code = 0;
  auto graph = find_complete("aclmdlRICaptureToModelRIBegin", modelRI, &code);
  if (graph == nullptr) return code;
  if (!graph->body)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICaptureToModelRIBegin: model ", graph->id,
                " is not one of a conditional task (aclmdlRIAddCondTask)");
  if (graph->size() != 0)
    return fail(ACL_ERROR_RT_MODEL_CAPTURED, "aclmdlRICaptureToModelRIBegin: model ", graph->id,
                " has been captured already");
  return begin_capture("aclmdlRICaptureToModelRIBegin", stream, std::move(graph), mode);
}

SOFTNPU_EXPORT aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* modelRI) {
  SOFTNPU_ENTER(aclmdlRICaptureEnd, stream);
  if (modelRI == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclmdlRICaptureEnd: modelRI is NULL");
  int code = 0;
  Stream* found = use_stream("aclmdlRICaptureEnd", stream, &code);
  if (found == nullptr) return code;
  std::shared_ptr<Graph> graph;
  {
    std::lock_guard lock(capture_mutex());
    Capture* capture = capture_of("aclmdlRICaptureEnd", *found, &code);
    if (capture == nullptr) return code;
    if (capture->origin != found)
      return fail(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED,
                  "aclmdlRICaptureEnd: the capture was begun in stream ", capture->origin->id,
                  ", not in stream ", found->id);
    if (capture->mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id())
      return fail(ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD,
                  "aclmdlRICaptureEnd: the capture was begun in another thread");
    graph = capture->graph;
    code = check_complete("aclmdlRICaptureEnd", *capture);
    finish_capture(*capture);
  }
  *modelRI = code == 0 ? graph->handle : nullptr;
  if (code != 0 && !graph->body) end_graph(graph);
  return code;
}

SOFTNPU_EXPORT aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status,
                                               aclmdlRI* modelRI) {
  SOFTNPU_ENTER(aclmdlRICaptureGetInfo, stream);
  if (status == nullptr || modelRI == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclmdlRICaptureGetInfo: status and modelRI must not be NULL");
  int code = 0;
  const Stream* found = use_stream("aclmdlRICaptureGetInfo", stream, &code);
  if (found == nullptr) return code;
  std::lock_guard lock(capture_mutex());
  const Capture* capture = found->capture.get();
  *status = capture == nullptr     ? ACL_MODEL_RI_CAPTURE_STATUS_NONE
            : capture->invalidated ? ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED
                                   : ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
  *modelRI = capture == nullptr ? nullptr : capture->graph->handle;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
  SOFTNPU_ENTER(aclmdlRICaptureThreadExchangeMode);
  if (mode == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclmdlRICaptureThreadExchangeMode: mode is NULL");
  if (!is_mode(*mode))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICaptureThreadExchangeMode: mode is ", int(*mode),
                ", wanted 0 (global), 1 (thread local) or 2 (relaxed)");
  std::swap(*mode, thread_capture_mode);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream) {
  SOFTNPU_ENTER(aclmdlRICaptureTaskGrpBegin, stream);
  int code = 0;
  const Stream* found = use_stream("aclmdlRICaptureTaskGrpBegin", stream, &code);
  if (found == nullptr) return code;
  std::lock_guard lock(capture_mutex());
  Capture* capture = capture_of("aclmdlRICaptureTaskGrpBegin", *found, &code);
  if (capture == nullptr) return code;
  Capture::Member& member = capture->member(*found);
  if (member.in_group)
    return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "aclmdlRICaptureTaskGrpBegin: stream ", found->id,
                " has begun a task group already");
  member.in_group = true;
  member.group.clear();
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp* handle) {
  SOFTNPU_ENTER(aclmdlRICaptureTaskGrpEnd, stream);
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclmdlRICaptureTaskGrpEnd: handle is NULL");
  int code = 0;
  const Stream* found = use_stream("aclmdlRICaptureTaskGrpEnd", stream, &code);
  if (found == nullptr) return code;
  std::lock_guard lock(capture_mutex());
  Capture* capture = capture_of("aclmdlRICaptureTaskGrpEnd", *found, &code);
  if (capture == nullptr) return code;
  Capture::Member& member = capture->member(*found);
  if (!member.in_group)
    return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "aclmdlRICaptureTaskGrpEnd: stream ", found->id,
                " has begun no task group");
  auto group = std::make_unique<TaskGroup>(TaskGroup{capture->graph.get(), member.group});
  void* slot = task_group_table().insert(group.get());
  if (slot == nullptr)
    return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "aclmdlRICaptureTaskGrpEnd: 65536 task groups exist");
  group.release();
  member.in_group = false;
  *handle = slot;
  std::lock_guard graph_lock(capture->graph->mutex);
  capture->graph->groups.push_back(slot);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle) {
  SOFTNPU_ENTER(aclmdlRICaptureTaskUpdateBegin, stream, handle);
  int code = 0;
  Stream* found = use_stream("aclmdlRICaptureTaskUpdateBegin", stream, &code);
  if (found == nullptr) return code;
  std::lock_guard lock(capture_mutex());
  if (found->capture != nullptr)
    return fail(ACL_ERROR_RT_STREAM_CAPTURED, "aclmdlRICaptureTaskUpdateBegin: stream ", found->id,
                " is being captured; update from another one");
  const TaskGroup* group = task_group_table().find(handle);
  if (group == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICaptureTaskUpdateBegin: ", handle,
                " is no task group, or its model was destroyed");
  if (found->update != nullptr)
    return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "aclmdlRICaptureTaskUpdateBegin: stream ", found->id,
                " has begun an update already");
  found->update = std::make_shared<TaskUpdate>();
  found->update->graph = group->graph->shared_from_this();
  found->update->nodes = group->nodes;
  found->set_recording(true);
  return ACL_SUCCESS;
}

// The tasks change when the stream gets there, as other tasks of it.
SOFTNPU_EXPORT aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream) {
  SOFTNPU_ENTER(aclmdlRICaptureTaskUpdateEnd, stream);
  int code = 0;
  Stream* found = use_stream("aclmdlRICaptureTaskUpdateEnd", stream, &code);
  if (found == nullptr) return code;
  std::shared_ptr<TaskUpdate> update;
  {
    std::lock_guard lock(capture_mutex());
    update = std::move(found->update);
    if (update == nullptr)
      return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "aclmdlRICaptureTaskUpdateEnd: stream ", found->id,
                  " has begun no update");
    found->update = nullptr;
    found->set_recording(false);
  }
  const std::vector<const char*> wanted = update->graph->names(update->nodes);
  bool same = wanted.size() == update->names.size();
  for (size_t i = 0; same && i < wanted.size(); ++i) same = std::strcmp(wanted[i], update->names[i]) == 0;
  if (!same)
    return fail(ACL_ERROR_RT_INTERNAL_ERROR, "aclmdlRICaptureTaskUpdateEnd: the group has ", wanted.size(),
                " task(s)", wanted.empty() ? "" : ", the first is ", wanted.empty() ? "" : wanted[0],
                "; got ", update->names.size(), update->names.empty() ? "" : ", the first is ",
                update->names.empty() ? "" : update->names[0], "; number and operators must be the same");
  found->enqueue("aclmdlRICaptureTaskUpdateEnd", Task::Kind::order,
                 [update = std::move(update)] { update->graph->replace(update->nodes, update->tasks); });
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
  SOFTNPU_ENTER(aclmdlRIExecuteAsync, modelRI, stream);
  int code = 0;
  auto graph = find_complete("aclmdlRIExecuteAsync", modelRI, &code);
  if (graph == nullptr) return code;
  Stream* found = use_stream("aclmdlRIExecuteAsync", stream, &code);
  if (found == nullptr) return code;
  if ((code = refuse_captured("aclmdlRIExecuteAsync", *found)) != 0) return code;
  replay("aclmdlRIExecuteAsync", *found, std::move(graph));
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout) {
  SOFTNPU_ENTER(aclmdlRIExecute, modelRI, timeout);
  if (timeout < -1 || timeout == 0)
    return fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIExecute: timeout is ", timeout,
                ", wanted milliseconds or -1");
  int code = 0;
  auto graph = find_complete("aclmdlRIExecute", modelRI, &code);
  if (graph == nullptr) return code;
  Stream* found = use_stream("aclmdlRIExecute", nullptr, &code);
  if (found == nullptr) return code;
  if (found->is_own_thread())
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRIExecute: called from a callback of the default stream");
  const uint64_t ticket = replay("aclmdlRIExecute", *found, std::move(graph));
  if (!found->wait(ticket, timeout < 0 ? kForever : timeout * 1000000LL))
    return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "aclmdlRIExecute: the model was not done in time");
  return found->take_error();
}

SOFTNPU_EXPORT aclError aclmdlRIDestroy(aclmdlRI modelRI) {
  SOFTNPU_ENTER_CLEANUP(aclmdlRIDestroy, modelRI);
  int code = 0;
  const auto graph = find_complete("aclmdlRIDestroy", modelRI, &code);
  if (graph == nullptr) return code;
  if (graph->body)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRIDestroy: model ", graph->id,
                " belongs to a conditional task and ends with it");
  end_graph(graph);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t* modelRIId) {
  SOFTNPU_ENTER(aclmdlRIGetId, modelRI);
  if (modelRIId == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIGetId: modelRIId is NULL");
  int code = 0;
  const auto graph = find_graph("aclmdlRIGetId", modelRI, &code);
  if (graph == nullptr) return code;
  *modelRIId = graph->id;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRISetName(aclmdlRI modelRI, const char* name) {
  SOFTNPU_ENTER(aclmdlRISetName, modelRI, name);
  if (name == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclmdlRISetName: name is NULL");
  int code = 0;
  const auto graph = find_graph("aclmdlRISetName", modelRI, &code);
  if (graph == nullptr) return code;
  std::lock_guard lock(graph->mutex);
  graph->name = name;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRIGetName(aclmdlRI modelRI, uint32_t maxLen, char* name) {
  SOFTNPU_ENTER(aclmdlRIGetName, modelRI, maxLen);
  if (name == nullptr || maxLen == 0)
    return fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIGetName: name is NULL or maxLen is 0");
  int code = 0;
  const auto graph = find_graph("aclmdlRIGetName", modelRI, &code);
  if (graph == nullptr) return code;
  std::lock_guard lock(graph->mutex);
  name[graph->name.copy(name, maxLen - 1)] = '\0';
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRIDestroyRegisterCallback(aclmdlRI modelRI, aclrtCallback func,
                                                        void* userData) {
  SOFTNPU_ENTER(aclmdlRIDestroyRegisterCallback, modelRI, userData);
  if (func == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIDestroyRegisterCallback: func is NULL");
  int code = 0;
  const auto graph = find_graph("aclmdlRIDestroyRegisterCallback", modelRI, &code);
  if (graph == nullptr) return code;
  std::lock_guard lock(graph->mutex);
  graph->at_end.emplace_back(func, userData);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRIDestroyUnregisterCallback(aclmdlRI modelRI, aclrtCallback func) {
  SOFTNPU_ENTER_CLEANUP(aclmdlRIDestroyUnregisterCallback, modelRI);
  int code = 0;
  const auto graph = find_graph("aclmdlRIDestroyUnregisterCallback", modelRI, &code);
  if (graph == nullptr) return code;
  std::lock_guard lock(graph->mutex);
  if (std::erase_if(graph->at_end, [&](const auto& entry) { return entry.first == func; }) != 0)
    return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "aclmdlRIDestroyUnregisterCallback: the function is not registered");
}

SOFTNPU_EXPORT aclError aclmdlRIDebugPrint(aclmdlRI modelRI) {
  SOFTNPU_ENTER(aclmdlRIDebugPrint, modelRI);
  int code = 0;
  const auto graph = find_complete("aclmdlRIDebugPrint", modelRI, &code);
  if (graph == nullptr) return code;
  std::fputs(graph->text().c_str(), stdout);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char* path, uint32_t flags) {
  SOFTNPU_ENTER(aclmdlRIDebugJsonPrint, modelRI, path, flags);
  if (path == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIDebugJsonPrint: path is NULL");
  if (flags > ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRIDebugJsonPrint: flags is ", flags, ", wanted 0 or 1");
  int code = 0;
  const auto graph = find_complete("aclmdlRIDebugJsonPrint", modelRI, &code);
  if (graph == nullptr) return code;
  std::FILE* file = std::fopen(path, "we");
  if (file == nullptr)
    return fail(ACL_ERROR_RT_FILE_OPEN, "aclmdlRIDebugJsonPrint: cannot write ", path, ": ",
                std::strerror(errno));
  const bool written = std::fputs(graph->json().c_str(), file) >= 0;
  if (std::fclose(file) == 0 && written) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_FILE_WRITE, "aclmdlRIDebugJsonPrint: cannot write ", path);
}

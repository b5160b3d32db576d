// Groups: calls of a thread between HcclGroupStart and HcclGroupEnd go to their streams together, and sends and
// receives of one stream make progress together.
#include <vector>

#include "base/per_thread.h"
#include "hccl/call.h"
#include "runtime/stream.h"

namespace softnpu::hccl {
namespace {

struct Grouped {
  aclrtStream stream;
  std::unique_ptr<Operation> operation;
};

struct Group {
  int depth = 0;
  std::vector<Grouped> calls;
};
constinit mt::PerThread<Group> group;

}  // namespace

bool in_group() { return group->depth != 0; }

void add_to_group(aclrtStream stream, std::unique_ptr<Operation> operation) {
  for (Grouped& earlier : group->calls) {
    if (earlier.stream == stream && earlier.operation->comm == operation->comm &&
        earlier.operation->merge(*operation))
      return;
  }
  group->calls.push_back({stream, std::move(operation)});
}

}  // namespace softnpu::hccl

using namespace softnpu;
using namespace softnpu::hccl;

SOFTNPU_EXPORT HcclResult HcclGroupStart(void) {
  HCCL_ENTER(HcclGroupStart);
  ++group->depth;
  return HCCL_SUCCESS;
}

SOFTNPU_EXPORT HcclResult HcclGroupEnd(void) {
  HCCL_ENTER(HcclGroupEnd);
  return guarded("HcclGroupEnd", [] {
    if (group->depth == 0) refuse(HCCL_E_PARA, "there was no HcclGroupStart in this thread");
    if (--group->depth != 0) return;
    for (Grouped& call : std::exchange(group->calls, {})) {
      Stream* stream = stream_table().find(call.stream);
      if (stream == nullptr) {
        call.operation->comm->fail(HCCL_E_PARA,
                                   std::string(call.operation->name) + ": its stream was destroyed");
        refuse(HCCL_E_PARA, "the stream of ", call.operation->name, " was destroyed inside the group");
      }
      Operation::put_on(*stream, std::move(call.operation));
    }
  });
}

SOFTNPU_EXPORT HcclResult HcclGroupStatusGet(bool* isGroupEnabled) {
  HCCL_ENTER(HcclGroupStatusGet);
  return guarded("HcclGroupStatusGet",
                 [&] { *require_pointer(isGroupEnabled, "isGroupEnabled") = in_group(); });
}

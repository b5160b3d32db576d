#include "hccl/call.h"

#include "hccl/element.h"
#include "runtime/device.h"

namespace softnpu::hccl {
namespace {

std::shared_ptr<Communicator> usable(HcclComm handle) {
  std::shared_ptr<Communicator> comm = find_communicator(require_pointer(handle, "comm"));
  std::string reason;
  if (const HcclResult code = comm->error(&reason); code != HCCL_SUCCESS)
    refuse(code, "the communicator cannot be used any more: ", reason);
  return comm;
}

}  // namespace

Call::Call(const char* function, HcclComm communicator, aclrtStream stream)
    : name(function), comm(usable(communicator)), stream_(stream) {
  int code = 0;
  if (stream == nullptr && aclrtCtxGetCurrentDefaultStream(&stream_) != ACL_SUCCESS)
    refuse(HCCL_E_RUNTIME, "no device is set in this thread; call aclrtSetDevice first");
  const Stream* found = use_stream(function, stream_, &code);
  if (found == nullptr) {
    const char* reason = aclGetRecentErrMsg();
    refuse(HCCL_E_RUNTIME, reason == nullptr ? "the stream cannot be used" : reason);
  }
  if (found->device != comm->device)
    refuse(HCCL_E_PARA, "the stream is on device ", found->device, ", the communicator on device ",
           comm->device);
}

Block Call::block(const void* buffer, const char* buffer_name, uint64_t count, HcclDataType type) const {
  const uint64_t size = element_size(type);
  if (count == 0) return {};
  if (buffer == nullptr) refuse(HCCL_E_PTR, buffer_name, " is NULL, but the count is ", count);
  if (count > (uint64_t(1) << 48) / size || !is_live(buffer, count * size))
    refuse(HCCL_E_PARA, buffer_name, " at ", buffer, " is not ", count, " elements of ", element_name(type),
           " in live device memory");
  if (device_of(buffer) != comm->device)
    refuse(HCCL_E_PARA, buffer_name, " is on device ", device_of(buffer), ", the communicator on device ",
           comm->device);
  return {static_cast<char*>(host_address(buffer)), count * size};
}

void Call::require_rank(uint32_t rank, const char* rank_name) const {
  if (rank >= comm->ranks())
    refuse(HCCL_E_PARA, rank_name, " is ", rank, ", but there are ", comm->ranks(), " ranks");
}

std::unique_ptr<Collective> Call::collective(Collective::Pattern pattern, const Signature& signature) const {
  return std::make_unique<Collective>(comm, name, pattern, signature);
}

void Call::launch(std::unique_ptr<Operation> operation) const {
  if (in_group()) return add_to_group(stream_, std::move(operation));
  if (Stream* stream = stream_table().find(stream_)) return Operation::put_on(*stream, std::move(operation));
  refuse(HCCL_E_PARA, "the stream was destroyed during the call");
}

}  // namespace softnpu::hccl
